"""Examples in the docstrings of `optimize` are true."""

from __future__ import annotations

import doctest
import importlib

import pytest

MONEY = ("assumptions", "capital", "extras", "ownership", "power", "rent", "tokens", "units", "utilisation")
REPORT = (
    "bill",
    "drawing",
    "grid",
    "latency",
    "page.decision",
    "page.parts",
    "page.stress",
    "plan_json",
    "terminal",
    "words",
    "workbook.facts",
    "workbook.pen",
)
OTHERS = ("fresh_seeds", "invoice_file", "latency_ladder", "market", "pricebook", "report.price_table", "rerun")
WITH_EXAMPLES = tuple(
    f"optimize.{name}" for name in (*(f"money.{name}" for name in MONEY), *(f"report.{name}" for name in REPORT), *OTHERS)
)


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_in_docstrings_run(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0
