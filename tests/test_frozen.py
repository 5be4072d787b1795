"""What is declared stays as it is: records are frozen, and those that gather something while work goes on are listed here."""

from __future__ import annotations

import ast
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OPEN = re.compile(r"@(dataclasses\.)?dataclass(?!\(frozen=True\)$)", re.MULTILINE)
GATHER = {  # change while work goes on
    "optimize/audit/compare_invoice.py": {"Part", "Sorted"},
    "optimize/audit/invoice_file.py": {"InvoiceRow"},
    "optimize/estimate/rough_prices.py": {"Pricer"},
    "optimize/finance/resolve_program.py": {"Work", "Curve"},
    "optimize/market/pools.py": {"PoolState"},
    "optimize/program/answer.py": {"Parts"},
    "optimize/program/by_stages/known_hours.py": {"KnownHours"},
    "optimize/program/rows/model.py": {"Model"},
    "optimize/report/workbook/pen.py": {"Pen"},
    "optimize/search/known_market.py": {"Market"},
    "optimize/search/simple_fleets.py": {"Effort"},
    "sim/probe/call.py": {"Dialect"},
    "sim/scenario/read/document.py": {"Document", "Problems"},
    "sim/scenario/routing/choose.py": {"Chosen"},
    "sim/traffic/readers/blocks.py": {"_Rows"},
    "sim/traffic/readers/log_rows.py": {"Raw"},
    "sim/traffic/readers/table.py": {"Table"},
    "sim/traffic/readers/usage.py": {"Sums"},
}


def open_records(file: Path) -> set[str]:
    """Names of the data classes of a file whose fields can be assigned."""
    found: set[str] = set()
    text = file.read_text(encoding="utf-8")
    if not OPEN.search(text):  # to parse all files takes seconds
        return found
    for node in ast.walk(ast.parse(text)):
        for made in node.decorator_list if isinstance(node, ast.ClassDef) else ():
            words = ast.unparse(made)
            if words.partition("(")[0] in ("dataclass", "dataclasses.dataclass") and "frozen=True" not in words:
                found.add(node.name)  # type: ignore[attr-defined]
    return found


def test_records_are_frozen() -> None:
    files = [file for house in ("optimize", "sim", "servemix") for file in (ROOT / house).rglob("*.py")]
    found = {file.relative_to(ROOT).as_posix(): names for file in files if (names := open_records(file))}
    assert found == GATHER, "write @dataclass(frozen=True), or list the record here if it gathers something"
