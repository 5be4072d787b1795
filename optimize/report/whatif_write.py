"""A what-if on disk: whatif.json, whatif.html, a CSV per table, and Parquet where pyarrow is installed."""

from __future__ import annotations

import importlib.util
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from optimize.report.page.whatif_html import whatif_html
from optimize.report.terminal.whatif import whatif_json
from optimize.report.write import check_folder, table_csv, write_bytes
from optimize.tables.columns import Table
from optimize.whatif.records import Answer


def write_whatif(answer: Answer, out: Path, tell: Callable[[str], None] = lambda _: None) -> Path:
    """Writes every form of the answer into `out`, each file in one step; returns `out`. Same answer, same bytes of CSV, JSON and HTML."""
    check_folder(out)
    for table in answer.tables:
        write_bytes(out / f"{table.name}.csv", table_csv(table).encode())
        if has_parquet():
            write_bytes(out / f"{table.name}.parquet", parquet(table))
    if not has_parquet():
        tell("no Parquet: pyarrow is not installed (extra `parquet`); the CSV files hold the same")
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
