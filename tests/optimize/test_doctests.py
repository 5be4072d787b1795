"""Examples in the docstrings of `optimize` are true."""

from __future__ import annotations

import doctest
import importlib

import pytest

MONEY = ("assumptions", "capital", "extras", "ownership", "power", "rent", "tokens", "units", "utilisation")
WITH_EXAMPLES = (*(f"optimize.money.{name}" for name in MONEY), "optimize.market")


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_in_docstrings_run(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0
