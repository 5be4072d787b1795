"""How sure a plan is: draws, interpolation, the ladder, the worth of a pilot, and the words for all of it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from optimize.explain.confidence_ladder import monotone, slower_terms
from optimize.explain.notes import unused_confidence
from optimize.explain.pilot_worth import expected_cost, left_over
from optimize.market.believed import believed
from optimize.market.drawn_scores import drawn, joint_probability
from optimize.plan import optimize
from optimize.records import LoadLevel, PoolOption, PoolTerms
from optimize.report.terminal.render_plan import render
from optimize.result import Chance, Rung
from optimize.search.chance import PlayedHour, attained_in, engine_of, with_demand
from optimize.tables.confidence_words import verdict_chance
from optimize.tables.plan_json import plan_json
from sim.calibration.doubt import SCORES, doubt_of, score_of
from sim.engine.deployment import Deployment, EngineLimits
from sim.engine.step_cost import best_row, coefficients_of, step_cost
from sim.errors import InputError
from sim.scenario import load_scenario
from sim.scenario.scenario import Scenario

ROOT = Path(__file__).resolve().parents[3]
TWO_OFFERS = ROOT / "scenarios" / "two_offers.yaml"
KINDS = {"a": ("h100", "fp8"), "b": ("h100", "fp8"), "c": ("l4", "fp8")}
SHARED = {"other_kind": 0.2, "same_kind": 0.6}


def two_offers(*settings: str) -> Scenario:
    return load_scenario(TWO_OFFERS, list(settings), None)


def test_engines_of_one_kind_share_more_of_their_error_than_others() -> None:
    found = drawn(SHARED, KINDS, [], seed=1, draws=20_000).deployments
    table = np.corrcoef([found["a"], found["b"], found["c"]])
    assert table[0, 1] == pytest.approx(0.6, abs=0.03) and table[0, 2] == pytest.approx(0.2, abs=0.03)
    assert all(np.std(each) == pytest.approx(1.0, abs=0.03) for each in found.values())


def test_a_further_pool_moves_no_other_draw() -> None:
    alone, more = (drawn(SHARED, kinds, ["r"], seed=1) for kinds in ({"a": KINDS["a"]}, KINDS))
    assert np.array_equal(alone.deployments["a"], more.deployments["a"]) and np.array_equal(alone.relays["r"], more.relays["r"])


def test_two_engines_need_more_certainty_each_than_one_and_less_than_independent_ones() -> None:
    one = joint_probability(drawn(SHARED, {"a": KINDS["a"]}, [], 1), 0.8)
    two = joint_probability(drawn(SHARED, {"a": KINDS["a"], "c": KINDS["c"]}, [], 1), 0.8)
    assert one == pytest.approx(0.8, abs=0.02) and one < two < math.sqrt(0.8) + 0.01


def test_attainment_is_counted_between_the_played_scores() -> None:
    met = np.array([[[100.0], [50.0], [0.0]], [[90.0], [40.0], [0.0]]])
    played = PlayedHour(None, met, np.array([[[100.0], [50.0], [0.0]]] * 2))  # type: ignore[arg-type]
    at = [np.array([0.5, 5.0]), np.array([-3.0, 1.0]), np.zeros(2)]
    assert attained_in(played, (0.0, 1.0), at)[:, 0].tolist() == pytest.approx([145 / 150, 130 / 150])


def test_demand_that_may_be_higher_counts_like_longer_steps() -> None:
    scenario = two_offers()
    law = scenario.catalog.error_law
    assert law is not None
    doubt = doubt_of(law, scenario.catalog.calibration[0])
    own = np.array([0.0, 0.8416])
    assert np.array_equal(with_demand(doubt, own, np.array([1.0, 1.0]), 0.0), own)
    assert doubt.slow(0.8, 0.1)[0] > doubt.slow(0.8)[0] and doubt.slow(0.5, 0.1) == doubt.slow(0.5)
    high, low = (with_demand(doubt, own, np.full(2, z), 0.1) for z in (1.0, -1.0))
    assert (high > low).all()


def test_what_is_believed_is_the_quantile_of_the_law_less_half_of_the_margin() -> None:
    scenario = two_offers("policy.safety=0.04")
    law = scenario.catalog.error_law
    assert law is not None
    row, slow = scenario.catalog.calibration[0], believed(scenario, 0.9).catalog.calibration[0]
    expected = math.exp(doubt_of(law, row).slow(0.9)[0] - 0.02)
    assert coefficients_of(slow)["step_s"] / coefficients_of(row)["step_s"] == pytest.approx(expected)
    assert coefficients_of(row)["bandwidth_efficiency"] / coefficients_of(slow)["bandwidth_efficiency"] == pytest.approx(expected)


def test_every_step_of_a_believed_engine_is_longer_by_one_factor() -> None:
    from optimize.market.candidates import candidates
    from sim.traffic import demand

    scenario = two_offers()
    option = next(each for each in candidates(scenario, demand(scenario))[0] if each.deployment is not None)
    assert option.deployment is not None and best_row(option.deployment, scenario.catalog.calibration) is not None
    plain, slow = (step_cost(option.deployment, each.catalog.calibration) for each in (scenario, believed(scenario, 0.9)))
    ratio = slow.base_ps / plain.base_ps
    assert ratio.min() == pytest.approx(ratio.max(), rel=1e-6) and ratio.min() > 1.03
    assert slow.context_ps[64] / plain.context_ps[64] == pytest.approx(float(ratio[64]), rel=1e-3)


def test_a_pilot_leaves_what_runs_of_one_deployment_differ_by() -> None:
    assert left_over({"same_deployment": 0.64}, 0.2) == pytest.approx(0.6)
    assert left_over({"same_deployment": 0.999}, 0.052) == pytest.approx(0.5)


def test_a_pilot_that_tells_all_saves_the_whole_margin_on_average_and_one_that_tells_nothing_saves_nothing() -> None:
    scores, costs, planned = (-3.0, 0.0, 3.0), (70.0, 100.0, 130.0), score_of(0.8)
    assert expected_cost(scores, costs, planned, 1.0) == pytest.approx(100 + 10 * planned)
    assert expected_cost(scores, costs, planned, 0.0) == pytest.approx(100.0, abs=1e-6)


def test_the_ladder_never_falls() -> None:
    rungs = [Rung(0.5, 101.0, "", False), Rung(0.8, 100.0, "", True), Rung(0.9, 99.0, "", False), Rung(0.95, None, "", False)]
    assert [rung.usd for rung in monotone(rungs)] == [100.0, 100.0, 100.0, None]


def test_a_slower_pool_carries_less_and_what_cannot_be_served_stays_so() -> None:
    terms = PoolTerms(PoolOption("p", None, None, 1, (0, 1)), (LoadLevel(np.array([2.0, np.inf]), np.zeros(1)),), 1.0, 0.0, True)  # type: ignore[arg-type]
    assert slower_terms(terms, 1.5).levels[0].load.tolist() == [3.0, np.inf] and slower_terms(terms, 1.0) is terms


def test_the_verdict_names_the_lower_of_what_was_asked_for_and_found() -> None:
    chance = Chance(0.8, 0.83, 0.012, 4000, ("all week",), 0.8, (), {})
    assert verdict_chance(chance) == " with 80 % confidence"
    assert verdict_chance(replace(chance, share=0.71)) == " with 71 % confidence"


@pytest.mark.parametrize("value", ["0.3", "1", "sure", "true", "-0.8"])
def test_a_chance_that_is_none_is_refused(value: str) -> None:
    with pytest.raises(InputError, match=r"policy\.confidence"):
        two_offers(f"policy.confidence={value}")


def test_a_chance_that_cannot_be_planned_for_is_said() -> None:
    asked = two_offers("policy.confidence=0.8")
    assert unused_confidence(asked) == [] == unused_confidence(two_offers("policy.confidence=none"))
    assert "error_law" in unused_confidence(replace(asked, catalog=replace(asked.catalog, error_law=None)))[0]
    assert "measured_capacity" in unused_confidence(replace(asked, measured_capacity=Path("own.csv")))[0]


def test_pools_of_one_engine_err_as_one_whatever_their_limits() -> None:
    catalog = two_offers().catalog
    one = Deployment(catalog.models["llama-3.1-8b"], catalog.weight_formats["fp8"], catalog.gpus["l40s"])
    other = replace(one, limits=EngineLimits(64, 512), kv_bytes_per_number=1, variant="512-tokens")
    assert engine_of(one) == engine_of(other) and one.id != other.id
    assert engine_of(one) != engine_of(replace(one, tensor_parallel=2))


def test_scores_are_those_of_the_normal_law() -> None:
    from scipy.special import ndtri

    from sim.catalog.error_law import PROBABILITIES

    assert np.allclose(SCORES, ndtri(PROBABILITIES), atol=1e-4)


@pytest.mark.slow
def test_a_plan_at_a_chance_says_it_and_costs_no_less_than_one_without(tmp_path: Path) -> None:
    plain, sure = (optimize(two_offers(f"policy.confidence={word}"), jobs=1, cache=tmp_path) for word in ("none", "0.8"))
    assert plain.chance is None and "confidence" not in plan_json(plain)
    assert sure.chance is not None and sure.chance.share >= 0.79 and sure.solution.cost_usd >= plain.solution.cost_usd
    said = json.loads(json.dumps(plan_json(sure)))["confidence"]
    assert [rung["chance"] for rung in said["ladder"]] == [0.5, 0.8, 0.9, 0.95] and [r["proved"] for r in said["ladder"]][1]
    text = render(sure, show=("trust",))
    assert "MET with 80 % confidence" in text and "certainty costs, a month" in text and "95 % confidence" in text
    assert sure.scenario.catalog == plain.scenario.catalog
