"""Hours of the program before whose answer still stands: pools were measured since, and none that runs in the hour was among them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, fields

import numpy as np

from optimize.program.answer import Parts
from optimize.records import Floats, PoolTerms, ProgramInput, SpotTerms


@dataclass(frozen=True)
class KnownHour:
    """One hour solved to a relative `gap`: all demand served by hosts and flows by pool id; objective and bound by weight."""

    gap: float
    hosts: dict[str, int]
    flow: dict[str, Floats]
    calls: Floats
    objective: float
    bound: float


@dataclass
class KnownHours:
    """The hours of the last program, for the next one with the same demand and relays.

    Where every pool of the next carries no more than it did in the last, a bound on the cost of an hour still holds; and an hour
    of which no pool changed still costs what it did.
    """

    last: ProgramInput | None = None
    hours: dict[int, KnownHour] = field(default_factory=dict)
    changed: frozenset[str] = frozenset()

    def turn_to(self, problem: ProgramInput) -> None:
        """Forgets what says nothing of `problem`, which is the next program."""
        before, self.last = self.last, problem
        known = {} if before is None else {terms.option.id: terms for terms in before.pools}
        if before is None or not alike(before, problem) or len(known) < len(before.pools) or not no_better(known, problem):
            self.hours = {}
            return
        now = {terms.option.id: terms for terms in problem.pools}
        self.changed = frozenset(name for name, terms in known.items() if name not in now or not same(terms, now[name]))

    def recalled(self, problem: ProgramInput, t: int, gap: float, parts: Parts) -> tuple[float, float] | None:
        """(objective, bound) of hour `t`, by its weight, and its values in `parts`; None where it must be solved."""
        hour = self.hours.get(t)
        if hour is None or hour.gap > gap or not self.changed.isdisjoint(hour.hosts):
            return None
        for array in parts.hourly():
            array[..., t] = 0
        for p, terms in enumerate(problem.pools):
            if terms.option.id in hour.hosts:
                parts.hosts[p, t], parts.flow[p, :, t] = hour.hosts[terms.option.id], hour.flow[terms.option.id]
        parts.calls[:, :, t] = hour.calls
        return hour.objective, hour.bound

    def learn(self, problem: ProgramInput, t: int, gap: float, parts: Parts, objective: float, bound: float) -> None:
        """Remembers hour `t` of `problem` where it serves all."""
        self.hours.pop(t, None)
        if np.isfinite(objective) and not parts.unserved[:, t].any():
            used = {problem.pools[p].option.id: p for p in np.flatnonzero(parts.hosts[:, t]).tolist()}
            hosts = {name: int(parts.hosts[p, t]) for name, p in used.items()}
            flow = {name: parts.flow[p, :, t].copy() for name, p in used.items()}
            self.hours[t] = KnownHour(gap, hosts, flow, parts.calls[:, :, t].copy(), objective, bound)


def alike(one: ProgramInput, other: ProgramInput) -> bool:
    """Whether the two differ in nothing but their pools; of arrays, whether they are the same ones."""

    def equal(a: object, b: object) -> bool:
        return a is b or (isinstance(a, (bool, int, float, str, tuple, dict, SpotTerms)) and bool(a == b))

    rest = [each.name for each in fields(ProgramInput) if each.name not in ("pools", "relays")]
    relays = len(one.relays) == len(other.relays) and all(a is b for a, b in zip(one.relays, other.relays, strict=True))
    return relays and all(equal(getattr(one, name), getattr(other, name)) for name in rest)


def no_better(before: Mapping[str, PoolTerms], problem: ProgramInput) -> bool:
    """Whether every pool of `problem` stood in the program before, and carries no more now at any size."""
    return all(terms.option.id in before and carries_no_more(terms, before[terms.option.id]) for terms in problem.pools)


def same(one: PoolTerms, other: PoolTerms) -> bool:
    """Whether two terms say the same."""
    return carries_no_more(one, other) and carries_no_more(other, one)


def carries_no_more(now: PoolTerms, before: PoolTerms) -> bool:
    """Whether hosts at the terms `now` can do nothing that as many could not do `before`: load by load, promise by promise.

    Load d is carried by n hosts where d load <= slope n - intercept. With load' >= r load it is enough that slope' <= r slope and
    intercept' >= r intercept.
    """
    if now is before:
        return True
    held = (now.option, now.lead_s, now.linger_s, [level.spill for level in now.levels])
    if held != (before.option, before.lead_s, before.linger_s, [level.spill for level in before.levels]):
        return False
    finite = [np.isfinite(level.load) for level in before.levels]
    for level, old, known in zip(now.levels, before.levels, finite, strict=True):
        if (np.isfinite(level.load) & ~known).any() or (level.miss < old.miss).any():
            return False
    pairs = zip(now.levels, before.levels, finite, strict=True)
    ratios = [level.load[known] / old.load[known] for level, old, known in pairs if known.any()]
    least = min((float(np.min(each)) for each in ratios), default=1.0)
    return now.slope <= least * before.slope and now.intercept >= least * before.intercept
