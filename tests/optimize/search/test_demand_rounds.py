"""Demand that depends on the plan: a job takes as few whole hours as its hosts need, and a loop settles before anything is proved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from optimize.records import PoolTerms
from optimize.search import demand_rounds
from optimize.search.demand_rounds import demand_notes, job_of, next_demand, settled_loop
from optimize.search.known_market import Market, Settled
from sim.scenario.scenario import ConstantTraffic, Job, Loop, Scenario, SyntheticTraffic
from tests.optimize.program.problems import offer, pool, problem, relay
from tests.optimize.report import plan_fixture
from tests.optimize.search.by_hand import market_of, settled_of

ONCE = Job(100_000.0, 48.0)


def job_market(job: Job, rate_rps: float, terms: PoolTerms, hosts: int = 1, calls: float = 0.0) -> tuple[Market, Settled]:
    """A job of one class at a rate, on so many hosts."""
    given = problem([[rate_rps]], [terms], [relay("r", [1e-3])])
    settled = settled_of(given)
    solution = replace(
        settled.solution,
        hosts=np.array([[hosts]]),
        pool_flow=np.array([[[rate_rps - calls]]]),
        relay_flow=np.array([[[calls]]]),
        unserved=np.zeros((1, 1)),
    )
    traffic = ConstantTraffic(rate_rps, job=job, busy_h=job.amount / rate_rps / 3600 * job.runs)
    market = replace(market_of(settled), scenario=replace(plan_fixture.scenario(), traffic=traffic))
    return market, replace(settled, solution=solution)


def one(load: float = 1.0, elastic: bool = True) -> PoolTerms:
    return pool(offer("o", 1.0, elastic=elastic), [load])


RATE = 100_000 / 48 / 3600  # 0.579 requests/s


def test_a_job_runs_in_the_whole_hours_that_its_hosts_need_when_they_are_busy() -> None:
    """A host carries one request/s and is 58 % busy: 48 h x 0.579 / 0.97 = 28.6, so 29 whole hours."""
    found = next_demand(*job_market(ONCE, RATE, one()))
    assert isinstance(found, ConstantTraffic) and found.busy_h == 29.0
    assert found.rate_rps == pytest.approx(100_000 / 29 / 3600)
    assert next_demand(*job_market(ONCE, found.rate_rps, one())) is None, "a whole hour less would not do"


def test_a_job_that_comes_again_shortens_each_of_its_runs() -> None:
    weekly = replace(ONCE, every_h=73.0)  # ten times a month
    found = next_demand(*job_market(weekly, RATE, one()))
    assert isinstance(found, ConstantTraffic) and found.busy_h == pytest.approx(290.0)
    assert found.rate_rps == pytest.approx(100_000 / 29 / 3600)


def test_capacity_counts_hosts_their_replicas_and_what_the_pool_loses() -> None:
    terms = replace(one(), slope=0.9, intercept=0.2)
    terms = replace(terms, option=replace(terms.option, replicas_per_host=2))
    found = next_demand(*job_market(ONCE, RATE, terms, hosts=2))  # carries 0.9 x 2 x 2 - 0.2 = 3.4 requests/s
    assert isinstance(found, ConstantTraffic) and found.busy_h == 9.0  # 48 x 0.579 / 3.4 / 0.97 = 8.4


def test_one_host_more_takes_what_others_top_up() -> None:
    found = next_demand(*job_market(ONCE, RATE, one(), calls=0.1))
    assert isinstance(found, ConstantTraffic) and found.busy_h == 15.0  # two hosts: 48 x 0.579 / 2 / 0.97 = 14.3


@pytest.mark.parametrize(
    "given",
    [
        job_market(ONCE, RATE, one(1.7)),  # 98 % busy
        job_market(ONCE, RATE, one(elastic=False)),  # paid all month
        job_market(ONCE, RATE, one(), calls=0.4),  # a relay, which does most of it, has no hosts to keep busy
        job_market(ONCE, RATE, one(), hosts=0),
        job_market(Job(100_000.0, 800.0), RATE, one()),  # longer than a month
    ],
)
def test_nothing_is_shortened_where_no_host_would_be_saved(given: tuple[Market, Settled]) -> None:
    assert next_demand(*given) is None


def test_what_leaves_requests_out_and_work_that_goes_on_stay_as_they_are() -> None:
    market, settled = job_market(ONCE, RATE, one())
    short = replace(settled, solution=replace(settled.solution, unserved=np.array([[0.1]])))
    assert next_demand(market, short) is None
    steady = replace(market, scenario=replace(market.scenario, traffic=ConstantTraffic(RATE)))
    assert next_demand(steady, settled) is None and demand_notes(steady, settled) == ()
    week = SyntheticTraffic(1e6, 3.0, 2.5, tuple([1 / 24] * 24), 0.85, 1.17)
    assert job_of(replace(market.scenario, traffic=week)) is None and job_of(market.scenario) == ONCE


@pytest.mark.parametrize(
    ("job", "said"),
    [
        (ONCE, "A job that is done once: 100,000 requests in 48 h of at most 48 h, at 0.5787 requests/s"),
        (
            replace(ONCE, every_h=73.0),
            "A job that comes every 73 h, 10.0 times a month: each run has 100,000 requests in 48 h of at",
        ),
        (Job(100_000.0, 1460.0), "takes 2.0 months at 0.5787 requests/s: the job costs 2.0 times the month."),
    ],
)
def test_a_plan_says_how_its_job_is_done(job: Job, said: str) -> None:
    (note,) = demand_notes(*job_market(job, RATE, one()))
    assert said in note


# --- closed loops


def looped() -> Scenario:
    return replace(plan_fixture.scenario(), traffic=ConstantTraffic(1.0, loop=Loop(8.0, 2.0)))


def test_a_loop_is_planned_until_rate_and_plan_agree_and_no_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    market, settled = job_market(ONCE, 1.0, one())
    rates = [1.0]

    def planned(scenario: Scenario) -> tuple[Market, Settled]:
        assert isinstance(scenario.traffic, ConstantTraffic)
        rates.append(scenario.traffic.rate_rps)
        return replace(market, scenario=scenario), settled

    def wanted(asked: Market, _: Settled) -> ConstantTraffic | None:
        assert isinstance(asked.scenario.traffic, ConstantTraffic)
        faster = asked.scenario.traffic.rate_rps * 2
        return replace(asked.scenario.traffic, rate_rps=faster) if faster <= limit else None

    monkeypatch.setattr(demand_rounds, "warm_up", lambda tell: None)
    monkeypatch.setattr(demand_rounds, "next_demand", wanted)
    limit = 4.0
    assert settled_loop(looped(), lambda _: None, planned).traffic == replace(looped().traffic, rate_rps=4.0)  # type: ignore[type-var]
    assert rates == [1.0, 1.0, 2.0, 4.0]
    limit, rates[:] = 1e9, []
    assert len(rates) == 0 and settled_loop(looped(), lambda _: None, planned).traffic.rate_rps == 16.0  # type: ignore[union-attr]
    assert rates == [1.0, 2.0, 4.0, 8.0], "four turns at most"


def test_users_who_do_not_wait_are_not_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    def never(_: Scenario) -> tuple[Market, Settled]:
        raise AssertionError("nothing is planned")

    scenario = plan_fixture.scenario()
    assert settled_loop(scenario, lambda _: None, never) is scenario


@pytest.mark.parametrize(("played", "changes"), [(1.0, False), (1.019, False), (0.981, False), (1.03, True), (0.9, True)])
def test_a_rate_within_two_percent_of_the_plans_is_agreed(played: float, changes: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    market, settled = job_market(ONCE, 1.0, one())
    market = replace(market, scenario=looped())
    monkeypatch.setattr(demand_rounds, "_played", lambda *_: np.array([played]))
    found = next_demand(market, settled)
    assert (found is not None) is changes
    if changes:
        assert isinstance(found, ConstantTraffic) and found.rate_rps == pytest.approx(played)
    assert "Closed loop of 8 concurrent users" in demand_notes(market, settled)[0]
