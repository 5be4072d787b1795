"""Measured points against the simulator: every point replayed through the kernel under the catalogue's calibration."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from sim.calibration.crossvalidate import unsaturated
from sim.calibration.doubt import doubt_of
from sim.calibration.intervals import LEVELS, Placed, Share, shares
from sim.calibration.points import Point, load_points
from sim.calibration.replay_points import Run, run_of
from sim.calibration.schedule import run_schedule
from sim.catalog.facts import Catalog
from sim.engine.deployment import PS, StepCost
from sim.engine.memory import kv_blocks, room_tokens
from sim.engine.pool import Pool, Status
from sim.engine.step_cost import best_row, step_cost
from sim.fleet.clients import Turns, simulate_turns
from sim.fleet.fleet import Fleet
from sim.fleet.simulate import probe
from sim.request_log import RequestLog
from sim.requests import Requests


@dataclass(frozen=True)
class Row:
    """One measured value and what the simulator says. `error` is predicted / measured - 1; seconds, or output tokens/s."""

    id: str
    metric: str
    measured: float
    predicted: float
    error: float
    gpu: str
    model: str
    weights: str
    load: str
    source: str
    calibrated: bool
    queueing: bool  # a TTFT that says how long a queue has grown: listed, not summed up
    intervals: tuple[tuple[float, float], ...] = ()  # of LEVELS, around what is predicted; empty where no law of errors is known


@dataclass(frozen=True)
class Cell:
    """Median and 90th percentile of |error| over the points of one GPU and metric."""

    gpu: str
    metric: str
    points: int
    median_abs_error: float
    p90_abs_error: float


@dataclass(frozen=True)
class Validation:
    """All rows, a summary by GPU and metric (GPU `all` first), and each point that was not replayed with the reason."""

    rows: tuple[Row, ...]
    summary: tuple[Cell, ...]
    skipped: tuple[tuple[str, str], ...]

    def inside(self, key: Callable[[Row], str]) -> tuple[Share, ...]:
        """How many values fell inside their intervals, by what `key` says of a row; TTFTs of queues are not counted."""
        rows = [row for row in self.rows if row.intervals and not row.queueing]
        return shares([Placed(row.metric, row.measured, row.intervals) for row in rows], lambda k: key(rows[k]))

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        keys = ("id", "metric", "measured", "predicted", "error")
        names = [f"interval_{100 * level:g}" for level in LEVELS]
        return {
            "rows": [
                {key: getattr(row, key) for key in keys} | {name: list(ends) for name, ends in zip(names, row.intervals, strict=False)}
                for row in self.rows
            ],
            "summary": [asdict(cell) for cell in self.summary],
            "inside": [asdict(share) for share in self.inside(lambda row: row.gpu)],
            "skipped": [{"id": point, "why": why} for point, why in self.skipped],
        }


def turns_of(run: Run, cost: StepCost) -> Turns | None:
    """Who waits for whom in a closed loop: each request for the answer that frees its place, in the order in which answers end.

    The order is that of the schedule; when an answer really ends is for the simulator to say. None where nothing progresses.
    """
    gap_s = cost.request_ps / PS
    ahead = run.deployment.limits.async_scheduling
    blocks = kv_blocks(run.deployment)
    schedule = run_schedule(run.prompt, run.output, None, run.in_flight, cost, blocks, run.cached, gap_s=gap_s, ahead=ahead)
    if schedule is None:
        return None
    after = np.full(len(run.prompt), -1, np.int64)
    after[run.in_flight :] = np.argsort(schedule.last_s, kind="stable")[: len(after) - run.in_flight]
    return Turns(after, np.zeros(len(after), np.int64))


def replay(run: Run, cost: StepCost) -> RequestLog | None:
    """The request log of `run` on one replica; None where a request can never fit. In a closed loop answers bring the next requests."""
    count = len(run.prompt)
    if int((run.prompt + run.output).max()) > room_tokens(run.deployment):
        return None
    limits = replace(run.deployment.limits, prefix_caching=run.cached > 0)
    pool = Pool(run.deployment.id, cost, kv_blocks(run.deployment), limits, 1)
    arrival = np.zeros(count, np.int64) if run.arrival_s is None else np.rint(run.arrival_s * PS).astype(np.int64)
    requests = Requests(
        arrival,
        np.zeros(count, dtype=np.int16),
        run.prompt.astype(np.int32),
        run.output.astype(np.int32),
        np.full(count, -1, dtype=np.int64),
        np.minimum(run.cached, run.prompt - 1).astype(np.int32),
        np.minimum(run.cached, run.prompt - 1).astype(np.int32),
    )
    if run.arrival_s is not None or run.in_flight >= count:
        return probe(pool, requests).log
    turns = turns_of(run, cost)
    return None if turns is None else simulate_turns(Fleet((pool,), np.ones((1, 1))), requests, turns, seed=0).log


def metrics_of(point: Point, run: Run, log: RequestLog) -> dict[str, float]:
    """Throughput in output tokens/s, TPOT and TTFT in seconds, in the statistic that the source states.

    Throughput counts from first arrival to last end, or, after a warm-up, the requests that ended between the first counted arrival
    and the last one.
    """
    done = log.status == Status.FINISHED
    counted = done & (np.arange(len(log)) >= run.counted_from)
    start, stop = int(log.arrival_ps[0]), int(log.finish_ps[done].max())
    ended = done
    if run.counted_from:
        start, stop = int(log.arrival_ps[run.counted_from]), int(log.arrival_ps[-1])
        ended = done & (log.finish_ps > start) & (log.finish_ps <= stop)
    several = counted & (log.output_tokens > 1)
    pace = (log.finish_ps - log.first_ps)[several] / (log.output_tokens[several] - 1) / PS
    wait = (log.first_ps - log.arrival_ps)[counted] / PS
    found = {"throughput": float(log.output_tokens[ended].sum()) / max((stop - start) / PS, 1e-9)}
    for metric, values in (("tpot", pace), ("ttft", wait)):
        if len(values):
            found[metric] = float(np.median(values) if point.statistic.get(metric) == "p50" else values.mean())
    return found


def validate_point(point: Point, catalog: Catalog) -> list[Row] | str:
    """The rows of one point, or why it cannot be replayed."""
    run = run_of(point, catalog)
    if isinstance(run, str):
        return run
    cost = step_cost(run.deployment, catalog.calibration)
    log = replay(run, cost)
    if log is None or not (log.status == Status.FINISHED).all():
        return "some requests never end in the memory that remains"
    predicted, row = metrics_of(point, run, log), best_row(run.deployment, catalog.calibration)
    doubt = None if catalog.error_law is None or row is None else doubt_of(catalog.error_law, row)
    return [
        Row(
            point.id,
            metric,
            measured,
            predicted[metric],
            predicted[metric] / measured - 1.0,
            point.gpu,
            point.model,
            run.deployment.weights.id,
            point.load,
            point.source,
            cost.calibrated,
            metric == "ttft" and not unsaturated(point),
            tuple(doubt.interval(metric, predicted[metric], level) for level in LEVELS) if doubt is not None else (),
        )
        for metric, measured in point.measured.items()
        if metric in predicted
    ]


def summarise(rows: Sequence[Row]) -> tuple[Cell, ...]:
    """A cell per GPU and metric, `all` first."""
    cells = []
    for gpu in ("all", *sorted({row.gpu for row in rows})):
        for metric in sorted({row.metric for row in rows}):
            errors = [abs(r.error) for r in rows if r.metric == metric and gpu in ("all", r.gpu) and not r.queueing]
            if errors:
                middle, high = np.quantile(errors, (0.5, 0.9))
                cells.append(Cell(gpu, metric, len(errors), round(float(middle), 4), round(float(high), 4)))
    return tuple(cells)


def validate(path: Path, catalog: Catalog) -> Validation:
    """Every point of the CSV at `path` replayed; nothing dropped silently. Raises InputError for a file that is none of ours."""
    rows: list[Row] = []
    skipped: list[tuple[str, str]] = []
    for point in load_points(path):
        found = validate_point(point, catalog)
        if isinstance(found, str):
            skipped.append((point.id, found))
        else:
            rows += found
    return Validation(tuple(rows), summarise(rows), tuple(skipped))
