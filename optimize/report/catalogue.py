"""Tables of the catalogue and of a validation, for people."""

from __future__ import annotations

import io
from dataclasses import asdict
from typing import Any

from rich.console import Console
from rich.table import Table

from sim.calibration.validate import Validation
from sim.catalog.check import instead
from sim.catalog.loader import load_catalog
from sim.errors import InputError

COLUMNS = {
    "gpus": ("id", "memory_bytes", "bandwidth_bytes_per_s", "link", "tdp_w"),
    "models": ("id", "parameters", "active_parameters", "layers", "kv_heads", "head_dim", "max_context"),
    "formats": ("id", "bytes_per_weight", "compute", "needs"),
    "offers": ("id", "gpu", "gpus", "usd_per_hour", "term", "region", "elastic"),
    "relays": ("id", "model", "usd_per_mtok_input", "usd_per_mtok_cached", "usd_per_mtok_output", "ttft_p50_s", "grade", "retires_on"),
}


def catalogue_rows(table: str, name: str | None) -> list[dict[str, Any]]:
    """Rows of one table, all fields and sources; InputError with the nearest names for a table or row that is not there."""
    catalog = load_catalog()
    tables = {
        "gpus": catalog.gpus,
        "models": catalog.models,
        "formats": catalog.weight_formats,
        "offers": catalog.offers,
        "relays": catalog.relays,
    }
    if table not in tables:
        raise InputError(f'catalog: "{table}" is not a table; write {", ".join(tables)}')
    rows: dict[str, Any] = dict(tables[table])  # type: ignore[call-overload]
    if name is not None and name not in rows:
        raise InputError(f'catalog: {table} has no "{name}"; {instead(name, rows)}')
    return [asdict(row) for key, row in sorted(rows.items()) if name in (None, key)]


def render_catalogue(table: str, rows: list[dict[str, Any]], whole: bool) -> str:
    """A table of the main columns, or every field of one row."""
    if whole:
        return "".join(f"{key}: {value}\n" for row in rows for key, value in _flat(row))
    grid = Table(box=None, pad_edge=False)
    for column in (*COLUMNS[table], "source"):
        text = bool(rows) and isinstance(rows[0].get(column), str)
        grid.add_column(column, justify="left" if text else "right", no_wrap=column == "id", overflow="fold")
    for row in rows:
        grid.add_row(*(_cell(row[column]) for column in COLUMNS[table]), f"{row['source']['title']} ({row['source']['date']})")
    return _text(grid)


def render_validation(result: Validation) -> str:
    """Median and p90 error by GPU and metric, and why points were skipped."""
    grid = Table(box=None, pad_edge=False)
    for column in ("gpu", "metric", "points", "median |error|", "p90 |error|"):
        grid.add_column(column, justify="left" if column in ("gpu", "metric") else "right")
    for cell in result.summary:
        grid.add_row(cell.gpu, cell.metric, str(cell.points), f"{cell.median_abs_error:.1%}", f"{cell.p90_abs_error:.1%}")
    skipped = "".join(f"  {point}: {why}\n" for point, why in result.skipped)
    return _text(grid) + (f"\nnot replayed ({len(result.skipped)})\n{skipped}" if result.skipped else "")


def _flat(row: dict[str, Any], prefix: str = "") -> list[tuple[str, Any]]:
    parts: list[tuple[str, Any]] = []
    for key, value in row.items():
        parts += _flat(value, f"{prefix}{key}.") if isinstance(value, dict) else [(prefix + key, value)]
    return parts


def _cell(value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, float) and value >= 1e6:
        return f"{value:.4g}"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _text(grid: Table) -> str:
    buffer = io.StringIO()
    Console(file=buffer, width=160, color_system=None).print(grid)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"
