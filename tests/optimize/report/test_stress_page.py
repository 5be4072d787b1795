"""A stress test in the report: absent, run later, run before; never that of another plan."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from optimize.report.page.figures import Figure
from optimize.report.page.html import html
from optimize.report.page.stress_section import BEGIN, END, TITLE, stress_figure, table_of, with_stress
from optimize.report.terminal.render_stress import stress_json, stress_table
from optimize.report.write import write_results, write_stress
from optimize.simulate.stress_records import Attained, Hardening, Stress, StressRow
from tests.optimize.report import plan_fixture
from tests.optimize.report.test_html import Balance


def attained(name: str, share: float, met: bool, requests: int = 1000) -> Attained:
    return Attained(name, "ttft", 0.95, 1.0, share, (share - 0.01, min(1.0, share + 0.01)), 0.8, requests, met, 40.0)


def stress(plan_sha256: str = "") -> Stress:
    """Two cases by hand: one held, one missed by one of two classes."""
    rows = (
        StressRow("demand x1.3", "every class sends more", "weekday 14", (attained("chat", 0.981, True), attained("faq", 1.0, True)),
                  False, None, 2000, 0, 0, 0),
        StressRow("host down", "one <host>", "weekday 14", (attained("chat", 0.73, False), attained("faq", 0.99, True, 0)),
                  True, 40.0, 2000, 17, 0, 3),
    )  # fmt: skip
    hardening = (Hardening("a spare host of each pool", 41_000.0, 2_217.27), Hardening("the largest relay", None, None))
    return Stress(plan_fixture.plan().scenario, rows, (7001, 7002), ("spot lost: no spot host runs",), hardening, plan_sha256)


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_results(plan_fixture.plan(), tmp_path_factory.mktemp("written") / "plan")


@pytest.fixture
def results(written: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(written, tmp_path / "plan"))


def hash_of(results: Path) -> str:
    return str(json.loads((results / "manifest.json").read_text())["result"]["plan_sha256"])


def section_of(page: str) -> str:
    return page[page.index(BEGIN) : page.index(END)]


def test_a_plan_that_was_not_tried_says_how_to_try_it(results: Path) -> None:
    said = section_of((results / "report.html").read_text())
    assert TITLE in said and "--plan DIR/plan.json --stress --out DIR" in said and "simulate" in said and "<figure" not in said


def test_a_plan_that_was_not_simulated_has_no_such_section(tmp_path: Path) -> None:
    page = (write_results(plan_fixture.over_budget(), tmp_path) / "report.html").read_text()
    assert BEGIN not in page and TITLE not in page
    assert BEGIN not in html(plan_fixture.plan())  # no one knows the command without a manifest


def test_a_test_of_this_plan_enters_its_report(results: Path) -> None:
    before = (results / "report.html").read_text()
    told = write_stress(stress(hash_of(results)), results)
    after = (results / "report.html").read_text()
    said = section_of(after)
    assert told.endswith("report.html") and {"stress.json", "stress.csv", "hardening.csv"} <= {p.name for p in results.iterdir()}
    assert (results / "figures" / "stress.png").read_bytes()[:4] == b"\x89PNG"
    assert (results / "figures" / "stress.csv").read_text() == (results / "stress.csv").read_text()
    for text in ("73.0 %", "missed", "no", "one &lt;host&gt;", "17 requests taken back", "41,000.00", "spot lost", "7001, 7002"):
        assert text in said
    assert after.replace(said, "") == before.replace(section_of(before), "")
    parser = Balance()
    parser.feed(after.replace("<!--", "").replace("-->", ""))
    assert parser.open == []


def test_a_report_that_is_made_again_keeps_the_test_of_the_same_plan(results: Path) -> None:
    write_stress(stress(hash_of(results)), results)
    with_test = (results / "report.html").read_bytes()
    write_results(plan_fixture.plan(), results)
    assert (results / "report.html").read_bytes() == with_test
    write_results(replace(plan_fixture.plan(), rounds=3), results)
    assert "Not tried." in section_of((results / "report.html").read_text())


@pytest.mark.parametrize("other", ["", "0" * 64])
def test_a_test_of_another_plan_leaves_the_report_alone(results: Path, other: str) -> None:
    before = (results / "report.html").read_bytes()
    assert write_stress(stress(other), results) == str(results)
    assert (results / "report.html").read_bytes() == before


def test_a_folder_without_a_report_gets_the_files_alone(tmp_path: Path) -> None:
    assert write_stress(stress("0" * 64), tmp_path / "new") == str(tmp_path / "new")
    assert not (tmp_path / "new" / "report.html").exists()


def test_a_torn_stress_file_is_as_if_there_were_none(results: Path) -> None:
    torn = json.dumps({"schema": "servemix.stress/1", "plan_sha256": hash_of(results)})
    for text in ("{", "[]", torn):
        (results / "stress.json").write_text(text)
        write_results(plan_fixture.plan(), results)
        assert "Not tried." in section_of((results / "report.html").read_text())


def test_the_picture_says_which_cases_are_missed() -> None:
    figure = stress_figure(stress_json(stress()))
    assert isinstance(figure, Figure) and figure.data == table_of(stress_json(stress())) == stress_table(stress())
    assert "1 of 2 cases" in figure.alt and "missed: host down at weekday 14" in figure.alt
    assert figure.svg().count("missed") == 2  # in its words, and in one cell


def test_a_page_without_the_place_stays_as_it_is() -> None:
    assert with_stress("<html></html>", stress_json(stress())) == "<html></html>"
