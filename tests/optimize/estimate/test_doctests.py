"""Examples in the docstrings of `optimize.estimate` are true."""

from __future__ import annotations

import doctest
import importlib

import pytest

WITH_EXAMPLES = ("adapters", "comparison", "flops", "operating_point", "quantities", "row", "rules", "subjects")


@pytest.mark.parametrize(
    "name", [*(f"optimize.estimate.{name}" for name in WITH_EXAMPLES), "optimize.report.terminal.render_estimate_parts"]
)
def test_examples_in_docstrings_run(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0
