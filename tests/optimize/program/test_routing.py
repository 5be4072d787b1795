"""The program with answers in vain: by hand, and against an enumeration that writes first and second answers down apart."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog

from optimize.money import cost_lines
from optimize.money.charges import charges
from optimize.program.solve import solve
from optimize.records import Escalation, PoolTerms, ProgramInput, RelayTerms, SloRow
from tests.optimize.program.problems import offer, pool, problem, relay

HOUR_S = 3600.0
MONTH_S = 730.0 * HOUR_S
E2E = SloRow(0, "e2e", 0.95, 5.0)


def weak(classes: int, share: float, late: list[float]) -> Escalation:
    return Escalation(np.full(classes, share), np.zeros(classes, bool), np.array(late, float))


def strong(classes: int, rows: int) -> Escalation:
    return Escalation(np.zeros(classes), np.ones(classes, bool), np.zeros(rows))


def two_relays(share: float, late: float = 0.0, rate: float = 1.0) -> ProgramInput:
    """A cheap weak relay and a dear strong one, for one class with one promise."""
    cheap = replace(relay("weak", [1e-4], miss=[0.0]), escalation=weak(1, share, [late]))
    dear = replace(relay("strong", [1e-3], miss=[0.0]), escalation=strong(1, 1))
    return problem([[rate]], relays=[cheap, dear], slos=[E2E])


def test_escalated_requests_are_paid_twice() -> None:
    answer = solve(two_relays(0.1))
    assert answer.relay_flow[:, 0, 0] == pytest.approx([1.0, 0.1])
    assert answer.cost_usd == pytest.approx(MONTH_S * (1e-4 + 0.1 * 1e-3))


def test_a_misroute_share_that_eats_the_saving_sends_everything_to_the_strong_model() -> None:
    answer = solve(two_relays(0.9 + 1e-3))  # 1e-4 + .901e-3 > 1e-3
    assert answer.relay_flow[:, 0, 0] == pytest.approx([0.0, 1.0])


def test_second_answers_that_come_too_late_spend_the_miss_budget() -> None:
    """With 20 % in vain and all of those late, w x 0.2 <= 0.05 of all requests may be sent to the weak model: a quarter."""
    answer = solve(two_relays(0.2, late=1.0))
    assert answer.relay_flow[0, 0, 0] == pytest.approx(0.25)
    assert answer.relay_flow[1, 0, 0] == pytest.approx(0.75 + 0.05)
    assert answer.cost_usd == pytest.approx(MONTH_S * (0.25e-4 + 0.8e-3))


def test_without_a_stronger_model_nobody_may_be_sent_to_a_weak_one() -> None:
    given = two_relays(0.1)
    answer = solve(replace(given, relays=given.relays[:1]))
    assert answer.status == "infeasible" and answer.unserved[0, 0] == pytest.approx(1.0)


def test_limits_of_the_strong_relay_count_second_answers() -> None:
    given = two_relays(0.1)
    row = replace(given.relays[1].relay, rpm=60 * 1.2 * 0.05)  # at the peak minute, half of what would come back
    answer = solve(replace(given, relays=(given.relays[0], replace(given.relays[1], relay=row))))
    assert answer.relay_flow[0, 0, 0] == pytest.approx(0.5)
    assert answer.unserved[0, 0] == pytest.approx(0.5)


def test_doubling_every_price_doubles_the_cost_and_keeps_the_plan() -> None:
    given = two_relays(0.2, late=0.6)
    double = replace(given, relays=tuple(replace(r, usd_per_request=2 * r.usd_per_request) for r in given.relays))
    one, two = solve(given), solve(double)
    assert two.cost_usd == pytest.approx(2 * one.cost_usd) and np.allclose(one.relay_flow, two.relay_flow)


def test_the_classifier_has_a_line_and_a_charge_and_counts_against_the_budget() -> None:
    usd = 5e-6 * MONTH_S
    given = replace(two_relays(0.1), classifier_usd=np.array([5e-6]), fixed_usd=usd + 10.0)
    answer = solve(given)
    lines = {line.name: line.per_month_usd for line in cost_lines(given, answer)}
    assert lines["request classifier"] == pytest.approx(usd) and lines["fixed costs"] == pytest.approx(10.0)
    assert answer.cost_usd == pytest.approx(sum(lines.values()))
    found = {each.line: each for each in charges(given, answer, cost_lines(given, answer))}
    assert found["request classifier"].quantity == pytest.approx(MONTH_S / 1e6)
    assert found["request classifier"].usd_per_unit == pytest.approx(5.0)
    short = solve(replace(given, budget_usd=answer.cost_usd - 1.0))
    assert short.status == "infeasible"


def random_case(seed: int) -> ProgramInput:
    """A weak and a strong pool, a weak and a strong relay, two classes, two hours; class 1 may not be routed in some cases."""
    rng = np.random.default_rng(seed)
    slos = (SloRow(0, "e2e", 0.95, 5.0), SloRow(1, "e2e", 0.9, 5.0))
    share = np.array([rng.choice([0.05, 0.2, 0.4]), rng.choice([0.0, 0.3])])
    top = np.array([True, bool(share[1] > 0)])

    def pooled(name: str, cheap: bool) -> PoolTerms:
        load, misses = rng.uniform(0.1, 0.5, 2) * (1 if cheap else 3), rng.choice([0.0, 0.03, 0.08], 2)
        return pool(offer(name, float(rng.uniform(0.2, 2.0))), list(load), list(misses))

    def sold(name: str, cheap: bool) -> RelayTerms:
        return relay(name, list(rng.uniform(1e-4, 4e-4, 2) * (1 if cheap else 4)), list(rng.choice([0.0, 0.02], 2)))

    def knowing(found: PoolTerms | RelayTerms, cheap: bool) -> PoolTerms | RelayTerms:
        each = Escalation(share if cheap else 0 * share, top & (not cheap), rng.choice([0.0, 0.5, 1.0], 2) if cheap else np.zeros(2))
        if isinstance(found, PoolTerms):
            return replace(found, option=replace(found.option, escalation=each))
        return replace(found, escalation=each)

    pools = [knowing(pooled(f"p{cheap}", cheap), cheap) for cheap in (True, False)]
    relays = [knowing(sold(f"r{cheap}", cheap), cheap) for cheap in (True, False)]
    return problem(rng.uniform(0.3, 2.5, (2, 2)).tolist(), pools, relays, slos)  # type: ignore[arg-type]


def least_usd(given: ProgramInput) -> float:
    """The optimum by enumeration of hosts, hour by hour; first and second answers are variables of their own."""
    return sum(_hour_usd(given, t) for t in range(len(given.demand.slices)))


def _hour_usd(given: ProgramInput, t: int) -> float:
    rate, hours = given.demand.mean_rps[:, t], float(given.demand.weight_h[t])
    most = [math.ceil(float(rate @ terms.levels[0].load) * 2) for terms in given.pools]
    best = math.inf
    for hosts in itertools.product(*(range(n + 1) for n in most)):
        rent = hours * sum(n * terms.option.offer.usd_per_hour for n, terms in zip(hosts, given.pools, strict=True))
        if rent < best:
            best = min(best, rent + _calls_usd(given, rate, hours, hosts))
    return best


def _calls_usd(given: ProgramInput, rate: np.ndarray, hours: float, hosts: tuple[int, ...]) -> float:
    """Variables [kind (first, second), class, target]; targets are pools, then relays."""
    n, classes = len(given.pools), len(rate)
    known = [terms.option.escalation for terms in given.pools] + [terms.escalation for terms in given.relays]
    miss = [terms.levels[0].miss for terms in given.pools] + [terms.miss for terms in given.relays]
    size, shape = len(known), (2, classes, len(known))
    usd = np.zeros(shape)
    equal, equal_to, most, most_to = [], [], [], []
    bounds = np.full((*shape, 2), [0.0, np.inf])
    for c in range(classes):
        usd[:, c, n:] = [float(terms.usd_per_request[c]) * rate[c] * hours * HOUR_S for terms in given.relays]
        bounds[1, c, [k for k in range(size) if not known[k].strongest[c]], 1] = 0.0  # type: ignore[union-attr]
        share = np.array([each.share[c] for each in known])  # type: ignore[union-attr]
        one, two, late = np.zeros(shape), np.zeros(shape), np.zeros(shape)
        one[0, c], two[0, c], two[1, c] = 1.0, share, -1.0
        equal += [one.ravel(), two.ravel()]
        equal_to += [1.0, 0.0]
        late[0, c] = [(1 - s) * m[c] + s * e.late[c] for s, m, e in zip(share, miss, known, strict=True)]  # type: ignore[union-attr]
        late[1, c] = [m[c] for m in miss]
        most.append(late.ravel())
        most_to.append(1 - given.slos[c].quantile)
    for p, terms in enumerate(given.pools):
        load = np.zeros(shape)
        load[:, :, p] = terms.levels[0].load * rate
        most.append(load.ravel())
        most_to.append(float(hosts[p]))
    found = linprog(usd.ravel(), most, most_to, equal, equal_to, bounds.reshape(-1, 2))
    return float(found.fun) if found.success else math.inf


@pytest.mark.parametrize("seed", range(25))
def test_the_optimum_equals_the_enumeration_of_first_and_second_answers(seed: int) -> None:
    given = random_case(seed)
    least, answer = least_usd(given), solve(given)
    if math.isinf(least):
        assert answer.status == "infeasible"
        return
    assert answer.cost_usd == pytest.approx(least, rel=1e-5)
    assert answer.model_bound_usd <= least * (1 + 1e-6)
