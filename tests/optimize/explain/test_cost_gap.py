"""The parts of a plan's cost and its bound speak of the same market, and the margin has one price."""

from __future__ import annotations

from pathlib import Path

import pytest

from optimize.plan import optimize
from optimize.report.terminal.render_plan import render
from optimize.result import Plan
from optimize.tables.bill_lines import bill_of, cents_of
from optimize.tables.phrases import bounds
from optimize.tables.plan_json import plan_json
from sim.scenario import load_scenario

SCENARIOS = Path(__file__).resolve().parents[3] / "scenarios"
OWN = ("traffic.rate_rps=12", "policy.max_relay_share=0", "candidates.offers=[aws.g6e.xlarge]")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("capacity")


def planned(name: str, folder: Path, *settings: str) -> Plan:
    return optimize(load_scenario(SCENARIOS / f"{name}.yaml", list(settings)), jobs=1, cache=folder)


@pytest.fixture(scope="module")
def bot(folder: Path) -> Plan:
    return planned("support_bot", folder)


@pytest.mark.parametrize(
    ("name", "settings"),
    [
        ("two_offers", ()),
        ("two_offers", OWN),
        ("two_offers", (*OWN, "policy.n_plus_one=true")),
        ("two_offers", (*OWN, "policy.safety=0")),
        ("two_offers", ("policy.relay_outage_reserve=true",)),
        ("support_bot", ()),
        ("support_bot", ("policy.n_plus_one=false",)),
    ],
)
def test_what_is_left_of_the_cost_is_not_below_what_no_plan_undercuts(name: str, settings: tuple[str, ...], folder: Path) -> None:
    plan = planned(name, folder, *settings)
    parts = plan.gap_parts
    assert parts is not None and plan.status == "met"
    assert parts.least_usd >= plan.fluid_bound_usd - 1e-6 and parts.total_usd == pytest.approx(plan.solution.cost_usd)
    assert parts.reserve_usd == 0 or plan.program.n_plus_one or plan.program.relay_outage_reserve


def test_the_reserve_is_what_the_plan_without_it_saves(bot: Plan, folder: Path) -> None:
    alone = planned("support_bot", folder, "policy.n_plus_one=false")
    assert bot.gap_parts is not None
    assert bot.gap_parts.reserve_usd == pytest.approx(bot.solution.cost_usd - alone.solution.cost_usd, abs=0.01)
    assert bot.gap_parts.reserve_usd > 0.4 * bot.solution.cost_usd
    text = bounds(bot, bill_of(bot))
    assert "$383.98 for the reserve (policy.n_plus_one)" in text and "no plan from these candidates, reserve or not, costs less" in text
    assert "reserve" not in bounds(alone, bill_of(alone))


def test_the_margin_has_one_price_on_screen_and_in_the_file(folder: Path) -> None:
    plan = planned("two_offers", folder, *OWN, "traffic.rate_rps=15", "policy.safety=0.3")  # one host carries this, with the margin two
    assert plan.gap_parts is not None and plan.uncertainty is not None
    assert plan.uncertainty.safety_usd == plan.gap_parts.margin_usd > 100
    money = bill_of(plan).money(cents_of(plan, plan.gap_parts.margin_usd))
    text = " ".join(render(plan, colour=False).split())
    assert f"{money} for the margin" in text and f"that margin costs about {money} a month" in text
    written = plan_json(plan)
    assert written["cost"]["gap_parts"]["margin"] == written["uncertainty"]["safety_usd_per_month"]
    assert sum(written["cost"]["gap_parts"].values()) == pytest.approx(written["cost"]["per_month"], abs=0.03)
