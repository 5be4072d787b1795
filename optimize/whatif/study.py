"""What the parts of a what-if pass to each other: axes, points, outcomes, the answer."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from optimize.tables.columns import Table
from sim.scenario.scenario import Scenario

AS_IS = "as is"


@dataclass(frozen=True)
class Edit:
    """One entry put into a list of the scenario (`add`), or taken out by its name."""

    key: str
    add: bool
    entry: Any


@dataclass(frozen=True)
class Level:
    """One value of an axis: what the table shows, and what it does to the scenario (`--set` texts, edits of lists, factors)."""

    label: str | float
    settings: tuple[str, ...] = ()
    edits: tuple[Edit, ...] = ()
    factors: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True)
class Span:
    """A range from which samples are drawn, evenly in the value or in its logarithm."""

    low: float
    high: float
    log: bool

    def at(self, share: float) -> float:
        """The value below which `share` of the range lies.

        >>> Span(10, 1000, log=True).at(0.5), Span(0, 1, log=False).at(0.25)
        (100.0, 0.25)
        """
        if self.log:
            return float(f"{self.low * (self.high / self.low) ** share:.6g}")
        return float(f"{self.low + (self.high - self.low) * share:.6g}")


@dataclass(frozen=True)
class Axis:
    """One input and the values that it takes. `span` is set where they were written as a range; then `levels` may be empty."""

    key: str
    levels: tuple[Level, ...]
    span: Span | None = None


@dataclass(frozen=True)
class Point:
    """One scenario to plan: a level of each axis, in the order of the axes."""

    levels: tuple[Level, ...]

    @property
    def label(self) -> str:
        return ", ".join(str(level.label) for level in self.levels)


@dataclass(frozen=True)
class Outcome:
    """What one point came to. `row` holds plain values by column name (see `table.POINT`); `cpu_s` and `peak_mb` are of its process.

    `worker` tells processes of one machine apart.
    """

    row: dict[str, Any]
    cpu_s: float = 0.0
    peak_mb: float = 0.0
    kept: bool = False  # read back from an earlier run
    worker: int = 0

    @property
    def status(self) -> str:
        return str(self.row["status"])


@dataclass(frozen=True)
class Answer:
    """What every kind of what-if comes to: tables, the first of them the main one, and what is to be said about them.

    kind         grid, samples, one_at_a_time, uncertain or levers
    axes         names of the varied inputs, in the order of the main table's columns
    unfinished   points that were not reached before an interruption
    failed       points that came to no answer
    """

    kind: str
    scenario: Scenario
    axes: tuple[str, ...]
    tables: tuple[Table, ...]
    notes: tuple[str, ...]
    unfinished: int = 0
    failed: int = 0
    facts: dict[str, Any] = field(default_factory=dict)
