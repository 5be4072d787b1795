"""The user's own capacities: CSV `offer,class,rate_rps[,pool_size]`."""

from __future__ import annotations

import csv
import math
from collections.abc import Iterable
from dataclasses import dataclass

from sim.errors import InputError
from sim.plural import counted
from sim.scenario.read.document import nearest, printable, shown
from sim.scenario.read.yaml_text import read_text
from sim.scenario.scenario import Scenario

NEEDED = ("offer", "class", "rate_rps")


@dataclass(frozen=True)
class MeasuredRate:
    """One replica of `offer` (in a pool of `pool_size`) serves `rate_rps` requests/s of a class inside its SLO; 0: it cannot."""

    offer: str
    class_name: str
    rate_rps: float
    pool_size: int = 1


def read_measured_capacity(scenario: Scenario) -> tuple[MeasuredRate, ...]:
    """All rows of `scenario.measured_capacity`, in file order.

    Raises InputError with every problem: columns that lack, names that the scenario does not have, rates that are no
    finite number of 0 or more, pairs that stand twice, offers without a single row. A pair without a row cannot be served.
    """
    assert scenario.measured_capacity is not None
    name = str(scenario.measured_capacity)
    lines = read_text(scenario.measured_capacity, "capacity").split("\n")
    try:
        table = [(number, row) for number, row in enumerate(csv.reader(lines), 1) if any(row)]
    except csv.Error as error:
        raise InputError(f"{name}: is not CSV ({error})") from None
    header = [cell.strip() for cell in table[0][1]] if table else []
    lacking = [column for column in NEEDED if column not in header]
    if lacking:
        raise InputError(f"{name}:1: has no column {', '.join(lacking)}; write the header offer,class,rate_rps[,pool_size]")
    reader = _Rows(name, {offer.id for offer in scenario.offers}, {each.name for each in scenario.request_classes})
    for number, row in table[1:]:
        reader.read(number, header, row)
    for offer in sorted(reader.offers - {row.offer for row in reader.rows}):
        reader.problems.append(f'{name}: offer "{offer}" has no row; write its rates, 0 where it cannot serve')
    if reader.problems:
        raise InputError(reader.problems)
    return tuple(reader.rows)


class _Rows:
    """Rows read so far and what is wrong with them."""

    def __init__(self, file: str, offers: set[str], classes: set[str]) -> None:
        self.file, self.offers, self.classes = file, offers, classes
        self.rows: list[MeasuredRate] = []
        self.problems: list[str] = []
        self.seen: dict[tuple[str, str, int], int] = {}

    def read(self, number: int, header: list[str], cells: list[str]) -> None:
        before = len(self.problems)
        if len(cells) != len(header):
            self._wrong(number, "row", f"has {counted(len(cells), 'cell')}, the header {len(header)}; write one per column")
            return
        row = {column: cell.strip() for column, cell in zip(header, cells, strict=True)}
        self._known(number, "offer", row["offer"], self.offers)
        self._known(number, "class", row["class"], self.classes)
        rate = self._number(number, "rate_rps", row["rate_rps"], 0)
        size = self._number(number, "pool_size", row.get("pool_size") or "1", 1)
        if size != int(size):
            self._wrong(number, "pool_size", f"{size:g} is not a whole number; write {round(size)}")
        first = self.seen.setdefault((row["offer"], row["class"], int(size)), number)
        if first != number:
            self._wrong(number, "row", f"repeats line {first}; keep one")
        if len(self.problems) == before:
            self.rows.append(MeasuredRate(row["offer"], row["class"], rate, int(size)))

    def _known(self, number: int, column: str, name: str, known: Iterable[str]) -> None:
        if name not in known:
            self._wrong(number, column, f"{shown(name)} is no {column} of the scenario; {nearest(name, known)}")

    def _number(self, number: int, column: str, text: str, least: float) -> float:
        try:
            value = float(text)
        except ValueError:
            value = math.nan
        if not least <= value <= 1e9:
            self._wrong(number, column, f'"{printable(text)}" is not a finite number; write {least} or more')
            return float(least)
        return value

    def _wrong(self, number: int, column: str, text: str) -> None:
        self.problems.append(f"{self.file}:{number}: {column}: {text}")
