"""Examples in docstrings run."""

from __future__ import annotations

import doctest
import importlib

import pytest

WITH_EXAMPLES = ("breakeven", "factors", "outcome", "records", "risk", "run", "task", "vary")


@pytest.mark.parametrize("name", [*(f"optimize.whatif.{name}" for name in WITH_EXAMPLES), "optimize.report.terminal.render_whatif"])
def test_examples_in_docstrings_run(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0
