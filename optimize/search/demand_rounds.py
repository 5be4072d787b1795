"""Demand that depends on the plan: the rate of a closed loop, the hours of a job. Both are found in a few turns with the plan."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from optimize.records import Floats
from optimize.search.loop import Market, Settled, Tell
from optimize.search.simulated_hour import fleet_of
from optimize.search.users import AGREES, at_rate, loop_of, played_rates, users_note
from sim.engine.warm import warm_up
from sim.exact import dot
from sim.progress import Stage
from sim.scenario.scenario import ConstantTraffic, Job, Scenario
from sim.scenario.spread_traffic import Traffic
from sim.traffic.synthetic import HOUR_S

ROUNDS = 4
HOURS_A_MONTH = 730.0
SEED = 801
BUSY = 0.97  # of the measured capacity: above that a shorter run saves nothing that is certain


def job_of(scenario: Scenario) -> Job | None:
    """The job that the scenario's traffic is; None for work that goes on."""
    return scenario.traffic.job if isinstance(scenario.traffic, ConstantTraffic) else None


def settled_loop(scenario: Scenario, tell: Tell, planned: Callable[[Scenario], tuple[Market, Settled]]) -> Scenario:
    """A closed loop at the rate that its users send to the fleet that is `planned` for it, nothing proved yet; other traffic as it is.

    A proof costs many times what a plan costs, so rate and plan are brought together first.
    """
    if loop_of(scenario) is None:
        return scenario
    warm_up(tell)
    for _ in range(ROUNDS):
        tell(Stage("looking for the rate at which the users and the plan agree"))
        wanted = next_demand(*planned(scenario))
        if wanted is None:
            break
        scenario = replace(scenario, traffic=wanted)
    return scenario


def next_demand(market: Market, settled: Settled) -> Traffic | None:
    """The traffic that this plan makes of the scenario's, where that is another one; None where both agree or nothing depends."""
    scenario = market.scenario
    if settled.unserved:
        return None
    if loop_of(scenario) is not None:
        played = _played(market, settled)
        planned = float(market.demand.mean_rps.sum(axis=0).max())
        return None if abs(float(played.max()) / planned - 1) <= AGREES else at_rate(scenario, played)
    return _shorter_job(market, settled)


def _played(market: Market, settled: Settled) -> Floats:
    """[slices] the rate of the users in the busiest slice, as its fleet answers them."""
    costs, problem, solution = [state.cost for state in settled.pools], settled.problem, settled.solution
    busiest = int(market.demand.mean_rps.sum(axis=0).argmax())
    hour = fleet_of(market.scenario, problem, solution, costs, busiest)
    return played_rates(market.scenario, [(busiest, hour.fleet)], SEED)


def _shorter_job(market: Market, settled: Settled) -> Traffic | None:
    """The job in as many whole hours as the hosts that serve most of it need when all are busy, one more host where others top them up;
    None where that is no shorter, or where relays or fixed terms do most of it.
    """
    scenario, problem, solution = market.scenario, settled.problem, settled.solution
    job = job_of(scenario)
    if job is None or job.deadline_h > HOURS_A_MONTH:
        return None
    flows = [float(flow[:, 0].sum()) for flow in solution.pool_flow]
    rest = float(solution.relay_flow[:, :, 0].sum())
    main = max(range(len(flows)), key=lambda p: (flows[p], -p), default=None)
    fixed = any(flow > 0 and not terms.option.offer.elastic for flow, terms in zip(flows, problem.pools, strict=True))
    if main is None or flows[main] <= rest or fixed:
        return None
    terms, alone = problem.pools[main], flows[main] >= (sum(flows) + rest) * (1 - 1e-9)
    hosts = int(solution.hosts[main, 0]) + (0 if alone else 1)
    load = float(dot(terms.levels[0].load, solution.pool_flow[main])[0]) * (sum(flows) + rest) / flows[main]
    carried = terms.slope * hosts * terms.option.replicas_per_host - terms.intercept
    busy = load / carried if carried > 0 else math.inf
    assert isinstance(scenario.traffic, ConstantTraffic)
    now_h = scenario.traffic.busy_h / job.runs
    if not 0 < busy < BUSY:
        return None
    hours = math.ceil(round(now_h * busy / BUSY, 9))
    if hours >= round(now_h, 9):
        return None
    return replace(scenario.traffic, busy_h=hours * job.runs, rate_rps=job.amount / hours / HOUR_S)


def demand_notes(market: Market, settled: Settled) -> tuple[str, ...]:
    """What the plan's demand rests on where it is a closed loop or a job."""
    scenario = market.scenario
    if loop_of(scenario) is not None and not settled.unserved:
        return (users_note(scenario, float(_played(market, settled).max())),)
    job = job_of(scenario)
    if job is None:
        return ()
    assert isinstance(scenario.traffic, ConstantTraffic)
    busy_h = scenario.traffic.busy_h
    if job.deadline_h > HOURS_A_MONTH:
        months = job.deadline_h / HOURS_A_MONTH
        return (f"The job of {job.amount:,.0f} requests takes {months:.1f} months at {scenario.traffic.rate_rps:.4g} requests/s: the job "
                f"costs {months:.1f} times the month.",)  # fmt: skip
    if job.every_h is not None:
        return (
            f"A job that comes every {job.every_h:g} h, {job.runs:.1f} times a month: each run has {job.amount:,.0f} requests in "
            f"{busy_h / job.runs:.4g} h of at most {job.deadline_h:g} h, at {scenario.traffic.rate_rps:.4g} requests/s; the month's cost "
            "is that of all runs, and hours between them are not paid for, except hosts that are sold by the month.",
        )
    return (
        f"A job that is done once: {job.amount:,.0f} requests in {busy_h:g} h of at most {job.deadline_h:g} h, at "
        f"{scenario.traffic.rate_rps:.4g} requests/s; the month's cost is the cost of the job, and the rest of the month is not paid "
        "for, except hosts that are sold by the month.",
    )
