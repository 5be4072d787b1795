"""Fleets that are named on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from optimize.simulate.named_fleet import parse_fleet
from sim.errors import InputError
from sim.scenario import load_scenario


def test_a_relay_that_may_answer_nobody_is_told_and_not_simulated() -> None:
    """Every request would be rejected, and the table would not say why."""
    scenario = load_scenario(Path(__file__).parents[3] / "scenarios/two_offers.yaml")
    with pytest.raises(
        InputError, match=r"relay:openai\.gpt-4\.1: no class of two_offers takes answers of gpt-4\.1; they take llama-3\.1-8b"
    ):
        parse_fleet("relay:openai.gpt-4.1", scenario)
    assert parse_fleet("relay:deepinfra.llama-3.1-8b", scenario) == ([], ["deepinfra.llama-3.1-8b"])
