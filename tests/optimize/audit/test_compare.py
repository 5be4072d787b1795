"""compare: the bridge's steps add up exactly whatever changes, each change lands in its own step, invoices are read in both forms."""

from __future__ import annotations

import json
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from optimize.audit.bill_bridge import STEPS, BillModel, Target, bridge
from optimize.audit.compare_invoice import compare_actual
from optimize.audit.compare_plans import Comparison, LineGap, compare_plans
from optimize.money import cost_lines
from optimize.report.terminal.render_comparison import render_comparison
from optimize.result import Plan
from optimize.tables.finance_tables import Money, finance_tables
from optimize.tables.folder import table_csv
from optimize.tables.plan_json import plan_json
from sim.catalog.loader import load_catalog
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
    plan, text = whole() if change is None else made(change)
    folder.mkdir()
    (folder / "plan.json").write_text(text, encoding="utf-8")
    return folder, Money(plan)


def made(change: Any = None) -> tuple[Plan, str]:
    plan = plan_fixture.plan()
    plan = replace(plan, lines=cost_lines(plan.program, plan.solution))
    plan = change(plan) if change else plan
    return plan, json.dumps(plan_json(plan))


@cache
def whole() -> tuple[Plan, str]:
    return made()


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


def test_a_line_without_request_counts_is_split_into_quantity_and_price(tmp_path: Path) -> None:
    folder, _ = saved(tmp_path / "a")
    plan = json.loads((folder / "plan.json").read_text())
    tokens = {c["item"]: c for c in plan["charges"] if c["source"] == "lab.thinker"}
    sold = tokens["output tokens"]
    head = "model,output_tokens,cost"
    found = compare_actual(folder, usage(tmp_path, f"thinker,{sold['quantity'] * 1e6 / 2},10", head=head))
    (gap,) = [gap for gap in found.lines if gap.name == "lab.thinker"]
    others = sum(charge["per_month"] for item, charge in tokens.items() if item != "output tokens")
    assert gap.quantity == pytest.approx(-sold["quantity"] / 2 * sold["usd_per_unit"] - others, abs=0.02)
    assert gap.price == pytest.approx(10 - sold["quantity"] / 2 * sold["usd_per_unit"], abs=0.02)
    assert any("counts no requests" in note for note in found.notes)


def test_a_line_that_states_a_cost_alone_is_compared_by_cost(tmp_path: Path) -> None:
    folder, _ = saved(tmp_path / "a")
    plan = json.loads((folder / "plan.json").read_text())
    cost = {each["relay"]: each["cost_per_month"] for each in plan["relays"]}["lab.thinker"]
    found = compare_actual(folder, usage(tmp_path, f"thinker,{cost + 100:.2f}", head="model,cost"))
    rows = dict(found.rows)
    assert rows["line: lab.thinker"] == (cost, pytest.approx(cost + 100)) and rows["requests"][1] is None
    steps = {step.name: step.amount for step in found.bridges[0]}
    assert steps["volume and price, not split"] == pytest.approx(100.0) and steps["fixed and other"] == pytest.approx(0.0, abs=0.02)
    others = [line["per_month"] for line in plan["cost"]["lines"] if line["name"] != "lab.thinker"]
    assert steps["not invoiced"] == pytest.approx(-sum(others), abs=0.02) and "volume" not in steps
    assert sum(round(100 * amount) for amount in steps.values()) == round(100 * (found.bills[1].total - found.bills[0].total))
    assert any(
        "lab.thinker: compared by cost; volume and price, not split: the invoice has no requests, tokens or hours" in note
        for note in found.notes
    )
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
    assert steps["credits"] == -4000.0 and steps["fixed and other"] == pytest.approx(0.0, abs=0.02)
    assert found.bills[1].total == -3990.0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "header is empty"),
        ("a,b\n1,2\n", "no columns that are known"),
        ("model,cost\nx,ten\nx,\n", "is not a number"),
        ("model,cost,currency\nx,1,XTS\n", "is in XTS, the plan in USD"),
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
    euros["cost"]["currency"], euros["finance"] = "XTS", {}
    torn.write_text(json.dumps(euros))
    with pytest.raises(InputError, match=r"is in XTS: make them with the same budget\.currency"):
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


def test_plans_of_two_currencies_are_compared_at_the_rate_that_is_known(tmp_path: Path) -> None:
    folder, _ = saved(tmp_path / "a")
    yuan = json.loads((folder / "plan.json").read_text())
    rate = load_catalog().fx_usd["CNY"]
    yuan["cost"]["currency"], yuan["finance"]["usd_per_unit"] = "CNY", rate
    yuan["cost"]["per_month"] = round(yuan["cost"]["per_month"] / rate, 2)
    for line in yuan["cost"]["lines"]:
        line["per_month"] = round(line["per_month"] / rate, 2)
    other = tmp_path / "yuan.json"
    other.write_text(json.dumps(yuan))
    found = compare_plans([folder, other])
    assert found.currency == "USD" and found.bills[1].total == pytest.approx(found.bills[0].total, abs=0.01)
    assert all(abs(amount) <= 0.02 for amount in amounts(found).values())
    assert any("one CNY counts as" in note for note in found.notes)


FLEET = {  # three pools of which two share an offer, one a name that begins like it; two relays of one family of models
    "schema": "servemix.plan/1",
    "scenario": "by hand",
    "status": "met",
    "cost": {
        "currency": "USD",
        "per_month": 20_500.0,
        "lower_bound_per_month": 20_000.0,
        "lines": [
            {"name": "verda.h100x2/llama/fp8/tp2:chat", "per_month": 10_000.0},
            {"name": "verda.h100x2/llama/fp8/tp2:private", "per_month": 5_000.0},
            {"name": "verda.h100/llama-8b/fp8:faq", "per_month": 3_000.0},
            {"name": "openai.gpt-4.1", "per_month": 2_000.0},
            {"name": "fixed costs", "per_month": 500.0},
        ],
    },
    "fleet": [
        {"pool": "verda.h100x2/llama/fp8/tp2:chat", "offer": "verda.h100x2", "replicas": {"peak": 4}},
        {"pool": "verda.h100x2/llama/fp8/tp2:private", "offer": "verda.h100x2", "replicas": {"peak": 2}},
        {"pool": "verda.h100/llama-8b/fp8:faq", "offer": "verda.h100", "replicas": {"peak": 1}},
    ],
    "relays": [{"relay": "openai.gpt-4.1", "model": "gpt-4.1"}],
    "classes": [
        {
            "requests_per_month": 4e6,
            "served_by": {
                "verda.h100x2/llama/fp8/tp2:chat": 0.5,
                "verda.h100x2/llama/fp8/tp2:private": 0.2,
                "verda.h100/llama-8b/fp8:faq": 0.2,
                "openai.gpt-4.1": 0.1,
            },
        }
    ],
    "charges": [
        {"line": line, "kind": kind, "source": source, "item": item, "quantity": quantity, "unit": unit, "usd_per_unit": price}
        for line, kind, source, item, quantity, unit, price in (
            ("verda.h100x2/llama/fp8/tp2:chat", "gpu", "verda.h100x2", "host-hour", 2000.0, "h", 5.0),
            ("verda.h100x2/llama/fp8/tp2:private", "gpu", "verda.h100x2", "host-hour", 1000.0, "h", 5.0),
            ("verda.h100/llama-8b/fp8:faq", "gpu", "verda.h100", "host-hour", 1200.0, "h", 2.5),
            ("openai.gpt-4.1", "relay", "openai.gpt-4.1", "input tokens", 600.0, "million tokens", 2.0),
            ("openai.gpt-4.1", "relay", "openai.gpt-4.1", "output tokens", 100.0, "million tokens", 8.0),
            ("fixed costs", "fixed", "fixed costs", "per month", 1.0, "month", 500.0),
        )
    ],
    "finance": {"usd_per_unit": 1.0},
}


def held_against(tmp_path: Path, text: str) -> tuple[Comparison, dict[str, LineGap], dict[str, float]]:
    (tmp_path / "plan.json").write_text(json.dumps(FLEET))
    (tmp_path / "invoice.csv").write_text(text)
    found = compare_actual(tmp_path / "plan.json", tmp_path / "invoice.csv")
    total = round(100 * (found.bills[1].total - found.bills[0].total))
    assert sum(round(100 * step.amount) for step in found.bridges[0]) == total
    assert max(map(len, render_comparison(found).splitlines())) <= 110
    return found, {gap.name: gap for gap in found.lines}, amounts(found)


def test_hours_of_an_offer_are_those_of_its_pools_together_and_not_of_an_offer_whose_name_begins_alike(tmp_path: Path) -> None:
    text = "offer,hours,cost\nverda.h100x2,3000,15000\nverda.h100,1200,3000\ngpt-4.1-2025-04-14,,2000\nfixed costs,,500\n"
    _, gaps, steps = held_against(tmp_path, text)
    assert (gaps["verda.h100x2"].planned, gaps["verda.h100x2"].quantity, gaps["verda.h100x2"].price) == (15_000.0, 0.0, 0.0)
    assert all(abs(amount) < 0.01 for amount in steps.values()), steps


def test_a_model_whose_name_begins_alike_is_not_in_the_plan(tmp_path: Path) -> None:
    text = "model,requests,input_tokens,output_tokens,cost\ngpt-4.1-2025-04-14,400000,600000000,100000000,2000\n"
    _, gaps, steps = held_against(tmp_path, text + "gpt-4.1-mini-2025-04-14,1000000,1000000000,100000000,560\n")
    assert gaps["gpt-4.1-mini-2025-04-14"].state == "not in the plan" and steps["not in the plan"] == 560.0
    assert gaps["openai.gpt-4.1"].price == gaps["openai.gpt-4.1"].quantity == 0.0
    assert steps["not invoiced"] == -18_500.0 and "volume" not in steps


def test_a_november_of_720_hours_is_a_step_of_its_own(tmp_path: Path) -> None:
    k = 720 / 730
    head = "BilledCost,ServiceName,ChargeCategory,ConsumedQuantity,ConsumedUnit,BillingCurrency,ChargePeriodStart,ChargePeriodEnd,x_Item"
    span = "2026-11-01T00:00:00Z,2026-12-01T00:00:00Z"
    rows = [
        f"{15_000 * k},verda.h100x2,Usage,{3000 * k},Hours,usd,{span},",
        f"{3_000 * k},verda.h100,Usage,{1200 * k},Hours,usd,{span},",
        f"{1_200 * k},gpt-4.1,Usage,{600e6 * k},Tokens,usd,{span},input tokens",
        f"{800 * k},gpt-4.1,Usage,{100 * k},1000000 Tokens,usd,{span},output tokens",
        f"500,fixed costs,Purchase,,,usd,{span},",
        f"3800,VAT 19 %,Tax,,,usd,{span},",
        f"-100,Promotion,Credit,,,usd,{span},",
    ]
    _, _, steps = held_against(tmp_path, "\n".join([head, *rows]) + "\n")
    assert steps.pop("days of the period") == pytest.approx(20_000 * (k - 1), abs=0.011)
    assert (steps.pop("tax"), steps.pop("credits")) == (3800.0, -100.0)
    assert all(abs(amount) <= 0.02 for amount in steps.values()), steps


def test_a_cost_and_usage_report_is_read_and_planted_deviations_are_found_at_their_line(tmp_path: Path) -> None:
    """200 hours more; a price 10 % up; a model of no one; tax; a line missing."""
    head = (
        "lineItem/LineItemType,lineItem/UsageType,product/instanceType,lineItem/UsageAmount,pricing/unit,"
        "lineItem/UnblendedCost,lineItem/CurrencyCode"
    )
    rows = [
        "Usage,EUC1-BoxUsage:verda.h100x2,h100x2,3200,Hrs,16000,USD",
        "Usage,EUC1-BoxUsage:h100,h100,1200,Hrs,3300,USD",
        "Usage,Bedrock:other-model,,5,,77,USD",
        "Tax,,,,,1900,USD",
    ]
    _, gaps, steps = held_against(tmp_path, "\n".join([head, *rows]) + "\n")
    assert gaps["verda.h100x2"].quantity == pytest.approx(1000.0) and gaps["verda.h100x2"].price == pytest.approx(0.0)
    (faq,) = [gap for name, gap in gaps.items() if name.startswith("verda.h100/")]
    assert faq.price == pytest.approx(300.0) and faq.quantity == pytest.approx(0.0)
    assert steps["not in the plan"] == 77.0 and steps["tax"] == 1900.0
    assert gaps["openai.gpt-4.1"].state == "not invoiced" and steps["not invoiced"] == -2500.0


def test_amounts_in_another_currency_are_converted(tmp_path: Path) -> None:
    rate = load_catalog().fx_usd["CNY"]
    text = f"model,output_tokens,input_tokens,cost,currency\ngpt-4.1,100000000,600000000,{2000 / rate},cny\n"
    found, gaps, _ = held_against(tmp_path, text)
    assert gaps["openai.gpt-4.1"].invoiced == pytest.approx(2000.0) and any("converted at" in note for note in found.notes)


def test_a_name_that_two_lines_answer_to_is_ambiguous_and_says_so(tmp_path: Path) -> None:
    two = json.loads(json.dumps(FLEET))
    two["relays"].append({"relay": "azure.gpt-4.1", "model": "gpt-4.1"})
    (tmp_path / "plan.json").write_text(json.dumps(two))
    (tmp_path / "invoice.csv").write_text("model,cost,vendor\ngpt-4.1,50,\ngpt-4.1,70,openai\n")
    found = compare_actual(tmp_path / "plan.json", tmp_path / "invoice.csv")
    gaps = {gap.name: gap for gap in found.lines}
    assert gaps["gpt-4.1"].state == "ambiguous" and gaps["gpt-4.1"].invoiced == 50.0
    assert gaps["openai.gpt-4.1"].invoiced == 70.0
    assert any("could be azure.gpt-4.1 or openai.gpt-4.1" in note for note in found.notes)
