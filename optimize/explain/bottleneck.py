"""Where each pool is narrow: the parts of a step at its operating point, memory, sequences, and how much room is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from optimize.explain.binding import relay_need
from optimize.money.quantities import pool_work
from optimize.records import Floats, PoolTerms, ProgramInput, ProgramSolution
from optimize.result import Bottleneck
from optimize.search.loop import Market, Settled
from optimize.search.simulated_hour import fleet_of
from sim.catalog.facts import CalibrationRow
from sim.engine import physics
from sim.engine.deployment import Deployment
from sim.engine.pool import Pool, Status, TargetStats
from sim.engine.step_cost import best_row, coefficients_of
from sim.fleet.fleet import Fleet
from sim.fleet.simulate import simulate
from sim.request_log import RequestLog
from sim.traffic import hour as hour_traffic

SEED = 8001
WARMUP_S, WINDOW_S = 300.0, 600.0
MAX_REQUESTS = 2e6  # of one simulation: an hour of million_dau sends a tenth of that
FULL_KV, FULL_SEQUENCES = 0.98, 0.95
KV_MEMORY, SEQUENCES = "KV memory", "sequences per replica"
WORDS = {
    "prefill compute": "arithmetic of prompts",
    "decode compute": "arithmetic of answers",
    "weight bandwidth": "reading weights from memory",
    "KV bandwidth": "reading keys and values from memory",
    "links": "all-reduces between GPUs",
    "element-wise": "element-wise passes over memory",
    "host": "host work per step and sequence",
    KV_MEMORY: "room for keys and values",
    SEQUENCES: "the engine's max_num_seqs",
}


@dataclass(frozen=True)
class Point:
    """The mean step of a pool: tokens, decodes and sequences in it; tokens of context that decodes read; pairs and context of prefill."""

    tokens: float
    decodes: float
    sequences: float
    context: float
    pairs: float
    prefill_context: float


def bottlenecks(market: Market, settled: Settled) -> tuple[Bottleneck, ...]:
    """One per pool that the plan runs, in its fullest hour; hours are simulated once each, ten minutes after a warm-up of five."""
    problem, solution = settled.problem, settled.solution
    fullest = {p: fullest_hour(problem, solution, p) for p in np.flatnonzero(solution.hosts.any(axis=1)).tolist()}
    fullest = {p: t for p, t in fullest.items() if settled.pools[p].cost is not None}
    found: dict[int, Bottleneck] = {}
    for t in dict.fromkeys(fullest.values()):
        seen = simulated(market, settled, t)
        for p in (p for p, hour in fullest.items() if hour == t and p in seen):
            found[p] = bottleneck(market.scenario.catalog.calibration, problem, solution, p, t, *seen[p])
    return tuple(found[p] for p in sorted(found))


def fullest_hour(problem: ProgramInput, solution: ProgramSolution, p: int) -> int:
    """The slice in which pool `p` is nearest to its capacity."""
    return int(np.argmax(load_shares(problem.pools[p], solution, p)))


def load_shares(terms: PoolTerms, solution: ProgramSolution, p: int) -> Floats:
    """[slices] load over capacity at the planned operating point; 0 where the pool stands still."""
    hosts = solution.hosts[p]
    room = np.maximum(terms.slope * hosts * terms.option.replicas_per_host - terms.intercept, 1e-9)
    share: Floats = np.where(hosts > 0, pool_work(terms, solution.pool_flow[p]) / room, 0.0)
    return share


def simulated(market: Market, settled: Settled, t: int) -> dict[int, tuple[TargetStats, RequestLog]]:
    """Pool -> totals of a short simulation of slice `t`, and the requests that it served."""

    scenario, problem = market.scenario, settled.problem
    hour = fleet_of(scenario, problem, settled.solution, [state.cost for state in settled.pools], t)
    fleet, rate_scale = few_replicas(hour.fleet, float(problem.demand.mean_rps[:, t].sum()) * (WARMUP_S + WINDOW_S))
    requests = hour_traffic(scenario, t, seed=SEED, duration_s=WINDOW_S, warmup_s=WARMUP_S, rate_scale=rate_scale)
    result = simulate(fleet, requests, seed=SEED, event_per_arrival=False)
    log = result.log
    answer = {}
    for k, p in enumerate(hour.pools):
        mine = (log.target == k) & (log.status == Status.FINISHED)
        if mine.any() and result.targets[k].steps:
            answer[p] = (result.targets[k], rows(log, mine))
    return answer


def few_replicas(fleet: Fleet, requests: float) -> tuple[Fleet, float]:
    """A fleet whose pools see about `MAX_REQUESTS` of `requests`, and the factor on the arrivals that goes with it; 1 where few come.

    Replicas and requests of a pool shrink alike, so that its replicas are as busy as before. Requests that are left out or go to relays
    are not sent: no pool sees them. Small pools queue a little more than large ones: the safe side.
    """
    if requests <= MAX_REQUESTS:
        return fleet, 1.0
    pools = [each for each in fleet.targets if isinstance(each, Pool)]
    shares = fleet.shares[:, : len(pools)]
    sent = float(shares.sum(axis=1).max(initial=0.0)) * requests
    keep = min(1.0, MAX_REQUESTS / sent) if sent > 0 else 1.0
    fewer = [replace(pool, replicas=max(1, int(pool.replicas * keep))) for pool in pools]
    shares = shares * np.array([small.replicas / pool.replicas for small, pool in zip(fewer, pools, strict=True)])
    scale = float(shares.sum(axis=1).max(initial=0.0))
    factors = None if fleet.token_factors is None else fleet.token_factors[:, : len(pools)]
    return replace(fleet, targets=tuple(fewer), shares=shares / max(scale, 1e-300), token_factors=factors), scale


def rows(log: RequestLog, chosen: np.typing.NDArray[np.bool_]) -> RequestLog:
    """The chosen rows of a log."""
    return RequestLog(**{name: getattr(log, name)[chosen] for name in log.__dataclass_fields__})


def point_of(stats: TargetStats, log: RequestLog) -> Point:
    """The mean step over the run. Its parts are those of this mean, not the mean of all parts: batches differ, and costs bend."""
    inputs, outputs = log.input_tokens.astype(np.float64), log.output_tokens.astype(np.float64)
    fresh = np.maximum(inputs - log.cached_tokens, 0.0)
    decodes = np.maximum(outputs - 1, 0.0)
    steps = float(stats.steps)
    return Point(
        tokens=stats.computed_tokens / steps,
        decodes=min(float(decodes.sum()), stats.computed_tokens) / steps,
        sequences=(float(decodes.sum()) + len(log)) / steps,
        context=float((decodes * (inputs + outputs / 2)).sum()) / steps,
        pairs=float((fresh * (log.cached_tokens + fresh / 2)).sum()) / steps,
        prefill_context=float(inputs.sum()) / steps,
    )


def room_words(room: float) -> str:
    """How far a pool is from the load that keeps the promises.

    >>> room_words(0.174), room_words(0.004), room_words(-1e-9)
    ('17% below what keeps the promises', 'at what keeps the promises', 'at what keeps the promises')
    """
    return f"{room:.0%} below what keeps the promises" if room >= 0.005 else "at what keeps the promises"


def parts_of(deployment: Deployment, calibration: tuple[CalibrationRow, ...], at: Point) -> dict[str, float]:
    """Share of each part in the time of the step `at`. Products and weight reads overlap: their joint time is split by the norm's terms."""
    shape, c = physics.shape_of(deployment), coefficients_of(best_row(deployment, calibration))
    endless = 1e30
    linear = float(physics.linear_seconds(shape, c, at.tokens))
    compute = float(physics.linear_seconds(replace(shape, bandwidth=endless), c, at.tokens)) ** c["overlap_p"]
    traffic = float(physics.linear_seconds(replace(shape, linear_flops=endless), c, at.tokens)) ** c["overlap_p"]
    compute_s = linear * compute / (compute + traffic)
    prefill = 1.0 - at.decodes / at.tokens if at.tokens > 0 else 0.0
    links = float(physics.allreduce_seconds(shape, c, at.tokens))
    fixed = c["step_s"] + c["layer_s"] * float(shape.layers)
    heads = float(physics.sequence_seconds(shape, c)) - c["sequence_s"]
    seconds = {
        "prefill compute": compute_s * prefill + float(physics.pair_seconds(shape, c)) * at.pairs,
        "decode compute": compute_s * (1 - prefill) + heads * at.sequences,
        "weight bandwidth": linear - compute_s,
        "KV bandwidth": float(physics.context_seconds(shape, c, max(at.decodes, 1e-9))) * at.context
        + float(physics.prefill_context_seconds(shape, c)) * at.prefill_context,
        "links": links,
        "element-wise": float(physics.base_seconds(shape, c, at.tokens)) - fixed - linear - links,
        "host": fixed + c["sequence_s"] * at.sequences,
    }
    total = sum(seconds.values())
    return {name: each / total for name, each in seconds.items()}


def narrowest(parts: dict[str, float], stats: TargetStats, max_num_seqs: int) -> str:
    """Memory if it runs full, sequences if the engine allows no more, else the largest part of a step."""
    if stats.kv_peak_share >= FULL_KV or stats.preemptions:
        return KV_MEMORY
    if stats.running_mean >= FULL_SEQUENCES * max_num_seqs:
        return SEQUENCES
    return max(parts, key=lambda name: (parts[name], name))


def bottleneck(
    calibration: tuple[CalibrationRow, ...],
    problem: ProgramInput,
    solution: ProgramSolution,
    p: int,
    t: int,
    stats: TargetStats,
    log: RequestLog,
) -> Bottleneck:
    """What limits pool `p` in slice `t`."""
    terms = problem.pools[p]
    deployment = terms.option.deployment
    assert deployment is not None
    parts = parts_of(deployment, calibration, point_of(stats, log))
    limits, load = deployment.limits, float(load_shares(terms, solution, p)[t])
    hits = float(log.cached_tokens.sum()) / max(float(log.input_tokens.sum()), 1.0)
    limit, hour = narrowest(parts, stats, limits.max_num_seqs), problem.demand.slices[t]
    part = f", {parts[limit]:.0%} of a step" if limit in parts else ""
    sentence = (
        f"{terms.option.id} at {hour}: {limit} ({WORDS[limit]}){part}; GPUs step {stats.busy_share:.0%} of the time, "
        f"KV {stats.kv_mean_share:.0%} full (peak {stats.kv_peak_share:.0%}), {stats.running_mean:.0f} of {limits.max_num_seqs} sequences; "
        f"{room_words(1 - load)}"
    )
    return Bottleneck(
        pool=terms.option.id,
        hour=hour,
        parts=parts,
        busy_share=stats.busy_share,
        kv_mean_share=stats.kv_mean_share,
        kv_peak_share=stats.kv_peak_share,
        sequences=stats.running_mean,
        sequences_limit=limits.max_num_seqs,
        load_share=load,
        hit_share=hits,
        limit=limit,
        sentence=sentence,
    )


def relay_room(problem: ProgramInput, solution: ProgramSolution) -> tuple[str, ...]:
    """For each relay in use and limit of it: how much of the limit the peak minute takes."""
    words: list[str] = []
    for a, terms in enumerate(problem.relays):
        for need, limit, unit in zip(relay_need(problem, solution, a), (terms.rpm, terms.tpm), ("RPM", "TPM"), strict=True):
            if limit and need > 0:
                room = f"{1 - need / limit:.0%} below" if need <= limit else f"{need / limit - 1:.0%} above"
                words.append(f"{terms.relay.id}: peak minute at {need:,.0f} {unit}, {room} its limit of {limit:,.0f}")
    return tuple(words)


def hit_share(found: Sequence[Bottleneck]) -> float | None:
    """Mean share of prompt tokens found in prefix caches, over pools; None without pools."""
    return float(np.mean([each.hit_share for each in found])) if found else None
