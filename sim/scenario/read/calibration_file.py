"""The user's own calibration rows, as `servemix calibrate` writes them, in place of the catalogue's."""

from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path as FilePath
from typing import Any

from sim.catalog.check import record_of
from sim.catalog.facts import CalibrationRow, Catalog
from sim.engine.physics import COEFFICIENTS
from sim.engine.release import lineage
from sim.errors import InputError
from sim.scenario.read.document import Path, Problems, nearest, shown
from sim.scenario.read.yaml_text import read_document

KIND = "calibration"


def with_calibration(catalog: Catalog, path: FilePath) -> Catalog:
    """`catalog` with the rows of `path` in place of its own of the same GPU and weight format, and of the same engine release or one that
    grew from it.

    Raises InputError with every problem of the file: rows that are no rows, names that the catalogue does not have, coefficients that
    are unknown or not above 0.
    """
    rows = read_calibration(path, catalog)
    own = {(row.gpu, row.engine, row.weights) for row in rows}
    kept = tuple(row for row in catalog.calibration if not any((row.gpu, engine, row.weights) in own for engine in lineage(row.engine)))
    return replace(catalog, calibration=(*rows, *kept))


def read_calibration(path: FilePath, catalog: Catalog) -> tuple[CalibrationRow, ...]:
    """The rows of `path`. Raises InputError."""
    document = read_document(path, KIND)
    problems = Problems(document)
    listed = document.data.get(KIND)
    if not isinstance(listed, list) or not listed:
        problems.add((), "has no list `calibration` of rows; `servemix calibrate` writes one")
        raise InputError(problems.lines())
    for key in document.data:
        if key not in ("sources", KIND):
            problems.add((key,), "unknown key; write sources or calibration", of_key=True)
    rows: list[CalibrationRow] = []
    for index, item in enumerate(listed):
        row = _row(problems, index, item, catalog)
        if row is not None and any((row.gpu, row.engine, row.weights) == (r.gpu, r.engine, r.weights) for r in rows):
            problems.add((KIND, index), f"{row.gpu} {row.engine} {row.weights} is here twice; keep one row")
        if row is not None:
            rows.append(row)
    if problems.found:
        raise InputError(problems.lines())
    return tuple(rows)


def _row(problems: Problems, index: int, item: Any, catalog: Catalog) -> CalibrationRow | None:
    where: Path = (KIND, index)

    def say(key: str, what: str) -> None:
        problems.add((*where, *(key.split(".") if key else ())), what)

    row: CalibrationRow | None = record_of(CalibrationRow, item, say)
    if row is None:
        return None
    for name, value, known in (("gpu", row.gpu, catalog.gpus), ("weights", row.weights, catalog.weight_formats)):
        if value not in known:
            say(name, f"{shown(value)} is not in the catalogue; {nearest(value, known)}")
    for name, number in row.coefficients.items():
        if name not in COEFFICIENTS:
            say(f"coefficients.{name}", f"is no coefficient; {nearest(name, COEFFICIENTS)}")
        elif not number > 0 or not math.isfinite(number):
            say(f"coefficients.{name}", f"{number:g} is not above 0; write a positive number")
    return row
