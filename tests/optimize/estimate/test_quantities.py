"""Numbers as people type them."""

from __future__ import annotations

import pytest

from optimize.estimate.amounts import Options, band, context, count
from sim.errors import InputError


@pytest.mark.parametrize(
    ("text", "value"),
    [("7e9", 7e9), ("7B", 7e9), ("7b", 7e9), ("1e11", 1e11), ("100B", 1e11), ("1.5T", 1.5e12), ("70_000", 7e4), ("2 M", 2e6)],
)
def test_a_count_is_read_as_it_is_said(text: str, value: float) -> None:
    assert count(text) == value


@pytest.mark.parametrize("text", ["", "-1", "0", "seven", "7q", "nan", "inf", "1e999", "B"])
def test_what_is_no_count_is_refused_with_what_would_be_right(text: str) -> None:
    with pytest.raises(ValueError, match="write 7e9, 7B"):
        count(text)


def test_context_counts_k_as_1024_and_is_whole() -> None:
    assert [context(text) for text in ("8k", "128K", "8192", "1e4")] == [8192, 131072, 8192, 10000]
    for text in ("k", "1.5", "0.3k", "1"):
        with pytest.raises(ValueError, match="write"):
            context(text)


def test_a_band_is_two_shares_low_first() -> None:
    assert (band("0.4:0.6"), band("0.5")) == ((0.4, 0.6), (0.5, 0.5))
    for text in ("0.6:0.4", "0:0.5", "0.5:1.1", "a:b", "0.1:0.2:0.3", "nan"):
        with pytest.raises(ValueError, match="write"):
            band(text)


def test_all_problems_of_a_command_come_at_once() -> None:
    options = Options("estimate x")
    options.count("--params", "x")
    options.band("--mfu", "2")
    options.row("--gpu", "h10", {"h100": 1})
    with pytest.raises(InputError) as raised:
        options.check()
    assert [problem.split(":")[1].strip() for problem in raised.value.problems] == ["--params", "--mfu", "--gpu"]
    assert "did you mean h100?" in str(raised.value)
