"""Many jobs: the unfinished ones run, errors stay where they are, what is done is kept."""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from optimize.whatif.run_jobs import Kept, Where, run_all
from optimize.whatif.study import Outcome
from sim.errors import InputError


@dataclass(frozen=True)
class Fake:
    """A job that writes down that it ran, and then does what its name says."""

    name: str
    folder: Path
    family: str = ""
    size: float = 1.0

    @property
    def key(self) -> str:
        return self.name

    def row(self) -> dict[str, Any]:
        with (self.folder / "ran").open("a") as file:
            file.write(f"{self.name}\n")
        if self.name.startswith("raises"):
            raise RuntimeError("a defect\nof ours")
        if self.name.startswith("wrong"):
            raise InputError(["one", "two"])
        if self.name.startswith("interrupts"):
            raise KeyboardInterrupt
        if self.name.startswith("dies") and not (self.folder / "died").exists():
            (self.folder / "died").touch()
            os._exit(1)
        return {"status": "met", "per_month": float(len(self.name))}


@pytest.fixture(autouse=True)
def no_warm_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("optimize.whatif.run_jobs.warm", lambda todo, where: None)


def jobs(folder: Path, *names: str) -> list[Fake]:
    return [Fake(name, folder) for name in names]


def ran(folder: Path) -> list[str]:
    return (folder / "ran").read_text().split()


def statuses(outcomes: tuple[Outcome | None, ...]) -> list[str | None]:
    return [None if outcome is None else outcome.status for outcome in outcomes]


def test_failing_jobs_say_why_and_the_others_finish_in_order(tmp_path: Path) -> None:
    said: list[str] = []
    found = run_all(jobs(tmp_path, "a", "raises", "bb", "wrong", "ccc"), Where(1, tell=said.append))
    assert statuses(found.outcomes) == ["met", "failed", "met", "bad_input", "met"]
    assert [outcome.row.get("note") for outcome in found.outcomes if outcome] == [None, "RuntimeError: a defect", None, "one; two", None]
    assert [outcome.row["per_month"] for outcome in found.outcomes if outcome and outcome.status == "met"] == [1, 2, 3]
    assert any("failed (RuntimeError: a defect)" in line for line in said)
    assert any("4 left, about" in line for line in said)


def test_second_run_runs_only_what_is_unfinished_or_failed(tmp_path: Path) -> None:
    where = Where(1, out=tmp_path / "out")
    first = run_all(jobs(tmp_path, "a", "raises", "bb"), where)
    second = run_all(jobs(tmp_path, "a", "raises", "bb", "dddd"), where)
    assert ran(tmp_path) == ["a", "raises", "bb", "raises", "dddd"]
    assert [o.row for o in first.outcomes if o] == [o.row for o in second.outcomes[:3] if o]


def test_the_same_job_twice_runs_once(tmp_path: Path) -> None:
    found = run_all(jobs(tmp_path, "a", "a"), Where(1))
    assert statuses(found.outcomes) == ["met", "met"]
    assert ran(tmp_path) == ["a"]


def test_interruption_keeps_what_is_done(tmp_path: Path) -> None:
    said: list[str] = []
    found = run_all(jobs(tmp_path, "a", "bb", "interrupts", "ccc"), Where(1, out=tmp_path / "out", tell=said.append))
    assert found.interrupted
    assert statuses(found.outcomes) == ["met", "met", None, None]
    assert "interrupted: 2 of 4 points are finished and kept" in said
    assert len(list((tmp_path / "out" / "points").glob("*.json"))) == 2


def test_points_of_a_worker_that_dies_are_sent_again(tmp_path: Path) -> None:
    said: list[str] = []
    found = run_all(jobs(tmp_path, "a", "dies", "bb", "ccc"), Where(2, tell=said.append))
    assert statuses(found.outcomes) == ["met"] * 4
    assert any("a worker died" in line for line in said)


@pytest.mark.parametrize(
    "content", ["", "{", '{"row": 1, "cpu_s": 1, "peak_mb": 1}', '{"row": {"status": "failed"}, "cpu_s": 1, "peak_mb": 1}']
)
def test_damaged_outcome_counts_as_absent(tmp_path: Path, content: str) -> None:
    kept = Kept(tmp_path)
    kept.put("key", Outcome({"status": "met"}))
    assert kept.get("key") == Outcome({"status": "met"}, kept=True)
    (tmp_path / "points" / "key.json").write_text(content)
    assert kept.get("key") is None
