"""The HTML report: one file, no reference to anything outside, the same bytes each time; files appear whole or not at all."""

from __future__ import annotations

import base64
import hashlib
import re
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path

import pytest

from optimize.records import Flip
from optimize.report.page.html import html
from optimize.report.page.style import STYLE
from optimize.report.write import write_results
from optimize.result import NoPlan, Why
from optimize.tables import folder
from optimize.tables.folder import check_folder
from optimize.tables.phrases import told_flips
from sim.errors import InputError
from tests.optimize.report import plan_fixture

VOID = {"meta", "br", "path", "use", "circle", "rect", "line", "input"}


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
    assert not re.search(r"https?:|src=|@import|<link", page)
    assert all(target.startswith("#") for target in re.findall(r'(?:href="|url\()([^")]+)', page))
    assert len(page.encode()) < 1_500_000


def test_only_the_script_whose_hash_the_policy_names_can_run(page: str) -> None:
    policy = re.findall(r'content="(default-src[^"]+)"', page)[0]
    running = re.findall(r"<script>(.*?)</script>", page, re.S)
    digest = base64.b64encode(hashlib.sha256(running[0].encode()).digest()).decode()
    assert len(running) == 1 and f"script-src 'sha256-{digest}'" in policy and "unsafe-inline" not in policy.split("script-src")[1]
    assert not re.search(r"<[^>]+ on\w+=", page)


def test_every_element_is_closed(page: str) -> None:
    parser = Balance()
    parser.feed(page)
    assert parser.open == [] and "svg" in parser.seen


def test_charts_follow_the_colours_of_the_page(page: str) -> None:
    assert page.count("<svg") == page.count('role=img tabindex=0 aria-label="') == 12
    assert "#010203" not in page and "var(--ink)" in page and "prefers-color-scheme:dark" in page


def test_words_stand_out_from_what_they_stand_on_in_every_light() -> None:
    """WCAG 2.2, 1.4.3: 4.5 to 1; colours of light, dark and paper."""

    def luminance(colour: str) -> float:
        digits = colour[1:] if len(colour) == 7 else "".join(2 * c for c in colour[1:])
        parts = [int(digits[k : k + 2], 16) / 255 for k in (0, 2, 4)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    themes = [dict(re.findall(r"--(\w+):(#\w+)", rule)) for rule in re.findall(r":root\{(.*?)\}", STYLE)]
    assert len(themes) == 3
    for theme in themes:
        for word in ("ink", "dim", "good", "bad"):
            for ground in ("page", "card"):
                light, dark = sorted((luminance(theme[word]), luminance(theme[ground])), reverse=True)
                assert (light + 0.05) / (dark + 0.05) >= 4.5, (theme, word, ground)


def test_every_section_is_linked_and_every_scrolling_region_has_a_name(page: str) -> None:
    places = set(re.findall(r'<section id="([^"]+)"', page))
    assert places == set(re.findall(r'<a href="#([^"]+)"', page)) and len(places) > 12
    words = set(re.findall(r'<dt id="([^"]+)"', page))
    assert words == set(re.findall(r'<a class=term href="#([^"]+)"', page)) and len(words) > 12
    assert page.count("<div class=scroll") == page.count('role=region aria-label="')
    assert page.count("<figure>") == page.count("<figcaption") >= 8


def test_flips_stand_nearest_first_and_far_account_limits_are_left_to_the_narrow_places() -> None:
    far, near = Flip("r requests per minute", 10_000.0, 400.0, "far"), Flip("r tokens per minute", 10_000.0, 8_000.0, "near")
    price, never = Flip("h100 price", 2.0, 3.0, "price"), Flip("l4 price", 1.0, None, "never")
    plan = replace(plan_fixture.plan(), flips=(far, never, price, near))
    assert told_flips(plan) == ["near", "price", "far", "never"]
    assert told_flips(replace(plan, why=Why())) == ["near", "price", "never"]


def test_where_there_is_no_plan_the_first_page_says_what_would_make_one() -> None:
    no_plan = NoPlan(41_000.0, 0.9, (), (), (), (), False)
    page = html(replace(plan_fixture.over_budget(), why=Why(no_plan=no_plan)))
    tiles = page[page.index('<section id="decision"') : page.index('<section id="what-if"')]
    assert "What would make a plan" in tiles and "the smallest budget that serves everything: $41,000" in tiles
    assert "What would change the answer" not in tiles


def test_same_plan_same_page(page: str) -> None:
    assert html(plan_fixture.plan()) == page


def test_names_are_escaped() -> None:
    assert "<b>x</b>" not in html(replace(plan_fixture.plan(), warnings=("<b>x</b>",)))


def test_a_plan_without_proof_says_so() -> None:
    page = html(plan_fixture.over_budget())
    assert "Nothing was simulated." in page and "OVER BUDGET" in page and "not simulated" in page


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

    monkeypatch.setattr(folder.os, "replace", fail)
    with pytest.raises(InputError, match="No space left"):
        folder.write_bytes(path, b"new")
    assert [(p.name, p.read_text()) for p in tmp_path.iterdir()] == [("plan.json", "old")]


def test_an_output_folder_that_is_a_file_is_one_message(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(InputError, match="name a folder"):
        check_folder(tmp_path / "file")
