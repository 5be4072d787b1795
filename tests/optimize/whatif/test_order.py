"""The order in which points are sent, and what two processes that take them in it do twice: nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from optimize.whatif.ask import Question, factors_of, run_points
from optimize.whatif.run_jobs import Where
from optimize.whatif.sample import grid
from optimize.whatif.task import Task, in_turns
from optimize.whatif.vary import parse_axes

SCENARIO = Path(__file__).resolve().parents[3] / "scenarios/two_offers.yaml"
SETTINGS = ("candidates.offers=[aws.g6e.xlarge]", "candidates.relays=[]", "budget.per_month=100000")


@dataclass(frozen=True)
class Known:
    family: str
    size: float


def test_first_of_each_family_comes_first_and_the_largest_of_a_turn_first() -> None:
    jobs = {"a1": Known("a", 1), "a2": Known("a", 1), "b1": Known("b", 3), "b2": Known("b", 3), "c1": Known("c", 2)}
    assert in_turns(jobs) == ["b1", "c1", "a1", "b2", "a2"]
    assert in_turns({}) == []


def tasks(*axes: str) -> list[Task]:
    source = Question(SCENARIO, SETTINGS).source()
    return [Task(source.load(point.levels), factors_of(point)) for point in grid(parse_axes(axes))]


@pytest.mark.parametrize(
    ("axes", "families"),
    [
        (("budget.per_month=1k,5k", "factor.gpu_prices=1,2"), 1),
        (("traffic.rate_rps=5,10", "budget.per_month=1k,5k"), 2),
        (("factor.output_tokens=1,2", "factor.relay_prices=1,2"), 2),
        (("candidates.offers=+aws.g5.xlarge",), 1),
    ],
)
def test_points_that_differ_in_prices_budget_or_candidates_are_one_family(axes: tuple[str, ...], families: int) -> None:
    assert len({task.family for task in tasks(*axes)}) == families


def test_size_is_the_requests_of_a_day_whichever_way_they_are_written() -> None:
    slow, fast = tasks("traffic.rate_rps=5,10")
    assert fast.size == 2 * slow.size
    assert tasks("factor.users=2")[0].size == 2 * tasks("budget.per_month=1k")[0].size


def test_two_processes_give_the_rows_of_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVEMIX_CACHE_DIR", str(tmp_path))
    points = grid(parse_axes(["traffic.rate_rps=3:6:lin2", "budget.per_month=10k,20k"]))
    source = Question(SCENARIO, SETTINGS).source()
    two = run_points(source, points, Where(2)).outcomes
    one = run_points(source, points, Where(1)).outcomes
    assert [each.row for each in one if each] == [each.row for each in two if each]
