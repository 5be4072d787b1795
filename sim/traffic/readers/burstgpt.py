"""BurstGPT traces 1 to 3: `Timestamp,Model,Request tokens,Response tokens,...`, with `Session ID` in the third.

Source: Wang et al., BurstGPT (CC-BY-4.0). Timestamps are whole seconds; rows without response tokens are
failed requests. Columns are found by name, because BurstGPT_3 inserts two of them.
"""

from __future__ import annotations

from sim.traffic.readers.log_rows import Raw
from sim.traffic.readers.table import NUMBER, TEXT, CsvFormat, Table


def _build(table: Table) -> Raw:
    return Raw(
        arrival_s=table.columns["timestamp"],
        input_tokens=table.columns["request tokens"],
        output_tokens=table.columns["response tokens"],
        lines=table.lines,
        session_id=table.codes.get("session id"),
        notes=["tokens are those of the log's own models (column Model); another tokeniser counts differently"],
    )


FORMAT = CsvFormat(
    name="BurstGPT trace",
    required={"timestamp": NUMBER, "request tokens": NUMBER, "response tokens": NUMBER},
    optional={"session id": TEXT},
    build=_build,
)
