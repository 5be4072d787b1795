"""The benchmark of shipped plans: who is played, what counts as held, and that it finds a plan that fresh seeds break."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from benchmarks import shipped_plans
from benchmarks.fresh_seeds import Kept, fresh_seeds, held_by_hour, play_all, seeds_missed
from benchmarks.shipped_plans import SCENARIOS, Row, row_of, shipped, worst_of
from optimize.search.fresh_seeds import HOLD_OUT_SEEDS
from optimize.search.loop import REMOVAL_SEEDS
from optimize.search.rate_search import MARGIN_SEEDS, SEARCH_SEEDS
from optimize.tables.plan_json import plan_json
from tests.optimize.search.test_fresh_seeds import CLOSE, QUICK, plan_with


def kept(seed: int, attained: float, quantile: float = 0.95) -> Kept:
    return Kept(seed, "weekday 09", "chat", "TTFT p95 <= 1.00 s", quantile, attained, 1000)


def played(folder: Path, *relays: str) -> list[Kept]:
    """Twenty fresh seeds of the plan for these relays."""
    plan = plan_with(folder, *relays)
    (folder / "plan.json").write_text(json.dumps(plan_json(plan)))
    return play_all(plan.scenario.path, folder / "plan.json", ["every hour"], fresh_seeds(20), 1)


def test_fresh_seeds_are_none_of_those_that_a_plan_was_made_on() -> None:
    assert not set(fresh_seeds(1000)) & {*HOLD_OUT_SEEDS, *SEARCH_SEEDS, *MARGIN_SEEDS, *REMOVAL_SEEDS}


def test_plan_that_says_met_must_hold_on_nineteen_of_twenty_and_one_that_does_not_say_so_need_not() -> None:
    assert Row("a", "met", seeds=20, held=19, held_in_worst_hour=19).kept_word
    assert not Row("a", "met", seeds=20, held=18, held_in_worst_hour=19).kept_word
    assert not Row("a", "met", seeds=100, held=97, held_in_worst_hour=98).kept_word
    assert Row("a", "over_budget").kept_word and Row("a", "met", seeds=20, held=20, held_in_worst_hour=20).kept_word


def test_worst_promise_is_the_one_with_least_room_in_misses() -> None:
    """Half of one miss in a hundred is closer than one of five."""
    close, far = kept(1, 0.995, 0.99), kept(1, 0.96, 0.80)
    assert worst_of([far, close]) is close
    assert worst_of([far, close, kept(2, 0.94)]).seed == 2


def test_seed_on_which_one_of_two_hours_breaks_is_missed_once() -> None:
    assert seeds_missed([kept(1, 0.94), kept(1, 0.93), kept(2, 0.95)]) == {1}


def test_seeds_are_counted_by_hour_too() -> None:
    found = [kept(1, 0.94), kept(1, 0.93), kept(2, 0.96)]
    assert held_by_hour(found, 2) == {"weekday 09": 1}


def test_plan_at_the_edge_is_found_out_and_one_with_room_is_not(tmp_path: Path) -> None:
    assert len(seeds_missed(played(tmp_path, CLOSE))) > 1
    assert len(seeds_missed(played(tmp_path, CLOSE, QUICK))) <= 1


def test_every_scenario_is_listed_and_measured_capacities_are_skipped_with_the_reason(tmp_path: Path) -> None:
    names = [path.stem for path in shipped()]
    assert set(names) == {path.stem for path in SCENARIOS.glob("*.yaml")} and names[-2].startswith("million")
    melange = next(path for path in shipped() if path.stem == "melange")
    row = row_of(melange, 20, False, 1, tmp_path)
    assert row.kept_word and "measured capacities" in row.note and row.note in row.cells()


def test_json_is_one_object_with_a_row_per_scenario(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["shipped_plans", "two_offers", "--json", "--seeds", "2", "--jobs", "1"])
    with pytest.raises(SystemExit) as end:
        shipped_plans.main()
    answer = json.loads(capsys.readouterr().out)
    (row,) = answer["rows"]
    assert end.value.code == 0 and answer["kept"] and (row["scenario"], row["held"], row["seeds"]) == ("two_offers", 2, 2)


def test_name_that_no_scenario_has_exits_with_2(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["shipped_plans", "two_ofers"])
    with pytest.raises(SystemExit) as end:
        shipped_plans.main()
    said = capsys.readouterr()
    assert end.value.code == 2 and said.out == "" and "two_ofers; known: decide_small" in said.err
