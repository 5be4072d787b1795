"""splitwise-sim traces, times in seconds.

Header: `request_id,request_type,application_id,arrival_timestamp,batch_size,prompt_size,token_size`.
Source: Patel et al., Splitwise, ISCA 2024 (MIT).
"""

from __future__ import annotations

from sim.traffic.readers.log_rows import Raw
from sim.traffic.readers.table import NUMBER, CsvFormat, Table


def _build(table: Table) -> Raw:
    return Raw(
        arrival_s=table.columns["arrival_timestamp"],
        input_tokens=table.columns["prompt_size"],
        output_tokens=table.columns["token_size"],
        lines=table.lines,
    )


FORMAT = CsvFormat(
    name="splitwise-sim trace",
    required={"arrival_timestamp": NUMBER, "prompt_size": NUMBER, "token_size": NUMBER},
    build=_build,
)
