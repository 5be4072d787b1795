"""Cents of lines whose remainders are equal but for the last bits of a float."""

from __future__ import annotations

from optimize.tables.bill_lines import split


def test_remainders_that_differ_by_float_noise_tie_and_the_first_line_rounds_up() -> None:
    """Found by a random edit of the workbook: LibreOffice and Python broke the tie differently."""
    amounts = [8489840.994597392, 475425.1839738349, 360480.9028101619, 654433.3605887163, 20433.36058871627]
    noisy = [*amounts[:3], 654433.36058871623, 20433.3605887163]
    assert split(amounts) == split(noisy) and sum(split(amounts)) == round(sum(amounts))
    assert split(amounts)[3:] == [654434, 20433]
