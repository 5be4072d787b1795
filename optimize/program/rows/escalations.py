"""Coefficients of flows whose answers can be in vain: what counts, what misses, what it is worth."""

from __future__ import annotations

import numpy as np

from optimize.records import Escalation, Floats, PoolOption, ProgramInput


def answered(escalation: Escalation | None, c: int) -> float:
    """Share of what is sent whose answer counts."""
    return 1.0 if escalation is None else 1.0 - float(escalation.share[c])


def miss_over(escalation: Escalation | None, c: int, i: int, miss: float, allowed: float) -> float:
    """What one request more, sent here, adds to the misses of promise i beyond the share `allowed`.

    Its own miss where its answer counts; where it does not, the stronger model's flow holds that answer's own misses, and `late` those
    that the way there costs. Misses of second answers are counted in both: a little pessimistic.
    """
    if escalation is None:
        return miss - allowed
    share = float(escalation.share[c])
    return (1.0 - share) * (miss - allowed) + share * float(escalation.late[i])


def own_miss(escalation: Escalation | None, c: int, i: int, seen: float) -> float:
    """The miss share of answers that count, where `seen` of all that was first sent there missed promise i in the end.

    >>> from optimize.records import Escalation as E
    >>> round(own_miss(E(np.array([0.2]), np.array([False]), np.array([0.5])), 0, 0, 0.18), 9), own_miss(None, 0, 0, 0.18)
    (0.1, 0.18)
    """
    if escalation is None:
        return seen
    share = float(escalation.share[c])
    return max(0.0, seen - share * float(escalation.late[i])) / (1.0 - share)


def again_worth(escalation: Escalation | None, c: int, t: int, duals: dict[tuple[int | str, ...], float]) -> float:
    """Dual value of a flow in its row of this family."""
    if escalation is None:
        return 0.0
    return duals.get(("again", c, t), 0.0) * (float(escalation.share[c]) - float(escalation.strongest[c]))


def answered_shares(problem: ProgramInput) -> tuple[Floats, Floats]:
    """([pools, classes], [relays, classes]) share of what is sent there whose answer counts."""
    width = len(problem.demand.mean_rps)
    pools, relays = np.ones((len(problem.pools), width)), np.ones((len(problem.relays), width))
    escalations = [terms.option.escalation for terms in problem.pools], [terms.escalation for terms in problem.relays]
    for shares, found in zip((pools, relays), escalations, strict=True):
        for k, escalation in enumerate(found):
            if escalation is not None:
                shares[k] = [answered(escalation, c) for c in range(width)]
    return pools, relays


def no_more_again(one: PoolOption, other: PoolOption, classes: tuple[int, ...], rows: list[int]) -> bool:
    """Whether `one` can take the place of `other` as far as answers in vain go."""
    a, b = one.escalation, other.escalation
    if a is None or b is None:
        return a is b
    chosen = list(classes)
    alike = np.array_equal(a.share[chosen], b.share[chosen]) and np.array_equal(a.strongest[chosen], b.strongest[chosen])
    return alike and bool(np.all(a.late[rows] <= b.late[rows]))
