"""Counts in words."""

from __future__ import annotations


def plural(count: float, one: str, many: str | None = None) -> str:
    """The word for `count` of something, without the count: `one` for exactly 1, else `many` (default: `one` + "s").

    >>> plural(1, "relay"), plural(0, "relay"), plural(2, "class", "classes"), plural(1, "is", "are")
    ('relay', 'relays', 'classes', 'is')
    """
    return one if count == 1 else f"{one}s" if many is None else many


def counted(count: int, one: str, many: str | None = None) -> str:
    """`count` and its word.

    >>> counted(1, "value is", "values are"), counted(1200, "row")
    ('1 value is', '1,200 rows')
    """
    return f"{count:,} {plural(count, one, many)}"
