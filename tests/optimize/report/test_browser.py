"""The report in a real browser: no overflow at three widths, no message on the console, no request to anywhere, prints.

Needs headless Chromium; skipped with a message where it is absent.
"""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path

import pytest

from optimize.report.page.html import html
from optimize.report.terminal.render_stress import stress_json
from sim.scenario.scenario import Finance
from tests.optimize.report import plan_fixture
from tests.optimize.report.test_stress_page import stress

PROBE = """<script>addEventListener("load",()=>{
document.querySelectorAll("details").forEach(d=>d.open=true);
const wide=[...document.querySelectorAll("body *")]
.filter(e=>!e.closest(".scroll,.chart,nav")&&e.getBoundingClientRect().right>innerWidth+1);
parent.postMessage(JSON.stringify({page:document.documentElement.scrollWidth,window:innerWidth,wide:wide.map(e=>e.tagName+"."+e.className),
dark:matchMedia("(prefers-color-scheme:dark)").matches,ink:getComputedStyle(document.body).color}),"*")})</script>"""
FRAME = """<!doctype html><title></title><script>addEventListener("message",e=>{document.title=e.data})</script>
<iframe src="probed.html" style="width:%dpx;height:1200px;border:0"></iframe>"""  # a window cannot be narrower than 500
FLAGS = ("--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run", "--disable-background-networking")


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("chromium") is None:
        pytest.skip("needs chromium, which is not installed")
    plan = plan_fixture.plan()
    finance = Finance(growth_per_month=0.04, migration_usd=20_000.0)
    folder = tmp_path_factory.mktemp("page")
    text = html(replace(plan, scenario=replace(plan.scenario, finance=finance)), stress=stress_json(stress()))
    (folder / "report.html").write_text(text, encoding="utf-8")
    open_to_probe = re.sub(r'<meta http-equiv="Content-Security-Policy"[^>]*>', "", text)  # the policy lets no other script run
    (folder / "probed.html").write_text(open_to_probe.replace("</head>", f"{PROBE}</head>"), encoding="utf-8")
    return folder


def chromium(folder: Path, *flags: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["chromium", *FLAGS, f"--user-data-dir={folder / 'profile'}", *flags], capture_output=True, text=True, timeout=120
    )


@pytest.mark.parametrize(("width", "dark"), [(1440, False), (768, True), (390, False)])
def test_nothing_is_wider_than_the_window_and_the_console_is_silent(page: Path, width: int, dark: bool) -> None:
    (page / f"at_{width}.html").write_text(FRAME % width, encoding="utf-8")
    scheme = f"--blink-settings=preferredColorScheme={0 if dark else 1}"
    run = chromium(
        page,
        scheme,
        "--window-size=1500,1300",
        "--enable-logging=stderr",
        "--virtual-time-budget=3000",
        "--dump-dom",
        f"file://{page / f'at_{width}.html'}",
    )
    found = re.search(r"<title>(.*?)</title>", run.stdout, re.S)
    assert found is not None, run.stderr
    said = json.loads(found[1].replace("&amp;", "&").replace("&lt;", "<").replace("&gt;", ">"))
    assert (said["window"], said["wide"]) == (width, []) and said["page"] <= width
    assert said["dark"] is dark and (said["ink"] == "rgb(228, 232, 238)") is dark
    assert "CONSOLE" not in run.stderr


def test_the_script_runs_under_its_policy_and_says_nothing_on_the_console(page: Path) -> None:
    run = chromium(page, "--enable-logging=stderr", "--virtual-time-budget=3000", "--dump-dom", f"file://{page / 'report.html'}")
    assert 'data-shown="manager"' in run.stdout and "this fleet, a month" in run.stdout
    assert "CONSOLE" not in run.stderr


def test_the_page_asks_the_network_for_nothing(page: Path) -> None:
    log = page / "net.json"
    chromium(page, f"--log-net-log={log}", "--window-size=800,600", "--dump-dom", f"file://{page / 'report.html'}")
    text = log.read_text(encoding="utf-8", errors="replace")
    ours = [url for url in re.findall(r'"url":"(https?://[^"]+)"', text) if "report.html" in url or "initiator" in url]
    assert ours == []
    assert not re.search(r'"initiator":"file://', text)


def test_it_prints_with_the_decision_on_a_sheet_of_its_own(page: Path) -> None:
    reader = shutil.which("pdftotext")
    if reader is None:
        pytest.skip("needs pdftotext, which is not installed")
    paper = page / "report.pdf"
    chromium(page, "--no-pdf-header-footer", f"--print-to-pdf={paper}", f"file://{page / 'report.html'}")
    sheets = subprocess.run([reader, "-layout", str(paper), "-"], capture_output=True, text=True, timeout=60).stdout.split("\f")
    assert "Before you sign" in sheets[0] and "Approved by" in sheets[0]
    assert "Cost by hour" not in sheets[0] and "Cost by hour" in sheets[1]
    assert 4 <= len(sheets) <= 14
