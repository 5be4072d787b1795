"""Factors: 1 changes nothing; what each touches is scaled exactly, the rest stays."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from optimize.explain.uncertainty import scaled as scaled_cost
from optimize.whatif.factors import FACTORS, scaled, with_factors
from sim.catalog.relay_records import Law
from sim.engine.deployment import Deployment, EngineLimits
from sim.engine.step_cost import step_cost
from sim.relay.law import law_quantiles
from sim.relay.slower_relay import slower_law
from sim.scenario import load_scenario
from sim.scenario.scenario import Scenario, Tokens
from sim.traffic import demand

SCENARIOS = Path(__file__).resolve().parents[3] / "scenarios"


@pytest.fixture(scope="module")
def million() -> Scenario:
    return load_scenario(SCENARIOS / "million_dau.yaml")


def test_factor_of_one_changes_nothing(million: Scenario) -> None:
    assert with_factors(million, [(name, 1.0) for name in FACTORS]) is million


@pytest.mark.parametrize("name", ["million_dau", "two_offers"])
def test_users_scale_the_demand_of_every_hour(name: str) -> None:
    scenario = load_scenario(SCENARIOS / f"{name}.yaml")
    more = demand(with_factors(scenario, [("users", 1.5)]))
    assert np.allclose(more.mean_rps, 1.5 * demand(scenario).mean_rps)


def test_longer_answers_and_prompts_scale_mean_tokens(million: Scenario) -> None:
    plain, longer = demand(million), demand(with_factors(million, [("output_tokens", 1.2)]))
    assert np.allclose(longer.output_tokens, 1.2 * plain.output_tokens, rtol=0.01)
    assert (longer.input_tokens[:2] > plain.input_tokens[:2]).all(), "history holds the answers of earlier turns"
    wider = demand(with_factors(million, [("input_tokens", 1.2)]))
    faq = [each.name for each in million.request_classes].index("faq")
    assert wider.input_tokens[faq] == pytest.approx(1.2 * plain.input_tokens[faq], rel=0.01)


def test_mean_of_a_scaled_law_is_exact_where_one_token_is_the_least() -> None:
    assert scaled(Tokens((0.0, 0.5, 1.0), (1.0, 1.0, 101.0), 26.0), 0.5).mean == pytest.approx(0.5 * 1 + 0.5 * (1 + 50.5) / 2)


def test_prices_scale_and_nothing_else_does(million: Scenario) -> None:
    dear = with_factors(million, [("gpu_prices", 2.0), ("relay_prices", 0.5)])
    assert [each.usd_per_hour for each in dear.offers] == [2 * each.usd_per_hour for each in million.offers]
    for cheap, relay in zip(dear.relays, million.relays, strict=True):
        assert cheap.usd_per_mtok_output == 0.5 * relay.usd_per_mtok_output
        assert cheap.usd_per_mtok_cached == (None if relay.usd_per_mtok_cached is None else 0.5 * relay.usd_per_mtok_cached)
        assert (cheap.rpm, cheap.ttft_p50_s) == (relay.rpm, relay.ttft_p50_s)


@pytest.mark.parametrize(
    ("model", "gpu", "tp"),
    [("llama-3.1-8b", "l40s", 1), ("llama-3.1-8b", "l40s", 4), ("llama-3.1-8b", "h100", 2), ("qwen3-30b-a3b", "h100", 2)],
)
def test_step_time_lasts_factor_times_as_long_in_every_part_of_the_step(million: Scenario, model: str, gpu: str, tp: int) -> None:
    catalog = million.catalog
    shape = Deployment(catalog.models[model], catalog.weight_formats["fp8"], catalog.gpus[gpu], tp, EngineLimits())
    plain = scaled_cost(step_cost(shape, catalog.calibration), 1.3)
    slow = step_cost(shape, with_factors(million, [("step_time", 1.3)]).catalog.calibration)
    assert np.allclose(slow.base_ps, plain.base_ps, rtol=1e-6)
    assert np.allclose(slow.context_ps[8:], plain.context_ps[8:], rtol=1e-3)
    assert slow.sequence_ps == pytest.approx(plain.sequence_ps, rel=1e-3)
    assert slow.pair_ps == pytest.approx(plain.pair_ps, rel=1e-2)
    assert slow.request_ps == plain.request_ps


@pytest.mark.parametrize(
    "law",
    [
        Law("lognormal", (0.5, 0.4)),
        Law("shifted_lognormal", (0.2, 0.5, 0.4)),
        Law("loglogistic", (0.5, 0.2)),
        Law("lognormal_pareto", (0.5, 0.4, 0.95, 2.0)),
        Law("empirical", points=((0.0, 0.1), (1.0, 4.0))),
    ],
    ids=lambda law: str(law.family),
)
def test_slower_law_draws_factor_times_the_seconds(law: Law) -> None:
    at = np.array([0.05, 0.5, 0.99])
    assert np.allclose(law_quantiles(slower_law(law, 1.7), at), 1.7 * law_quantiles(law, at))
