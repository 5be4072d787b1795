"""The user's benchmark files -> a calibration row, what it rests on, and what would make it better."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sim.calibration.advise import Proposal, State, missing, proposals, states
from sim.calibration.crossvalidate import absolute_errors, unsaturated
from sim.calibration.own_fit import FEWEST_FOR_ERRORS, OwnFit, own_fit
from sim.calibration.own_runs import OwnRuns, Setup, own_runs
from sim.calibration.points import METRICS
from sim.calibration.rows_file import write_rows
from sim.catalog.facts import CalibrationRow, Catalog, Source
from sim.engine.release import lineage
from sim.engine.step_cost import best_row, coefficients_of
from sim.plural import counted

PLANNED = "vllm-v1"  # from this release on plans simulate the engine's scheduler
QUANTILES = (("median", 0.5), ("p90", 0.9))
HEADER = (
    "The step cost of one deployment, fitted by `servemix calibrate` to the runs named below. A scenario uses it with `calibration: FILE`",
    "in place of the catalogue's row of this GPU, engine and weight format. Coefficients: sim/engine/physics.py; errors: each run",
    "predicted by a fit without it, or those of the catalogue where there are fewer than four runs.",
)


@dataclass(frozen=True)
class RunError:
    """One measured value: what the catalogue says of it, and what the fit says."""

    run: str
    metric: str
    measured: float
    fitted: float
    error: float


@dataclass(frozen=True)
class Calibrated:
    """What `calibrate` found. `queueing` TTFTs are in `errors`, and in no summary."""

    row: CalibrationRow
    states: tuple[State, ...]
    errors: tuple[RunError, ...]
    skipped: tuple[tuple[str, str], ...]
    missing: tuple[str, ...]
    next_runs: tuple[Proposal, ...]

    def as_json(self) -> dict[str, Any]:
        """The object that `--json` prints."""
        return {
            "row": asdict(self.row),
            "steps": [{**asdict(state), "known": state.known} for state in self.states],
            "runs": [asdict(error) for error in self.errors],
            "skipped": [{"run": run, "why": why} for run, why in self.skipped],
            "missing": list(self.missing),
            "next_runs": [{**asdict(run), "command": run.command()} for run in self.next_runs],
        }


def _row_error(runs: OwnRuns, fit: OwnFit, fallback: CalibrationRow | None) -> dict[str, float]:
    """Median and p90 of leaving one run out, for metrics that four runs or more state; else the errors of the catalogue's row.

    Never less than what the fit misses on the very runs that it has seen.
    """
    error = dict(fallback.error) if fallback is not None else {}
    unseen, seen = absolute_errors(runs.points, fit.unseen), absolute_errors(runs.points, fit.predicted)
    for k, metric in enumerate(METRICS):
        values, misses = (table[:, k][np.isfinite(table[:, k])] for table in (unseen, seen))
        if len(values) >= FEWEST_FOR_ERRORS:
            error = {name: value for name, value in error.items() if not name.startswith(metric)}
            error |= {f"{metric}_{name}": float(np.quantile(values, q)) for name, q in QUANTILES}
        for name, q in QUANTILES if len(misses) else ():
            for key in [key for key in (*error, f"{metric}_{name}") if key.startswith(metric) and key.endswith(name)]:
                error[key] = max(error.get(key, 0.0), float(np.quantile(misses, q)))
    return {name: round(value, 4) for name, value in error.items()}


def calibrate(files: Sequence[Path], setup: Setup, catalog: Catalog, date: str | None = None, in_flight: int | None = None) -> Calibrated:
    """The row of `setup` fitted to the runs in `files`. Raises InputError with the problems of all files.

    `date` (ISO) is written into the row, that of the newest file unless given; `in_flight` serves files that do not state their load.
    """
    runs = own_runs(files, setup, catalog, in_flight)
    deployment = runs.runs[0].deployment
    before = best_row(deployment, catalog.calibration)
    fit = own_fit(runs.points, runs.runs, coefficients_of(before))
    found = states(fit)
    names = sorted({path.name for path in files})
    if date is None:
        newest = max(path.stat().st_mtime for path in files)
        date = datetime.datetime.fromtimestamp(newest, datetime.UTC).date().isoformat()
    title = f"own runs of {setup.model} with {setup.weights} on {setup.tensor_parallel} x {setup.gpu}"
    source = Source(title, date, f"{counted(len(runs.points), 'run')} of {', '.join(names[:8])}{' and others' if len(names) > 8 else ''}")
    coefficients = {name: float(f"{value:.5g}") for name, value in fit.coefficients.items()}
    row = CalibrationRow(
        setup.gpu, deployment.engine, deployment.weights.id, coefficients, len(runs.points), _row_error(runs, fit, before), source
    )
    words = [*runs.doubts, *missing(runs.points, runs.runs, found), _siblings(setup, catalog)]
    if PLANNED not in lineage(deployment.engine):
        words.append(f"plans run vLLM from 0.8 on: a row of {deployment.engine} serves `validate`, and no scenario yet")
    return Calibrated(row, tuple(found), _errors(runs, fit), runs.skipped, tuple(words), tuple(proposals(fit)))


def _siblings(setup: Setup, catalog: Catalog) -> str:
    """What the row does not change: cards with the same cores keep the catalogue's rows."""
    peak = catalog.gpus[setup.gpu].flops.get("bf16")
    kin = [name for name, gpu in sorted(catalog.gpus.items()) if name != setup.gpu and gpu.flops.get("bf16") == peak]
    others = f" ({', '.join(kin)})" if kin else ""
    return f"nothing of this is carried over to other cards{others} or weight formats: those keep the catalogue's rows"


def _errors(runs: OwnRuns, fit: OwnFit) -> tuple[RunError, ...]:
    rows = []
    for point, predicted in zip(runs.points, fit.predicted, strict=True):
        for metric, value in point.measured.items():
            if metric in METRICS and (metric != "ttft" or unsaturated(point)):
                fitted = float(predicted[METRICS.index(metric)])
                rows.append(RunError(point.id, metric, value, fitted, fitted / value - 1.0))
    return tuple(rows)


def write_calibration(found: Calibrated, path: Path) -> None:
    """The row as a file that a scenario can name. Raises InputError where it cannot be written."""
    write_rows([found.row], path, HEADER)
