"""Whether PuLP and SimPy do the work: every program solved is a PuLP problem, every arrival of the proof's event runs an event of SimPy.

    python -m benchmarks.named_packages [SCENARIO] [--proof hours|changes|day] [--cache DIR]

Answers the scenario (default million_dau) in one process, with empty caches unless a folder is given, and counts: programs built, PuLP
problems asked for a solution, runs of HiGHS; arrivals that came as events and events of the clock; the CPU seconds between the lines of
progress. Exit code 1 where the counts do not agree.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from unittest.mock import patch

import highspy
import pulp

from optimize.plan import optimize
from optimize.result import Plan
from sim.scenario import load_scenario

SCENARIO = Path(__file__).resolve().parents[1] / "scenarios" / "million_dau.yaml"


@dataclass
class Trace:
    """What was asked for a solution: PuLP's problems, and how often HiGHS ran."""

    problems: list[Any] = field(default_factory=list)
    runs: int = 0

    @property
    def agrees(self) -> bool:
        """Whether each run was that of one problem of its own."""
        return self.runs == len(self.problems) == len({id(prob) for prob in self.problems})


@contextmanager
def traced() -> Iterator[Trace]:
    """Counts while it is open, in this process."""
    trace, solved, ran = Trace(), pulp.LpProblem.solve, highspy.Highs.run

    def solve_problem(prob: Any, *given: Any, **named: Any) -> Any:
        trace.problems.append(prob)
        return solved(prob, *given, **named)

    def run_highs(highs: Any) -> Any:
        trace.runs += 1
        return ran(highs)

    with patch.object(pulp.LpProblem, "solve", solve_problem), patch.object(highspy.Highs, "run", run_highs):
        yield trace


def lines_of(plan: Plan, trace: Trace) -> list[str]:
    """The counts in words."""
    proof = plan.verification
    lines = [f"PuLP problems solved: {len(trace.problems):,}; runs of HiGHS: {trace.runs:,}"]
    if proof is not None:
        lines.append(f"arrivals of the proof that came as events: {proof.by_event:,}; events of SimPy meanwhile: {proof.events:,}")
        lines.append(f"requests of the proof in all: {proof.requests_simulated:,}; changes of the timetable played: {len(proof.played)}")
    return [f"{plan.scenario.name}: {plan.status}, ${plan.solution.cost_usd:,.2f} a month", *lines]


def agrees(plan: Plan, trace: Trace) -> bool:
    """Whether PuLP solved every program, and SimPy saw every arrival of the event runs."""
    proof = plan.verification
    return trace.agrees and (proof is None or proof.events >= proof.by_event > 0)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenario", nargs="?", default=str(SCENARIO))
    parser.add_argument("--proof", choices=("hours", "changes", "day"), default="changes")
    parser.add_argument("--cache", type=Path)
    given = parser.parse_args(arguments)
    began = time.process_time()

    def tell(line: str) -> None:
        print(f"{time.process_time() - began:8.1f} CPU s  {line}", file=sys.stderr, flush=True)

    with tempfile.TemporaryDirectory() as empty, traced() as trace:
        plan = optimize(load_scenario(given.scenario), jobs=1, tell=tell, cache=given.cache or Path(empty), proof=given.proof)
    tell("end")
    print("\n".join(lines_of(plan, trace)))
    return 0 if agrees(plan, trace) else 1


if __name__ == "__main__":
    sys.exit(main())
