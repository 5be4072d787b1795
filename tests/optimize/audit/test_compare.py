"""compare: the bridge's steps add up exactly whatever changes, each change lands in its own step, invoices are read in both forms."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize.audit.bill_bridge import STEPS, BillModel, Target, bridge
from optimize.audit.compare_invoice import compare_actual
from optimize.audit.compare_plans import Comparison, compare_plans
from optimize.money import cost_lines
from optimize.report.terminal.render_comparison import render_comparison
from optimize.tables.finance_tables import Money, finance_tables
from optimize.tables.folder import table_csv
from optimize.tables.plan_json import plan_json
from sim.errors import InputError
from tests.optimize.report import plan_fixture

Json = dict[str, Any]
AMOUNT = st.floats(0.0, 1e4)
ITEMS = st.sampled_from(["input tokens", "output tokens", "host-hour"])


@st.composite
def bills(draw: st.DrawFn) -> BillModel:
    targets = {}
    for name in draw(st.lists(st.sampled_from("abcd"), unique=True, max_size=4)):
        items = draw(st.lists(ITEMS, unique=True, max_size=3))
        units, prices = ({item: draw(AMOUNT) for item in items} for _ in range(2))
        targets[name] = Target(draw(st.floats(0, 1)), units, prices, draw(st.floats(1, 3)), draw(st.booleans()))
    model = BillModel("x", draw(st.floats(0, 1e3)), targets, 0.0, 0.0)
    total = round(model.modelled() + draw(st.floats(-1e5, 1e5)), 2)
    return replace(model, total=total, other=total - model.modelled())


@given(bills(), bills())
def test_the_steps_of_a_bridge_add_up_to_the_cent(first: BillModel, second: BillModel) -> None:
    steps = bridge(first, second)
    assert [step.name for step in steps] == list(STEPS)
    assert sum(round(100 * step.amount) for step in steps) == round(100 * second.total) - round(100 * first.total)


@given(bills())
def test_a_bill_and_itself_have_a_bridge_of_zeros(bill: BillModel) -> None:
    assert {step.amount for step in bridge(bill, bill)} == {0.0}


def base() -> BillModel:
    relay = Target(0.75, {"input tokens": 2.0, "output tokens": 1.0}, {"input tokens": 1.0, "output tokens": 4.0})
    pool = Target(0.25, {"host-hour": 0.5}, {"host-hour": 8.0}, hosts=True)
    model = BillModel("a", 100.0, {"relay": relay, "pool": pool}, 0.0, 0.0)  # 100 x (.75 x 6 + .25 x 4) = 550
    return replace(model, total=550.0)


def changed(**what: Any) -> dict[str, float]:
    first = base()
    relay, pool = first.targets["relay"], first.targets["pool"]
    second = replace(
        first,
        requests=what.get("requests", 100.0),
        targets={"relay": replace(relay, **what.get("relay", {})), "pool": replace(pool, **what.get("pool", {}))},
    )
    second = replace(second, total=round(second.modelled() + what.get("other", 0.0), 2))
    return {step.name: step.amount for step in bridge(first, second) if step.amount}


def test_each_change_lands_in_its_own_step() -> None:
    assert changed(requests=120.0) == {"volume": 110.0}
    assert changed(relay={"share": 0.65}, pool={"share": 0.35}) == {"routing": -20.0}
    assert changed(relay={"units": {"input tokens": 2.0, "output tokens": 1.5}}) == {"token mix": 150.0}
    assert changed(relay={"attempts": 1.1}) == {"retries": 45.0}
    assert changed(pool={"units": {"host-hour": 1.0}}) == {"utilisation": 100.0}
    assert changed(relay={"prices": {"input tokens": 1.0, "output tokens": 3.0}}) == {"prices": -75.0}
    assert changed(other=7.0) == {"fixed and other": 7.0}


def test_a_target_that_is_new_enters_under_routing_with_its_own_price() -> None:
    first = base()
    newcomer = Target(0.75, {"input tokens": 2.0}, {"input tokens": 2.0})
    second = replace(first, targets={"other": newcomer, "pool": first.targets["pool"]})
    second = replace(second, total=second.modelled())
    assert {step.name: step.amount for step in bridge(first, second) if step.amount} == {"routing": 100 * 0.75 * (4.0 - 6.0)}


def saved(folder: Path, change: Any = None) -> tuple[Path, Money]:
    """A whole plan, its lines made of its quantities and prices, in a results folder."""
    plan = plan_fixture.plan()
    plan = replace(plan, lines=cost_lines(plan.program, plan.solution))
    plan = change(plan) if change else plan
    folder.mkdir()
    (folder / "plan.json").write_text(json.dumps(plan_json(plan)), encoding="utf-8")
    return folder, Money(plan)


def amounts(found: Comparison) -> dict[str, float]:
    return {step.name: step.amount for step in found.bridges[0] if step.amount}


def test_a_dearer_host_is_a_step_of_prices_and_of_nothing_else(tmp_path: Path) -> None:
    def dearer(plan: Any) -> Any:
        terms = plan.program.pools[0]
        offer = replace(terms.option.offer, usd_per_hour=5.58)
        program = replace(plan.program, pools=(replace(terms, option=replace(terms.option, offer=offer)), plan.program.pools[1]))
        return replace(plan, program=program, lines=cost_lines(program, plan.solution))

    first, second = saved(tmp_path / "a")[0], saved(tmp_path / "b", dearer)[0]
    hours = float(plan_fixture.solution().billed[0] @ plan_fixture.WEIGHT_H)
    assert amounts(compare_plans([first, second])) == {"prices": pytest.approx(hours, abs=0.02)}


def test_a_comparison_names_what_it_compares_and_prints(tmp_path: Path) -> None:
    first, second = saved(tmp_path / "a")[0], saved(tmp_path / "b")[0]
    found = compare_plans([first, second / "plan.json"])
    assert len({bill.name for bill in found.bills}) == 2
    text = render_comparison(found)
    assert "Side by side" in text and "utilisation" in text and max(map(len, text.splitlines())) <= 110
    assert json.loads(json.dumps(found.as_json()))["bridges"][0]["before"] == found.bills[0].total


@pytest.mark.parametrize("drop", ["charges", "finance"])
def test_a_plan_saved_before_charges_were_is_still_compared(tmp_path: Path, drop: str) -> None:
    first, second = saved(tmp_path / "a")[0], saved(tmp_path / "b")[0]
    old = json.loads((first / "plan.json").read_text())
    del old[drop]
    (first / "plan.json").write_text(json.dumps(old))
    found = compare_plans([first, second])
    assert sum(round(100 * step.amount) for step in found.bridges[0]) == 0


def test_an_invoice_that_is_the_plan_has_a_bridge_of_zeros(tmp_path: Path) -> None:
    folder, money = saved(tmp_path / "a")
    focus = next(table for table in finance_tables(money) if table.name == "focus")
    (tmp_path / "focus.csv").write_text(table_csv(focus), encoding="utf-8")
    found = compare_actual(folder, tmp_path / "focus.csv")
    assert found.bills[1].total == found.bills[0].total
    assert all(abs(amount) <= 0.05 for amount in amounts(found).values())


def usage(tmp_path: Path, *rows: str, head: str = "model,requests,attempts,input_tokens,cached_tokens,output_tokens,cost,currency") -> Path:
    path = tmp_path / "usage.csv"
    path.write_text("\n".join([head, *rows]) + "\n", encoding="utf-8")
    return path


def test_a_usage_export_is_split_into_volume_mix_retries_and_prices(tmp_path: Path) -> None:
    folder, money = saved(tmp_path / "a")
    plan = json.loads((folder / "plan.json").read_text())
    relay = next(each for each in plan["relays"] if each["relay"] == "lab.thinker")
    requests, tokens, cost = relay["requests_per_month"], relay["tokens_per_month"], relay["cost_per_month"]
    row = f"thinker,{requests},{requests * 1.5},{tokens['input'] * 1.5},{tokens['cached'] * 1.5},{tokens['output'] * 1.5},{1.5 * cost},USD"
    found = compare_actual(folder, usage(tmp_path, row))
    steps = {step.name: step.amount for step in found.bridges[0]}
    assert steps["retries"] == pytest.approx(0.5 * cost, rel=1e-6)
    assert steps["prices"] == pytest.approx(0.0, abs=1.0) and steps["token mix"] == pytest.approx(0.0, abs=1.0)
    assert sum(round(100 * step.amount) for step in found.bridges[0]) == round(100 * (found.bills[1].total - found.bills[0].total))
    assert money.bill.total == round(100 * found.bills[0].total)


def test_rows_that_the_plan_does_not_know_are_named_and_counted(tmp_path: Path) -> None:
    folder, _ = saved(tmp_path / "a")
    found = compare_actual(folder, usage(tmp_path, "mystery,5,5,10,0,10,123.45,USD"))
    assert "not in the plan: mystery, 123.45 USD" in found.notes and found.bills[1].total == 123.45
    assert sum(round(100 * step.amount) for step in found.bridges[0]) == 12_345 - round(100 * found.bills[0].total)


def test_without_request_counts_the_volume_comes_from_output_tokens(tmp_path: Path) -> None:
    folder, _ = saved(tmp_path / "a")
    plan = json.loads((folder / "plan.json").read_text())
    relay = next(each for each in plan["relays"] if each["relay"] == "lab.thinker")
    head = "model,output_tokens,cost"
    found = compare_actual(folder, usage(tmp_path, f"thinker,{relay['tokens_per_month']['output'] / 2},10", head=head))
    assert found.bills[1].requests == pytest.approx(relay["requests_per_month"] / 2, rel=1e-6)
    assert any("counts no requests" in note for note in found.notes)


def test_a_line_that_states_a_cost_alone_is_compared_by_cost(tmp_path: Path) -> None:
    folder, _ = saved(tmp_path / "a")
    plan = json.loads((folder / "plan.json").read_text())
    cost = {each["relay"]: each["cost_per_month"] for each in plan["relays"]}["lab.thinker"]
    found = compare_actual(folder, usage(tmp_path, f"thinker,{cost + 100:.2f}", head="model,cost"))
    rows = dict(found.rows)
    assert rows["line: lab.thinker"] == (cost, pytest.approx(cost + 100)) and rows["requests"][1] is None
    steps = {step.name: step.amount for step in found.bridges[0]}
    assert steps["volume and price, not split"] == pytest.approx(100.0) and steps["fixed and other"] == pytest.approx(-500.0, abs=0.02)
    others = [line["per_month"] for line in plan["cost"]["lines"] if line["name"] not in ("lab.thinker", "fixed costs")]
    assert steps["volume"] == pytest.approx(-sum(others), abs=0.02), "what is not billed at all"
    assert sum(round(100 * amount) for amount in steps.values()) == round(100 * (found.bills[1].total - found.bills[0].total))
    assert any("lab.thinker: compared by cost; volume and price, not split: the invoice has no requests" in note for note in found.notes)
    assert max(map(len, render_comparison(found).splitlines())) <= 110


def test_an_invoice_of_costs_and_of_counts_splits_what_it_can(tmp_path: Path) -> None:
    folder, _ = saved(tmp_path / "a")
    plan = json.loads((folder / "plan.json").read_text())
    first, second = plan["relays"]
    counted = f"{second['relay']},{second['requests_per_month']},{second['tokens_per_month']['output']},{second['cost_per_month']}"
    head = "relay,requests,output_tokens,cost"
    found = compare_actual(folder, usage(tmp_path, f"{first['relay']},,,{first['cost_per_month'] + 5:.2f}", counted, head=head))
    steps = {step.name: step.amount for step in found.bridges[0]}
    assert steps["volume and price, not split"] == pytest.approx(5.0, abs=0.011)
    assert sum(round(100 * amount) for amount in steps.values()) == round(100 * (found.bills[1].total - found.bills[0].total))


def test_a_negative_cost_is_a_credit_and_is_said_to_be_one(tmp_path: Path) -> None:
    folder, _ = saved(tmp_path / "a")
    found = compare_actual(folder, usage(tmp_path, "thinker,-4000", "thinker,10", head="model,cost"))
    assert any("line 2, thinker: -4,000.00 USD is negative, so it counts as a credit" in note for note in found.notes)
    rows, steps = dict(found.rows), {step.name: step.amount for step in found.bridges[0]}
    assert rows["credits"] == (None, -4000.0) and rows["line: lab.thinker"][1] == 10.0
    assert steps["fixed and other"] == pytest.approx(-4000.0 - 500.0, abs=0.02), "the credit, and no fixed costs"
    assert found.bills[1].total == -3990.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "header is empty"),
        ("a,b\n1,2\n", "no columns that are known"),
        ("model,cost\nx,ten\nx,\n", "is not a number"),
        ("model,cost,currency\nx,1,EUR\n", "is in EUR, the plan in USD"),
        ("BilledCost,ServiceName\n", "has a header and no rows"),
        ("BilledCost,ServiceName\n,x\n", "every FOCUS row has one"),
        ("model,cost\nx,inf\n", "is not finite"),
    ],
)
def test_a_bad_invoice_is_one_message_that_names_the_file(tmp_path: Path, text: str, message: str) -> None:
    folder, _ = saved(tmp_path / "a")
    path = tmp_path / "bad.csv"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message) as caught:
        compare_actual(folder, path)
    assert all(line.startswith(str(path)) for line in caught.value.problems)


def test_bad_plans_are_told_by_name(tmp_path: Path) -> None:
    folder, _ = saved(tmp_path / "a")
    with pytest.raises(InputError, match="two plans or more"):
        compare_plans([folder])
    with pytest.raises(InputError, match="is a scenario; make its plan"):
        compare_plans([folder, Path("scenarios/two_offers.yaml")])
    torn = tmp_path / "torn.json"
    torn.write_text(json.dumps({"schema": "servemix.plan/1", "cost": {"currency": "USD"}}))
    with pytest.raises(InputError, match="not a whole plan"):
        compare_plans([folder, torn])
    euros = json.loads((folder / "plan.json").read_text())
    euros["cost"]["currency"] = "EUR"
    torn.write_text(json.dumps(euros))
    with pytest.raises(InputError, match=r"is in EUR: make them with the same budget\.currency"):
        compare_plans([folder, torn])


@pytest.mark.parametrize(
    ("part", "value"), [("cost", None), ("cost", {}), ("fleet", "x"), ("fleet", [{}]), ("status", None), ("relays", 3)]
)
def test_a_plan_that_lacks_a_part_is_told_and_not_tripped_over(tmp_path: Path, part: str, value: Any) -> None:
    folder, _ = saved(tmp_path / "a")
    plan = json.loads((folder / "plan.json").read_text())
    plan[part] = value
    if value is None:
        del plan[part]
    torn = tmp_path / "torn.json"
    torn.write_text(json.dumps(plan))
    with pytest.raises(InputError, match=r"torn\.json: is not a whole plan"):
        compare_plans([folder, torn])
    invoice = tmp_path / "invoice.csv"
    invoice.write_text("model,cost\nr,1\n")
    with pytest.raises(InputError, match=r"torn\.json: is not a whole plan"):
        compare_actual(torn, invoice)
