"""The HTML report: one file, no reference to anything outside, the same bytes each time; files appear whole or not at all."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from optimize.report import write
from optimize.report.html import html
from optimize.report.write import check_folder, write_results
from sim.errors import InputError
from tests.optimize.report import plan_fixture

VOID = {"meta", "br", "path", "use", "circle", "rect", "line"}


class Balance(HTMLParser):
    """Raises on a closing tag that does not close the last opened one."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            assert self.open.pop() == tag


@pytest.fixture(scope="module")
def page() -> str:
    return html(plan_fixture.plan())


def test_nothing_is_loaded_from_outside(page: str) -> None:
    assert not re.search(r"https?:|src=|@import|<script|<link", page)
    assert all(target.startswith("#") for target in re.findall(r'(?:href="|url\()([^")]+)', page))
    assert len(page) < 2_000_000


def test_every_element_is_closed(page: str) -> None:
    parser = Balance()
    parser.feed(page)
    assert parser.open == [] and "svg" in parser.seen


def test_charts_follow_the_colours_of_the_page(page: str) -> None:
    assert page.count("<svg") == page.count('role="img" aria-label="') == 8
    assert "#010203" not in page and "var(--ink)" in page and "prefers-color-scheme:dark" in page


def test_same_plan_same_page(page: str) -> None:
    assert html(plan_fixture.plan()) == page


def test_names_are_escaped() -> None:
    assert "<b>x</b>" not in html(replace(plan_fixture.plan(), warnings=("<b>x</b>",)))


def test_a_plan_without_proof_says_so() -> None:
    page = html(plan_fixture.over_budget())
    assert "Nothing was simulated." in page and "OVER BUDGET" in page and page.count("<svg") == 6


def test_results_are_complete_and_the_same_twice(tmp_path: Path) -> None:
    first, second = (write_results(plan_fixture.plan(), tmp_path / name) for name in ("a", "b"))
    files = sorted(path.relative_to(first) for path in first.rglob("*") if path.is_file())
    assert {"plan.json", "report.html", "report.xlsx"} <= {path.name for path in files}
    assert Path("tables/cost.csv") in files
    assert all((first / name).read_bytes() == (second / name).read_bytes() for name in files)
    assert files == sorted(path.relative_to(second) for path in second.rglob("*") if path.is_file())


def test_a_failed_write_leaves_the_old_file_and_no_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "plan.json"
    path.write_text("old")

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(write.os, "replace", fail)
    with pytest.raises(InputError, match="No space left"):
        write.write_bytes(path, b"new")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("plan.json", "old")]


def test_an_output_folder_that_is_a_file_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="name a folder"):
        check_folder(tmp_path / "file")
