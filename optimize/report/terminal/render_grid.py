"""A value per hour slice as rows of at most 24 short cells, one row per kind of day."""

from __future__ import annotations

from collections.abc import Sequence

HOURS = 24


def days(slices: Sequence[str]) -> dict[str, list[int]] | None:
    """{"weekday": indices of its 24 hours in order, ...}; None where slices are not named "DAY HOUR" with all 24 hours each.

    >>> days(["always"]) is None, list(days([f"weekday {h:02d}" for h in range(24)]))
    (True, ['weekday'])
    """
    found: dict[str, dict[int, int]] = {}
    for index, name in enumerate(slices):
        day, _, hour = name.rpartition(" ")
        digits = hour.removesuffix(":00").removesuffix("h")
        if not day or not digits.isdecimal() or int(digits) >= HOURS:
            return None
        found.setdefault(day, {})[int(digits)] = index
    if any(len(hours) != HOURS for hours in found.values()):
        return None
    return {day: [hours[h] for h in range(HOURS)] for day, hours in found.items()}


def rows(slices: Sequence[str], values: Sequence[float]) -> list[tuple[str, list[float]]]:
    """(day, 24 values) per kind of day; equal days share a row; slices of another kind: runs of 24, named by their first."""
    by_day = days(slices)
    if by_day is None:
        return [(slices[start], list(values[start : start + HOURS])) for start in range(0, len(slices), HOURS)]
    answer: list[tuple[str, list[float]]] = []
    for day, indices in by_day.items():
        row = [values[i] for i in indices]
        if answer and answer[-1][1] == row:
            answer[-1] = ("every day" if len(by_day) == 2 else f"{answer[-1][0]}, {day}", row)
        else:
            answer.append((day, row))
    return answer
