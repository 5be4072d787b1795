"""Vidur traces: `num_prefill_tokens,num_decode_tokens`, with `arrived_at` (seconds) or with lengths only.

Source: Agrawal et al., Vidur (MIT).
"""

from __future__ import annotations

import numpy as np

from sim.traffic.readers.log_rows import Raw
from sim.traffic.readers.table import NUMBER, CsvFormat, Table


def _build(table: Table) -> Raw:
    notes = []
    arrival = table.columns.get("arrived_at")
    if arrival is None:
        arrival = np.arange(len(table), dtype=np.float64)
        notes.append("the log has lengths only; one request a second is assumed: set traffic.scale to your rate")
    return Raw(
        arrival_s=arrival,
        input_tokens=table.columns["num_prefill_tokens"],
        output_tokens=table.columns["num_decode_tokens"],
        lines=table.lines,
        notes=notes,
    )


FORMAT = CsvFormat(
    name="Vidur trace",
    required={"num_prefill_tokens": NUMBER, "num_decode_tokens": NUMBER},
    optional={"arrived_at": NUMBER},
    build=_build,
)
