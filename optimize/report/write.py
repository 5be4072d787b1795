"""Results on disk: each file appears under its name only when it is complete."""

from __future__ import annotations

import csv
import io
import json
import os
import tempfile
from pathlib import Path

from optimize.audit.manifest import BRIEF, COPIES, copies, manifest, plan_bytes
from optimize.money.charges import DIGITS
from optimize.records import Plan
from optimize.tables.columns import Table, Value
from optimize.tables.decision_why import why_tables
from optimize.tables.finance import Money, finance_tables
from optimize.tables.plan_json import plan_json
from optimize.tables.tables import all_tables
from sim.errors import InputError


def check_folder(out: Path) -> None:
    """InputError now, rather than after minutes of search, when results could not be written into `out`. Makes the folder."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise InputError(f"--out: {out}: {error.strerror or error}; name a folder that can be written") from None


def write_results(plan: Plan, out: Path, explain: str = BRIEF) -> Path:
    """Writes plan.json, manifest.json, report.html, report.xlsx, tables/NAME.csv, figures/NAME.png with .csv and copies of small inputs
    into `out`, and returns it. Same plan, same bytes.
    """
    from optimize.report.page.figures import figures
    from optimize.report.page.html import html
    from optimize.report.page.stress import stress_of
    from optimize.report.workbook.xlsx import xlsx

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


def table_csv(table: Table) -> str:
    """The table with a header row; empty where there is no value, "inf" for infinity; floats to 12 significant digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([column.name for column in table.columns])
    writer.writerows([[_shown(value) for value in row] for row in table.rows])
    return text.getvalue()


def _shown(value: Value) -> Value:
    """A value of a table as a file has it: what floats are sure of, 0.225 and not 0.22499999999999998."""
    return "" if value is None else float(f"{value:.{DIGITS}g}") if isinstance(value, float) else value


def write_bytes(path: Path, content: bytes) -> None:
    """Replaces `path` in one step; on failure the old file stays and no part of the new one does."""
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(name, 0o644)
        os.replace(name, path)
    except OSError as error:
        Path(name).unlink(missing_ok=True)
        raise InputError(f"{path}: {error.strerror or error}; name another folder with --out") from None
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise
