"""A GPU price changed in the workbook, recalculated by LibreOffice, against `optimize --set` of the same price: to the cent.

What there is to buy holds the fleet: where nothing else serves, a new price changes no plan. Needs `soffice`; skipped where it is absent.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from optimize.plan import optimize as make_plan
from optimize.report.workbook.xlsx import xlsx
from optimize.tables.plan_json import plan_json
from sim.scenario import load_scenario

ROOT = Path(__file__).resolve().parents[3]
MELANGE = "scenarios/melange.yaml"
EUROS = "budget.currency=EUR"
TINY = """
name: tiny
seed: 1
traffic: {rate_rps: 2}
request_classes:
  - {name: own, share: 0.6, input_tokens: 300, output_tokens: 100, models: [llama-3.1-8b], self_hosted_only: true, slo: {ttft: {p95: 1.0}}}
  - {name: other, share: 0.4, input_tokens: 300, output_tokens: 100, models: [deepseek-v4-flash], slo: {ttft: {p95: 9.0}}}
candidates: {offers: [aws.g6e.xlarge], relays: [deepseek.deepseek-v4-flash], weights: [fp8], tensor_parallel: [1]}
budget: {per_month: 20000, currency: CNY}
"""
Json = dict[str, Any]


def melange(*more: str) -> Json:
    """plan.json's object as the command prints it; exit code 0."""
    command = [sys.executable, "cli.py", "optimize", MELANGE, "--set", EUROS, *more, "--json"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    answer: Json = json.loads(done.stdout)
    return answer


def changed(source: Path, target: Path, cell: str, value: float) -> None:
    """The workbook with another number in the cell of this name, and without any stored result."""
    book = openpyxl.load_workbook(source)
    sheet, place = book.defined_names[cell].attr_text.split("!")
    cell_there = book[sheet.strip("'")][place.replace("$", "")]
    assert isinstance(cell_there.value, float | int) and cell_there.value != value
    cell_there.value = value
    book.save(target)


def fleet(plan: Json) -> list[tuple[Any, ...]]:
    return [(pool["pool"], pool["hosts_by_hour"], pool["billed_hosts_by_hour"]) for pool in plan["fleet"]]


@pytest.fixture(scope="module")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Json, Json, Any]]:
    """Name -> (plan, plan of `--set`, recalculated workbook of the first at the price of the second)."""
    office = shutil.which("soffice")
    if office is None:
        pytest.skip("needs soffice (LibreOffice Calc), which is not installed")
    folder = tmp_path_factory.mktemp("prices")
    before, after = melange("--out", str(folder / "plan")), melange("--set", "candidates.offers.A10G.usd_per_hour=1.0337")
    changed(folder / "plan" / "report.xlsx", folder / "measured.xlsx", "price_A10G_host_hour", 1.0337)
    (folder / "tiny.yaml").write_text(TINY, encoding="utf-8")
    price = "candidates.offers=[{name: aws.g6e.xlarge, usd_per_hour: 1.9431}]"
    made = [make_plan(load_scenario(folder / "tiny.yaml", sets), jobs=1, cache=folder / "cache", only_plan=True) for sets in ([], [price])]
    (folder / "stored.xlsx").write_bytes(xlsx(made[0]))
    changed(folder / "stored.xlsx", folder / "simulated.xlsx", "price_aws_g6e_xlarge_host_hour", 1.9431)
    profile = f"-env:UserInstallation=file://{folder / 'profile'}"
    files = [str(folder / f"{name}.xlsx") for name in ("measured", "simulated")]
    command = [office, profile, "--headless", "--convert-to", "xlsx:Calc MS Excel 2007 XML", "--outdir", str(folder / "out"), *files]
    subprocess.run(command, check=True, capture_output=True, timeout=240)
    books = {name: openpyxl.load_workbook(folder / "out" / f"{name}.xlsx", data_only=True) for name in ("measured", "simulated")}
    plans = {"measured": (before, after), "simulated": (plan_json(made[0]), plan_json(made[1]))}
    return {name: (*plans[name], books[name]) for name in books}


@pytest.mark.parametrize("name", ["measured", "simulated"])
def test_a_price_changed_in_the_sheet_gives_the_bill_of_set_with_the_fleet_fixed(
    cases: dict[str, tuple[Json, Json, Any]], name: str
) -> None:
    before, after, book = cases[name]
    assert fleet(before) == fleet(after) and before["routing"] == after["routing"]
    assert before["cost"]["per_month"] != after["cost"]["per_month"]
    lines, size = book["Monthly lines"], len(after["cost"]["lines"])
    sheet = {lines[f"A{r}"].value: round(lines[f"F{r}"].value, 6) for r in range(2, size + 2)}
    assert sheet == {line["name"]: line["per_month"] for line in after["cost"]["lines"]}
    assert round(lines[f"F{size + 2}"].value, 6) == round(book["Summary"]["B4"].value, 6) == after["cost"]["per_month"]
