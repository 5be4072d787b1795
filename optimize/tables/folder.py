"""The results folder: checked before long work, written whole files at a time."""

from __future__ import annotations

import csv
import io
import os
import tempfile
from pathlib import Path

from optimize.money.charges import DIGITS
from optimize.tables.columns import Table, Value
from sim.errors import InputError
from sim.plain_cells import plain_cell


def check_folder(out: Path) -> None:
    """InputError now, rather than after minutes of search, when results could not be written into `out`. Makes the folder."""
    try:
        out.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=out):
            pass
    except OSError as error:
        raise InputError(f"--out: {out}: {error.strerror or error}; name a folder that can be written") from None


def check_file(path: Path, option: str) -> None:
    """InputError now, rather than after minutes of search, when the file that `option` names could not be written."""
    if os.path.isdir(path):
        raise InputError(f"{option}: {path} is a folder; name a file")
    if not os.access(path if os.path.exists(path) else path.parent, os.W_OK):
        raise InputError(f"{option}: {path}: cannot be written; name a file in a folder that exists and can be written")


def table_csv(table: Table) -> str:
    """The table with a header row; empty where there is no value, "inf" for infinity; floats to 12 significant digits."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([column.name for column in table.columns])
    writer.writerows([[_shown(value) for value in row] for row in table.rows])
    return text.getvalue()


def _shown(value: Value) -> object:
    """A value of a table as a file has it: what floats are sure of, 0.225 and not 0.22499999999999998; text never as a formula."""
    if isinstance(value, float):
        return float(f"{value:.{DIGITS}g}")
    return "" if value is None else plain_cell(value)


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
