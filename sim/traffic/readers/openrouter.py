"""OpenRouter activity: the CSV of single generations, and the daily sums of its activity API.

Generations: `created_at,tokens_prompt,tokens_completion[,tokens_cached,model_permaslug,cost_total,...]`; names of apps,
keys and users are never read. Days: `date,model,requests,prompt_tokens,completion_tokens,usage`.
Source: OpenRouter documentation and the header of its export, 2026.
"""

from __future__ import annotations

import numpy as np

from sim.traffic.readers.log_rows import Raw
from sim.traffic.readers.table import NUMBER, TEXT, TIME, CsvFormat, Table
from sim.traffic.readers.usage import Sums, UsageFormat


def _build(table: Table) -> Raw:
    notes = ["tokens are those of the log's own models (column model_permaslug); another tokeniser counts differently"]
    cached = table.columns.get("tokens_cached")
    if cached is not None:
        notes.append("shared prefixes are the cached tokens that vendors billed: what their caches found, not all that was shared")
    return Raw(
        arrival_s=table.columns["created_at"],
        input_tokens=table.columns["tokens_prompt"],
        output_tokens=table.columns["tokens_completion"],
        lines=table.lines,
        prefix_tokens=None if cached is None else np.nan_to_num(cached, nan=0.0, posinf=0.0, neginf=0.0),
        model_code=table.codes.get("model_permaslug"),
        model_names=table.names.get("model_permaslug", ()),
        usd=table.columns.get("cost_total"),
        notes=notes,
    )


def _sums(table: Table) -> Sums:
    return Sums(
        start_s=table.columns["date"],
        requests=table.columns["requests"],
        input_tokens=table.columns["prompt_tokens"],
        output_tokens=table.columns["completion_tokens"],
        lines=table.lines,
        width_s=table.columns["date"] * 0 + 86_400.0,
        usd=table.columns.get("usage"),
        model_code=table.codes.get("model", table.codes.get("model_permaslug")),
        model_names=table.names.get("model", table.names.get("model_permaslug", ())),
    )


FORMAT = CsvFormat(
    name="OpenRouter activity",
    required={"created_at": TIME, "tokens_prompt": NUMBER, "tokens_completion": NUMBER},
    optional={"tokens_cached": NUMBER, "model_permaslug": TEXT, "cost_total": NUMBER},
    build=_build,
)
DAILY = UsageFormat(
    name="OpenRouter daily activity",
    required={"date": TIME, "requests": NUMBER, "prompt_tokens": NUMBER, "completion_tokens": NUMBER},
    optional={"model": TEXT, "model_permaslug": TEXT, "usage": NUMBER},
    sums=_sums,
)
