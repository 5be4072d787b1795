"""Errors of the step cost carried to the plan: by pool, into the binding hours, and to the pilot that would settle them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np

from optimize.explain.pilot_run import pilot_for
from optimize.result import Band, PoolError, Uncertainty
from optimize.search.fresh_seeds import HOLD_OUT_SEEDS
from optimize.search.loop import Market, Settled
from optimize.search.verify import hours_to_simulate, verify
from sim.calibration.points import LOW_IN_FLIGHT, LOW_RATE_RPS, METRICS
from sim.engine.deployment import PS, StepCost
from sim.exact import dot
from sim.plural import counted

BAND_HOURS = 2
BAND_SEEDS = HOLD_OUT_SEEDS[:3]
MONTH_S = 3600.0  # demand weights are hours of a month


def scaled(cost: StepCost, factor: float) -> StepCost:
    """`cost` with every step `factor` times as long; what a request costs before its queue stays."""
    return replace(
        cost,
        base_ps=np.rint(cost.base_ps * factor).astype(np.int64),
        context_ps=np.rint(cost.context_ps * factor).astype(np.int64),
        sequence_ps=round(cost.sequence_ps * factor),
        pair_ps=round(cost.pair_ps * factor),
        prefill_context_ps=round(cost.prefill_context_ps * factor),
    )


def error_at(error: Mapping[str, float], metric: str, load: str) -> tuple[float, float] | None:
    """Median and p90 error of `metric` at `load`; over all loads where that load has too few points; None where nothing is known.

    >>> error_at({"tpot_median": 0.1, "tpot_p90": 0.3}, "tpot", "loaded")
    (0.1, 0.3)
    """
    for name in (f"{metric}_{load}", metric):
        if f"{name}_median" in error:
            middle = error[f"{name}_median"]
            return middle, max(middle, error.get(f"{name}_p90", middle))
    return None


def requests_of(settled: Settled) -> tuple[np.ndarray, np.ndarray, float]:
    """Requests of a month by pool, by relay, and in all."""
    demand, solution = settled.problem.demand, settled.solution
    month_s = demand.weight_h * MONTH_S
    by_pool = dot(solution.pool_flow.sum(axis=1), month_s)
    by_relay = dot(solution.relay_flow.sum(axis=1), month_s)
    return by_pool, by_relay, max(float(dot(demand.mean_rps.sum(axis=0), month_s)), 1e-12)


def load_of(settled: Settled, p: int, cost: StepCost) -> str:
    """Where pool `p` works in its busiest hour: `low` means 8 requests in flight on a replica, or fewer, at 2 requests/s or fewer.

    Requests in flight by Little's law, with the step time of a batch of eight: where that is already too many, it is `loaded`.
    """
    terms, solution, demand = settled.problem.pools[p], settled.solution, settled.problem.demand
    replicas = np.maximum(solution.hosts[p] * terms.option.replicas_per_host, 1)
    rate = solution.pool_flow[p] / replicas
    t = int(np.argmax(rate.sum(axis=0)))
    batch = min(LOW_IN_FLIGHT, len(cost.context_ps) - 1)
    context = demand.input_tokens + demand.output_tokens / 2
    step_s = (cost.base_ps[batch] + batch * cost.sequence_ps + batch * cost.context_ps[batch] * context) / PS
    in_flight = float(dot(rate[:, t], demand.output_tokens * step_s))
    return "low" if in_flight <= LOW_IN_FLIGHT and rate[:, t].sum() <= LOW_RATE_RPS else "loaded"


def pool_errors(settled: Settled) -> tuple[PoolError, ...]:
    """The error of every simulated pool that the plan uses, the pool with most requests first."""
    by_pool, _, total = requests_of(settled)
    found = []
    for p, state in enumerate(settled.pools):
        deployment, cost = state.option.deployment, state.cost
        if deployment is None or cost is None or by_pool[p] <= 0:
            continue
        load = load_of(settled, p, cost)
        errors = {metric: known for metric in METRICS if (known := error_at(cost.error, metric, load)) is not None}
        found.append(PoolError(state.option.id, deployment.id, cost.calibrated, load, float(by_pool[p] / total), errors))
    return tuple(sorted(found, key=lambda e: (-e.share, e.pool)))


def band(market: Market, settled: Settled, errors: Sequence[PoolError], name: str) -> Band:
    """The verdict in the binding hours when every step of a pool lasts longer by its median or p90 error, on three hold-out seeds."""
    which = ("median", "p90").index(name)
    raised = {error.pool: error.step[which] for error in errors}
    costs = [None if s.cost is None else scaled(s.cost, 1 + raised.get(s.option.id, 0.0)) for s in settled.pools]
    hours = hours_to_simulate(settled.problem, settled.solution, limit=BAND_HOURS)
    market.tell(f"simulating {counted(len(hours), 'hour')} with step costs raised by their {name} error")
    evidence = verify(market.scenario, settled.problem, settled.solution, costs, BAND_SEEDS, market.jobs, hours, store=market.store)
    missed = [
        f"{settled.problem.class_names[v.row.class_index]} {v.row.metric} p{100 * v.row.quantile:g} at {v.hour}"
        for e in evidence
        for v in e.verdicts
        if not v.kept
    ]
    slices = settled.problem.demand.slices
    return Band(name, (min(raised.values()), max(raised.values())), tuple(slices[t] for t in hours), tuple(missed))


def bands(market: Market, settled: Settled, errors: Sequence[PoolError]) -> tuple[Band, ...]:
    """The p90 band, and the median band where the p90 one misses: longer steps never keep a promise that shorter ones miss."""
    if not any(error.step[1] > 0 for error in errors):
        return ()
    wide = band(market, settled, errors, "p90")
    return (wide,) if wide.met else (band(market, settled, errors, "median"), wide)


def uncertainty(settled: Settled, met: bool, market: Market) -> Uncertainty:
    """All that can be said of the plan `settled` but the price of its margin; the error bands only of one that is `met` without them."""
    _, by_relay, total = requests_of(settled)
    errors = pool_errors(settled)
    return Uncertainty(
        pools=errors,
        uncalibrated_share=float(sum(e.share for e in errors if not e.calibrated)),
        relayed_share=float(by_relay.sum() / total),
        bands=bands(market, settled, errors) if met and market.stated is None else (),  # a chance says more
        pilot=pilot_for(market.scenario, settled, errors),
        safety=market.scenario.policy.safety,
        safety_usd=None,
    )
