"""Examples in docstrings of probe, relay and token budget are true."""

from __future__ import annotations

import doctest
import importlib

import pytest

WITH_EXAMPLES = (
    "sim.probe.options", "sim.probe.caps", "sim.probe.find_limits", "sim.probe.profile", "sim.probe.prompts", "sim.probe.attempts",
    "sim.probe.call", "sim.probe.secret", "sim.relay.law", "sim.relay.limits", "sim.relay.outages", "sim.scenario.context_budget",
    "sim.traffic.context",
)  # fmt: skip


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_in_docstrings_run(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0
