"""What the benchmark of many scenarios says of its runs."""

from __future__ import annotations

from pathlib import Path

import pytest

from benchmarks.whatif import FULL, Clock, summary
from optimize.whatif.sample import grid
from optimize.whatif.study import Outcome
from optimize.whatif.vary import parse_axes


def test_full_grid_has_sixty_points() -> None:
    assert len(grid(parse_axes(FULL))) == 60


def test_summary_tells_workers_apart_and_what_an_idle_machine_would_take() -> None:
    found = [
        Outcome({"status": "met"}, cpu, peak, worker=worker) for cpu, peak, worker in ((4.0, 300.0, 7), (2.0, 500.0, 7), (5.0, 200.0, 8))
    ]
    said = summary(found, 2, {"wall_s": 8.0, "parent_s": 1.0, "workers_s": 2.0, "parts": 1})
    assert said["cpu_s"] == 4 + 2 + 5 + 1 + 2
    assert said["quiet_s"] == 1 + 6 + 2 / 2
    assert said["worker_cpu_s"] == [5.0, 6.0]
    assert said["worker_peak_mb"] == [200.0, 500.0]
    assert said["cpu_ms_per_point"] == 3667


def test_clock_adds_the_parts_of_a_killed_run_and_begins_anew_with_another_program(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "run"
    first = Clock(folder)
    first.started_s -= 100
    first.write(1.0, 2.0)
    (folder / "kept").touch()
    second = Clock(folder).write(0.5)
    assert second["parts"] == 2
    assert second["wall_s"] == pytest.approx(100, abs=5)
    assert (second["parent_s"], second["workers_s"]) == (1.5, 2.0)
    monkeypatch.setattr("benchmarks.whatif.program", lambda: "another")
    assert Clock(folder).write()["parts"] == 1
    assert not (folder / "kept").exists()
