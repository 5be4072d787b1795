"""Calibration rows as a YAML file: that of the catalogue, and those of users."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict
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
    for row in rows:
        lines += [
            f'  - {{gpu: "{row.gpu}", engine: "{row.engine}", weights: "{row.weights}",',
            f"     points: {row.points}, source: *{sources[row.source]}{newest(row)},",
            f"     error: {_mapping(row.error)},",
            f"     coefficients: {_mapping(row.coefficients)}}}",
        ]
    return "\n".join(lines) + "\n"


def catalogue_text(rows: Sequence[CalibrationRow], header: Sequence[str]) -> str:
    """The rows of the catalogue: comment lines, then JSON, which is YAML that loads in a tenth of the time; a row to a line."""
    lines = [json.dumps({name: value for name, value in asdict(row).items() if value != ""}) for row in rows]
    return "".join(f"# {line}\n" for line in header) + '{"calibration": [\n' + ",\n".join(lines) + "\n]}\n"


def write_rows(rows: Sequence[CalibrationRow], path: Path, header: Sequence[str]) -> None:
    """Write `rows` of a user to `path`, whole or not at all. Raises InputError where that cannot be."""
    write_whole(rows_text(rows, header), path)


def write_whole(text: str, path: Path) -> None:
    """Write `text` to `path`, whole or not at all. Raises InputError where that cannot be."""
    part = path.with_name(path.name + ".part")
    try:
        part.write_text(text, encoding="utf-8")
        part.replace(path)
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error}") from error
