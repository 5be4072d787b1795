"""A saved plan under what it was not planned for: more users, longer steps, a relay that is out, spot hosts reclaimed, a host that fails.

Each case is one hour of the plan on the simulator, on seeds that nothing else uses; what happens, happens when the hour begins.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import numpy.typing as npt

from optimize.market.engine_settings import router_of
from optimize.market.pools import slo_rows
from optimize.records import SloRow
from optimize.result import Plan
from optimize.search.simulated_hour import HOUR_S, WARMUP_S, warmup_keep, without_backlog
from optimize.simulate.hardening import hardening
from optimize.simulate.named_fleet import slice_index
from optimize.simulate.saved_plan import as_planned, fleet_from_plan, read_plan
from optimize.simulate.stress_cases import BEGIN_PS, END_PS, Case, Json, cases
from optimize.simulate.stress_records import Attained, Stress, StressRow
from optimize.tables.plan_json import plan_json
from sim.engine.deployment import PS
from sim.engine.pool import Status
from sim.errors import InputError
from sim.fleet.life.simulate_life import simulate_lifecycle
from sim.fleet.simulate import simulate
from sim.latency import class_metrics, verdict
from sim.named_files import sha256_of
from sim.request_log import RequestLog
from sim.requests import Demand
from sim.scenario.scenario import Scenario
from sim.traffic import demand as demand_of
from sim.traffic import hour as hour_traffic

SEEDS = 3
FIRST_SEED = 7000  # above the scenario's seed: far from those of the search and of the proof, unless that is itself in the thousands
MINUTE_S, STEP_S = 60.0, 10.0


def stress(
    plan: Plan | Json, scenario: Scenario, hour: int | None = None, seeds: Sequence[int] = (), tell: Callable[[str], None] = lambda _: None
) -> Stress:
    """What users would feel of `plan` (or a plan.json's object) in every case; `hour` instead of the one with most demand.

    Without `seeds`, three that follow from the scenario's. Raises KeyError, IndexError, TypeError or ValueError where a plan.json does
    not fit the scenario.
    """
    said = plan if isinstance(plan, dict) else _said(plan)
    scenario = as_planned(said, scenario)
    used = tuple(seeds) or tuple(scenario.seed + FIRST_SEED + k for k in range(SEEDS))
    demand, rows, answers = demand_of(scenario), slo_rows(scenario), []
    found, notes = cases(said, scenario, demand, hour)
    for k, case in enumerate(found):
        tell(f"stress: {case.name} at {demand.slices[case.hour]} ({k + 1} of {len(found)})")
        answers.append(_row(case, scenario, demand, rows, used))
    return Stress(scenario, tuple(answers), used, tuple(notes))


def stress_saved(
    scenario: Scenario, path: Path | None, hour: str | None, harden: bool, tell: Callable[[str], None], *others: object
) -> Stress:
    """`stress` of a saved plan, with what hardening costs if asked for. InputError for a plan that is not this scenario's, or when
    one of `others`, options that say which fleet to simulate, is given.
    """
    if path is None or any(other is not None for other in others):
        raise InputError("--stress: needs --plan, and no --fleet, --router or --overflow: it simulates the plan as it is")
    t = slice_index(demand_of(scenario), hour)
    fleet_from_plan(path, scenario, t, router_of(scenario))
    try:
        plan = read_plan(path)
        found = stress(plan, scenario, None if hour is None else t, tell=tell)
    except (KeyError, IndexError, TypeError, ValueError) as error:
        if isinstance(error, InputError):
            raise
        raise InputError(f"{path}: does not fit scenario {scenario.name}: {error!r}; make the plan again with `optimize`") from None
    if plan.get("scenario_digest") == scenario.digest:  # else it was tried under other traffic, which its report knows nothing of
        found = replace(found, plan_sha256=sha256_of(path, "a plan.json"))
    if not harden:
        return found

    return replace(found, hardening=hardening(scenario, 1, tell))


def _said(plan: Plan) -> Json:
    return plan_json(plan)


@dataclass(frozen=True)
class _Seed:
    """One seed of a case."""

    log: RequestLog
    restarts: int
    diverted: int


def _row(case: Case, scenario: Scenario, demand: Demand, rows: tuple[SloRow, ...], seeds: tuple[int, ...]) -> StressRow:
    runs = [_run(case, scenario, demand, seed) for seed in seeds]
    attained = tuple(_attained(row, scenario, [run.log for run in runs], case.sudden) for row in rows)
    times = [each.recovery_s for each in attained]
    inside = [run.log.status[_inside(run.log)] for run in runs]
    return StressRow(
        case=case.name,
        detail=case.detail,
        hour=demand.slices[case.hour],
        attained=attained,
        sudden=case.sudden,
        recovery_s=None if not case.sudden or None in times else max((time for time in times if time is not None), default=0.0),
        requests=sum(len(status) for status in inside),
        restarts=sum(run.restarts for run in runs),
        diverted=sum(run.diverted for run in runs),
        unanswered=sum(int(np.count_nonzero(status != Status.FINISHED)) for status in inside),
    )


def _run(case: Case, scenario: Scenario, demand: Demand, seed: int) -> _Seed:
    requests = hour_traffic(scenario, case.hour, seed=seed, duration_s=HOUR_S, warmup_s=WARMUP_S, rate_scale=case.rate)
    classes = len(scenario.request_classes)
    if case.hours_differ:
        later = np.where(requests.arrival_ps >= BEGIN_PS, classes, 0)
        requests = replace(requests, class_id=(requests.class_id + later).astype(np.int16))
    else:
        requests = without_backlog(requests, warmup_keep(demand, case.hour), seed)
    if case.life is None:
        return _Seed(simulate(case.fleet, requests, seed, event_per_arrival=False).log, 0, 0)
    life = simulate_lifecycle(case.fleet, case.life, requests, seed)
    log = replace(life.simulation.log, class_id=life.simulation.log.class_id % classes)
    return _Seed(log, int(life.restarts.sum()), sum(total.diverted for total in life.totals))


def _inside(log: RequestLog) -> npt.NDArray[np.bool_]:
    return (log.arrival_ps >= BEGIN_PS) & (log.arrival_ps < END_PS)


def _attained(row: SloRow, scenario: Scenario, logs: list[RequestLog], sudden: bool) -> Attained:
    samples = [class_metrics(log, row.class_index, BEGIN_PS, END_PS)[row.metric] for log in logs]
    answer = verdict(samples, row.quantile, row.limit_s)
    recovery = None
    if sudden:
        arrivals = [log.arrival_ps[_inside(log) & (log.class_id == row.class_index)] for log in logs]
        since_s = (np.concatenate(arrivals) - BEGIN_PS) / PS
        recovery = recovery_s(since_s, np.concatenate(samples) <= row.limit_s, row.quantile)
    return Attained(
        class_name=scenario.request_classes[row.class_index].name,
        metric=row.metric,
        quantile=row.quantile,
        limit_s=row.limit_s,
        attainment=answer.attainment,
        ci95=answer.attainment_ci95,
        simulated_s=answer.simulated_s,
        requests=answer.requests,
        met=answer.met or answer.requests == 0,
        recovery_s=recovery,
    )


def recovery_s(since_s: npt.NDArray[np.float64], within: npt.NDArray[np.bool_], quantile: float, span_s: float = HOUR_S) -> float | None:
    """Seconds from the event until users have the promise back: the least s, in steps of ten, such that of the requests that arrive
    in the minute from s on the share `quantile` is within the limit, and so it is of all that arrive from s to the end. 0: never felt;
    None: not in `span_s`. A minute without requests counts as kept.

    >>> s = np.arange(0.0, 3600.0, 1.0)
    >>> recovery_s(s, s > 125, 0.95), recovery_s(s, s >= 0, 0.95), recovery_s(s, s < 100, 0.95)
    (130.0, 0.0, None)
    """
    order = np.argsort(since_s, kind="stable")
    times, kept = since_s[order], np.concatenate([[0], np.cumsum(within[order])])
    starts = np.arange(0.0, span_s - MINUTE_S + 1e-9, STEP_S)
    at, minute = (np.searchsorted(times, edges, side="left") for edges in (starts, starts + MINUTE_S))
    end = np.full(len(at), len(times))
    good = [kept[to] - kept[at] >= quantile * (to - at) - 1e-9 for to in (minute, end)]
    back = np.flatnonzero(good[0] & good[1])
    return float(starts[back[0]]) if len(back) else None
