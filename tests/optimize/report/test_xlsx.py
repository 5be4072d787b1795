"""The workbook: numbers are numbers, totals are formulas, their cached results are right."""

from __future__ import annotations

import io
import zipfile
from dataclasses import replace
from typing import Any

import openpyxl
import pytest

from optimize.report.xlsx import xlsx
from tests.optimize.report import plan_fixture


@pytest.fixture(scope="module")
def content() -> bytes:
    return xlsx(plan_fixture.plan())


def book(content: bytes, values: bool = False) -> Any:
    return openpyxl.load_workbook(io.BytesIO(content), data_only=values)


def test_the_total_is_a_formula_over_the_lines(content: bytes) -> None:
    lines = book(content)["Lines"]
    assert lines["C7"].value == "=SUM(C2:C6)"
    assert sum(lines[f"C{r}"].value for r in range(2, 7)) == pytest.approx(38_782.73, abs=1e-6)
    assert book(content, values=True)["Lines"]["C7"].value == pytest.approx(38_782.73)


def test_the_summary_follows_the_lines(content: bytes) -> None:
    summary = book(content)["Summary"]
    assert summary["B4"].value == "='Lines'!$C$7"
    assert (summary["B6"].value, summary["B9"].value) == ("=B5-B4", "=12*B4")
    cached = book(content, values=True)["Summary"]
    assert [cached[f"B{r}"].value for r in (4, 6)] == pytest.approx([38_782.73, 1_217.27])


def test_hours_and_promises_are_numbers(content: bytes) -> None:
    hours, slo = book(content)["Fleet by hour"], book(content)["SLO"]
    assert all(isinstance(hours.cell(r, c).value, int | float) for r in range(2, 50) for c in (2, 5, 6, 7))
    assert slo["E2"].value == 0.83 and slo["K2"].value is True


def test_sheets_come_in_the_order_of_reading(content: bytes) -> None:
    names = book(content).sheetnames
    assert names[:4] == ["Summary", "Lines", "Fleet", "Fleet by hour"] and names[-1] == "Assumptions"


def test_same_plan_same_bytes(content: bytes) -> None:
    assert xlsx(plan_fixture.plan()) == content


def test_text_that_looks_like_a_formula_stays_text() -> None:
    plan = replace(plan_fixture.plan(), warnings=("=1+1",), verification=None, dropped=(), flips=())
    with zipfile.ZipFile(io.BytesIO(xlsx(plan))) as parts:
        assert "=1+1" in parts.read("xl/sharedStrings.xml").decode()
