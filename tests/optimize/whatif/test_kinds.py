"""Grid, tornado, risk and levers on the smallest scenario, and what reports make of them."""

from __future__ import annotations

import csv
import io
import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from optimize.report.page.whatif_html import whatif_html
from optimize.report.terminal.render_whatif import render_whatif, whatif_json
from optimize.report.write import write_whatif
from optimize.whatif import levers as lever_verb
from optimize.whatif import ranges
from optimize.whatif.crossings import crossing
from optimize.whatif.entry import Question, Where, exit_code, what_if
from optimize.whatif.lever_changes import levers_of, with_fp8_kv
from optimize.whatif.ranges import Range, ranges_of
from optimize.whatif.risk import draw_all, value_at
from optimize.whatif.study import Answer
from sim.engine.deployment import Deployment
from sim.engine.memory import kv_blocks
from sim.errors import InputError
from sim.scenario import load_scenario

SCENARIOS = Path(__file__).resolve().parents[3] / "scenarios"
TWO_OFFERS = SCENARIOS / "two_offers.yaml"
MILLION = SCENARIOS / "million_dau.yaml"
GRID = ("traffic.rate_rps=2,30", "candidates.relays=-deepinfra.llama-3.1-8b")
SETTINGS = ("budget.per_month=2000", "candidates.offers=[nebius.h100]")
OWN = ("candidates.relays=[]", "candidates.offers=[aws.g6e.xlarge]")


@pytest.fixture(scope="module")
def gridded() -> Answer:
    return what_if(Question(TWO_OFFERS, SETTINGS), GRID, Where(1))


def column(answer: Answer, table: int, name: str) -> list[object]:
    return list(answer.tables[table].column(name))


def test_grid_has_a_tidy_row_per_point_whose_parts_add_up(gridded: Answer) -> None:
    table = gridded.tables[0]
    assert [column.name for column in table.columns][:4] == ["point", "traffic.rate_rps", "candidates.relays", "status"]
    assert len(table.rows) == 4
    for row in table.rows:
        found = dict(zip([column.name for column in table.columns], row, strict=True))
        assert found["gpu_per_month"] + found["relay_per_month"] == pytest.approx(found["per_month"])
        assert found["own_share"] + found["relay_share"] + found["unserved_share"] == pytest.approx(1)
        assert (found["status"] == "met") == (found["unserved_share"] == 0)
        assert found["status"] == "met" or "cheapest plan that serves everything" in found["note"]


def test_same_question_gives_the_same_bytes_in_every_form(gridded: Answer, tmp_path: Path) -> None:
    again = what_if(Question(TWO_OFFERS, SETTINGS), GRID, Where(1))
    assert render_whatif(again) == render_whatif(gridded)
    for answer, name in ((gridded, "a"), (again, "b")):
        write_whatif(answer, tmp_path / name)
    for file in ("points.csv", "whatif.json", "whatif.html"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()
    rows = list(csv.DictReader(io.StringIO((tmp_path / "a" / "points.csv").read_text())))
    assert [float(row["per_month"]) for row in rows] == column(gridded, 0, "per_month")


def test_parquet_holds_what_the_csv_holds(gridded: Answer, tmp_path: Path) -> None:
    parquet = pytest.importorskip("pyarrow.parquet", reason="needs pyarrow: pip install 'servemix[parquet]'")
    write_whatif(gridded, tmp_path)
    table = parquet.read_table(tmp_path / "points.parquet")
    assert table.column_names == [each.name for each in gridded.tables[0].columns]
    assert table.column("per_month").to_pylist() == column(gridded, 0, "per_month")
    assert table.schema.field("per_month").metadata[b"unit"] == b"money"


def test_page_has_a_curve_for_each_combination_and_a_map_for_each_of_the_rest(gridded: Answer) -> None:
    page = whatif_html(gridded)
    assert page.count("<svg role=") == 2 + 1
    assert "<script" not in page and "http://" not in page and "https://" not in page
    assert "Break-even" in page and "Cost map" in page


def test_json_holds_every_table_and_the_screen_the_points(gridded: Answer) -> None:
    said = json.loads(json.dumps(whatif_json(gridded), allow_nan=False))
    assert (said["schema"], said["kind"], said["unfinished"], said["failed"]) == ("servemix.whatif/1", "grid", 0, 0)
    assert len(said["tables"]["points"]["rows"]) == 4
    screen = render_whatif(gridded)
    assert max(map(len, screen.splitlines())) <= 110
    assert "relays" in screen and "over budget" in screen
    assert exit_code(gridded) == 0


def test_crossing_lies_between_neighbours() -> None:
    assert crossing([1, 10], [1.0, 10.0], [2.0, 5.0]) == pytest.approx(10 ** (math.log(2) / math.log(4)), rel=1e-4)
    assert crossing([1, 10], [1.0, 10.0], [2.0, 20.0]) is None
    assert crossing([1, 10], [1.0, None], [2.0, 5.0]) is None


def test_tornado_ranks_inputs_and_doubling_users_doubles_a_relay_bill(monkeypatch: pytest.MonkeyPatch) -> None:
    """With three of the default ranges: each asks for two plans."""
    kept = [row for row in ranges.defaults() if row["key"] in ("factor.users", "factor.gpu_prices", "factor.relay_prices")]
    monkeypatch.setattr(ranges, "defaults", lambda: kept)
    answer = what_if(Question(TWO_OFFERS), ["factor.users=0.5:2"], Where(1), one_at_a_time=True)
    names, spans = column(answer, 0, "input"), column(answer, 0, "span")
    assert names[0] == "factor.users"
    assert spans == sorted(spans, key=lambda span: -float(str(span)))
    first = dict(zip([each.name for each in answer.tables[0].columns], answer.tables[0].rows[0], strict=True))
    assert (first["low_per_month"], first["high_per_month"]) == (164.25, 657.0)
    assert first["source"] == "--vary"
    assert all(column(answer, 0, "source"))
    assert "<svg role=" in whatif_html(answer)
    assert "factor.users from 0.5 to 2" in render_whatif(answer)


def test_ranges_come_from_vary_then_from_the_scenario_then_from_the_defaults() -> None:
    source = Question(MILLION, ("ranges={traffic.weekend_factor: [0.5, 0.9], factor.users: [0.7, 1.4]}",)).source()
    found = {each.key: each for each in ranges_of(source, source.load(()), ["factor.users=0.9:1.1"])}
    assert (found["factor.users"].low, found["factor.users"].source) == (0.9, "--vary")
    assert (found["traffic.weekend_factor"].high, found["traffic.weekend_factor"].source) == (0.9, "the scenario's ranges")
    assert (found["traffic.turns_per_conversation"].low, found["traffic.turns_per_conversation"].today) == (1.8, 2.5)
    assert "factor.relay_prices" in found


@pytest.mark.parametrize(
    ("texts", "settings", "said"),
    [
        (["traffic.rate_rps=-5:-1"], (), "--vary traffic.rate_rps=-5"),
        (["candidates.weights=[fp8],[bf16]"], (), "needs a low and a high number"),
        ([], ("ranges={traffic.nothing: [1, 2]}",), "ranges: traffic.nothing=1"),
        ([], ("ranges={factor.user: [1, 2]}",), 'there is no factor "user"'),
    ],
)
def test_a_range_that_the_scenario_refuses_is_told(texts: list[str], settings: tuple[str, ...], said: str) -> None:
    with pytest.raises(InputError) as error:
        what_if(Question(TWO_OFFERS, settings), texts, Where(1), one_at_a_time=True)
    assert any(said in problem for problem in error.value.problems)


def test_draws_stay_in_their_ranges_and_half_of_them_below_a_peak_in_the_middle() -> None:
    ranges = (Range("factor.users", 0.5, 2.0, 1.0, ""), Range("traffic.rate_rps", 1.0, 100.0, None, ""))
    drawn = draw_all(ranges, 400, seed=1)
    assert drawn[:, 0].min() >= 0.5 and drawn[:, 0].max() <= 2.0
    assert np.median(drawn[:, 0]) == pytest.approx(1.0, rel=0.02)
    assert np.median(drawn[:, 1]) == pytest.approx(10.0, rel=0.05)
    assert value_at(ranges[0], 0.0) == 0.5 and value_at(ranges[0], 1.0) == 2.0


def test_risk_prefers_the_larger_plan_when_load_is_uncertain() -> None:
    """One L40S carries the rate as written and no more: when demand may double, the plan for today cannot hold in nine of ten draws."""
    question = Question(TWO_OFFERS, (*OWN, "traffic.rate_rps=8"))
    answer = what_if(question, ["factor.users=0.9:4"], Where(1), samples=6, uncertain=True)
    held = [float(str(share)) for share in column(answer, 0, "held_share")]
    costs = [float(str(cost)) for cost in column(answer, 0, "planned_per_month")]
    assert held == sorted(held) and held[0] < 0.9 <= held[-1]
    assert costs == sorted(costs)
    chosen = column(answer, 0, "chosen")
    assert chosen.count(True) == 1 and held[chosen.index(True)] >= 0.9
    assert len(answer.tables[1].rows) == 6 * len(held)
    assert "holds with 90 %" in render_whatif(answer)
    assert "<svg role=" in whatif_html(answer)


def test_every_lever_says_what_it_asks_and_leaves_a_scenario_that_differs() -> None:
    scenario = load_scenario(MILLION)
    found = list(levers_of(scenario))
    assert len({lever.name for lever in found}) == len(found)
    assert all(lever.price for lever in found)
    assert all(lever.scenario != scenario for lever in found)
    for lever in found:
        if lever.scenario is not None:
            assert sum(each.share for each in lever.scenario.request_classes) == pytest.approx(1)


def test_fp8_kv_halves_the_bytes_of_a_token_and_nothing_else() -> None:
    catalog = load_scenario(TWO_OFFERS).catalog
    halved = with_fp8_kv(load_scenario(TWO_OFFERS)).catalog
    for tensor_parallel in (1, 2, 8):
        shape = Deployment(catalog.models["llama-3.3-70b"], catalog.weight_formats["int4"], catalog.gpus["h100"], tensor_parallel)
        assert kv_blocks(replace(shape, model=halved.models["llama-3.3-70b"])) == kv_blocks(replace(shape, kv_bytes_per_number=1))


def test_levers_are_ranked_by_saving_and_rules_measured_beside_them(monkeypatch: pytest.MonkeyPatch) -> None:
    kept = ("at most 16 sequences in a batch", "prefix caching")
    monkeypatch.setattr(lever_verb, "levers_of", lambda scenario: [lever for lever in levers_of(scenario) if lever.name in kept])
    answer = what_if(Question(TWO_OFFERS, (*OWN, "traffic.rate_rps=8")), (), Where(1), levers=True)
    savings = [saving for saving in column(answer, 0, "saving") if saving is not None]
    assert savings == sorted(savings, key=lambda saving: -float(str(saving)))
    assert dict(zip(column(answer, 0, "lever"), column(answer, 0, "status"), strict=True))["prefix caching"] == "not here"
    rules = dict(zip(column(answer, 1, "rule"), column(answer, 1, "verdict"), strict=True))
    assert rules["int8 halves memory and doubles speed"] == "wrong here"
    rates = dict(zip(column(answer, 2, "variant"), column(answer, 2, "rate_rps"), strict=True))
    assert float(str(rates["at most 16 sequences"])) < float(str(rates["as it is"]))
    assert "<svg role=" in whatif_html(answer)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        ({}, "nothing is varied"),
        ({"one_at_a_time": True, "levers": True}, "are different questions"),
        ({"levers": True, "samples": 5}, "draws nothing with --levers"),
    ],
)
def test_a_question_that_is_none_is_one_clear_message(more: dict[str, object], said: str) -> None:
    with pytest.raises(InputError, match=said):
        what_if(Question(TWO_OFFERS), (), Where(1), **more)  # type: ignore[arg-type]
