"""A class with a lower priority number waits less where classes share a pool."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from optimize.market.engine_settings import priorities_of
from optimize.simulate.named_fleet import simulate_fleet
from sim.scenario import load_scenario

SCENARIO = Path(__file__).parents[3] / "scenarios/two_offers.yaml"
CLASSES = (
    "request_classes=[{name: urgent, share: 0.3, input_tokens: 500, output_tokens: 200, models: [llama-3.1-8b], priority: FIRST}, "
    "{name: patient, share: 0.7, input_tokens: 500, output_tokens: 200, models: [llama-3.1-8b], priority: 1}]"
)


def median_ttft_s(first: int) -> list[float]:
    """Of both classes on one L40S that is short of work's end: 22 requests/s, of which it finishes 19 or so."""
    loaded = load_scenario(SCENARIO, (CLASSES.replace("FIRST", str(first)), "traffic.rate_rps=22"), None)
    run = simulate_fleet(loaded, fleet="aws.g6e.xlarge/llama-3.1-8b/fp8=1", plan=None, hour=None, router=None, overflow=None)
    log = run.result.log
    waited = (log.first_ps - log.arrival_ps) / 1e12
    return [float(np.median(waited[(log.class_id == c) & (log.first_ps >= 0)])) for c in range(2)]


def test_urgent_class_does_not_wait_behind_the_patient_one() -> None:
    urgent, patient = median_ttft_s(0)
    alike = median_ttft_s(1)
    assert urgent < 1.0 < patient
    assert abs(alike[0] - alike[1]) < 0.2 * alike[1]


def test_classes_of_one_priority_have_none() -> None:
    assert priorities_of(load_scenario(SCENARIO, (), None)) == ()
    assert priorities_of(load_scenario(SCENARIO, (CLASSES.replace("FIRST", "0"),), None)) == (0, 1)
