"""`servemix track` from the command line: exit codes, and what it refuses in one sentence."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import cli
from optimize.audit.manifest import manifest
from tests.optimize.track.quiet_day import saved, scenario

PAGES = ("--begin", "scenarios/metrics_begin.txt", "--end", "scenarios/metrics_end.txt")
Run = Callable[..., tuple[Any, str, str]]


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    """A results folder: the plan and its manifest."""
    (tmp_path / "manifest.json").write_text(json.dumps(manifest(scenario(), saved())), encoding="utf-8")
    (tmp_path / "plan.json").write_text(json.dumps(saved()), encoding="utf-8")
    return tmp_path / "plan.json"


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Run:
    def ran(*words: object) -> tuple[Any, str, str]:
        monkeypatch.setattr(sys, "argv", ["servemix", "track", *map(str, words)])
        with pytest.raises(SystemExit) as left:
            cli.main()
        out, err = capsys.readouterr()
        return left.value.code, out, err

    return ran


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "give --prometheus URL"),
        (PAGES[:2], "as many --begin as --end"),
        ((*PAGES, "--prometheus", "http://h"), "give --prometheus URL"),
        ((*PAGES, "--timezone", "Mars"), "is not a time zone"),
        ((*PAGES, "--until", "yesterday"), "is no time"),
        ((*PAGES, "--key-env", "NOT_SET_ANYWHERE"), "NOT_SET_ANYWHERE"),
    ],
)
def test_bad_options_are_one_sentence(words: tuple[str, ...], said: str, plan: Path, run: Run) -> None:
    code, out, err = run(plan, *words)
    assert (code, out) == (2, "") and said in err and err.count("\n") == 1


def test_sample_pages_of_half_as_many_requests_again_end_with_code_5(plan: Path, run: Run) -> None:
    code, out, err = run(plan, *PAGES, "--until", "2026-12-01T12:00", "--json")
    said = json.loads(out)
    assert (code, err) == (5, "") and said["schema"] == "servemix.track/1" and said["causes"][0]["kind"] == "demand"
    code, out, _ = run(plan, *PAGES, "--until", "2026-12-01T12:00Z")
    assert code == 5 and "Most likely cause: demand (chat)" in out


@pytest.mark.parametrize("line", ["<html>", 'a{b="c"} x', "a b c d", '{"json": 1}'])
def test_a_page_that_is_none_is_named_with_its_line(line: str, tmp_path: Path, plan: Path, run: Run) -> None:
    page = tmp_path / "page.txt"
    page.write_text(f'a{{b="c"}} 1\n\n# HELP a b\n{line}\n', encoding="utf-8")
    code, out, err = run(plan, "--begin", page, "--end", page)
    assert (code, out) == (2, "") and f"{page}:4: " in err and "is no line of a /metrics page" in err and err.count("\n") == 1


def test_a_plan_without_its_results_folder_is_refused(plan: Path, run: Run) -> None:
    plan.with_name("manifest.json").unlink()
    code, _, err = run(plan, *PAGES)
    assert code == 2 and "manifest.json" in err and err.count("\n") == 1
