"""A file checked as the commands would read it: what it is, what would be assumed, what a reader has to know. Nothing is planned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sim.calibration.points import load_points
from sim.calibration.readers.read_benchmark import is_points, read_benchmark
from sim.errors import InputError
from sim.plural import counted
from sim.scenario import load_scenario
from sim.scenario.assumed import Assumed, assumed
from sim.scenario.read.load import read_scenario
from sim.scenario.written_text import Origin, WrittenText
from sim.traffic import demand as demand_of
from sim.traffic.readers import read_any

YAML_ENDS = (".yaml", ".yml", "")
HOUR_S = 3600.0
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
    return Checked("log", str(path), (found.summary(),), notes=tuple(found.notes))


def check_benchmark(path: Path) -> Checked:
    """A benchmark file, or a CSV of measured points: its runs."""
    if is_points(path):
        return Checked("benchmark", str(path), (f"{path}: {counted(len(load_points(path)), 'measured point')}",))
    runs = read_benchmark(path)
    facts = [
        f"{run.name}: {run.requests:,} requests of {run.input_tokens:,.0f} / {run.output_tokens:,.0f} tokens, "
        f"{', '.join(run.measured) or 'nothing measured'}"
        for run in runs
    ]
    return Checked("benchmark", str(path), tuple(facts))


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
