"""Our own CSV: `arrival_s,input_tokens,output_tokens[,session_id,class]`."""

from __future__ import annotations

from sim.traffic.readers.log_rows import Raw
from sim.traffic.readers.table import NUMBER, TEXT, CsvFormat, Table


def _build(table: Table) -> Raw:
    return Raw(
        arrival_s=table.columns["arrival_s"],
        input_tokens=table.columns["input_tokens"],
        output_tokens=table.columns["output_tokens"],
        lines=table.lines,
        session_id=table.codes.get("session_id"),
        class_code=table.codes.get("class"),
        class_names=table.names.get("class", ()),
        zero_output_means_one=True,
    )


FORMAT = CsvFormat(
    name="ServeMix CSV",
    required={"arrival_s": NUMBER, "input_tokens": NUMBER, "output_tokens": NUMBER},
    optional={"session_id": TEXT, "class": TEXT},
    build=_build,
)
