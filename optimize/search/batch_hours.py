"""Batch work moved to other hours of its day: into idle own hosts, into a level load, or into hours of cheap tokens, where that pays.

A request of kind batch may wait: no longer than its promise leaves, an hour kept for serving it. Which hours are tried is a choice of
three, each placed oldest first; the program and its measurements then say what each costs, so a plan with moved work is never
dearer than one without before both are proved. Classes of conversations, logs and traffic without a day are not moved.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from optimize.records import Floats
from optimize.search.loop import Market, Restriction, Settled, Tell, settle
from sim.exact import dot
from sim.requests import Demand
from sim.scenario.scenario import Moved, RequestClass, Scenario, SyntheticTraffic
from sim.traffic import demand as demand_of

DAY_H = 24
LONGEST_WAIT_H = 23
HOUR_S = 3600.0
ROOM_USED = 0.9  # of idle capacity: that of other mixes is not the sum of its parts
PAYS = 1e-3  # of the month's cost
STEPS, LAPS = 40, 60  # of the search for a level load, and of days until a day repeats
SAME = 1e-9

Placed = tuple[list[float], list[float], int]


def waits_h(request_class: RequestClass) -> int:
    """Whole hours that a request may wait before it is served: its tightest promise less an hour, at most 23; 0 where users wait."""
    if request_class.kind != "batch" or request_class.conversation is not None:
        return 0
    limit_s = min((row.limit_s for row in request_class.slo), default=math.inf)
    return LONGEST_WAIT_H if limit_s == math.inf else max(0, min(LONGEST_WAIT_H, math.floor(limit_s / HOUR_S) - 1))


def placed(room: Sequence[float], came: Sequence[float], wait_h: int) -> Placed:
    """(served in `room` by hour, not served in time by the hour in which it came, longest wait in hours) of a day that repeats.

    Oldest first, which serves as much as any order can: who may wait longer gives way (Jackson 1955).

    >>> placed([0, 0, 5, 0], [3, 0, 0, 1], 2)
    ([0.0, 0.0, 3.0, 0.0], [0.0, 0.0, 0.0, 1.0], 2)
    """
    hours = len(came)
    waiting = [0.0] * (wait_h + 1)  # by age in hours
    served, late, longest, before = [0.0] * hours, [0.0] * hours, 0, [-1.0]
    for _ in range(LAPS):
        start = list(waiting)
        served, late, longest = [0.0] * hours, [0.0] * hours, 0
        for hour in range(hours):
            waiting[0] += came[hour]
            left = float(room[hour])
            for age in range(wait_h, -1, -1):
                taken = min(left, waiting[age])
                if taken > 0.0:
                    served[hour] += taken
                    longest = max(longest, age)
                waiting[age] -= taken
                left -= taken
            late[(hour - wait_h) % hours] += waiting[wait_h]
            waiting = [0.0, *waiting[:-1]]
        if max(abs(a - b) for a, b in zip(start, before, strict=False)) <= SAME:
            break
        before = start
    return served, late, longest


def level_room(base: Sequence[float], came: Sequence[float], wait_h: int) -> list[float]:
    """The least room under one level above `base` in which all that came is served in time."""
    low, high = 0.0, max(base) + math.fsum(came) + 1.0
    for _ in range(STEPS):
        middle = (low + high) / 2
        late = placed([max(0.0, middle - each) for each in base], came, wait_h)[1]
        low, high = (middle, high) if math.fsum(late) > SAME * math.fsum(came) else (low, middle)
    return [max(0.0, high - each) for each in base]


def moved_by(room: Floats, came: Floats, wait_h: int, index: int) -> Moved | None:
    """Work of class `index`, `came` [48] requests/s, placed in `room` [48], and in its own hour what does not fit; None for none."""
    parts: list[float] = []
    longest = 0
    for day in (slice(0, DAY_H), slice(DAY_H, 2 * DAY_H)):
        total = math.fsum(came[day].tolist())
        if total <= 0:
            parts += [1.0 / DAY_H] * DAY_H
            continue
        served, late, waited = placed(room[day].tolist(), came[day].tolist(), wait_h)
        longest = max(longest, waited)
        kept = [a + b for a, b in zip(served, late, strict=True)]
        parts += [round(each / math.fsum(kept), 9) for each in kept]
    return Moved(index, tuple(parts), longest) if longest else None


def batch_hours(scenario: Scenario, tell: Tell, planned: Callable[[Scenario], tuple[Market, Settled]]) -> Scenario:
    """The scenario with its batch work in the hours of the cheapest placing; as it is where none is cheaper by a thousandth."""
    traffic = scenario.traffic
    waits = [waits_h(each) for each in scenario.request_classes]
    if not isinstance(traffic, SyntheticTraffic) or traffic.loop is not None or not any(waits):
        return scenario
    tell("batch work may wait: trying other hours of the day")
    market, settled = planned(scenario)
    if settled.unserved:
        return scenario
    best, cheapest = scenario, settled.solution.cost_usd * (1 - PAYS)
    at_first = _rough_usd(market, market.demand) * (1 - PAYS)
    promising = [each for each in _candidates(market, scenario, waits) if _rough_usd(market, demand_of(each)) < at_first]
    for each in promising:
        _, closely = planned(each)
        if not closely.unserved and closely.solution.cost_usd < cheapest:
            best, cheapest = each, closely.solution.cost_usd
    return best


def _rough_usd(market: Market, demand: Demand) -> float:
    """A month's cost by rough measurements; infinite where something is not served."""
    settled = settle(market, Restriction("batch work in other hours", demand=demand, rough=True))
    return math.inf if settled.unserved else settled.solution.cost_usd


def _candidates(market: Market, scenario: Scenario, waits: Sequence[int]) -> list[Scenario]:
    """Scenarios with the work of all classes that may wait: in idle hosts of the plan without it, level, in cheap hours of relays."""
    resting = market.demand.mean_rps.copy()
    resting[[c for c, wait in enumerate(waits) if wait]] = 0.0
    without = settle(market, Restriction("without batch work", demand=replace(market.demand, mean_rps=resting), rough=True))
    idle, base = idle_replicas(without, len(market.demand.slices))
    rooms: list[Callable[[int], Floats | None]] = [
        lambda c: _times(idle, replica_rps(market, c), ROOM_USED),
        lambda c: _level(market, base, replica_rps(market, c), c, waits[c]),
        lambda c: _cheap(market, c),
    ]
    found = []
    for room_of in rooms:
        moved = []
        for c, wait in enumerate(waits):
            room = room_of(c) if wait else None
            entry = None if room is None else moved_by(room, market.demand.mean_rps[c], wait, c)
            moved += [] if entry is None else [entry]
        if moved:
            found.append(with_moved(scenario, tuple(moved)))
    return found


def with_moved(scenario: Scenario, moved: tuple[Moved, ...]) -> Scenario:
    """The scenario with work moved; promises of moved classes are tighter by the longest wait, so that both together keep them."""
    classes = list(scenario.request_classes)
    for each in moved:
        old = classes[each.class_index]
        rows = tuple(replace(row, limit_s=row.limit_s - each.wait_h * HOUR_S) for row in old.slo)
        classes[each.class_index] = replace(old, slo=rows)
    assert isinstance(scenario.traffic, SyntheticTraffic)
    return replace(scenario, request_classes=tuple(classes), traffic=replace(scenario.traffic, moved=moved))


def idle_replicas(settled: Settled, slices: int) -> tuple[Floats, Floats]:
    """[slices] replicas that are paid and idle, and replicas that are busy, over all pools. Hosts that do not follow the hour are paid in
    all of them."""
    idle, busy = np.zeros(slices), np.zeros(slices)
    for p, terms in enumerate(settled.problem.pools):
        hosts = settled.solution.billed[p] if not terms.option.offer.elastic else settled.solution.hosts[p]
        load = np.where(np.isfinite(terms.levels[0].load), terms.levels[0].load, 0.0)
        used = (dot(load, settled.solution.pool_flow[p]) + terms.intercept * (hosts > 0)) / terms.slope
        idle += np.maximum(0.0, hosts * terms.option.replicas_per_host - used)
        busy += used
    return idle, busy


def replica_rps(market: Market, c: int) -> float:
    """Requests of class `c` that one replica serves a second, of the pool with the least load; 0 where none may."""
    loads = [(float(terms.levels[0].load[c]), terms.slope) for terms in (state.terms() for state in market.states)]
    return max((slope / load for load, slope in loads if math.isfinite(load) and load > 0), default=0.0)


def _times(idle: Floats, rps: float, part: float) -> Floats | None:
    return idle * rps * part if rps > 0 and idle.any() else None


def _level(market: Market, base: Floats, rps: float, c: int, wait_h: int) -> Floats | None:
    """Room up to one level of own load over each day."""
    if rps <= 0:
        return None
    came, busy = market.demand.mean_rps[c], base * rps
    days = (slice(0, DAY_H), slice(DAY_H, 2 * DAY_H))
    return np.concatenate([level_room(busy[day].tolist(), came[day].tolist(), wait_h) for day in days])


def _cheap(market: Market, c: int) -> Floats | None:
    """Room without limit in the hours in which some relay of the class's models sells below its usual price; None without such a one."""
    models = market.scenario.request_classes[c].models
    factors = [terms.hour_factors[c] for terms in market.relays if terms.relay.model in models and terms.hour_factors is not None]
    least = np.min(factors, axis=0) if factors else np.ones(2 * DAY_H)
    cheap = least < least.max() - SAME
    return np.where(cheap, math.inf, 0.0) if cheap.any() else None


def batch_note(scenario: Scenario) -> tuple[str, ...]:
    """What is said of work that waits."""
    traffic = scenario.traffic
    if not isinstance(traffic, SyntheticTraffic) or not traffic.moved:
        return ()
    usual = demand_of(replace(scenario, traffic=replace(traffic, moved=()))).mean_rps
    found = demand_of(scenario)
    words = []
    for each in traffic.moved:
        c, weight = each.class_index, found.weight_h
        total = float(dot(usual[c], weight))
        part = float(dot(np.maximum(found.mean_rps[c] - usual[c], 0.0), weight)) / total if total > 0 else 0.0
        request_class = scenario.request_classes[c]
        kept = "" if not request_class.slo else "; its promises are shown less that wait, so that waiting and serving together keep them"
        words.append(
            f"Batch work of {request_class.name} waits for hours in which it costs less: {part:.0%} of it is served in another hour than "
            f"it comes, at most {each.wait_h} h later{kept}. Somebody must hold it until then: a queue is not part of this plan."
        )
    return tuple(words)
