"""One point, anywhere: a scenario and the factors on it -> an outcome. What runs in a worker process."""

from __future__ import annotations

import hashlib
import json
import resource
import sys
import time
from dataclasses import dataclass, replace
from pathlib import Path

from optimize.capacity import SEMANTICS, traffic_content
from optimize.whatif.factors import with_factors
from optimize.whatif.outcome import Row, no_row, row_of
from optimize.whatif.records import Outcome
from sim.errors import InputError
from sim.scenario.records import LogTraffic, Scenario

VERSION = 2  # raise when what a point keeps, or how it is planned, changes


@dataclass(frozen=True)
class Task:
    """What a worker is sent. `cache` is the folder of measured capacities; None: the worker's own."""

    scenario: Scenario
    factors: tuple[tuple[str, float], ...] = ()
    cache: Path | None = None

    @property
    def key(self) -> str:
        """Hash of all that the outcome depends on: values, factors, seed, catalogue, the log's bytes, the version of the program."""
        scenario = self.scenario
        content = {
            "version": [VERSION, SEMANTICS],
            "digest": scenario.digest,
            "seed": scenario.seed,
            "catalogue": scenario.catalog.digest,
            "factors": [[name, factor] for name, factor in self.factors if factor != 1.0],
            "log": traffic_content(scenario)["log"] if isinstance(scenario.traffic, LogTraffic) else "",
            "changes": changes(scenario),
        }
        return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:24]


def changes(scenario: Scenario) -> str:
    """Hash of the resolved values: scenarios that were changed after loading (levers) have the digest of their file."""
    from dataclasses import asdict

    values = asdict(replace(scenario, catalog=replace(scenario.catalog, offers={}, relays={}), path=Path(), description="", overrides=()))
    return hashlib.sha256(json.dumps(values, sort_keys=True, default=str).encode()).hexdigest()


def run(task: Task) -> Outcome:
    """The outcome of one point; an error becomes a row with status `bad_input` or `failed`, and never stops the others."""
    started_s = time.process_time()
    row = planned(task)
    return Outcome(row, round(time.process_time() - started_s, 3), peak_mb())


def planned(task: Task) -> Row:
    """The row of the plan, made in this process alone: points run side by side, the steps of one do not."""
    from joblib import parallel_config

    from optimize.plan import optimize

    try:
        with parallel_config(backend="sequential"):
            plan = optimize(with_factors(task.scenario, task.factors), jobs=1, cache=task.cache, only_plan=True)
        return row_of(plan)
    except InputError as error:
        return no_row("bad_input", "; ".join(error.problems))
    except Exception as error:  # a defect of ours in one point must not take the others with it
        return no_row("failed", f"{type(error).__name__}: {error}".splitlines()[0])


def peak_mb() -> float:
    """Most memory that this process has held so far, in MB."""
    unit = 1e6 if sys.platform == "darwin" else 1e3
    return round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / unit, 1)
