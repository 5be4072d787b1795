"""Evaluations of answers: CSV `class,model,accepted,n,evaluator,date`."""

from __future__ import annotations

import csv
import math
import re
from datetime import date
from pathlib import Path

from sim.errors import InputError
from sim.plural import counted
from sim.scenario.read.document import nearest, printable, shown
from sim.scenario.read.yaml_text import read_text
from sim.scenario.routing.routing_rules import QualityRow

COLUMNS = ("class", "model", "accepted", "n", "evaluator", "date")
HEADER = ",".join(COLUMNS)


def read_quality(file: Path, classes: set[str], models: set[str]) -> tuple[QualityRow, ...]:
    """All rows of `file`, in its order. `accepted` is a share, `n` how many answers were looked at.

    Raises InputError with every problem: columns that lack, names that scenario or catalogue do not have, shares outside 0..1, counts
    below 1, dates that are none, evaluators left out, pairs that stand twice.
    """
    try:
        table = [(number, row) for number, row in enumerate(csv.reader(read_text(file, "quality").split("\n")), 1) if any(row)]
    except csv.Error as error:
        raise InputError(f"{file}: is not CSV ({error})") from None
    header = [cell.strip() for cell in table[0][1]] if table else []
    lacking = [column for column in COLUMNS if column not in header]
    if lacking:
        raise InputError(f"{file}:1: has no column {', '.join(lacking)}; write the header {HEADER}")
    if len(table) < 2:
        raise InputError(f"{file}: has no row below its header; write one per class and model")
    rows: list[QualityRow] = []
    problems: list[str] = []
    first: dict[tuple[str, str], int] = {}
    for number, cells in table[1:]:
        if len(cells) != len(header):
            problems.append(f"{file}:{number}: row: has {counted(len(cells), 'cell')}, the header {len(header)}; write one per column")
            continue
        row = {column: cell.strip() for column, cell in zip(header, cells, strict=True)}
        wrong = [f"{file}:{number}: {text}" for text in _faults(row, classes, models)]
        line = first.setdefault((row["class"], row["model"]), number)
        if line != number:
            wrong.append(f"{file}:{number}: row: repeats class and model of line {line}; keep the newest")
        problems += wrong
        if not wrong:
            rows.append(QualityRow(row["class"], row["model"], float(row["accepted"]), int(row["n"]), row["evaluator"], row["date"]))
    if problems:
        raise InputError(problems)
    return tuple(rows)


def _faults(row: dict[str, str], classes: set[str], models: set[str]) -> list[str]:
    """What is wrong with one row, `column: what; what would be right`."""
    found = []
    for column, known, what in (("class", classes, "class of the scenario"), ("model", models, "model of the catalogue")):
        if row[column] not in known:
            found.append(f"{column}: {shown(row[column])} is no {what}; {nearest(row[column], known)}")
    if not 0 <= _number(row["accepted"]) <= 1:
        found.append(f'accepted: "{printable(row["accepted"])}" is not a share; write 0 to 1, such as 0.93')
    if not re.fullmatch(r"[1-9]\d{0,9}", row["n"]):
        found.append(f'n: "{printable(row["n"])}" is not a number of answers; write 1 or more')
    if not row["evaluator"]:
        found.append("evaluator: is empty; write who accepted the answers, a person or a test")
    if not re.fullmatch(r"\d{4}-\d{2}-\d{2}", row["date"]) or not _is_date(row["date"]):
        found.append(f'date: "{printable(row["date"])}" is not a date; write YYYY-MM-DD')
    return found


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _is_date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return True
