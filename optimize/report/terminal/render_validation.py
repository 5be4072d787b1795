"""A validation for people: predicted against measured, and errors by GPU and load, model, format and source."""

from __future__ import annotations

import io
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence

import numpy as np
from rich.console import Console
from rich.table import Table

from sim.calibration.intervals import LEVELS
from sim.calibration.measured_log import ReplayedLog
from sim.calibration.points import METRICS
from sim.calibration.validate_points import Row, Validation

LISTED = 60  # rows that the screen shows; all are in --json
CUTS: tuple[tuple[str, Callable[[Row], str]], ...] = (
    ("GPU and load", lambda row: f"{row.gpu}, {row.load}"),
    ("GPU", lambda row: row.gpu),
    ("model", lambda row: row.model),
    ("format", lambda row: row.weights),
    ("source", lambda row: row.source[:44]),
)


def render_validation(result: Validation) -> str:
    """All values of a short file, error tables, and each point that was not replayed with the reason."""
    parts = []
    if len(result.rows) <= LISTED:
        parts += ["Predicted against measured\n", _text(_values(result.rows))]
    for title, key in CUTS:
        parts += [f"\nError by {title}: points, median and p90 of |predicted / measured - 1|\n", _text(error_table(result.rows, key))]
    if any(row.intervals for row in result.rows):
        for title, key in CUTS[:2]:
            parts += [f"\nMeasured values inside their 50 / 80 / 95 % intervals, by {title} (95 % interval of the share)\n"]
            parts.append(_text(inside_table(result, key)))
    queueing = sum(row.queueing for row in result.rows)
    if queueing:
        parts.append(f"\n{queueing} TTFTs say how long a queue has grown; they are in --json and in no table.\n")
    if any(not row.calibrated for row in result.rows):
        names = sorted({f"{row.weights} on {row.gpu}" for row in result.rows if not row.calibrated})
        parts.append(f"\nNot calibrated, data sheet and shared coefficients: {', '.join(names)}\n")
    reasons = Counter(why for _, why in result.skipped)
    if reasons:
        parts.append(f"\nNot replayed ({len(result.skipped)})\n")
        parts += [f"  {point}: {why}\n" for point, why in result.skipped]
    return "".join(parts).lstrip("\n")


def render_replayed(found: ReplayedLog) -> str:
    """A log against its own measurements, a line for each figure."""
    grid = Table(box=None, pad_edge=False)
    for name in ("", "", "predicted", "measured", "error"):
        grid.add_column(name, justify="left" if not name else "right", no_wrap=True)
    for row in found.rows:
        grid.add_row(row.metric.upper(), row.statistic, f"{row.predicted_s:.4g} s", f"{row.measured_s:.4g} s", f"{row.error:+.0%}")
    lost = f", {found.dropped} rows without a time, a length or a latency left out" if found.dropped else ""
    head = f"{found.path}: {found.format}, {found.requests:,} requests on one replica of {found.deployment}{lost}\n"
    return (
        head
        + "The log's own arrivals and lengths; no prefix cache, because a log does not say which prompts began alike.\n\n"
        + _text(grid)
    )


def error_table(rows: Sequence[Row], key: Callable[[Row], str]) -> Table:
    """A row per value of `key`, `all` first; a column group per metric."""
    cells: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in rows:
        if not row.queueing:
            for name in ("all", key(row)):
                cells[name][row.metric].append(abs(row.error))
    grid = Table(box=None, pad_edge=False)
    grid.add_column("  ")
    for metric in METRICS:
        grid.add_column(metric, justify="right", no_wrap=True)
    for name in sorted(cells, key=lambda name: (name != "all", name)):
        grid.add_row(f"  {name}", *(error_cell(cells[name].get(metric, [])) for metric in METRICS))
    return grid


def inside_table(result: Validation, key: Callable[[Row], str]) -> Table:
    """A row per value of `key`, `all` first; by metric the count, the shares inside at each level, the interval of that at 80 %."""
    found = {(each.group, each.metric, each.level): each for each in result.inside(key)}
    grid = Table(box=None, pad_edge=False)
    grid.add_column("  ")
    for metric in METRICS:
        grid.add_column(metric, justify="right", no_wrap=True)
    for name in dict.fromkeys(each[0] for each in found):
        cells = []
        for metric in METRICS:
            levels = [found[name, metric, level] for level in LEVELS if (name, metric, level) in found]
            words = " / ".join(f"{each.inside:.0%}" for each in levels)
            cells.append(f"{levels[1].points}  {words} ({levels[1].low:.0%} to {levels[1].high:.0%})" if levels else "")
        grid.add_row(f"  {name}", *cells)
    return grid


def error_cell(values: Sequence[float]) -> str:
    """Count, median and p90.

    >>> error_cell([0.1, 0.2, 0.3])
    '3   20.0%   28.0%'
    """
    return f"{len(values)} {np.quantile(values, 0.5):7.1%} {np.quantile(values, 0.9):7.1%}" if len(values) else ""


def _values(rows: Sequence[Row]) -> Table:
    grid = Table(box=None, pad_edge=False)
    for column in ("  point", "GPU", "load", "metric", "measured", "predicted", "error"):
        grid.add_column(column, justify="right" if column in ("measured", "predicted", "error") else "left")
    for row in rows:
        scale, unit = (1.0, "tok/s") if row.metric == "throughput" else (1e3, "ms")
        measured, predicted = (f"{scale * value:,.1f} {unit}" for value in (row.measured, row.predicted))
        grid.add_row(f"  {row.id}", row.gpu, row.load, row.metric, measured, predicted, f"{row.error:+.1%}")
    return grid


def _text(grid: Table) -> str:
    buffer = io.StringIO()
    Console(file=buffer, width=160, color_system=None).print(grid)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"
