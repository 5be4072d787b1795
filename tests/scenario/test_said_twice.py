"""What is said twice in two ways is refused: models with other factors, one quantile by two names, a pool of --fleet."""

from __future__ import annotations

from pathlib import Path

import pytest

from optimize.simulate.named_fleet import parse_fleet
from sim.errors import InputError
from sim.scenario import load_scenario

from .helpers import GOOD, write


@pytest.mark.parametrize(
    ("old", "new", "words"),
    [
        (
            "models: [llama-3.1-8b]\n    slo",
            "models: [llama-3.1-8b, {name: llama-3.1-8b, output_token_factor: 2}]\n    slo",
            "is named twice",
        ),
        ("ttft: {p95: 1.0}", "ttft: {p95: 1.0, p95.0: 2.0}", "is the same quantile as p95"),
    ],
)
def test_a_contradiction_has_a_place(tmp_path: Path, old: str, new: str, words: str) -> None:
    assert old in GOOD
    with pytest.raises(InputError, match=words):
        load_scenario(write(tmp_path, GOOD.replace(old, new)))


def test_a_pool_of_a_fleet_is_written_once(tmp_path: Path) -> None:
    scenario = load_scenario(write(tmp_path, GOOD))
    with pytest.raises(InputError, match="stands in entry 1 too"):
        parse_fleet("aws.g6e.xlarge/llama-3.1-8b/fp8=2, aws.g6e.xlarge/llama-3.1-8b/fp8=3", scenario)
