"""What runs in a worker process: a job -> an outcome. The usual job is one point: a scenario and the factors on it -> a plan."""

from __future__ import annotations

import gc
import hashlib
import json
import os
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Protocol

from optimize.plan import optimize
from optimize.result import Plan
from optimize.search.capacity import traffic_content
from optimize.tables.plan_json import plan_json
from optimize.whatif.factors import with_factors
from optimize.whatif.outcome import Row, no_row, row_of
from optimize.whatif.study import Outcome
from sim.errors import InputError
from sim.scenario.scenario import ConstantTraffic, LogTraffic, Scenario, SyntheticTraffic

try:
    import resource
except ImportError:  # Windows
    resource = None  # type: ignore[assignment]

Factors = tuple[tuple[str, float], ...]
ROOT = Path(__file__).resolve().parents[2]
ELSEWHERE = ("audit", "commands", "estimate", "report")  # rooms of `optimize` that no outcome depends on


@dataclass(frozen=True)
class Task:
    """What a worker is sent. `cache` is the folder of measured capacities; None: the worker's own."""

    scenario: Scenario
    factors: Factors = ()
    cache: Path | None = None
    keep_fleet: bool = False  # keep what `simulate --plan` reads next to the row, under "plan"

    @property
    def key(self) -> str:
        """Hash of all that the outcome depends on: values, factors, seed, catalogue, the log's bytes, the version of the program."""
        return content_key({"point": scenario_content(self.scenario, self.factors), "fleet": self.keep_fleet})

    @property
    def family(self) -> str:
        """The same for points that share their measurements."""
        return family_of(self.scenario, self.factors)

    @property
    def size(self) -> float:
        """Requests of a day."""
        return size_of(self.scenario, self.factors)

    def row(self) -> Row:
        """The plan as one row."""

        scenario = with_factors(self.scenario, self.factors)
        plan = optimize(scenario, jobs=1, tell=let_go, cache=self.cache, only_plan=True)
        return row_of(plan) | ({"plan": fleet_of(plan)} if self.keep_fleet else {})


def let_go(_: str) -> None:
    """Frees what ended simulations hold, each time that the search tells of its next step.

    A simulation refers to itself; with few but huge arrays the collector would not come by itself before memory is full.
    """
    gc.collect()


def fleet_of(plan: Plan) -> dict[str, Any]:
    """The keys of plan.json that say who serves what in every hour."""

    said = plan_json(plan)
    return {name: said[name] for name in ("scenario", "status", "hours", "fleet", "relays", "routing")}


def scenario_content(scenario: Scenario, factors: Factors) -> dict[str, Any]:
    """Everything of a scenario that an outcome may depend on, as plain values."""
    return {
        "digest": scenario.digest,
        "seed": scenario.seed,
        "catalogue": scenario.catalog.digest,
        "factors": [[name, factor] for name, factor in factors if factor != 1.0],
        "log": traffic_content(scenario)["log"] if isinstance(scenario.traffic, LogTraffic) else "",
        "changes": changes(scenario),
    }


def changes(scenario: Scenario) -> str:
    """Hash of the resolved values: scenarios that were changed after loading (levers) have the digest of their file."""
    values = asdict(
        replace(scenario, catalog=replace(scenario.catalog, offers={}, relays={}), path=Path(), text=None, description="", overrides=())
    )
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()


@cache
def program() -> str:
    """Hash of the source of everything that an outcome depends on: after a change of the program, every point runs again."""
    files = [*(ROOT / "sim").rglob("*.py"), *(ROOT / "sim").rglob("*.yaml"), *(ROOT / "optimize").rglob("*.py")]
    digest = hashlib.sha256()
    for file in sorted(files):
        if file.parent.name not in ELSEWHERE and file.parent.parent.name not in ELSEWHERE:
            digest.update(file.read_bytes())
    return digest.hexdigest()[:16]


class Sized(Protocol):
    """What is known of a job before it runs."""

    @property
    def family(self) -> str:
        """Jobs of one family ask the simulator much the same."""

    @property
    def size(self) -> float:
        """How long it may take, against the others."""


class Job(Sized, Protocol):
    """What runs anywhere and is kept under its key."""

    @property
    def key(self) -> str:
        """Hash of all that the outcome depends on."""

    def row(self) -> Row:
        """The row of plain values that it comes to; its `status` says how."""


def run(job: Job) -> Outcome:
    """The outcome of one job; an error becomes a row with status `bad_input` or `failed`, and never stops the others.

    In this process alone: jobs run side by side, the steps of one do not.
    """
    from joblib import parallel_config

    started_s = time.process_time()
    try:
        with parallel_config(backend="sequential"):
            row = job.row()
    except InputError as error:
        row = no_row("bad_input", "; ".join(error.problems))
    except Exception as error:  # a defect of ours in one point must not take the others with it
        row = no_row("failed", f"{type(error).__name__}: {error}".splitlines()[0])
    return Outcome(row, round(time.process_time() - started_s, 3), peak_mb(), worker=os.getpid())


def content_key(content: dict[str, Any]) -> str:
    """The key of a job that depends on `content`, and on the versions of what computes it.

    >>> len(content_key({"seed": 1}))
    24
    """
    text = json.dumps({"program": program(), **content}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:24]


def peak_mb() -> float:
    """Most memory that this process has held so far, in MB; 0 on Windows, which does not say."""
    if resource is None:
        return 0.0
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)


SIMULATED = ("users", "input_tokens", "output_tokens", "step_time")  # factors that change what a pool sustains


def in_turns(jobs: Mapping[str, Sized]) -> list[str]:
    """The keys: one job of each family, then the next of each; within a turn the largest first.

    Two processes that start with two points of one family would want the same measurements at the same time; later points find them in
    the store. The largest first: what ends last is then small, and no process waits long for the others (Graham 1969).
    """
    members: Counter[str] = Counter()
    turns: list[tuple[int, float, int, str]] = []
    for k, (key, job) in enumerate(jobs.items()):
        turns.append((members[job.family], -job.size, k, key))
        members[job.family] += 1
    return [key for *_, key in sorted(turns)]


def family_of(scenario: Scenario, factors: Sequence[tuple[str, float]]) -> str:
    """The same for points that differ only in prices, budget, relays or candidates."""
    felt = [(name, factor) for name, factor in factors if name in SIMULATED and factor != 1.0]
    return repr((scenario.traffic, scenario.request_classes, sorted(scenario.engine.items()), scenario.seed, felt))


def size_of(scenario: Scenario, factors: Sequence[tuple[str, float]]) -> float:
    """Requests of a day, in units that only points of one scenario share: what a proof simulates grows with them."""
    traffic, users = scenario.traffic, dict(factors).get("users", 1.0)
    if isinstance(traffic, SyntheticTraffic):
        return traffic.daily_active_users * traffic.conversations_per_user * traffic.turns_per_conversation * users
    return (traffic.rate_rps if isinstance(traffic, ConstantTraffic) else traffic.scale) * users
