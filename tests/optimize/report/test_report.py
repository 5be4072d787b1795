"""JSON, terminal and tables of a plan: the contract's keys, sums to the cent, stable bytes."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize.records import CostLine
from optimize.report.terminal import render_grid
from optimize.report.terminal.console import WIDTH
from optimize.report.terminal.render_plan import render
from optimize.report.write import write_results
from optimize.result import Plan
from optimize.tables import columns
from optimize.tables.bill_lines import bill_of, split
from optimize.tables.phrases import bounds, headline
from optimize.tables.plan_json import NEVER_S, plan_json
from optimize.tables.tables import all_tables
from tests.optimize.report import plan_fixture
from tests.shared_data import shared_data

GOLDEN = Path(__file__).with_name("golden_terminal.txt")


@pytest.fixture(scope="module")
def plan() -> Plan:
    return plan_fixture.plan()


def missed(plan: Plan) -> Plan:
    assert plan.verification is not None
    first = replace(plan.verification.verdicts[0], simulated_s=math.inf, ci95_s=(0.9, math.inf), attainment=0.9, met=False)
    proof = replace(plan.verification, verdicts=(first, *plan.verification.verdicts[1:]), met=False)
    return replace(plan, verification=proof, status="missed")


@given(st.lists(st.floats(-1e9, 1e9), min_size=1, max_size=12))
def test_rounded_parts_add_up_to_the_rounded_sum(amounts: list[float]) -> None:
    parts = split(amounts)
    assert sum(parts) == round(math.fsum(amounts))
    assert all(abs(part - amount) <= 1 for part, amount in zip(parts, amounts, strict=True))


def test_lines_add_up_to_the_total_in_cents(plan: Plan) -> None:
    cost = plan_json(plan)["cost"]
    assert sum(round(100 * line["per_month"]) for line in cost["lines"]) == round(100 * cost["per_month"]) == 3_878_273


def test_fleet_and_relays_add_up_to_their_lines(plan: Plan) -> None:
    bill = bill_of(plan)
    assert sum(bill.pools) + sum(bill.relays) + 50_000 == bill.total


def test_a_line_that_names_no_pool_is_spread_over_pools_at_list_price(plan: Plan) -> None:
    lump = replace(plan, lines=(CostLine("all GPUs", "gpu", 10_000.01), *plan.lines[2:]))
    bill = bill_of(lump)
    list_usd = plan.solution.billed @ plan.demand.weight_h * [4.58, 1.12]
    assert sum(bill.pools) == 1_000_001
    assert bill.pools[0] / bill.pools[1] == pytest.approx(list_usd[0] / list_usd[1], rel=1e-5)


def test_money_is_in_the_currency_of_the_scenario(plan: Plan) -> None:
    budget = replace(plan.scenario.budget, currency="EUR")
    euros = plan_json(replace(plan, scenario=replace(plan.scenario, budget=budget), usd_per_unit=1.25))
    assert euros["cost"]["currency"] == "EUR"
    assert euros["cost"]["per_month"] == pytest.approx(38_782.73 / 1.25, abs=0.01)
    assert euros["alternatives"][1]["per_month"] == 44_120.0 / 1.25


@pytest.mark.parametrize("case", ["met", "missed", "over_budget"])
def test_the_json_passes_the_published_check(plan: Plan, case: str, tmp_path: Path) -> None:
    check = shared_data("../checks/check_plan.py")
    value = {"met": plan, "missed": missed(plan), "over_budget": plan_fixture.over_budget()}[case]
    (tmp_path / "plan.json").write_text(json.dumps(plan_json(value), allow_nan=False))
    done = subprocess.run([sys.executable, str(check), str(tmp_path / "plan.json")], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout


def test_the_json_has_every_key_of_the_contract(plan: Plan) -> None:
    said = plan_json(plan)
    want: dict[str, Any] = {
        "": "scenario seed status cost fleet relays classes alternatives verification solver assumptions warnings",
        "cost": "currency per_month lines lower_bound_per_month fluid_bound_per_month gap",
        "fleet": "offer gpu model weights tensor_parallel term replicas cost_per_month",
        "relays": "relay model requests_per_month tokens_per_month cost_per_month",
        "classes": "name requests_per_month served_by slo",
        "alternatives": "name status per_month",
        "verification": "seeds requests_simulated rounds",
        "solver": "name status bound gap",
    }
    for key, names in want.items():
        value = said[key] if key else said
        assert set(names.split()) <= set(value[0] if isinstance(value, list) else value), key
    assert set(said["classes"][0]["slo"][0]) >= {"metric", "quantile", "limit_s", "simulated_s", "ci95_s", "hour", "met"}


def test_cached_tokens_are_those_of_the_bill(plan: Plan) -> None:
    thinker = plan_json(plan)["relays"][0]
    assert thinker["tokens_per_month"]["cached"] / thinker["requests_per_month"] == pytest.approx(500, rel=1e-6)


def test_routing_shares_of_a_served_class_sum_to_one_in_every_hour(plan: Plan) -> None:
    for by_target in plan_json(plan)["routing"].values():
        assert [sum(shares) for shares in zip(*by_target.values(), strict=True)] == pytest.approx([1.0] * 48)


def test_a_latency_without_end_is_a_number_in_json_and_a_word_on_screen(plan: Plan) -> None:
    row = plan_json(missed(plan))["classes"][0]["slo"][0]
    assert (row["simulated_s"], row["ci95_s"][1], row["met"]) == (NEVER_S, NEVER_S, False)
    assert "never" in render(missed(plan)) and "MISSED" in render(missed(plan))


def test_unserved_demand_is_said_by_class_and_share() -> None:
    short = plan_fixture.over_budget()
    assert plan_json(short)["classes"][0]["unserved_share"] == pytest.approx(0.1)
    assert "chat leaves 10.0 % unserved" in render(short)


def test_a_plan_cheaper_than_the_program_thought_has_no_bound_above_its_cost(plan: Plan) -> None:
    slim = replace(plan, solution=replace(plan.solution, model_bound_usd=40_000.0))
    cost = plan_json(slim)["cost"]
    assert cost["lower_bound_per_month"] == cost["per_month"] and cost["gap"] == 0
    assert "less than the program's margin" in render(slim)


def test_the_screen_is_the_golden_one(plan: Plan) -> None:
    assert render(plan) == GOLDEN.read_text(encoding="utf-8")


def test_no_line_is_wider_than_the_screen_even_with_long_names(plan: Plan) -> None:
    long = replace(plan, lines=(replace(plan.lines[0], name="x" * 150), *plan.lines[1:]), warnings=("word " * 60,))
    for case in (plan, long, missed(plan), plan_fixture.over_budget()):
        assert max(map(len, render(case).splitlines())) <= WIDTH


def test_markup_in_names_is_text(plan: Plan) -> None:
    assert "[red]b[/red]" in render(replace(plan, warnings=("[red]b[/red]",)))


def test_no_colour_unless_asked(plan: Plan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "60")
    assert render(plan) == GOLDEN.read_text(encoding="utf-8")
    assert "\x1b[" in render(plan, colour=True)


def test_every_row_has_the_declared_columns_and_types(plan: Plan) -> None:
    kinds = {"str": str, "int": int, "float": (int, float), "bool": bool}
    tables = all_tables(plan)
    assert [table.name for table in tables] == list(columns.TABLES)
    for table in tables:
        assert table.columns == columns.TABLES[table.name] and table.rows
        for row in table.rows:
            assert len(row) == len(table.columns)
            for value, column in zip(row, table.columns, strict=True):
                assert value is None or isinstance(value, kinds[column.dtype]), (table.name, column.name, value)


def test_hours_that_are_no_days_are_shown_in_runs() -> None:
    assert render_grid.rows(["always"], [3.0]) == [("always", [3.0])]
    log = [f"hour {i}" for i in range(30)]
    assert [(name, len(row)) for name, row in render_grid.rows(log, [1.0] * 30)] == [("hour 0", 24), ("hour 24", 6)]


def bare(plan: Plan) -> Plan:
    """One hour slice, the user's own measured capacity, nothing bought, no limit on money, nothing else to say."""
    one = np.array([730.0])
    demand = replace(plan.demand, slices=("always",), weight_h=one, mean_rps=np.full((4, 1), 2.0))
    option = replace(plan.program.pools[0].option, deployment=None)
    pools = (replace(plan.program.pools[0], option=option),)
    problem = replace(plan.program, demand=demand, pools=pools, relays=(), budget_usd=math.inf)
    nothing = np.zeros((1, 1), dtype=np.int64)
    solution = replace(
        plan.solution, hosts=nothing, billed=nothing, pool_flow=np.zeros((1, 4, 1)), relay_flow=np.zeros((0, 4, 1)),
        unserved=demand.mean_rps.copy(), cost_usd=0.0, model_bound_usd=-math.inf, gap=math.inf,
    )  # fmt: skip
    scenario = replace(plan.scenario, budget=replace(plan.scenario.budget, per_month=math.inf))
    return replace(
        plan, scenario=scenario, demand=demand, program=problem, solution=solution, status="infeasible", lines=(),
        verification=None, fluid_bound_usd=math.inf, alternatives=(), flips=(), dropped=(), binding=(), demand_band=(),
        assumptions=(), warnings=(),
    )  # fmt: skip


def test_a_plan_of_nothing_is_reported_in_every_form(plan: Plan, tmp_path: Path) -> None:
    assert "NO PLAN" in render(bare(plan))
    json.dumps(plan_json(bare(plan)), allow_nan=False)
    write_results(bare(plan), tmp_path)


def test_one_host_of_measured_capacity_is_reported_without_a_model(plan: Plan) -> None:
    case = bare(plan)
    host = np.ones((1, 1), dtype=np.int64)
    flow = case.demand.mean_rps[None].copy()
    served = replace(case.solution, hosts=host, billed=host, pool_flow=flow, unserved=0 * case.solution.unserved)
    said = plan_json(replace(case, solution=served, status="unverified", lines=(plan.lines[0],)))
    assert said["fleet"][0]["model"] is None and said["fleet"][0]["cost_per_month"] == said["cost"]["per_month"] > 11_234
    assert said["classes"][0]["slo"] == [] and said["classes"][0]["promises"]


def test_a_plan_that_leaves_requests_out_is_not_set_against_the_cost_of_serving_them() -> None:
    plan = replace(plan_fixture.plan(), status="over_budget", fluid_bound_usd=9e9)
    bill = bill_of(plan)
    assert bounds(plan, bill) == f"serving every request costs at least {bill.money(9e11)}, whatever the plan (fluid bound)"
    assert bounds(replace(plan, status="infeasible"), bill) == ""


def test_verdict_that_rests_on_few_requests_says_so() -> None:
    plan = plan_fixture.plan()
    assert plan.verification is not None
    verdicts = (replace(plan.verification.verdicts[0], requests=12), *plan.verification.verdicts[1:])
    few = replace(plan, verification=replace(plan.verification, verdicts=verdicts))
    assert "12 requests only" in headline(few, bill_of(few)) and "only" not in headline(plan, bill_of(plan))
    silent = replace(plan, status="unverified")
    assert "Too few requests" in headline(silent, bill_of(silent))
