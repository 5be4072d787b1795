"""Results on disk: each file appears under its name only when it is complete."""

from __future__ import annotations

import importlib.util
import io
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from optimize.audit.manifest import BRIEF, COPIES, copies, manifest, plan_bytes, read_manifest
from optimize.finance.commitment.decision import Decision
from optimize.report.page.decision_charts import decision_figures
from optimize.report.page.decision_page import board_html, decision_html
from optimize.report.page.figures import figures
from optimize.report.page.html import html
from optimize.report.page.stress_section import BEGIN, stress_figure, stress_of, with_stress
from optimize.report.page.whatif_html import whatif_html
from optimize.report.terminal.render_stress import FILE, hardening_table, stress_json, stress_table
from optimize.report.terminal.render_whatif import whatif_json
from optimize.report.workbook.decision_book import decision_xlsx
from optimize.report.workbook.xlsx import xlsx
from optimize.result import Plan
from optimize.simulate.stress_records import Stress
from optimize.tables.columns import Table
from optimize.tables.decision_tables import decision_json
from optimize.tables.decision_tables import tables as decision_tables
from optimize.tables.decision_why import why_tables
from optimize.tables.finance_tables import Money, finance_tables
from optimize.tables.folder import check_folder, table_csv, write_bytes
from optimize.tables.plan_json import plan_json
from optimize.tables.tables import all_tables
from optimize.whatif.study import Answer
from sim.errors import InputError


def write_results(plan: Plan, out: Path, explain: str = BRIEF) -> Path:
    """Writes plan.json, manifest.json, report.html, report.xlsx, tables/NAME.csv, figures/NAME.png with .csv and copies of small inputs
    into `out`, and returns it. Same plan, same bytes.
    """

    for folder in (out, out / "tables", out / "figures"):
        check_folder(folder)
    money = Money(plan)
    said = plan_json(plan, money)
    made = manifest(plan.scenario, said, explain)
    write_bytes(out / "plan.json", plan_bytes(said))
    write_bytes(out / "manifest.json", (json.dumps(made, indent=2) + "\n").encode())
    for name, content in copies(plan.scenario).items():
        check_folder((out / COPIES / name).parent)
        write_bytes(out / COPIES / name, content)
    for table in (*all_tables(plan), *finance_tables(money), *why_tables(plan)):
        write_bytes(out / "tables" / f"{table.name}.csv", table_csv(table).encode())
    for figure in figures(plan, money):
        write_bytes(out / "figures" / f"{figure.name}.png", figure.png())
        write_bytes(out / "figures" / f"{figure.name}.csv", table_csv(figure.data).encode())
    stress = stress_of(out, made["result"]["plan_sha256"])  # of a test that was run on this very plan before
    write_bytes(out / "report.html", html(plan, money, made, stress).encode())
    write_bytes(out / "report.xlsx", xlsx(plan, money, made))
    return out


def write_whatif(answer: Answer, out: Path, tell: Callable[[str], None] = lambda _: None) -> Path:
    """Writes every form of the answer into `out`, each file in one step; returns `out`. Same answer, same bytes of CSV, JSON and HTML."""
    check_folder(out)
    for table in answer.tables:
        write_bytes(out / f"{table.name}.csv", table_csv(table).encode())
        if has_parquet():
            write_bytes(out / f"{table.name}.parquet", parquet(table))
    if not has_parquet():
        tell('no Parquet: the CSV files hold the same; for Parquet run pip install "servemix[parquet]"')
    write_bytes(out / "whatif.json", (json.dumps(whatif_json(answer), indent=2, allow_nan=False) + "\n").encode())
    write_bytes(out / "whatif.html", whatif_html(answer).encode())
    return out


def has_parquet() -> bool:
    """Whether Parquet can be written."""
    return importlib.util.find_spec("pyarrow") is not None


def parquet(table: Table) -> bytes:
    """The table as Parquet, typed as its columns say; unit and meaning stand in the metadata of each field."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    types: dict[str, Any] = {"str": pa.string(), "int": pa.int64(), "float": pa.float64(), "bool": pa.bool_()}
    fields = [pa.field(c.name, types[c.dtype], metadata={"unit": c.unit, "meaning": c.meaning}) for c in table.columns]
    arrays = [pa.array([row[k] for row in table.rows], field.type) for k, field in enumerate(fields)]
    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_arrays(arrays, schema=pa.schema(fields)), buffer)
    return buffer.getvalue()


def write_stress(stress: Stress, out: Path) -> str:
    """Writes stress.json, stress.csv, figures/stress.png with .csv, and hardening.csv if there is any, into `out`; says where it all is.

    Where `out` holds report.html of the same plan, its section on stress says from now on what came out. Same test, same bytes.
    """
    check_folder(out)
    check_folder(out / "figures")
    said = stress_json(stress)
    write_bytes(out / FILE, (json.dumps(said, indent=2, allow_nan=False) + "\n").encode())
    for each in (stress_table(stress), hardening_table(stress)):
        if each.rows:
            write_bytes(out / f"{each.name}.csv", table_csv(each).encode())
    figure = stress_figure(said)
    write_bytes(out / "figures" / f"{figure.name}.png", figure.png())
    write_bytes(out / "figures" / f"{figure.name}.csv", table_csv(figure.data).encode())
    return f"{out}, and in {out / 'report.html'}" if into_report(said, out) else str(out)


def into_report(said: Mapping[str, Any], out: Path) -> bool:
    """Puts the test into the report of the same plan in `out`; whether there is one."""
    try:
        plan = read_manifest(out)["result"]["plan_sha256"]
        page = (out / "report.html").read_text(encoding="utf-8")
    except (InputError, OSError, KeyError, TypeError, UnicodeDecodeError):
        return False
    if BEGIN not in page or not plan or plan != said["plan_sha256"]:
        return False
    write_bytes(out / "report.html", with_stress(page, said).encode())
    return True


def write_decision(decision: Decision, out: Path) -> Path:
    """Writes decision.json, decision.html, board.html, decision.xlsx, a CSV of each table and figures/ into `out`, and returns it. Same
    decision, same bytes.
    """
    for folder in (out, out / "figures"):
        check_folder(folder)
    write_bytes(out / "decision.json", (json.dumps(decision_json(decision), indent=2, allow_nan=False) + "\n").encode())
    made = decision_tables(decision)
    for each in made:
        write_bytes(out / f"{each.name}.csv", table_csv(each).encode())
    for figure in decision_figures(made[3], made[2], decision.scenario.budget.currency):
        write_bytes(out / "figures" / f"{figure.name}.png", figure.png())
    write_bytes(out / "decision.html", decision_html(decision).encode())
    write_bytes(out / "board.html", board_html(decision).encode())
    write_bytes(out / "decision.xlsx", decision_xlsx(decision))
    return out
