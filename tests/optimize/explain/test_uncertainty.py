"""Errors of the step cost reach the plan: by pool, in the verdict, and in the pilot that would settle them."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from optimize.explain.pilot_run import cheapest_host
from optimize.explain.uncertainty import error_at, scaled
from optimize.plan import optimize
from optimize.report.terminal.render_plan import render
from optimize.result import Band, Plan, PoolError, Uncertainty
from optimize.tables.uncertainty_table import sentences, uncertainty_json
from sim.catalog.loader import load_catalog
from sim.engine.deployment import Deployment
from sim.engine.step_cost import step_cost
from sim.scenario import load_scenario

ROOT = Path(__file__).resolve().parents[3]
SETTINGS = ("traffic.rate_rps=12", "policy.max_relay_share=0", "candidates.offers=[aws.g6e.xlarge]")


def planned(folder: Path, *more: str, error: dict[str, float] | None = None) -> Plan:
    """The small scenario on own GPUs only; `error` in place of the error of every calibration row."""
    scenario = load_scenario(ROOT / "scenarios/two_offers.yaml", [*SETTINGS, *more])
    if error is not None:
        rows = tuple(replace(row, error=error) for row in scenario.catalog.calibration)
        scenario = replace(scenario, catalog=replace(scenario.catalog, calibration=rows))
    return optimize(scenario, jobs=1, cache=folder)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("capacity")


@pytest.fixture(scope="module")
def plan(folder: Path) -> Plan:
    return planned(folder, error={"throughput_median": 0.01, "throughput_p90": 0.02, "tpot_loaded_median": 0.01, "tpot_loaded_p90": 0.03})


def test_each_pool_carries_the_error_of_its_load(plan: Plan) -> None:
    assert plan.uncertainty is not None
    (pool,) = plan.uncertainty.pools
    assert (pool.calibrated, pool.load, pool.share) == (True, "loaded", pytest.approx(1.0))
    assert pool.errors == {"throughput": (0.01, 0.02), "tpot": (0.01, 0.03)} and pool.step == (0.01, 0.03)
    assert plan.uncertainty.uncalibrated_share == 0.0


def test_a_small_error_leaves_the_verdict_and_a_large_one_breaks_it(plan: Plan, folder: Path) -> None:
    assert plan.uncertainty is not None and plan.status == "met"
    assert [(band.name, band.met) for band in plan.uncertainty.bands] == [("p90", True)]
    far = planned(folder, error={"tpot_median": 0.02, "tpot_p90": 2.5})
    assert far.uncertainty is not None
    assert [(band.name, band.met) for band in far.uncertainty.bands] == [("median", True), ("p90", False)]
    assert any("chat" in promise for promise in far.uncertainty.bands[1].missed)


def test_the_report_and_the_json_say_it(plan: Plan) -> None:
    text = render(plan, colour=False)
    assert "How far to trust it" in text and "every promise holds" in " ".join(text.split()) and "vllm bench serve" in text
    found = uncertainty_json(plan.uncertainty)
    assert found is not None and found["pilot"] is not None and found["bands"][0]["met"] is True
    assert found["safety"] == 0.03 and found["safety_usd_per_month"] >= 0


def test_the_pilot_rents_the_cheapest_host_and_runs_the_plans_own_load(plan: Plan) -> None:
    assert plan.uncertainty is not None and plan.uncertainty.pilot is not None
    pilot = plan.uncertainty.pilot
    offers = plan.scenario.catalog.offers
    same = [offer.usd_per_hour for offer in offers.values() if offer.gpu == "l40s" and offer.term == "on_demand"]
    assert offers[pilot.offer].usd_per_hour == min(same)
    assert pilot.usd == pytest.approx(pilot.hours * offers[pilot.offer].usd_per_hour)
    assert pilot.commands[0].startswith("vllm serve") and "--random-input-len 500 --random-output-len 200" in pilot.commands[1]
    assert pilot.commands[-1].startswith("servemix calibrate")


def test_a_gpu_that_nobody_rents_by_the_hour_has_no_pilot(plan: Plan) -> None:
    catalog = load_catalog()
    lonely = replace(catalog.gpus["l40s"], id="lonely")
    assert cheapest_host(plan.scenario, Deployment(catalog.models["llama-3.1-8b"], catalog.weight_formats["bf16"], lonely)) is None


def test_longer_steps_are_longer_by_the_factor_and_the_request_costs_the_same() -> None:
    catalog = load_catalog()
    cost = step_cost(Deployment(catalog.models["llama-3.1-8b"], catalog.weight_formats["bf16"], catalog.gpus["l40s"]), catalog.calibration)
    longer = scaled(cost, 1.25)
    assert np.allclose(longer.base_ps / cost.base_ps, 1.25) and longer.request_ps == cost.request_ps
    assert longer.pair_ps == round(1.25 * cost.pair_ps)


def test_an_error_by_load_wins_over_one_for_all_loads_and_p90_is_never_below_the_median() -> None:
    known: dict[str, Any] = {"tpot_median": 0.1, "tpot_p90": 0.2, "tpot_low_median": 0.3, "tpot_low_p90": 0.25}
    assert error_at(known, "tpot", "low") == (0.3, 0.3)
    assert error_at(known, "tpot", "loaded") == (0.1, 0.2)
    assert error_at(known, "ttft", "low") is None


def test_sentences_name_uncalibrated_shares_and_what_breaks() -> None:
    pool = PoolError("p", "d", False, "low", 0.4, {"tpot": (0.1, 0.3)})
    found = Uncertainty((pool,), 0.4, 0.6, (Band("p90", (0.3, 0.3), ("weekday 14",), ("chat tpot p95 at weekday 14",)),), None, 0.0, None)
    text = " ".join(sentences(found, None))
    assert "40.0 % of the requests rest on step costs that no measurement" in text and "60.0 % rest on relays" in text
    assert "the errors shown there are those of other GPUs" in text
    assert "(30%)" in text and "misses chat tpot p95 at weekday 14" in text and "--safety 0" in text
