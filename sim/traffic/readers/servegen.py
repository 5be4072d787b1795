"""ServeGen: how fast each client of a service sends, in windows of ten minutes; rates and mean lengths, no single requests.

Clients as published, `chunk-N-trace.csv` without a header: start,rate,cv,pattern,two parameters; told by its pattern words. The
laws of token counts are in `chunk-N-dataset.json` next to it. Tables with a header `model,client,mean_rate_qps,...` (one row a
client) or `model,t_s,rate_qps,...` (one row a window) are sums over them.
Source: Xiang et al., ServeGen, arXiv 2505.09999 (Apache-2.0).
"""

from __future__ import annotations

import ast
from collections.abc import Sequence
from itertools import islice
from pathlib import Path

import numpy as np

from sim.errors import InputError
from sim.named_files import read_json
from sim.traffic.readers.files import open_log
from sim.traffic.readers.log_rows import Floats
from sim.traffic.readers.table import NUMBER, TEXT, Layout, Table, read_table
from sim.traffic.readers.usage import Sums, UsageFormat

PATTERNS = {"gamma", "weibull", ""}
CHUNK_COLUMNS = ("start_s", "rate_rps", "cv", "pattern", "first", "second")
CHUNK = Layout(name="ServeGen client", required={"start_s": NUMBER, "rate_rps": NUMBER})
DAY_S = 86_400.0


def is_chunk(path: Path, first: Sequence[str]) -> bool:
    """Whether the file is a client: six cells a row, of which the fourth is a pattern or empty and the others are numbers."""
    if len(first) != len(CHUNK_COLUMNS) or first[3].lower() not in PATTERNS:
        return False
    with open_log(path) as text:
        rows = [line.strip().split(",") for line in islice(text, 3)]
    return all(len(row) == 6 and row[3].lower() in PATTERNS and _numeric(row[:3] + row[4:]) for row in rows)


def _numeric(cells: Sequence[str]) -> bool:
    try:
        [float(cell) for cell in cells]
    except ValueError:
        return False
    return True


def read_chunk(path: Path) -> tuple[Table, Sums]:
    """One client: requests of each window, and tokens where the dataset is next to it."""
    table = read_table(path, CHUNK, header=CHUNK_COLUMNS)
    start, rate = table.columns["start_s"], table.columns["rate_rps"]
    gaps = np.diff(np.unique(start[np.isfinite(start)]))
    width = float(gaps.min()) if len(gaps) else 600.0
    requests = rate * width
    means = _mean_tokens(path.with_name(path.name.replace("-trace.csv", "-dataset.json")), start)
    notes = ["bursts inside a window (cv, pattern) are not in the sums"]
    if means is None:
        notes.append("the client's dataset file is not next to it: no token counts")
    return table, Sums(
        start_s=start,
        requests=requests,
        input_tokens=None if means is None else means[0] * requests,
        output_tokens=None if means is None else means[1] * requests,
        lines=table.lines,
        width_s=np.full(len(start), width),
        notes=notes,
    )


def _mean_tokens(path: Path, start: Floats) -> tuple[Floats, Floats] | None:
    """Mean input and output tokens in each window: those of the last dataset window before it, of the first one before that."""
    if not path.is_file():
        return None
    try:
        windows = {float(t): laws for t, laws in read_json(path, "a ServeGen dataset").items()}
        laws = {t: (_mean(each["input_tokens"]), _mean(each["output_tokens"])) for t, each in sorted(windows.items())}
    except (ValueError, LookupError, TypeError, SyntaxError, AttributeError, ArithmeticError, RecursionError, MemoryError) as error:
        raise InputError(f"{path}: is no ServeGen dataset ({error}); write windows with input_tokens and output_tokens") from None
    laws = {t: pair for t, pair in laws.items() if np.isfinite(pair).all()}
    if not laws:
        return None
    known = np.array(list(laws))
    row = np.clip(np.searchsorted(known, start, side="right") - 1, 0, len(known) - 1)
    values = np.array(list(laws.values()))
    return values[row, 0], values[row, 1]


def _mean(text: str) -> float:
    """Mean of a law written `{tokens: probability, ...}`; NaN for an empty one."""
    law = ast.literal_eval(text)
    weight = sum(law.values())
    return sum(tokens * share for tokens, share in law.items()) / weight if weight else float("nan")


def _clients(table: Table) -> Sums:
    return Sums(
        start_s=np.zeros(len(table)),
        requests=table.columns["mean_rate_qps"] * DAY_S,
        input_tokens=None,
        output_tokens=None,
        lines=table.lines,
        width_s=np.full(len(table), DAY_S),
        model_code=table.codes.get("model"),
        model_names=table.names.get("model", ()),
        notes=["mean rates of clients, written as the requests of one day", "bursts of a client (cv) are not in the sums"],
    )


def _windows(table: Table) -> Sums:
    start = table.columns["t_s"]
    gaps = np.diff(np.unique(start[np.isfinite(start)]))
    width = float(gaps.min()) if len(gaps) else 600.0
    return Sums(
        start_s=start,
        requests=table.columns["rate_qps"] * width,
        input_tokens=None,
        output_tokens=None,
        lines=table.lines,
        width_s=np.full(len(start), width),
        model_code=table.codes.get("model"),
        model_names=table.names.get("model", ()),
    )


CLIENTS = UsageFormat(name="ServeGen clients", required={"client": TEXT, "mean_rate_qps": NUMBER}, optional={"model": TEXT}, sums=_clients)
WINDOWS = UsageFormat(name="ServeGen rates", required={"t_s": NUMBER, "rate_qps": NUMBER}, optional={"model": TEXT}, sums=_windows)
