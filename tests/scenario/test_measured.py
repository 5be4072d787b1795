"""The user's own rates: good rows, and every way to write a bad one."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.errors import InputError
from sim.scenario import load_scenario
from sim.scenario.read.measured import MeasuredRate, read_measured_capacity

from .helpers import GOOD, write

TEXT = GOOD.replace(
    "  offers: [aws.g6e.xlarge]", "  measured_capacity: rates.csv\n  offers: [{name: own, usd_per_hour: 1}, {name: big, usd_per_hour: 4}]"
)
HEAD = "offer,class,rate_rps,pool_size\n"
ROWS = HEAD + "own,chat,2.5,1\nown,chat,6,2\nown,faq,0,\n\nbig,chat,9,1\n"


def rates(folder: Path, text: str) -> tuple[MeasuredRate, ...]:
    write(folder, text, "rates.csv")
    return read_measured_capacity(load_scenario(write(folder, TEXT)))


def told(folder: Path, text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        rates(folder, text)
    return [line.replace(f"{folder}/", "") for line in caught.value.problems]


def test_rows_are_read_in_their_order_and_a_pool_has_one_replica_unless_it_says_so(tmp_path: Path) -> None:
    assert rates(tmp_path, ROWS) == (
        MeasuredRate("own", "chat", 2.5),
        MeasuredRate("own", "chat", 6.0, 2),
        MeasuredRate("own", "faq", 0.0),
        MeasuredRate("big", "chat", 9.0),
    )
    assert rates(tmp_path, " offer , rate_rps,class\nown, 2,chat\nbig,1e9,faq\n")[1] == MeasuredRate("big", "faq", 1e9)


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("ownn,chat,1,1", 'rates.csv:6: offer: "ownn" is no offer of the scenario; nearest: own'),
        ("own,chatt,1,1", 'rates.csv:6: class: "chatt" is no class of the scenario; nearest: chat'),
        ("big,faq,fast,1", 'rates.csv:6: rate_rps: "fast" is not a finite number; write 0 or more'),
        ("big,faq,-1,1", 'rates.csv:6: rate_rps: "-1" is not a finite number; write 0 or more'),
        ("big,faq,inf,1", 'rates.csv:6: rate_rps: "inf" is not a finite number; write 0 or more'),
        ("big,faq,1,0", 'rates.csv:6: pool_size: "0" is not a finite number; write 1 or more'),
        ("big,faq,1,1.5", "rates.csv:6: pool_size: 1.5 is not a whole number; write 2"),
        ("own,chat,3,2", "rates.csv:6: row: repeats line 3; keep one"),
        ("big,faq,1", "rates.csv:6: row: has 3 cells, the header 4; write one per column"),
        ("big", "rates.csv:6: row: has 1 cell, the header 4; write one per column"),
    ],
)
def test_a_bad_row_is_told_with_its_line(row: str, said: str, tmp_path: Path) -> None:
    assert told(tmp_path, HEAD + "own,chat,2.5,1\nown,chat,6,2\nown,faq,0,\nbig,chat,9,1\n" + row + "\n") == [said]


def test_all_bad_rows_come_together_and_an_offer_without_any_row_is_named(tmp_path: Path) -> None:
    said = told(tmp_path, HEAD + "own,chat,x,0\nown,faq,1,1\n")
    assert said == [
        'rates.csv:2: rate_rps: "x" is not a finite number; write 0 or more',
        'rates.csv:2: pool_size: "0" is not a finite number; write 1 or more',
        'rates.csv: offer "big" has no row; write its rates, 0 where it cannot serve',
    ]


@pytest.mark.parametrize(("text", "lacking"), [("", "offer, class, rate_rps"), ("offer,rate_rps\nown,1\n", "class")])
def test_a_table_without_its_columns_says_which(text: str, lacking: str, tmp_path: Path) -> None:
    assert told(tmp_path, text) == [f"rates.csv:1: has no column {lacking}; write the header offer,class,rate_rps[,pool_size]"]


def test_an_offer_whose_only_row_is_bad_has_no_row(tmp_path: Path) -> None:
    assert told(tmp_path, HEAD + "own,chat,1,1\nbig,chat,x,1\n") == [
        'rates.csv:3: rate_rps: "x" is not a finite number; write 0 or more',
        'rates.csv: offer "big" has no row; write its rates, 0 where it cannot serve',
    ]
