"""Hours of a log keep their day and time, and a replay does not claim arrivals that are not the log's."""

from __future__ import annotations

from pathlib import Path

from optimize.explain.notes import POISSON, REPLAYED, arrival_assumption
from sim.scenario.scenario import ConstantTraffic, LogTraffic
from sim.traffic import demand
from tests.traffic.scenarios import scenario


def azure(tmp_path: Path, hours: int) -> Path:
    path = tmp_path / "azure.csv"
    rows = [f"2024-05-10 {h:02d}:{m:02d}:00.123456+00:00,100,20" for h in range(hours) for m in range(0, 60, 5)]
    path.write_text("\n".join(["TIMESTAMP,ContextTokens,GeneratedTokens", *rows]) + "\n")
    return path


def test_hours_of_a_dated_log_say_when_they_were(tmp_path: Path) -> None:
    names = demand(scenario(LogTraffic(azure(tmp_path, 3)))).slices
    assert names == ("log hour 0 (Fri 2024-05-10 00:00)", "log hour 1 (Fri 2024-05-10 01:00)", "log hour 2 (Fri 2024-05-10 02:00)")


def test_hours_of_a_log_that_counts_from_its_start_have_a_number_only(tmp_path: Path) -> None:
    path = tmp_path / "own.csv"
    path.write_text("arrival_s,input_tokens,output_tokens\n" + "".join(f"{60 * k},100,20\n" for k in range(120)))
    assert demand(scenario(LogTraffic(path))).slices == ("log hour 0", "log hour 1")


def test_a_replay_does_not_claim_poisson_arrivals(tmp_path: Path) -> None:
    assert arrival_assumption(scenario(LogTraffic(azure(tmp_path, 1)))) == REPLAYED
    assert arrival_assumption(scenario(ConstantTraffic(1.0))) == POISSON
