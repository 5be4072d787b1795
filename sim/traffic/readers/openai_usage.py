"""OpenAI usage exports: buckets of a minute, an hour or a day, one row for each model, project or key in it; rows are summed.

CSV: `start_time,end_time,...,num_model_requests,model,input_tokens,input_cached_tokens,output_tokens`. JSON: pages of the usage
API (`data` of buckets, each with `results`), one page or several in an array, or the older export with `n_requests`. Projects,
users and keys (project_id, user_id, api_key_id) are never read. input_tokens include the cached ones. There is no latency,
no length of a single request and no session in it. Source: OpenAI API reference, usage of completions.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from sim.traffic.readers.files import gzip_faults, open_log
from sim.traffic.readers.json_rows import Row
from sim.traffic.readers.litellm import named
from sim.traffic.readers.table import NUMBER, TEXT, Table
from sim.traffic.readers.usage import Sums, UsageFormat

LEGACY = {
    "aggregation_timestamp": "start_time",
    "n_requests": "num_model_requests",
    "n_context_tokens_total": "input_tokens",
    "n_generated_tokens_total": "output_tokens",
    "n_cached_context_tokens_total": "input_cached_tokens",
    "snapshot_id": "model",
}
COUNTS = ("num_model_requests", "input_tokens", "output_tokens")
EMPTY = ("start_time", "end_time")  # all that an export without usage has


def _sums(table: Table) -> Sums:
    start, end = table.columns["start_time"], table.columns.get("end_time")
    notes = []
    batch = named(table, "batch", "true")
    if batch.any():
        requests = float(np.nansum(table.columns["num_model_requests"][batch]))
        notes.append(f"{requests:,.0f} requests are batch jobs: half the price, and no latency promise; they are counted like the others")
    return Sums(
        start_s=start,
        requests=table.columns["num_model_requests"],
        input_tokens=table.columns["input_tokens"],
        output_tokens=table.columns["output_tokens"],
        lines=table.lines,
        width_s=None if end is None else end - start,
        cached_tokens=table.columns.get("input_cached_tokens"),
        model_code=table.codes.get("model"),
        model_names=table.names.get("model", ()),
        notes=notes,
    )


FORMAT = UsageFormat(
    name="OpenAI usage export",
    required={"start_time": NUMBER, "num_model_requests": NUMBER, "input_tokens": NUMBER, "output_tokens": NUMBER},
    optional={"end_time": NUMBER, "input_cached_tokens": NUMBER, "model": TEXT, "batch": TEXT},
    sums=_sums,
)


def is_bucket(row: dict[str, Any]) -> bool:
    """Whether a JSON row is a bucket, a page of buckets, or a row of the older export."""
    page = isinstance(row.get("data"), list) and any(isinstance(each, dict) and results_of(each) is not None for each in row["data"])
    return page or results_of(row) is not None or {"aggregation_timestamp", "n_requests"} <= set(row)


def results_of(bucket: dict[str, Any]) -> list[Any] | None:
    """The results of a bucket, under either name that the API has used; None where it is no bucket."""
    for key in ("results", "result"):
        if key in bucket and ("start_time" in bucket or key == "results"):
            found = bucket[key]
            return found if isinstance(found, list) else [] if found is None else [found]
    return None


MORE = re.compile(r'"has_more"\s*:\s*(true|false)')
BLOCK, OVERLAP = 2**20, 40  # characters


def more_pages(path: Path) -> bool:
    """Whether the last page in the file says that there are more, so that the file is not the whole export."""
    last, tail = "", ""
    with open_log(path) as text, gzip_faults(path, [0]):
        while block := text.read(BLOCK):
            found = MORE.findall(tail + block)
            last, tail = (found[-1] if found else last), block[-OVERLAP:]
    return last == "true"


def flat_rows(objects: Iterator[Row]) -> Iterator[Row]:
    """One row for each result of each bucket; a bucket without results is a row of zeros, so that its time counts."""
    for line, row in objects:
        found = results_of(row) if row else None
        if not row:
            yield line, row
        elif isinstance(row.get("data"), list):
            yield from flat_rows((line, bucket if isinstance(bucket, dict) else None) for bucket in row["data"])
        elif found is not None:
            times = {"start_time": row.get("start_time"), "end_time": row.get("end_time")}
            results = [each for each in found if isinstance(each, dict)]
            for result in results or [dict.fromkeys(COUNTS, 0)]:
                yield line, {**result, **times}
        else:
            yield line, {LEGACY.get(key, key): value for key, value in row.items()}
