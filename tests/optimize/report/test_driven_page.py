"""The report in a real browser, driven: sliders give Python's figures, no serious finding of axe-core, a silent console, three widths.

Needs node, chromium, and a folder with `npm install playwright-core axe-core`, named by SERVEMIX_PLAYWRIGHT; skipped where they are absent.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from optimize.finance.known_fleets import known_fleets
from optimize.report.page.html import html
from optimize.report.page.whatif_section import PER_DOUBLING
from optimize.report.terminal.render_stress import stress_json
from optimize.tables.bill_lines import cents_of
from optimize.tables.finance_tables import Money
from tests.optimize.report.test_live_page import present_usd, with_credits
from tests.optimize.report.test_stress_page import stress

DRIVER = Path(__file__).with_name("drive_page.js")
MOVES = ({}, {"gpu": 30}, {"gpu": -48}, {"api": 17}, {"demand": -40}, {"demand": 31, "gpu": -9, "api": 5}, {"budget": -12}, {"rate": 215})

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def money() -> Money:
    return Money(with_credits())


@pytest.fixture(scope="module")
def said(money: Money, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    modules, node, browser = os.environ.get("SERVEMIX_PLAYWRIGHT"), shutil.which("node"), shutil.which("chromium")
    if modules is None or node is None or browser is None:
        pytest.skip("needs node, chromium and SERVEMIX_PLAYWRIGHT, a folder with `npm install playwright-core axe-core`")
    folder = Path(os.environ.get("SERVEMIX_PICTURES") or tmp_path_factory.mktemp("driven"))
    (folder / "report.html").write_text(html(money.plan, money, stress=stress_json(stress())), encoding="utf-8")
    run = subprocess.run(
        [node, str(DRIVER), str(folder / "report.html"), str(folder), json.dumps(MOVES)], capture_output=True, text=True, timeout=300,
        env=os.environ | {"NODE_PATH": f"{modules}/node_modules", "CHROMIUM": browser},
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    answer: dict[str, Any] = json.loads(run.stdout)
    return answer


def test_sliders_give_the_figures_that_python_gives(money: Money, said: dict[str, Any]) -> None:
    fleets = {fleet.name: fleet for fleet in known_fleets(money.curves)}
    for moved, rows in zip(MOVES, said["figures"], strict=True):
        shown = dict(rows)
        at = {key: 2 ** (moved.get(key, 0) / PER_DOUBLING) for key in ("gpu", "api", "demand", "budget")}
        at["rate"] = moved.get("rate", 80) / 1000
        asked = (at["demand"], at["gpu"], at["api"])
        cost = fleets["this fleet"].usd(*asked)
        assert shown["this fleet, a month"] == money.bill.money(cents_of(money.plan, cost))
        assert shown["everything self-hosted"].startswith(money.bill.money(fleets["everything self-hosted"].usd(*asked) * 100) + " (")
        assert shown["present value of 24 months"] == money.bill.money(100 * present_usd(money, at))
        room = at["budget"] * 40_000.0 - cost
        assert shown["against the budget"] == f"{money.bill.money(100 * abs(room))} {'under' if room >= 0 else 'over'}"


def test_nothing_is_wider_than_the_window_in_any_view(said: dict[str, Any]) -> None:
    assert said["wide"] == []


def test_the_console_is_silent_and_nothing_is_asked_of_the_network(said: dict[str, Any]) -> None:
    assert said["console"] == [] and said["requests"] == []


def test_axe_has_no_serious_finding(said: dict[str, Any]) -> None:
    assert said["serious"] == []
