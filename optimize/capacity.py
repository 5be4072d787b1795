"""What a pool sustains inside its promises: measured on the simulator at the mix that the program sends, cached by content."""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace

import numpy as np

from optimize.engine_limits import router_of
from optimize.records import PoolOption, SloRow
from optimize.store import CapacityStore
from sim.engine.deployment import PS, StepCost
from sim.engine.memory import kv_blocks
from sim.fleet_records import Pool
from sim.model_tokens import counted_by_class
from sim.scenario.records import Scenario

SEARCH_SEEDS = (101, 102, 103)
WARMUP_S = 600.0  # caches start empty: by then 93 % of users with the default think time have come back
WINDOW_S = 1800.0
LARGEST_POOL = 8  # capacity per replica grows with the pool: larger pools are planned at the figure of this size, on the safe side
RESOLUTION = 0.005
SEMANTICS = 2  # raise when engine semantics, traffic or this search change what a measurement returns


@dataclass(frozen=True)
class Probe:
    """One question: which total rate does `replicas` of `option` sustain at `mix` (class shares, summing to 1)?"""

    option: PoolOption
    cost: StepCost
    mix: tuple[float, ...]
    replicas: int
    slos: tuple[SloRow, ...]
    first_guess_rps: float
    safety: float


@dataclass(frozen=True)
class OperatingPoint:
    """`rate_rps` is (1 - safety) of the largest rate at which every promise holds; `miss` [slo rows] at that rate; zero: cannot serve."""

    rate_rps: float
    miss: tuple[float, ...]
    attainment_half_width: float
    requests_simulated: int


def pool_of(option: PoolOption, cost: StepCost, replicas: int, network_s: float) -> Pool:
    """The simulator's pool for a deployment option."""
    if option.deployment is None:
        raise ValueError("a pool with measured capacity cannot be simulated")
    return Pool(
        name=option.id,
        cost=cost,
        kv_blocks=kv_blocks(option.deployment),
        limits=option.deployment.limits,
        replicas=replicas,
        network_ps=round(network_s * PS),
    )


def probe_key(scenario: Scenario, probe: Probe) -> str:
    """Hash of everything that the answer depends on."""
    content: dict[str, object] = {
        "semantics": SEMANTICS,
        "base": hashlib.sha256(probe.cost.base_ps.tobytes()).hexdigest(),
        "context": hashlib.sha256(probe.cost.context_ps.tobytes()).hexdigest(),
        "steps": [probe.cost.sequence_ps, probe.cost.pair_ps, probe.cost.prefill_context_ps, probe.cost.request_ps],
        "blocks": kv_blocks(probe.option.deployment) if probe.option.deployment else 0,
        "limits": asdict(probe.option.deployment.limits) if probe.option.deployment else {},
        "classes": [[share, asdict(scenario.request_classes[c])] for c, share in enumerate(probe.mix) if share > 0],
        "traffic": traffic_content(scenario),
        "slos": [asdict(row) for row in probe.slos if probe.mix[row.class_index] > 0],
        "replicas": probe.replicas,
        "search": [probe.first_guess_rps, probe.safety, SEARCH_SEEDS, WARMUP_S, WINDOW_S, RESOLUTION],
        "network": scenario.policy.network_s,
        "router": router_of(scenario),
    }
    if probe.option.token_factors is not None:
        content["factors"] = probe.option.token_factors.tolist()
    return hashlib.sha256(json.dumps(content, sort_keys=True, default=str).encode()).hexdigest()


def traffic_content(scenario: Scenario) -> dict[str, object]:
    """The traffic settings that shape a probe: for a log, its bytes; else everything but the volume."""
    traffic = asdict(scenario.traffic)
    if "log" in traffic:
        traffic["log"] = hashlib.sha256(scenario.traffic.log.read_bytes()).hexdigest()  # type: ignore[union-attr]
    traffic.pop("daily_active_users", None)
    traffic.pop("rate_rps", None)
    return traffic


def attainment_at(scenario: Scenario, probe: Probe, rate_rps: float) -> tuple[np.ndarray, np.ndarray, int]:
    """Attainment [slo rows] pooled over the search seeds, its standard error over seeds, requests simulated; NaN for an absent class."""
    from sim.fleet import probe as run_pool
    from sim.latency import class_metrics
    from sim.traffic import at_rates

    pool, router = pool_of(probe.option, probe.cost, probe.replicas, scenario.policy.network_s), router_of(scenario)
    rates = [share * rate_rps for share in probe.mix]
    met = np.zeros((len(SEARCH_SEEDS), len(probe.slos)))
    seen = np.zeros_like(met)
    simulated = 0
    for s, seed in enumerate(SEARCH_SEEDS):
        requests = counted_by_class(at_rates(scenario, rates, seed=seed, duration_s=WARMUP_S + WINDOW_S), probe.option.token_factors)
        result = run_pool(pool, requests, router)
        simulated += len(requests)
        for c in probe.option.classes:
            if probe.mix[c] <= 0:
                continue
            metrics = class_metrics(result.log, c, from_ps=round(WARMUP_S * PS), to_ps=round((WARMUP_S + WINDOW_S) * PS))
            for i, row in enumerate(probe.slos):
                if row.class_index == c:
                    samples = metrics[row.metric]
                    met[s, i] = np.count_nonzero(samples <= row.limit_s)
                    seen[s, i] = len(samples)
    with np.errstate(invalid="ignore", divide="ignore"):
        pooled = met.sum(axis=0) / seen.sum(axis=0)
        spread = np.std(met / seen, axis=0, ddof=1) / math.sqrt(len(SEARCH_SEEDS))
    return pooled, spread, simulated


def measure(scenario: Scenario, probe: Probe) -> OperatingPoint:
    """The operating point of one pool by bisection on the total rate, with the same random numbers at every rate."""
    quantiles = np.array([row.quantile for row in probe.slos])
    simulated = 0

    def holds(rate: float) -> bool:
        nonlocal simulated
        attained, _, requests = attainment_at(scenario, probe, rate)
        simulated += requests
        return bool(np.all(np.isnan(attained) | (attained >= quantiles)))

    low, high = 0.0, probe.first_guess_rps
    while holds(high) and high < 64 * probe.first_guess_rps:
        low, high = high, high * 1.3
    floor = probe.first_guess_rps * 0.01
    while high - low > RESOLUTION * high and high > floor:
        middle = 0.5 * (low + high) if low > 0 else 0.6 * high
        low, high = (middle, high) if holds(middle) else (low, middle)
    if low <= 0:
        return OperatingPoint(0.0, tuple(0.0 for _ in probe.slos), 0.0, simulated)
    rate = low * (1 - probe.safety)
    attained, spread, requests = attainment_at(scenario, probe, rate)
    miss = np.nan_to_num(1 - attained, nan=0.0)
    half_width = 4.303 * float(np.nanmax(spread))  # Student t, two degrees of freedom, 95 %
    return OperatingPoint(rate, tuple(float(m) for m in miss), half_width, simulated + requests)


def measure_all(scenario: Scenario, probes: Sequence[Probe], store: CapacityStore, jobs: int) -> list[OperatingPoint]:
    """Operating points of all probes, from the store where it has them, else measured in parallel and stored."""
    keys = [probe_key(scenario, p) for p in probes]
    known = {key: value for key in keys if (value := store.get(key)) is not None}
    todo = [(key, p) for key, p in zip(keys, probes, strict=True) if key not in known]
    todo = list(dict(todo).items())
    if todo:
        from joblib import Parallel, delayed

        lean = replace(scenario, warnings=())
        points = Parallel(n_jobs=jobs if len(todo) > 1 else 1)(delayed(measure)(lean, p) for _, p in todo)
        for (key, _), point in zip(todo, points, strict=True):
            known[key] = asdict(point)
            store.put(key, known[key])
    return [OperatingPoint(**{**known[key], "miss": tuple(known[key]["miss"])}) for key in keys]
