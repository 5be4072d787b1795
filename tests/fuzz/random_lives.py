"""Random lives of random fleets: failures, notices, drains and boots at ties with arrivals and steps, some with a relay to flee to."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from sim.catalog.facts import Relay, Source
from sim.catalog.relay_records import Outages, RetryPolicy
from sim.engine.pool import Pool
from sim.fleet.fleet import FailOver, Fleet, Overflow
from sim.fleet.life.life_terms import KINDS, Change, Lifecycle, PoolRules
from sim.relay.endpoint import RelayEndpoint
from sim.requests import Requests
from tests.fuzz.random_cases import random_case
from tests.fuzz.random_conversations import caching_case

SOURCE = Source("made up for this test", "2026-11-30")
RELAY = Relay(
    id="r", vendor="v", model="m", usd_per_mtok_input=1.0, usd_per_mtok_output=2.0, usd_per_mtok_cached=None,
    ttft_p50_s=0.5, ttft_sigma=0.4, tokens_per_s=80.0, tokens_sigma=0.2, source=SOURCE, latency_source=SOURCE,
)  # fmt: skip


@dataclass(frozen=True)
class LifeCase:
    """Everything that `simulate_lifecycle` takes."""

    fleet: Fleet
    life: Lifecycle
    requests: Requests
    end_ps: int | None


def life_case(number: int) -> LifeCase:
    """The case of this number, always the same one."""
    case = caching_case(number) if number % 2 else random_case(number)
    rng = np.random.default_rng([7, number])
    pools = [target for target in case.fleet.targets if isinstance(target, Pool)]
    step_ps = max(int(pool.cost.base_ps[1]) for pool in pools) + 1
    span_ps = int(case.requests.arrival_ps[-1]) + 200 * step_ps
    relay = bool(rng.random() < 0.5)
    fleet = _with_relay(rng, case.fleet) if relay else case.fleet
    rules = tuple(_rules(rng, index, pool, step_ps, relay, len(pools)) for index, pool in enumerate(pools))
    times = np.concatenate([case.requests.arrival_ps, rng.integers(0, span_ps, 20), rng.integers(0, span_ps // step_ps, 20) * step_ps])
    changes = tuple(_change(rng, pools, int(rng.choice(times))) for _ in range(int(rng.integers(1, 25))))
    return LifeCase(fleet, Lifecycle(rules, changes), case.requests, case.end_ps)


def _with_relay(rng: np.random.Generator, fleet: Fleet) -> Fleet:
    """The fleet with a relay that often fails, that may send back what it fails, and to which a full pool may overflow."""
    outages = Outages(minutes=1000.0, at_s=0.0) if rng.random() < 0.3 else None
    relay = replace(RELAY, error_share=float(rng.choice([0.0, 0.5])), outages=outages, retry=RetryPolicy(attempts=2, base_s=1e-9))
    at = len(fleet.targets)
    shares = np.concatenate([fleet.shares * 0.9, np.full((len(fleet.shares), 1), 0.1)], axis=1)
    overflow = (Overflow(0, at, int(rng.integers(0, 4))),) if rng.random() < 0.3 else ()
    failover = tuple(FailOver(at, c, (0,)) for c in range(3)) if rng.random() < 0.5 else ()
    return replace(fleet, targets=(*fleet.targets, RelayEndpoint("relay", relay)), shares=shares, overflow=overflow, failover=failover)


def _rules(rng: np.random.Generator, index: int, pool: Pool, step_ps: int, relay: bool, pools: int) -> PoolRules:
    boot_ps, repair_ps, notice_ps, detect_ps = (int(rng.choice([0, 1, 5, 60])) * step_ps for _ in range(4))
    return PoolRules(
        pool=index,
        start=int(rng.integers(0, pool.replicas + 1)) if rng.random() < 0.3 else None,
        boot_ps=boot_ps,
        repair_ps=repair_ps if rng.random() < 0.6 else None,
        notice_ps=notice_ps,
        detect_ps=detect_ps,
        fallback=_fallback(rng, index, pools + relay) if rng.random() < 0.7 else (),
    )


def _fallback(rng: np.random.Generator, index: int, targets: int) -> tuple[tuple[float, ...], ...]:
    """To other pools and the relay, in three classes; some requests of some classes stay."""
    shares = rng.random((3, targets)) * (rng.random((3, targets)) < 0.7)
    shares[:, index] = 0.0
    shares /= np.maximum(shares.sum(axis=1, keepdims=True), 1e-9) / rng.choice([0.5, 1.0], (3, 1))
    return tuple(tuple(row) for row in shares.tolist())


def _change(rng: np.random.Generator, pools: list[Pool], at_ps: int) -> Change:
    index = int(rng.integers(len(pools)))
    size, kind = pools[index].replicas, str(rng.choice(KINDS))
    replicas = int(rng.integers(0, size + 1))
    named = kind != "scale" and rng.random() < 0.5
    return Change(at_ps, index, kind, replicas, int(rng.integers(0, size - replicas + 1)) if named else None)
