"""What a scenario may say under `finance`: every key reaches a figure that is reported, and slips are told."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from optimize.finance.horizon import horizon
from optimize.finance.own_or_rent import own_or_rent
from optimize.finance.unit_costs import unit_costs
from optimize.money.assumptions import finance_facts
from optimize.money.ownership import values_of
from optimize.result import Plan
from sim.errors import InputError
from sim.scenario import load_scenario
from sim.scenario.scenario import Finance
from sim.scenario.schema.finance import FinanceSpec
from tests.optimize.report import plan_fixture

FILE = Path(__file__).parents[3] / "scenarios/two_offers.yaml"


def finance(*settings: str) -> Finance:
    return load_scenario(FILE, [f"finance.{text}" for text in settings]).finance


def under(given: Finance) -> Plan:
    plan = plan_fixture.plan()
    return replace(plan, scenario=replace(plan.scenario, finance=given))


def test_a_scenario_without_finance_plans_as_before() -> None:
    assert finance() == Finance()


def test_every_planning_figure_can_be_given_and_every_other_key_is_in_the_record() -> None:
    figures = set(finance_facts().assumptions)
    assert figures <= set(FinanceSpec.model_fields)
    assert set(FinanceSpec.model_fields) - figures == set(Finance.__dataclass_fields__) - {"values"}


def test_a_given_figure_replaces_the_catalogues_and_says_so() -> None:
    values = values_of(finance("pue=1.2", "staff_usd_per_month=5000"))
    assert (values["pue"].value, values["pue"].given) == (1.2, True)
    assert values["staff_usd_per_month"].value == 5000 and not values["idle_share"].given


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("pue=0.9", "finance.pue"),
        ("horizon_months=0", "finance.horizon_months"),
        ("start=November", "finance.start"),
        ("egress_provider=ibm", "finance.egress_provider"),
        ("growth_per_month=-1", "finance.growth_per_month"),
        ("gpu_purchase_usd.h1000=5", "h1000"),
        ("grwoth_per_month=0.1", "grwoth_per_month"),
    ],
)
def test_slips_are_told_by_key(text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        finance(text)


def test_the_overlap_is_rent_paid_twice_and_the_lead_time_delays_the_payback() -> None:
    plain = own_or_rent(plan_fixture.plan())[1]
    assert plain.once_usd is None and "while both run" not in plain.sentence
    cheap = {"l40s": 1000.0}
    given = own_or_rent(under(Finance(values={"lead_time_months": 2.0, "overlap_months": 0.5}, gpu_purchase_usd=cheap)))[1]
    soon = own_or_rent(under(Finance(values={"overlap_months": 0.5}, gpu_purchase_usd=cheap)))[1]
    assert given.once_usd == pytest.approx(0.5 * given.rent_usd) and "once for rent while both run" in given.sentence
    assert given.payback_months is not None and soon.payback_months is not None
    assert given.payback_months == pytest.approx(soon.payback_months + 2.0)


def test_payback_of_own_hosts_is_purchase_over_saved_rent() -> None:
    cheap = own_or_rent(under(Finance(gpu_purchase_usd={"l40s": 1000.0})))[1]
    assert cheap.month is not None and cheap.payback_months is not None
    running = sum(line.usd for line in cheap.month.lines if line.name != "capital")
    assert cheap.payback_months == pytest.approx(cheap.month.purchase_usd / (cheap.rent_usd - running))
    assert own_or_rent(under(Finance(gpu_purchase_usd={"l40s": 1e6})))[1].payback_months is None


def test_egress_is_priced_beside_the_bill_once_provider_and_size_are_known() -> None:
    def egress(**given: Any) -> list[float | None]:
        return [unit.usd for unit in unit_costs(under(Finance(**given)), 1000.0) if unit.name == "egress a month"]

    assert egress(egress_provider="aws") == [] == egress(values={"egress_bytes_per_output_token": 200.0})
    plan = plan_fixture.plan()
    tokens = float((plan.solution.pool_flow.sum(axis=0) @ plan.demand.weight_h * 3600) @ plan.demand.output_tokens)
    (usd,) = egress(egress_provider="gcp", values={"egress_bytes_per_output_token": 200.0})
    assert 1000 < tokens * 200 / 1e9 < 10_000 and usd == pytest.approx(120.0 + (tokens * 200 / 1e9 - 1000) * 0.11)


def test_training_is_told_as_a_part_of_a_year_of_serving() -> None:
    rows = {unit.name: unit.value for unit in unit_costs(under(Finance(training_usd=6000.0)), 1000.0)}
    assert rows["training / a year of serving"] == 0.5


def test_reservations_say_what_they_owe_and_what_is_outstanding() -> None:
    (note,) = [text for text in horizon(under(Finance(horizon_months=18))).notes if "reserved_1y" in text]
    month = 4 * 1.12 * 730
    assert f"${12 * month:,.0f} are owed per term" in note and f"${6 * month:,.0f} are outstanding" in note
