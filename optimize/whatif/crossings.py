"""Along an input: from which value on own GPUs carry part of the demand, and where the cost of two strategies crosses."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence

from optimize.tables.columns import Table, Value

Row = tuple[Value, ...]
LINES = (("per_month", "this plan"), ("relays_only", "relays only"), ("own_only", "own GPUs only"))


def crossings(table: Table, key: str, keys: Sequence[str]) -> list[str]:
    """Sentences on where the answer changes kind along the numeric input `key`, one for each combination of the others.

    A crossing between two neighbouring values is told as the pair: nothing is known between them.
    """
    found = []
    for fixed, rows in lines(table, key, keys):
        here = f" at {fixed}" if fixed else ""
        for low, high in itertools.pairwise(rows):
            was, now = (kind_of(table, row) for row in (low, high))
            if was and now and was != now:
                found.append(f"{key}{here}: between {amount(low[0])} and {amount(high[0])} the plan changes from {was} to {now}")
    return found


def lines(table: Table, key: str, keys: Sequence[str]) -> list[tuple[str, list[tuple[float, Row]]]]:
    """(the values of the other inputs in words, rows by rising value of `key`) for each combination; empty where `key` is text."""
    names = [column.name for column in table.columns]
    at = names.index(key)
    if table.columns[at].dtype != "float":
        return []
    others = [names.index(each) for each in keys if each != key]
    groups: dict[str, list[tuple[float, Row]]] = {}
    for row in table.rows:
        fixed = ", ".join(f"{names[i].rpartition('.')[2]} {amount(row[i])}" for i in others)
        value = row[at]
        assert isinstance(value, int | float)
        groups.setdefault(fixed, []).append((float(value), row))
    return [(fixed, sorted(rows, key=lambda pair: pair[0])) for fixed, rows in groups.items()]


def kind_of(table: Table, pair: tuple[float, Row]) -> str:
    """What kind of plan a row is, in words; empty where there is none."""
    names = [column.name for column in table.columns]
    row = dict(zip(names, pair[1], strict=True))
    if row["status"] in ("over_budget", "infeasible"):
        return "no plan inside SLO and budget"
    own, relayed = row["own_share"], row["relay_share"]
    if not isinstance(own, int | float) or not isinstance(relayed, int | float):
        return ""
    return "relays only" if own < 1e-3 else "own GPUs only" if relayed < 1e-3 else "a mix"


def crossing(x: Sequence[float], one: Sequence[float | None], other: Sequence[float | None]) -> float | None:
    """The first x at which `other` falls below `one`, straight between neighbours on logarithmic axes; None where it never does.

    >>> crossing([1.0, 100.0], [10.0, 1000.0], [100.0, 100.0])
    10.0
    """
    for k in range(len(x) - 1):
        pair = (one[k], other[k], one[k + 1], other[k + 1])
        if any(value is None or value <= 0 for value in pair):
            continue
        before, after = (math.log(float(b or 1) / float(a or 1)) for a, b in ((one[k], other[k]), (one[k + 1], other[k + 1])))
        if before > 0 >= after:
            share = before / (before - after)
            if x[k] > 0:
                return float(f"{x[k] * (x[k + 1] / x[k]) ** share:.6g}")
            return float(f"{x[k] + (x[k + 1] - x[k]) * share:.6g}")
    return None


def amount(value: Value) -> str:
    """A value of an input for people.

    >>> amount(1e6), amount(0.05), amount("as is")
    ('1,000,000', '0.05', 'as is')
    """
    if isinstance(value, int | float) and not isinstance(value, bool):
        return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.6g}"
    return str(value)
