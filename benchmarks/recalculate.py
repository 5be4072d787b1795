"""Cells of a workbook after each of many edits, recalculated by LibreOffice: run by a Python that has `uno` (Debian: python3-uno).

`python3 benchmarks/recalculate.py BOOK.xlsx ASKED.json ANSWER.json`. ASKED holds `edits`, a list of {name of a cell: number, text or null},
and `read`, a list of [sheet, cell]; ANSWER is a list of lists of values, one for each edit. One office, one document, no file in between.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def connected(pipe: str) -> Any:
    """The desktop of the office that listens on a pipe."""
    import uno  # type: ignore[import-not-found]

    local = uno.getComponentContext()
    resolver = local.ServiceManager.createInstanceWithContext("com.sun.star.bridge.UnoUrlResolver", local)
    for _ in range(600):
        try:
            there = resolver.resolve(f"uno:pipe,name={pipe};urp;StarOffice.ComponentContext")
            return there.ServiceManager.createInstanceWithContext("com.sun.star.frame.Desktop", there)
        except Exception:
            time.sleep(0.2)
    raise SystemExit("the office does not answer")


def hidden() -> Any:
    """The option that opens a document without a window."""
    from com.sun.star.beans import PropertyValue  # type: ignore[import-not-found]

    option = PropertyValue()
    option.Name, option.Value = "Hidden", True
    return option


def value_of(cell: Any) -> float | str:
    """What a cell shows: a number, or a text."""
    kind = cell.FormulaResultType2 if cell.Type.value == "FORMULA" else 1 if cell.Type.value == "VALUE" else 2
    return float(cell.Value) if kind == 1 else str(cell.String)


def main(book: Path, asked: Path, answer: Path) -> None:
    """Writes the answer."""
    told = json.loads(asked.read_text())
    with tempfile.TemporaryDirectory() as profile:
        pipe = f"recalculate{time.time_ns()}"
        command = ["soffice", f"-env:UserInstallation=file://{profile}", "--headless", "--norestore", f"--accept=pipe,name={pipe};urp;"]
        office = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            desktop = connected(pipe)
            document = desktop.loadComponentFromURL(book.resolve().as_uri(), "_blank", 0, (hidden(),))
            answer.write_text(json.dumps(recalculated(document, told["edits"], told["read"])))
            document.close(True)
            desktop.terminate()
        finally:
            office.wait(60)


def recalculated(document: Any, edits: list[dict[str, Any]], read: list[list[str]]) -> list[list[float | str]]:
    """The values of the cells after each edit; an edit leaves what it does not name as the one before left it."""
    document.enableAutomaticCalculation(False)
    cells = [document.Sheets.getByName(sheet).getCellRangeByName(place) for sheet, place in read]
    found = []
    for edit in edits:
        for name, value in edit.items():
            cell = document.NamedRanges.getByName(name).getReferredCells().getCellByPosition(0, 0)
            if isinstance(value, int | float):
                cell.setValue(value)
            else:
                cell.setFormula("" if value is None else value)
        document.calculateAll()
        found.append([value_of(cell) for cell in cells])
    return found


if __name__ == "__main__":
    main(*map(Path, sys.argv[1:4]))
