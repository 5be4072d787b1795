"""Logs whose clock or rows cannot be meant: a refusal that says what is likely meant."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.errors import InputError
from sim.traffic.readers.read import read_log

HEADER = "arrival_s,input_tokens,output_tokens"


def written(tmp_path: Path, rows: list[str]) -> Path:
    path = tmp_path / "log.csv"
    path.write_text("\n".join([HEADER, *rows]) + "\n")
    return path


@pytest.mark.parametrize(("factor", "unit"), [(1e3, "milliseconds"), (1e6, "microseconds"), (1e9, "nanoseconds")])
def test_finer_units_than_seconds_are_named(factor: float, unit: str, tmp_path: Path) -> None:
    rows = [f"{(1_764_500_000 + k) * factor:.0f},100,20" for k in range(50)]
    with pytest.raises(InputError, match=rf"log\.csv:2: .* looks like {unit} since 1970; write seconds"):
        read_log(written(tmp_path, rows))


def test_a_log_of_which_most_rows_are_unreadable_is_refused(tmp_path: Path) -> None:
    rows = [f"{k},100,20" if k % 10 == 0 else f"{k},many,20" for k in range(100)]
    with pytest.raises(InputError, match="90 of 100 rows cannot be read"):
        read_log(written(tmp_path, rows))


def test_times_with_and_without_a_zone_in_one_column_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "azure.csv"
    stamps = [f"2026-11-30 10:00:{k:02d}.5000000" + ("" if k % 2 else "Z") for k in range(30)]
    path.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(f"{stamp},100,20\n" for stamp in stamps))
    with pytest.raises(
        InputError, match=r"azure\.csv:3: time .* is written without a time zone, .* in line 2 with one; write all of them with one"
    ):
        read_log(path)


@pytest.mark.parametrize("at", [0, 1, 400])
@pytest.mark.parametrize("ending", ["Z", "+02:00"])
def test_one_time_of_another_kind_is_refused_wherever_it_stands(at: int, ending: str, tmp_path: Path) -> None:
    path = tmp_path / "azure.csv"
    stamps = [f"2026-11-30 10:{k // 60:02d}:{k % 60:02d}.5000000" + ("" if k == at else ending) for k in range(600)]
    path.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(f"{stamp},100,20\n" for stamp in stamps))
    with pytest.raises(InputError, match=rf"azure\.csv:{max(at, 1) + 2}: time .*; write all of them with one"):
        read_log(path)


@pytest.mark.parametrize("torn", ["2026-11-30 10:00:null", "10:00:07.-1000", ""])
def test_a_cell_that_is_no_time_is_a_bad_row_and_not_another_clock(torn: str, tmp_path: Path) -> None:
    path = tmp_path / "azure.csv"
    stamps = [torn if k == 7 else f"2026-11-30 10:00:{k:02d}.5000000" for k in range(30)]
    path.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n" + "".join(f"{stamp},100,20\n" for stamp in stamps))
    assert read_log(path).kept >= 29


def test_a_log_that_counts_from_its_own_start_is_not_taken_for_one_since_1970(tmp_path: Path) -> None:
    rows = [f"{k * 1e9:.0f},100,20" for k in range(3600)]  # an hour in nanoseconds
    assert read_log(written(tmp_path, rows)).arrival_s[-1] == 3599e9  # whoever replays it says that it spans too many days
