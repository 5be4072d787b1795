"""The page of log formats names every format that is read, by the columns that tell it."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.traffic.readers.read import EXPORTS, LOGS
from sim.traffic.readers.table import Layout

PAGE = (Path(__file__).resolve().parents[2] / "docs/reference/log-formats.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("form", [*LOGS, *EXPORTS], ids=lambda form: form.name)
def test_it_names_the_format_and_its_columns(form: Layout) -> None:
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| {form.name} |")]
    told = row.lower()
    assert [column for column in (*form.required, *form.optional) if column not in told and form in LOGS] == []
    assert [column for column in form.required if column not in told] == []
