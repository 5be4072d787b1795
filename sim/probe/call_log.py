"""Latency and prices from logs that gateways keep: LiteLLM spend logs, OpenRouter activity. Nothing is sent."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sim.errors import InputError
from sim.probe.attempts import OK, SERVER, Attempt, Measured, Prices, Prompt, Reply, Setup
from sim.traffic.readers.files import gzip_faults, open_log
from sim.traffic.readers.json_rows import first_object, is_json, json_objects, object_table
from sim.traffic.readers.table import NUMBER, TEXT, TIME, Layout, Table, read_header, read_table

Floats = npt.NDArray[np.float64]
FEWEST = 5
MOST = 1e15  # of any number of a call: seconds since 1970, tokens, dollars
LITELLM = Layout(
    name="LiteLLM spend log",
    required={"starttime": TIME, "endtime": TIME, "prompt_tokens": NUMBER, "completion_tokens": NUMBER},
    optional={"completionstarttime": TIME, "model": TEXT, "spend": NUMBER, "status": TEXT, "cache_hit": TEXT},
)
OPENROUTER = Layout(
    name="OpenRouter activity",
    required={"created_at": TIME, "tokens_prompt": NUMBER, "tokens_completion": NUMBER, "generation_time_ms": NUMBER},
    optional={"time_to_first_token_ms": NUMBER, "tokens_cached": NUMBER, "model_permaslug": TEXT, "cost_total": NUMBER, "cancelled": TEXT},
)


@dataclass(frozen=True)
class Calls:
    """Calls of one model in a log, in order of their start; NaN where the log does not say."""

    format: str
    model: str
    start_s: Floats
    ttft_s: Floats
    e2e_s: Floats
    input_tokens: Floats
    output_tokens: Floats
    cached_tokens: Floats
    usd: Floats
    failed: npt.NDArray[np.bool_]
    notes: tuple[str, ...]


def read_calls(path: Path, model: str | None) -> Calls:
    """The calls of `model` in the log at `path` (None: of its only model). Raises InputError."""
    form, table = _table(path)
    calls = _litellm(table) if form is LITELLM else _openrouter(table)
    names = table.names.get("model" if form is LITELLM else "model_permaslug", ())
    codes = table.codes.get("model" if form is LITELLM else "model_permaslug")
    wanted = np.ones(len(table), bool)
    if codes is not None and len(names):
        present = sorted({names[k] for k in set(codes.tolist()) if k >= 0})
        if model is None and len(present) > 1:
            raise InputError(f"{path}: holds calls of {len(present)} models; choose one with --model: {', '.join(present[:10])}")
        if model is not None and model not in present:
            raise InputError(f'{path}: holds no call of "{model}"; it has {", ".join(present[:10])}')
        chosen = model or present[0]
        wanted = np.array([k >= 0 and names[k] == chosen for k in codes.tolist()])
    else:
        chosen = model or "model"
    usable = wanted & np.isfinite(calls["start"]) & np.isfinite(calls["e2e"]) & (calls["e2e"] > 0) & (calls["input"] > 0)
    usable &= np.isfinite(calls["output"])
    if int(usable.sum()) < FEWEST:
        raise InputError(f"{path}: {form.name}: {int(usable.sum())} usable calls of {chosen}; {FEWEST} are the least")
    order = np.flatnonzero(usable)[np.argsort(calls["start"][usable], kind="stable")]
    notes = [f"{form.name}: {len(order)} of {len(table)} rows are calls of {chosen} with times and tokens"]
    if form is OPENROUTER:
        notes.append(
            "generation time is taken to begin at the first token; where a provider counts it from the request, TPOT is a little too long"
        )
    start, ttft, e2e, into, out, cached, usd = (calls[name][order] for name in ("start", "ttft", "e2e", "input", "output", "cached", "usd"))
    return Calls(form.name, chosen, start, ttft, e2e, into, out, cached, usd, calls["failed"][order].astype(bool), tuple(notes))


def _table(path: Path) -> tuple[Layout, Table]:
    with open_log(path) as text, gzip_faults(path, [0]):
        begins = text.read(200)
    keys = [key.lower() for key in first_object(path)] if is_json(begins) else read_header(path)
    for form in (LITELLM, OPENROUTER):
        if form.matches(keys):
            return form, object_table(path, form, json_objects(path)) if is_json(begins) else read_table(path, form)
    needs = "; ".join(f"{form.name}: {', '.join(form.required)}" for form in (LITELLM, OPENROUTER))
    raise InputError(f"{path}:1: holds no log of calls with their times; write one of {needs}")


def _column(table: Table, name: str) -> Floats:
    """The column; NaN where the log has none, and for numbers that no call can have, infinite ones too."""
    if name not in table.columns:
        return np.full(len(table), np.nan)
    values = table.columns[name]
    return np.where(np.abs(values) <= MOST, values, np.nan)


def _is(table: Table, column: str, word: str) -> npt.NDArray[np.bool_]:
    codes = table.codes.get(column)
    if codes is None:
        return np.zeros(len(table), bool)
    hits = np.array([word in name.lower() for name in table.names[column]] + [False])
    return np.asarray(hits[codes])


def _litellm(table: Table) -> dict[str, Floats]:
    """Times of the gateway. An answer whose first token comes with its end was not streamed: it has no TTFT."""
    start, end, first = (_column(table, name) for name in ("starttime", "endtime", "completionstarttime"))
    streamed = first < end - 1e-6
    from_cache = _is(table, "cache_hit", "true")
    return {
        "start": start,
        "ttft": np.where(streamed & (first > start), first - start, np.nan),
        "e2e": np.where(from_cache, np.nan, end - start),
        "input": _column(table, "prompt_tokens"),
        "output": _column(table, "completion_tokens"),
        "cached": np.zeros(len(table)),
        "usd": _column(table, "spend"),
        "failed": _is(table, "status", "fail").astype(float),
    }


def _openrouter(table: Table) -> dict[str, Floats]:
    """Times of OpenRouter. `created_at` is when the call began, to within its routing."""
    ttft, generation = _column(table, "time_to_first_token_ms") / 1000, _column(table, "generation_time_ms") / 1000
    ttft = np.where(ttft > 0, ttft, np.nan)
    return {
        "start": _column(table, "created_at"),
        "ttft": ttft,
        "e2e": np.nan_to_num(ttft) + generation,
        "input": _column(table, "tokens_prompt"),
        "output": _column(table, "tokens_completion"),
        "cached": np.nan_to_num(_column(table, "tokens_cached")),
        "usd": _column(table, "cost_total"),
        "failed": _is(table, "cancelled", "true").astype(float),
    }


def measured_calls(calls: Calls) -> Measured:
    """The log in the form of a probe: one attempt for each call (gateways log retries as calls of their own or not at all)."""
    start = calls.start_s - calls.start_s[0]
    ends = start + calls.e2e_s
    open_calls = np.arange(1, len(start) + 1) - np.searchsorted(np.sort(ends), start, side="right")
    attempts = []
    for k in range(len(start)):
        into, out = int(calls.input_tokens[k]), int(calls.output_tokens[k])
        first = None if np.isnan(calls.ttft_s[k]) else float(calls.ttft_s[k])
        failed = bool(calls.failed[k]) or out < 1
        reply = Reply(
            SERVER if failed else OK, 500 if failed else 200, None if failed else first, None if failed else float(calls.e2e_s[k]),
            float(calls.e2e_s[k]), into, out, int(calls.cached_tokens[k]), into, out, 0 if first is None else out,
        )  # fmt: skip
        attempts.append(Attempt(k, 1, "log", int(open_calls[k]), float(start[k]), Prompt("", into, out, into), reply))
    prices, error = fitted_prices(calls)
    notes = calls.notes
    if prices is not None:
        notes += (f"prices are fitted to what the log says calls cost; median error {error:.2%}",)
    usd = float(np.nansum(calls.usd)) if np.isfinite(calls.usd).any() else None
    tokens = int(calls.input_tokens.sum() + calls.output_tokens.sum())
    arrivals = dict(enumerate(start.tolist()))
    setup = Setup("log", calls.model, prices=prices, limits="off")
    return Measured(setup, tuple(attempts), arrivals, {"rpm": None, "tpm": None}, (), "log", float(ends.max()), tokens, usd, notes)


def fitted_prices(calls: Calls) -> tuple[Prices | None, float]:
    """Prices by million tokens that explain what calls cost (least squares, none below 0), and the median relative error; None
    where the log has no costs or more than 5 % stay unexplained (fees, tiers, free calls)."""
    from scipy.optimize import nnls

    paid = (calls.usd > 0) & ~calls.failed
    if int(paid.sum()) < FEWEST:
        return None, 0.0
    cached = np.minimum(calls.cached_tokens, calls.input_tokens)[paid]
    matrix = np.stack([calls.input_tokens[paid] - cached, cached, calls.output_tokens[paid]], axis=1) / 1e6
    usd = calls.usd[paid]
    used = np.asarray(matrix.any(axis=0))
    solution = np.zeros(3)
    solution[used], _ = nnls(matrix[:, used] / usd[:, None], np.ones(len(usd)))  # every call counts the same, dear or cheap
    error = float(np.median(np.abs(matrix @ solution / usd - 1)))
    if error > 0.05:
        return None, error
    per_mtok = [float(f"{value:.5g}") for value in solution]
    return Prices(per_mtok[0], per_mtok[2], per_mtok[1] if used[1] else None), error
