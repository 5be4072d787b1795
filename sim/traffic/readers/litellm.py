"""LiteLLM spend logs, one row a request: `startTime,prompt_tokens,completion_tokens[,model,session_id,call_type,cache_hit,spend,...]`.

As JSON (of `/spend/logs`), JSON lines, or CSV of the table LiteLLM_SpendLogs. Keys, users, teams, addresses and prompts
(api_key, user, end_user, requester_ip_address, messages, response ...) are never read, and of metadata nothing but the number of cached
prompt tokens. Source: LiteLLM, schema.prisma, and the usage_object of its spend tracking.
"""

from __future__ import annotations

import numpy as np

from sim.traffic.readers.log_rows import Raw
from sim.traffic.readers.table import CACHED, NUMBER, TEXT, TIME, CsvFormat, Table


def _build(table: Table) -> Raw:
    output = table.columns["completion_tokens"].copy()
    notes = ["tokens are those of the log's own models (column model); another tokeniser counts differently"]
    embedding = named(table, "call_type", "embedding")
    output[embedding & (output == 0)] = 1.0
    if embedding.any():
        notes.append(f"{int(embedding.sum())} embedding calls are kept with 1 output token")
    cached = table.columns.get("metadata")
    told = cached is not None and bool(np.isfinite(cached).any())
    if told:
        notes.append("shared prefixes are the cached tokens that vendors billed: what their caches found, not all that was shared")
    return Raw(
        arrival_s=table.columns["starttime"],
        input_tokens=table.columns["prompt_tokens"],
        output_tokens=output,
        lines=table.lines,
        session_id=table.codes.get("session_id"),
        prefix_tokens=np.nan_to_num(cached, nan=0.0) if told and cached is not None else None,
        model_code=table.codes.get("model"),
        model_names=table.names.get("model", ()),
        usd=table.columns.get("spend"),
        unwanted={"answered from the gateway's own cache": named(table, "cache_hit", "true")},
        notes=notes,
    )


def named(table: Table, column: str, word: str) -> np.typing.NDArray[np.bool_]:
    """Rows whose text in `column` contains `word`, in any letter case."""
    codes = table.codes.get(column)
    if codes is None:
        return np.zeros(len(table), bool)
    hits = np.array([word in name.lower() for name in table.names[column]] + [False])
    return hits[codes]  # code -1 (no text) reads the last entry


FORMAT = CsvFormat(
    name="LiteLLM spend log",
    required={"starttime": TIME, "prompt_tokens": NUMBER, "completion_tokens": NUMBER},
    optional={"session_id": TEXT, "model": TEXT, "call_type": TEXT, "cache_hit": TEXT, "spend": NUMBER, "metadata": CACHED},
    build=_build,
)
