"""A file checked as the commands would read it: what it is, what would be assumed, what a reader has to know. Nothing is planned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from sim.calibration.points import load_points
from sim.calibration.readers.measurement import Measurement
from sim.calibration.readers.read_benchmark import is_points, read_benchmark
from sim.errors import InputError
from sim.plural import counted
from sim.scenario import load_scenario
from sim.scenario.assumed import Assumed, assumed
from sim.scenario.read.load import read_scenario
from sim.scenario.written_text import Origin, WrittenText
from sim.traffic import demand as demand_of
from sim.traffic.readers import ReadLog, Usage, read_any

YAML_ENDS = (".yaml", ".yml", "")
HOUR_S, MONTH_H = 3600.0, 730.0
MOST_RUNS, FEW_REQUESTS, SLOWEST_TPOT_S = 8, 20, 2.0
NO_LOG = "of no known log format"


@dataclass(frozen=True)
class Checked:
    """A file without a fault. `facts` say what is in it, `notes` what a reader has to know."""

    kind: str
    file: str
    facts: tuple[str, ...]
    assumed: tuple[Assumed, ...] = ()
    notes: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        """One object, schema servemix.check/1."""
        rows = [{"key": each.key, "value": each.value, "unit": each.unit, "meaning": each.meaning} for each in self.assumed]
        return {
            "schema": "servemix.check/1",
            "kind": self.kind,
            "file": self.file,
            "facts": list(self.facts),
            "assumed": rows,
            "notes": list(self.notes),
        }


def check_scenario(origin: Origin, overrides: Sequence[str] = ()) -> Checked:
    """A scenario: its classes, demand and candidates, and every default that holds because it says nothing."""
    scenario = load_scenario(origin, overrides)
    spec = read_scenario(origin, overrides).spec
    demand = demand_of(scenario)
    per_month = sum(float(row @ demand.weight_h) for row in demand.mean_rps) * HOUR_S
    facts = (
        f"{scenario.name}: {counted(len(scenario.request_classes), 'request class', 'request classes')}, {per_month:,.0f} requests a month",
        f"candidates: {counted(len(scenario.offers), 'offer')} and {counted(len(scenario.relays), 'relay')}",
        f"budget {scenario.budget.per_month:,.0f} {scenario.budget.currency} a month, seed {scenario.seed}, digest {scenario.digest}",
    )
    name = origin.name if isinstance(origin, WrittenText) else str(origin)
    return Checked("scenario", name, facts, tuple(assumed(spec)), scenario.warnings)


def check_log(path: Path) -> Checked:
    """A request log or usage export: its format, and an account of every row."""
    found = read_any(path)
    facts = log_facts(found) if isinstance(found, ReadLog) else usage_facts(found)
    return Checked("log", str(path), (found.summary(), *facts), notes=tuple(found.notes))


def check_benchmark(path: Path) -> Checked:
    """A benchmark file, or a CSV of measured points: its runs."""
    if is_points(path):
        return Checked("benchmark", str(path), (f"{path}: {counted(len(load_points(path)), 'measured point')}",))
    runs = read_benchmark(path)
    facts = [run_words(run) for run in runs[:MOST_RUNS]]
    if len(runs) > MOST_RUNS:
        facts.append(f"and {len(runs) - MOST_RUNS} more runs")
    return Checked("benchmark", str(path), tuple(facts), notes=benchmark_notes(runs))


def log_facts(log: ReadLog) -> list[str]:
    """When its requests came, how long they are, which models they name, and what share was lost: a line each."""
    span_s, hours = float(log.arrival_s[-1]), float(log.arrival_s[-1]) / HOUR_S
    begin = f" from {datetime.fromtimestamp(log.first_s, UTC):%a %Y-%m-%d %H:%M} UTC" if log.first_s else ""
    rate = log.kept / span_s if span_s else 0.0
    facts = [f"{log.kept:,} requests in {hours:,.2f} h{begin}: {rate:.4g}/s, {rate * MONTH_H * HOUR_S:,.0f} in a month at that rate"]
    for side, tokens in (("prompts", log.input_tokens), ("answers", log.output_tokens)):
        p50, p95, most = (float(np.quantile(tokens, q)) for q in (0.5, 0.95, 1.0))
        facts.append(f"{side}: mean {tokens.mean():,.0f} tokens, p50 {p50:,.0f}, p95 {p95:,.0f}, longest {most:,.0f}")
    talks = len(np.unique(log.session_id[log.session_id >= 0]))
    facts.append(f"{talks:,} sessions; {log.prefix_tokens.sum() / log.input_tokens.sum():.0%} of prompt tokens are known from before")
    if log.models:
        facts.append("models: " + ", ".join(f"{name} ({rows / log.kept:.0%})" for name, rows in log.models[:5]))
    if log.usd:
        facts.append(f"billed: ${log.usd:,.2f}")
    if log.read > log.kept:
        facts.append(f"lost: {(log.read - log.kept) / log.read:.1%} of the rows, for the reasons above")
    return facts


def usage_facts(usage: Usage) -> list[str]:
    """How much of what was bought, in lines."""
    facts = [f"sums over {usage.span_s / HOUR_S / 24:,.1f} days: no single requests, so no replay; `new --from-log` starts from it"]
    for each in usage.models[:5]:
        told = ((each.requests, "requests"), (each.input_tokens, "tokens in"), (each.cached_tokens, "cached"), (each.output_tokens, "out"))
        facts.append(f"{each.model or 'all'}: " + ", ".join(f"{value:,.0f} {word}" for value, word in told if value is not None))
    return facts


def run_words(run: Measurement) -> str:
    """One run: its load, lengths and latencies."""
    load = f"{run.in_flight} in flight" if run.in_flight else f"{run.rate_rps:g} requests/s" if run.rate_rps else "as sent"
    units = {"throughput": ("tokens/s out", 1.0), "tpot": ("ms TPOT", 1e3), "ttft": ("ms TTFT", 1e3)}
    values = [f"{run.measured[name] * scale:,.4g} {unit}" for name, (unit, scale) in units.items() if name in run.measured]
    lengths = f"{run.requests:,} requests of {run.input_tokens:,.0f} / {run.output_tokens:,.0f} tokens"
    return f"{run.name}: {lengths}, {load}: {', '.join(values) or 'nothing measured'}"


def benchmark_notes(runs: Sequence[Measurement]) -> tuple[str, ...]:
    """What looks wrong in the runs."""
    notes = [f"{run.name}: TPOT of {run.measured['tpot']:.3g} s is slow for any GPU; are its times in other units?"
             for run in runs if run.measured.get("tpot", 0.0) > SLOWEST_TPOT_S]  # fmt: skip
    notes += [f"{run.name}: fewer than {FEW_REQUESTS} requests say little" for run in runs if run.requests < FEW_REQUESTS]
    return tuple(notes[:MOST_RUNS])


FILES: Mapping[str, Callable[[Path], Checked]] = {"log": check_log, "benchmark": check_benchmark}  # in the order in which they are tried


def check_file(origin: Origin, kind: str | None = None, overrides: Sequence[str] = ()) -> Checked:
    """The file as the `kind` that is named, else as what it looks like. Raises InputError with every problem."""
    if kind not in (None, "scenario", *FILES):
        raise InputError(f'--kind: "{kind}" is unknown; write scenario, {" or ".join(FILES)}')
    if isinstance(origin, WrittenText) or kind == "scenario" or (kind is None and origin.suffix.lower() in YAML_ENDS):
        return check_scenario(origin, overrides)
    if overrides:
        raise InputError("--set: changes scenarios only; leave it out for a log or a benchmark file")
    if kind is not None:
        return FILES[kind](origin)
    try:
        return check_log(origin)
    except InputError as no_log:
        if not any(NO_LOG in problem for problem in no_log.problems):
            raise
        try:
            return check_benchmark(origin)
        except InputError as no_benchmark:
            raise InputError([*no_log.problems, *no_benchmark.problems]) from None
