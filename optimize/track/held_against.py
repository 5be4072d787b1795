"""Observed against planned: each quantity with the interval in which it is as planned, and each promise with the share that kept it."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from optimize.deploy.alerts import GATEWAY_METRIC, MORE_DEMAND, strictest
from optimize.deploy.deployable import Deployable, Promise
from optimize.money.relay_spend import spend_usd
from optimize.track.planned import Planned, PlannedPool
from optimize.track.questions import Answers

DEMAND, LENGTHS, HITS, STEPS, RELAY = "demand", "lengths", "hit rate", "step time", "relay"  # kinds that can be a cause
KV, PREEMPTIONS, SPEND = "KV use", "preemptions", "spend"  # kinds that only follow from others
FEW = 100  # requests below which nothing is said to have drifted
NOISE = 3.0  # standard errors of what was observed
LENGTH, HIT, KV_POINTS, PREEMPTED, FAILING, SPENT = 0.10, 0.10, 0.15, 10.0, 0.02, 0.15
STEP_ERROR = 0.25  # of the simulator's mean time per token, where the plan states none


@dataclass(frozen=True)
class Row:
    """`low` to `high` is as planned. `observed` None: not seen; `drifted`: outside, on enough requests."""

    kind: str
    name: str
    unit: str
    planned: float
    low: float
    high: float
    observed: float | None
    requests: float = math.inf

    @property
    def drifted(self) -> bool:
        return self.observed is not None and self.requests >= FEW and not self.low <= self.observed <= self.high

    @property
    def worse(self) -> bool:
        """Whether it has drifted to where it breaks promises or costs more: more of everything but cache hits."""
        return self.drifted and self.observed is not None and (self.observed < self.low if self.kind == HITS else self.observed > self.high)

    @property
    def effect(self) -> float:
        """How many times the planned work, time or failures."""
        if self.observed is None:
            return 1.0
        if self.kind == HITS:
            return (1.0 - self.observed) / max(1.0 - self.planned, 1e-9)
        if self.kind == RELAY:
            return 1.0 + self.observed - self.planned
        return self.observed / max(self.planned, 1e-12)


@dataclass(frozen=True)
class Kept:
    """A promise: the share of requests within the limit lies in `low`..`high` (histogram buckets). `kept` None: cannot be told."""

    where: str
    metric: str
    quantile: float
    limit_s: float
    low: float
    high: float
    requests: float

    @property
    def kept(self) -> bool | None:
        if self.requests < FEW:
            return None
        return True if self.low >= self.quantile else False if self.high < self.quantile else None


def rows_of(plan: Deployable, saved: Mapping[str, Any], planned: Planned, seen: Answers) -> tuple[Row, ...]:
    """Every quantity, in the order of demand, pools and relays."""
    errors = {each["pool"]: each.get("error", {}) for each in (saved.get("uncertainty") or {}).get("pools", [])}
    rows = [*_demand(planned, seen)]
    for pool in plan.pools:
        if pool.name in planned.pools:
            stated = errors.get(pool.id, {}).get("tpot", {}).get("p90")
            rows += _pool(pool.name, planned.pools[pool.name], seen, float(stated) if stated else STEP_ERROR)
    return (*rows, *_relays(plan, saved, planned, seen))


def _demand(planned: Planned, seen: Answers) -> Iterator[Row]:
    for name, expected in planned.requests.items():
        noise = NOISE * math.sqrt(expected)
        observed = seen["requests"].get((name,))
        most = MORE_DEMAND * expected + noise
        yield Row(DEMAND, name, "requests", expected, max(0.0, (2 - MORE_DEMAND) * expected - noise), most, observed, expected)


def _ratio(seen: Answers, above: str, below: str, name: str) -> tuple[float | None, float]:
    """(quotient of two sums, the lower one); None where either was not seen."""
    up, down = seen[above].get((name,)), seen[below].get((name,), 0.0)
    return (None, 0.0) if up is None or down <= 0 else (up / down, down)


def _pool(name: str, planned: PlannedPool, seen: Answers, step_error: float) -> Iterator[Row]:
    for side, expected, sd in (("prompt", planned.prompt_tokens, planned.prompt_sd), ("answer", planned.answer_tokens, planned.answer_sd)):
        observed, count = _ratio(seen, f"{side} sum", f"{side} count", name)
        room = LENGTH * expected + NOISE * sd * math.sqrt(1 / max(count, 1.0) + 1 / planned.requests)
        yield Row(LENGTHS, f"{side}s at {name}", "tokens", expected, expected - room, expected + room, observed, count)
    served = seen["prompt count"].get((name,), 0.0)
    observed, _ = _ratio(seen, "hits", "queries", name)
    yield Row(HITS, name, "share", planned.hit_share, planned.hit_share - HIT, planned.hit_share + HIT, observed, served)
    observed, count = _ratio(seen, "busy tpot sum", "busy tpot count", name)
    slow = planned.tpot_s * (1 + step_error)
    yield Row(STEPS, name, "s/token", planned.tpot_s, 0.0, slow, observed, count)
    use = seen["kv"].get((name,))
    yield Row(KV, name, "share", planned.kv_share, 0.0, min(1.0, planned.kv_share + KV_POINTS), use, served)
    lost = seen["preemptions"].get((name,))
    often = None if lost is None or served <= 0 else 1000.0 * lost / served
    yield Row(PREEMPTIONS, name, "per 1,000 requests", planned.preemptions, 0.0, planned.preemptions + PREEMPTED, often, served)


def _relays(plan: Deployable, saved: Mapping[str, Any], planned: Planned, seen: Answers) -> Iterator[Row]:
    entries = {each["relay"]: each for each in saved["relays"]}
    for relay in plan.relays:
        calls, failures, spent = (_called(seen[key], plan, relay.id) for key in ("calls", "failures", "spend"))
        share = None if not calls else (failures or 0.0) / calls
        expected = planned.failing.get(relay.id, 0.0)
        room = FAILING + NOISE * math.sqrt(max(expected, 1e-3) / max(calls or planned.sent[relay.id], 1.0))
        yield Row(RELAY, f"failing calls at {relay.id}", "share", expected, 0.0, expected + room, share, calls or 0.0)
        usd = spend_usd(entries[relay.id], planned.sent[relay.id], float((saved.get("finance") or {}).get("usd_per_unit", 1.0)))
        yield Row(SPEND, relay.id, "USD", usd, (1 - SPENT) * usd, (1 + SPENT) * usd, spent, planned.sent[relay.id])


def _called(found: Mapping[tuple[str, ...], float], plan: Deployable, relay: str) -> float | None:
    """Sum over the classes that call the relay; None where none was seen."""
    values = [found[(f"{name}--{relay}",)] for name in plan.promises if (f"{name}--{relay}",) in found]
    return math.fsum(values) if values else None


def promises_of(plan: Deployable, seen: Answers) -> tuple[Kept, ...]:
    """Promises by class where the gateway measures them, and by pool (the strictest of its classes) where engines do."""
    found = [
        _kept(f"class {name}", name, promise, seen[f"gateway {promise.metric}"])
        for name, promises in plan.promises.items()
        for promise in promises
        if promise.metric in GATEWAY_METRIC
    ]
    for pool in plan.pools:
        found += [_kept(f"pool {pool.name}", pool.name, each, seen[f"engine {each.metric}"]) for each in strictest(plan, pool)]
    return tuple(found)


def _kept(where: str, name: str, promise: Promise, buckets: Mapping[tuple[str, ...], float]) -> Kept:
    """The share of requests within the limit, from the buckets on both sides of it."""
    mine = sorted((_edge(edge), value) for (label, edge), value in buckets.items() if label == name)
    total = mine[-1][1] if mine and math.isinf(mine[-1][0]) else 0.0
    if total <= 0:
        return Kept(where, promise.metric, promise.quantile, promise.limit_s, 0.0, 1.0, 0.0)
    below = max((value for edge, value in mine if edge <= promise.limit_s * (1 + 1e-9)), default=0.0)
    above = min((value for edge, value in mine if edge >= promise.limit_s * (1 - 1e-9)), default=total)
    return Kept(where, promise.metric, promise.quantile, promise.limit_s, below / total, min(1.0, above / total), total)


def _edge(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return -math.inf
