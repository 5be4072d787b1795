"""Points and outcomes -> one tidy table: a row per point, a column per input and per result."""

from __future__ import annotations

from collections.abc import Sequence

from optimize.tables.columns import Column, Table, Value
from optimize.whatif.records import Axis, Outcome, Point

POINT = (
    Column("status", "str", "", "met, missed, over_budget, infeasible or unverified; bad_input or failed: no plan, see note"),
    Column("per_month", "float", "money", "cost of a month of 730 h"),
    Column("gpu_per_month", "float", "money", "part of it for own GPUs"),
    Column("relay_per_month", "float", "money", "part of it for relays"),
    Column("budget", "float", "money", "what may be spent"),
    Column("requests_per_month", "float", "requests", "demand of a month"),
    Column("own_share", "float", "share", "part of the requests served by own GPUs"),
    Column("relay_share", "float", "share", "part of the requests served by relays"),
    Column("unserved_share", "float", "share", "part of the requests that nobody serves inside SLO and budget"),
    Column("answer", "str", "", "GPUs by type, least to most, and the part that relays serve"),
    Column("gpus_peak", "int", "GPUs", "GPUs that run in the busiest hour"),
    Column("margin", "float", "share", "attainment minus quantile of the tightest promise; negative: missed"),
    Column("tightest", "str", "", "the promise with the least margin, and its hour"),
    Column("relays_only", "float", "money", "cost of the cheapest relay per class; empty where a class has none. Not solved again"),
    Column("own_only", "float", "money", "cost of own GPUs for every class that they can serve, relays for the rest. Not solved again"),
    Column("own_only_measured", "bool", "", "false: own_only is an estimate, its pools were not measured"),
    Column("lower_bound", "float", "money", "no plan of the program costs less"),
    Column("fleet", "str", "", "own pools and their replicas, least to most"),
    Column("relays", "str", "", "relays that are used"),
    Column("requests_simulated", "int", "requests", "requests in the verification"),
    Column("note", "str", "", "why there is no plan, or what it would take"),
)


def axis_column(axis: Axis, labels: Sequence[str | float]) -> Column:
    """The column of an input: numbers where all its values are."""
    numeric = all(isinstance(label, int | float) for label in labels)
    return Column(axis.key, "float" if numeric else "str", "", "varied input")


def point_table(axes: Sequence[Axis], points: Sequence[Point], outcomes: Sequence[Outcome | None]) -> Table:
    """A row per finished point, in the order of the points; `point` counts from 1."""
    columns = [axis_column(axis, [point.levels[a].label for point in points]) for a, axis in enumerate(axes)]
    rows: list[tuple[Value, ...]] = []
    for k, (point, outcome) in enumerate(zip(points, outcomes, strict=True)):
        if outcome is None:
            continue
        labels = [level.label if column.dtype == "float" else str(level.label) for level, column in zip(point.levels, columns, strict=True)]
        rows.append((k + 1, *labels, *(outcome.row.get(column.name) for column in POINT)))
    number = Column("point", "int", "", "number of the point, from 1")
    return Table("points", "Points", (number, *columns, *POINT), tuple(rows))
