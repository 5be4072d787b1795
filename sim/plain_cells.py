"""Cells of CSV files: text that a spreadsheet would take for a formula stays text."""

from __future__ import annotations

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def plain_cell(value: object) -> object:
    """`value`, with an apostrophe before text that begins like a formula and is no number; numbers stay numbers.

    >>> plain_cell("=1+1"), plain_cell("-12.5"), plain_cell(-12.5), plain_cell("aws.g6e"), plain_cell("-")
    ("'=1+1", '-12.5', -12.5, 'aws.g6e', '-')
    """
    if not isinstance(value, str) or len(value) < 2 or not value.startswith(FORMULA_STARTS):
        return value
    try:
        float(value)
    except ValueError:
        return "'" + value
    return value
