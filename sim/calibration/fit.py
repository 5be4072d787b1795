"""Fit the step cost to measured points and write the calibration rows of the catalogue.

    python -m sim.calibration.fit POINTS.csv [MORE.csv ...] --out sim/catalog/calibration.yaml --date 2026-11-30

Prints cross-validated errors by GPU and metric. Never needed to plan: the rows that it wrote are part of the catalogue.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sim.calibration.crossvalidate import Fit, absolute_errors, by_gpu, data_sheet, fit, held_out
from sim.calibration.fit_parameters import coefficients_for
from sim.calibration.points import LOADS, METRICS, Point, load_points
from sim.calibration.replay_points import Run, run_of
from sim.calibration.rows_file import catalogue_text, write_whole
from sim.catalog.facts import CalibrationRow, Catalog, Source
from sim.catalog.loader import load_catalog
from sim.engine.deployment import CURRENT_RELEASE, Deployment
from sim.engine.release import lineage

Floats = npt.NDArray[np.float64]
OTHERS = ("vllm-v1", "vllm-0.12", "vllm-v0", "vllm-0.5", "trt-llm-1", "trt-llm", "sglang")  # than what plans run: rows of measured cards
HEADER = (
    "Coefficients of the step cost per GPU, engine generation and weight format; meanings in sim/engine/physics.py.",
    "points: measured points of this GPU and format behind the row, of any engine.",
    "error: cross-validated by whole groups (source x GPU x model x format x tensor parallel), over points of the same GPU, format and",
    "engine where there are five, else of wider ones; rows with 0 points carry the error on GPUs that the fit has not seen.",
    "Written by `python -m sim.calibration.fit`; do not edit.",
)
NAME_WIDTH = 44
FEW = 5  # measured values below which a cell shows the errors of a wider one


def replayable(points: Sequence[Point], catalog: Catalog) -> tuple[list[Point], list[Run], list[tuple[str, str]]]:
    """Points that can be replayed, their runs, and (id, reason) of the others."""
    kept: list[Point] = []
    runs: list[Run] = []
    skipped: list[tuple[str, str]] = []
    for point in points:
        run = run_of(point, catalog)
        if isinstance(run, str):
            skipped.append((point.id, run))
        else:
            kept.append(point)
            runs.append(run)
    return kept, runs, skipped


def summary(points: Sequence[Point], errors: Floats, chosen: Sequence[bool], wider: dict[str, float] | None = None) -> dict[str, float]:
    """`metric_median` and `metric_p90` of the chosen points, and `metric_load_median` ... by load; `wider` where values are few."""
    found = dict(wider or {})
    loads = np.array([point.load for point in points])
    for load in ("", *LOADS):
        part = errors[np.asarray(chosen, dtype=bool) & ((loads == load) | (load == ""))]
        for k, metric in enumerate(METRICS):
            values = part[:, k][np.isfinite(part[:, k])]
            if len(values) >= FEW:
                name = f"{metric}_{load}" if load else metric
                found[f"{name}_median"] = round(float(np.quantile(values, 0.5)), 3)
                found[f"{name}_p90"] = round(float(np.quantile(values, 0.9)), 3)
    return found


def _usable(catalog: Catalog, gpu: str) -> list[str]:
    """Weight formats that the card can run."""
    return sorted(name for name, row in catalog.weight_formats.items() if catalog.gpus[gpu].flops.get(row.needs, 0.0) > 0)


def _family(engine: str) -> str:
    return lineage(engine)[-1]


def newest_version(points: Sequence[Point]) -> str:
    """The newest version that any of the points states, as major.minor; empty where none does.

    >>> newest_version([])
    ''
    """
    stated = [re.match(r"(\d+)\.(\d+)", point.engine_version) for point in points]
    numbers = [(int(found.group(1)), int(found.group(2))) for found in stated if found]
    return ".".join(map(str, max(numbers))) if numbers else ""


def rows_of(
    found: Fit, points: Sequence[Point], runs: Sequence[Run], unseen: Floats, strange: Floats, catalog: Catalog, source: Source
) -> Iterator[CalibrationRow]:
    """A row per GPU x format x engine release, and one for any GPU.

    `unseen` are cross-validated errors by group, `strange` those by GPU: rows without a point carry the latter.
    """
    cells = [(point.gpu, run.deployment.weights.id, _family(point.engine)) for point, run in zip(points, runs, strict=True)]
    model = next(iter(catalog.models.values()))
    anywhere, everything = (summary(points, table, [True] * len(points)) for table in (strange, unseen))

    def row(gpu: str, engine: str, weights: str, name: tuple[str, str] | None = None) -> CalibrationRow:
        deployment = Deployment(model, catalog.weight_formats[weights], catalog.gpus[gpu], engine=engine)
        values = coefficients_for(deployment, found.parameters, found.theta)
        rounded = {key: float(f"{value:.4g}") for key, value in values.items()}
        count = sum(cell[:2] == (gpu, weights) for cell in cells)
        error = anywhere
        if name is None and count:
            error = everything
            for wanted in ((gpu, None, None), (gpu, weights, None), (gpu, weights, _family(engine))):
                chosen = [all(w in (None, c) for w, c in zip(wanted, cell, strict=True)) for cell in cells]
                error = summary(points, unseen, chosen, error)
        shown = (gpu, weights) if name is None else name
        newest = "" if name else newest_version([p for p, c in zip(points, cells, strict=True) if c == (gpu, weights, _family(engine))])
        return CalibrationRow(shown[0], engine, shown[1], rounded, 0 if name else count, error, source, newest)

    unknown = next(gpu for gpu in catalog.gpus if gpu not in {cell[0] for cell in cells})
    for gpu in sorted(catalog.gpus):
        for weights in _usable(catalog, gpu):
            yield row(gpu, CURRENT_RELEASE, weights)
    for weights in sorted(catalog.weight_formats):
        yield row(unknown, CURRENT_RELEASE, weights, ("*", "*" if weights == "bf16" else weights))
    for engine in OTHERS:
        vllm_1 = _family(engine) == _family(CURRENT_RELEASE)  # what a scenario may name
        for gpu, weights in sorted({cell[:2] for cell in cells if vllm_1 or cell[2] == _family(engine)}):
            yield row(gpu, engine, weights)
        yield row(unknown, engine, "bf16", ("*", "*"))


def table(points: Sequence[Point], errors: Floats, title: str, key: Callable[[Point], str] = lambda point: point.gpu) -> str:
    """Values, median and p90 error by metric: all points, then each value of `key` (the GPU), as text."""
    names = [key(point)[:NAME_WIDTH] for point in points]
    width = max(map(len, names)) + 2
    lines = [title, " " * width + "".join(f"{metric:>24}" for metric in METRICS)]
    for name in ("all", *sorted(set(names))):
        chosen = np.array([name in ("all", own) for own in names])
        cells = []
        for k in range(len(METRICS)):
            values = errors[chosen, k][np.isfinite(errors[chosen, k])]
            cells.append(f"{len(values):5d} {np.quantile(values, 0.5):7.1%} {np.quantile(values, 0.9):7.1%}" if len(values) else "")
        if any(cells):
            lines.append((f"{name:{width}}" + "".join(f"{cell:>24}" for cell in cells)).rstrip())
    return "\n".join(lines)


def main(arguments: Sequence[str] | None = None) -> int:
    """Fit, cross-validate, write; the error tables go to stdout."""
    parser = argparse.ArgumentParser(prog="python -m sim.calibration.fit", description="Fit the step cost to measured points.")
    parser.add_argument("points", type=Path, nargs="+", help="CSV of measured points")
    parser.add_argument("--out", type=Path, help="calibration.yaml to write; without it only the tables are printed")
    parser.add_argument("--date", default="2026-11-30", help="date of the fit, written to each row")
    chosen = parser.parse_args(arguments)
    catalog = load_catalog()
    listed = [point for path in chosen.points for point in load_points(path)]
    points, runs, skipped = replayable([point for point in listed if point.fits], catalog)
    print(f"{len(points)} points replayed, {len(skipped)} skipped", file=sys.stderr)
    found = fit(points, runs)
    unseen = absolute_errors(points, held_out(points, runs, found.traces))
    strange = absolute_errors(points, held_out(points, runs, found.traces, by_gpu))
    print(table(points, unseen, "cross-validated by group: values, median, p90 of |predicted / measured - 1|"))
    print(table(points, strange, "cross-validated by GPU"))
    print(table(points, absolute_errors(points, data_sheet(points, runs, found.traces)), "data sheet and defaults alone"))
    if chosen.out:
        title = f"fit to {len(points)} published serving measurements of {len({p.source for p in points})} sources"
        note = "sources are listed in docs/explanation/fidelity.md"
        rows = list(rows_of(found, points, runs, unseen, strange, catalog, Source(title, chosen.date, note)))
        write_whole(catalogue_text(rows, HEADER), chosen.out)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
