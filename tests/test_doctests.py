"""Examples in the docstrings of every module run, and are true."""

from __future__ import annotations

import doctest
import importlib

import pytest

from tests.test_rooms import ROOT, module_files

WITH_EXAMPLES = [name for name, file in module_files(ROOT).items() if ">>> " in file.read_text(encoding="utf-8")]


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_in_docstrings_run(name: str) -> None:
    outcome = doctest.testmod(importlib.import_module(name))
    assert outcome.attempted > 0
    assert outcome.failed == 0
