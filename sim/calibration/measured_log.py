"""A log with measured latency, replayed request by request: what the simulator says of the same requests on one replica.

Read are our own CSV with `ttft_s` or `e2e_s`, and spend logs of LiteLLM (`startTime`, `endTime`, `completionStartTime`), as CSV or JSON.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from sim.calibration.replay_log import Floats, Latencies, replay_requests
from sim.catalog.facts import Catalog
from sim.engine.deployment import Deployment, StepCost
from sim.errors import InputError
from sim.scenario.read.document import nearest, shown
from sim.traffic.readers.files import gzip_faults, open_log
from sim.traffic.readers.json_rows import is_json, json_objects, object_table
from sim.traffic.readers.table import NUMBER, TIME, Layout, Table, read_header, read_table

OWN = Layout(
    name="ServeMix CSV with latencies",
    required={"arrival_s": NUMBER, "input_tokens": NUMBER, "output_tokens": NUMBER},
    optional={"ttft_s": NUMBER, "e2e_s": NUMBER},
)
LITELLM = Layout(
    name="LiteLLM spend log",
    required={"starttime": TIME, "endtime": TIME, "prompt_tokens": NUMBER, "completion_tokens": NUMBER},
    optional={"completionstarttime": TIME},
)
QUANTILES = (0.5, 0.9, 0.95, 0.99)
FEWEST = 20


@dataclass(frozen=True)
class Compared:
    """One figure of one metric, seconds: what the simulator says and what was measured."""

    metric: str
    statistic: str
    predicted_s: float
    measured_s: float

    @property
    def error(self) -> float:
        """Predicted over measured, less one."""
        return self.predicted_s / self.measured_s - 1


@dataclass(frozen=True)
class ReplayedLog:
    """A log against its own measurements: `rows` of `requests` on `deployment`; `dropped` rows lacked a time, a length or a latency."""

    path: Path
    format: str
    deployment: str
    requests: int
    dropped: int
    rows: tuple[Compared, ...]

    def as_json(self) -> dict[str, Any]:
        """One object, schema servemix.replayed_log/1."""
        rows = [vars(row) | {"error": row.error} for row in self.rows]
        said = {"file": str(self.path), "format": self.format, "deployment": self.deployment}
        return {"schema": "servemix.replayed_log/1", **said, "requests": self.requests, "dropped": self.dropped, "rows": rows}


def replay_measured(path: Path, deployment: Deployment, cost: StepCost) -> ReplayedLog:
    """The log at `path` on one replica of `deployment`, at its own arrival times. Raises InputError for a log without latencies.

    The prefix cache is left out: the log does not say which prompts began alike. Traffic of several replicas must be that of one.
    """
    form, arrival_s, prompt, output, ttft_s, e2e_s = read_measured(path)
    known = np.isfinite(arrival_s) & (prompt >= 1) & (output >= 1) & (np.isfinite(ttft_s) | np.isfinite(e2e_s))
    known &= ~((ttft_s < 0) | (e2e_s <= 0))
    if np.count_nonzero(known) < FEWEST:
        raise InputError(f"{path}: {np.count_nonzero(known)} of {len(known)} rows have a time, lengths and a latency; {FEWEST} are needed")
    order = np.flatnonzero(known)[np.argsort(arrival_s[known], kind="stable")]
    asked, told = prompt[order].astype(np.int64), output[order].astype(np.int64)
    said = replay_requests(deployment, cost, asked, told, arrival_s[order] - arrival_s[order[0]])
    seen = Latencies.of(ttft_s[order], e2e_s[order], told)
    return ReplayedLog(path, form, deployment.id, len(order), int(len(known) - len(order)), compared(said, seen))


def deployment_named(catalog: Catalog, gpu: str | None, model: str | None, weights: str, tensor_parallel: int) -> Deployment:
    """The deployment of these names. Raises InputError for one that the catalogue lacks."""
    problems = []
    for option, name, known in (
        ("--gpu", gpu, catalog.gpus),
        ("--model", model, catalog.models),
        ("--weights", weights, catalog.weight_formats),
    ):
        if name is None or name not in known:
            said = "is missing" if name is None else f"{shown(name)} is not in the catalogue"
            problems.append(f"{option} {said}; {nearest(name or '', known)}")
    if problems or gpu is None or model is None:
        raise InputError(problems)
    return Deployment(catalog.models[model], catalog.weight_formats[weights], catalog.gpus[gpu], tensor_parallel)


def compared(said: Latencies, seen: Latencies) -> tuple[Compared, ...]:
    """Mean and quantiles of each metric over the requests that have it in both."""
    rows = []
    for metric in ("ttft", "tpot", "e2e"):
        predicted, measured = (np.asarray(getattr(each, f"{metric}_s"), np.float64) for each in (said, seen))
        both = np.isfinite(predicted) & np.isfinite(measured)
        if np.count_nonzero(both) < FEWEST:
            continue
        rows.append(Compared(metric, "mean", float(predicted[both].mean()), float(measured[both].mean())))
        for q in QUANTILES:
            rows.append(Compared(metric, f"p{round(100 * q)}", *(float(np.quantile(each[both], q)) for each in (predicted, measured))))
    return tuple(row for row in rows if row.measured_s > 0)


def read_measured(path: Path) -> tuple[str, Floats, Floats, Floats, Floats, Floats]:
    """Format, arrivals, prompts, answers, TTFT and whole time of each row; NaN where a cell holds none. Raises InputError."""
    with open_log(path) as text, gzip_faults(path, [0]):
        as_json = is_json(text.read(200))
    header = [] if as_json else read_header(path)
    if as_json:
        header = sorted({key.lower() for _, row in zip(range(50), json_objects(path), strict=False) for key in (row[1] or {})})
    for form in (OWN, LITELLM):
        if form.matches(header):
            table = object_table(path, form, json_objects(path)) if as_json else read_table(path, form)
            return (form.name, *columns(path, form, table))
    raise InputError(f"{path}:1: has no latencies: write arrival_s,input_tokens,output_tokens,ttft_s,e2e_s, or give a spend log of LiteLLM")


def columns(path: Path, form: Layout, table: Table) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """The columns of a table, latencies in seconds."""
    none: Floats = np.full(len(table), np.nan)
    if form is LITELLM:
        start = table.columns["starttime"]
        first = table.columns.get("completionstarttime", none) - start
        whole = table.columns["endtime"] - start
        first = np.where(first < whole, first, np.nan)  # without streaming both are the same: no first token was seen
        return start, table.columns["prompt_tokens"], table.columns["completion_tokens"], first, whole
    first, whole = (table.columns.get(name, none) for name in ("ttft_s", "e2e_s"))
    if not (np.isfinite(first).any() or np.isfinite(whole).any()):
        raise InputError(f"{path}:1: has no latencies; add a column ttft_s or e2e_s, in seconds")
    return table.columns["arrival_s"], table.columns["input_tokens"], table.columns["output_tokens"], first, whole
