"""Calibration rows as a YAML file: that of the catalogue, and those of users."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from sim.catalog.facts import CalibrationRow
from sim.errors import InputError


def _mapping(values: Mapping[str, float]) -> str:
    return "{" + ", ".join(f"{name}: {value:g}" for name, value in values.items()) + "}"


def _quoted(text: str) -> str:
    return '"' + text.replace("\\", "/").replace('"', "'") + '"'


def newest(row: CalibrationRow) -> str:
    return f', newest: "{row.newest}"' if row.newest else ""


def rows_text(rows: Sequence[CalibrationRow], header: Sequence[str]) -> str:
    """The file: comment lines of `header`, each source once, a row per GPU, engine and format."""
    lines = [f"# {line}" for line in header] + ["sources:"]
    sources = {row.source: f"fit{index}" for index, row in reversed(list(enumerate(rows)))}
    for source, anchor in sources.items():
        lines.append(f"  {anchor}: &{anchor} {{title: {_quoted(source.title)}, date: {source.date}, note: {_quoted(source.note)}}}")
    lines.append("calibration:")
    errors: dict[str, str] = {}  # each said once
    for row in rows:
        error = _mapping(row.error)
        if error in errors:
            error = f"*{errors[error]}"
        elif error != "{}":
            errors[error] = f"error{len(errors)}"
            error = f"&{errors[error]} {error}"
        lines += [
            f'  - {{gpu: "{row.gpu}", engine: "{row.engine}", weights: "{row.weights}",',
            f"     points: {row.points}, source: *{sources[row.source]}{newest(row)},",
            f"     error: {error},",
            f"     coefficients: {_mapping(row.coefficients)}}}",
        ]
    return "\n".join(lines) + "\n"


def write_rows(rows: Sequence[CalibrationRow], path: Path, header: Sequence[str]) -> None:
    """Write `rows` to `path`, whole or not at all. Raises InputError where that cannot be."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(rows_text(rows, header), encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error}") from error
