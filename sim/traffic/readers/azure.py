"""Azure LLM inference traces of 2023, 2024 and multimodal: `TIMESTAMP,[NumImages,]ContextTokens,GeneratedTokens`.

Source: Azure public dataset (CC-BY-4.0); Patel et al., Splitwise, ISCA 2024. Timestamps have seven fractional
digits in 2023, six and a zone in 2024. There are no sessions.
"""

from __future__ import annotations

from sim.traffic.readers.log_rows import Raw
from sim.traffic.readers.table import NUMBER, TIME, CsvFormat, Table


def _build(table: Table) -> Raw:
    notes = []
    if "numimages" in table.columns and (table.columns["numimages"] > 0).any():
        notes.append("images count only with the tokens that ContextTokens holds")
    return Raw(
        arrival_s=table.columns["timestamp"],
        input_tokens=table.columns["contexttokens"],
        output_tokens=table.columns["generatedtokens"],
        lines=table.lines,
        notes=notes,
    )


FORMAT = CsvFormat(
    name="Azure LLM inference trace",
    required={"timestamp": TIME, "contexttokens": NUMBER, "generatedtokens": NUMBER},
    optional={"numimages": NUMBER},
    build=_build,
)
