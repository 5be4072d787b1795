"""What-if on the page: its script's formulas give what Python gives, to the cent, at 200 random settings."""

from __future__ import annotations

import json
import math
import random
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from optimize.finance.known_fleets import BY_API, SELF_HOSTED, THIS, known_fleets
from optimize.money import cost_lines
from optimize.money.capital import npv_usd
from optimize.money.extras import after_credits_usd
from optimize.money.quantities import scaling
from optimize.report.page.scripts import FOLDER
from optimize.report.page.whatif_section import whatif_data, whatif_html
from optimize.result import Plan
from optimize.tables.finance_tables import Money
from sim.scenario.scenario import Finance
from tests.optimize.report import plan_fixture

SETTINGS = 200
RUN = """
const formulas = require(process.argv[1]);
const { data, settings } = JSON.parse(require("fs").readFileSync(0, "utf8"));
process.stdout.write(JSON.stringify(settings.map((at) => [
  ...data.fleets.map((fleet) => formulas.monthUsd(data, fleet, at)), formulas.presentUsd(data, at), formulas.stays(data, at)])));
"""


def with_credits() -> Plan:
    plan = plan_fixture.plan()
    finance = Finance(growth_per_month=0.03, migration_usd=20_000.0, free_credits_usd=55_000.0, free_credits_months=2)
    return replace(plan, scenario=replace(plan.scenario, finance=finance))


def settings() -> list[dict[str, float]]:
    draw = random.Random(7)
    rows = [{"gpu": 1.0, "api": 1.0, "demand": 1.0, "rate": 0.1}]
    while len(rows) < SETTINGS:
        spread = {key: 2 ** draw.uniform(-3, 3) for key in ("gpu", "api", "demand")}
        rows.append(spread | {"rate": draw.uniform(0, 0.3)})
    return rows


def present_usd(money: Money, at: dict[str, float]) -> float:
    """The months ahead, each moved as today's month moves, in money of today."""
    plan, fleet = money.plan, scaling(money.plan)
    was, now = fleet.at(1.0), fleet.at(at["demand"], at["gpu"], at["api"])
    gpu, relay = now.gpu_usd / was.gpu_usd, now.relay_usd / was.relay_usd
    more = now.fixed_usd - was.fixed_usd
    bills = [m.gpu_usd * gpu + m.relay_usd * relay + m.fixed_usd + more + m.once_usd for m in money.horizon.months]
    finance = plan.scenario.finance
    return npv_usd(after_credits_usd(bills, finance.free_credits_usd, finance.free_credits_months), at["rate"])


def test_the_script_prices_two_hundred_settings_as_python_does_to_the_cent() -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("needs node, which is not installed")
    money = Money(with_credits())
    data, drawn = json.loads(json.dumps(whatif_data(money))), settings()
    run = subprocess.run(
        [node, "-e", RUN, str(FOLDER / "formulas.js")], input=json.dumps({"data": data, "settings": drawn}),
        capture_output=True, text=True, timeout=120, check=True,
    )  # fmt: skip
    fleets, today = known_fleets(money.curves), scaling(money.plan)
    for at, row in zip(drawn, json.loads(run.stdout), strict=True):
        *said, present, stays = row
        asked = (at["demand"], at["gpu"], at["api"])
        wanted = [fleet.usd(*asked) for fleet in fleets]
        assert [round(100 * usd) for usd in said] == [round(100 * usd) for usd in wanted]
        assert round(100 * said[0]) == round(100 * today.at(*asked).usd)
        assert round(100 * present) == round(100 * present_usd(money, at))
        assert stays is (wanted[0] <= min(wanted) * (1 + data["tolerance"]))


def test_the_first_fleet_is_the_plan_and_costs_its_bill() -> None:
    money = Money(plan_fixture.plan())
    fleets = {fleet.name: fleet for fleet in known_fleets(money.curves)}
    assert next(iter(fleets)) == THIS
    assert round(100 * fleets[THIS].usd(1.0)) == money.bill.total
    assert SELF_HOSTED in fleets and BY_API not in fleets  # by API no plan keeps every promise
    assert math.isclose(fleets[SELF_HOSTED].usd(1.0), 44_120.0)


def test_a_fleet_made_for_cheaper_hosts_is_dearer_today_and_cheaper_then() -> None:
    plan = plan_fixture.plan()
    whole = replace(plan, lines=cost_lines(plan.program, plan.solution))
    fleets = known_fleets(Money(whole).curves)
    other = next(fleet for fleet in fleets if fleet.name == "the fleet for 0.5 times today's GPU prices")
    assert other.usd(1.0) >= 0.99 * fleets[0].usd(1.0)
    assert other.usd(1.0, gpu_price=0.5) <= fleets[0].usd(1.0, gpu_price=0.5)


def test_data_in_the_page_cannot_end_its_element() -> None:
    page = whatif_html(Money(plan_fixture.plan()))
    (text,) = re.findall(r"<script type=\"application/json\" id=whatif-data>(.*?)</script>", page, re.S)
    data: dict[str, Any] = json.loads(text)
    assert "<" not in text and data["fleets"][0]["name"] == THIS and data["budget"] == 40_000.0


def test_without_a_budget_there_is_no_slider_for_it() -> None:
    plan = plan_fixture.plan()
    free = replace(plan, scenario=replace(plan.scenario, budget=replace(plan.scenario.budget, per_month=math.inf)))
    page = whatif_html(Money(free))
    assert 'id="at-gpu"' in page and 'id="at-budget"' not in page


def test_scripts_are_part_of_the_package() -> None:
    assert {path.name for path in FOLDER.iterdir()} == {"formulas.js", "page.js"}
    packaged = (Path(__file__).resolve().parents[3] / "pyproject.toml").read_text(encoding="utf-8")
    assert '"*.js"' in packaged
