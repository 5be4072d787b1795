"""The one place where a solver runs. Its text never reaches stdout; its word "Optimal" is never taken as proof."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import highspy
import numpy as np
import pulp

from optimize.program.rows.model import Model


@dataclass(frozen=True)
class Outcome:
    """What a solver found.

    found      a feasible point is in the model's variables
    objective  of that point (inf without one);  bound  proven lower bound on the objective (inf: proven infeasible)
    """

    found: bool
    objective: float
    bound: float


@contextmanager
def quiet() -> Iterator[None]:
    """File descriptor 1 goes nowhere while a solver runs: HiGHS prints its banner there even when told to be silent."""
    sys.stdout.flush()
    saved = os.dup(1)
    nowhere = os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 1)
        yield
    finally:
        os.dup2(saved, 1)
        os.close(saved)
        os.close(nowhere)


# What pays off in large programs costs more than the search itself in an hour of a few dozen columns. A version of HiGHS that does not
# know one of these keeps its own way.
LEAN: dict[str, Any] = {
    "mip_detect_symmetry": False,
    "mip_heuristic_effort": 0.0,
    "mip_heuristic_run_feasibility_jump": False,
    "mip_heuristic_run_root_reduced_cost": False,
    "mip_heuristic_run_rens": False,
    "mip_heuristic_run_rins": False,
}
FEW = 300  # columns up to which a program is solved with these
FEWER = 40  # columns up to which presolve does not pay either, nor in a relaxation


class Highs(pulp.LpSolver):  # type: ignore[misc]
    """HiGHS as a solver of PuLP, to which a problem goes over as arrays: PuLP's own interface adds columns and rows one by one.

    The objective goes over in units of the dearest coefficient: tolerances then do not depend on the currency, and doubling every
    price changes nothing that the solver sees. Each run has a solver of its own, so none remembers another.
    """

    name = "HiGHS"

    def __init__(self, columns: list[Any], unit: float, relax: bool, options: dict[str, Any]) -> None:
        super().__init__(mip=not relax, msg=False)
        self.columns, self.unit, self.settings = columns, unit, options

    def available(self) -> bool:
        """Whether it can run: always, it is among the requirements."""
        return True

    def actualSolve(self, lp: Any) -> int:
        """Runs on the problem; values and duals are in its variables and constraints, the solver itself in `solverModel`."""
        highs = highspy.Highs()  # type: ignore[no-untyped-call]
        highs.setOptionValue("output_flag", False)
        lean = LEAN if len(self.columns) <= FEW else {}
        plain = {"presolve": "off"} if lean and (len(self.columns) <= FEWER or not self.mip) else {}
        for name, value in (lean | plain | self.settings).items():
            highs.setOptionValue(name, value)
        assert self.passed(lp, highs) != highspy.HighsStatus.kError, "a number is none"
        highs.run()
        lp.solverModel = highs
        status, solution = (pulp.LpStatusNotSolved, pulp.LpSolutionNoSolutionFound)
        if feasible(highs):
            status, solution = (pulp.LpStatusOptimal, pulp.LpSolutionIntegerFeasible)
            self.read(lp, highs.getSolution())
        elif impossible(highs):
            status, solution = (pulp.LpStatusInfeasible, pulp.LpSolutionInfeasible)
        lp.assignStatus(status, solution)
        return int(status)

    def read(self, lp: Any, solution: Any) -> None:
        """Copies values, and the duals of a relaxation."""
        for variable, value in zip(self.columns, solution.col_value, strict=True):
            variable.varValue = value
        for constraint, dual in zip(lp.constraints(), solution.row_dual, strict=True) if not self.mip else ():
            constraint.pi = dual * self.unit

    def passed(self, lp: Any, highs: Any) -> Any:
        """HiGHS's status after it has read the problem."""
        columns, rows = self.columns, lp.constraints()
        for k, variable in enumerate(columns):
            variable.index = k
        cost = np.zeros(len(columns))
        for variable, usd in lp.objective.items():
            if variable is not lp.dummyVar:
                cost[variable.index] = usd / self.unit
        rhs = np.array([0.0 - row.constant for row in rows], dtype=np.float64)
        sense = np.array([row.sense for row in rows], dtype=np.int64)
        starts = np.zeros(len(rows) + 1, dtype=np.int32)
        np.cumsum([len(row.expr) for row in rows], out=starts[1:])
        return highs.passModel(
            len(columns),
            len(rows),
            int(starts[-1]),
            int(highspy.MatrixFormat.kRowwise),
            int(highspy.ObjSense.kMinimize),
            0.0,
            cost,
            np.array([variable.lowBound for variable in columns], dtype=np.float64),
            np.array([variable.upBound for variable in columns], dtype=np.float64),
            np.where(sense == pulp.LpConstraintLE, -math.inf, rhs),
            np.where(sense == pulp.LpConstraintGE, math.inf, rhs),
            starts,
            np.array([variable.index for row in rows for variable in row.expr], dtype=np.int32),
            np.array([value for row in rows for value in row.expr.values()], dtype=np.float64),
            np.array([self.mip and variable.cat == pulp.LpInteger for variable in columns], dtype=np.int32),
        )


def feasible(highs: Any) -> bool:
    """Whether the solver holds a point that keeps all rows."""
    return bool(highs.getInfo().primal_solution_status == 2)


def impossible(highs: Any) -> bool:
    """Whether the solver has proved that there is no such point."""
    states = highspy.HighsModelStatus
    return highs.getModelStatus() in (states.kInfeasible, states.kUnboundedOrInfeasible)


def run(model: Model, gap: float, node_limit: int, relax: bool = False, cutoff: float | None = None) -> Outcome:
    """Solves `model`; values are left in its variables. Limits are gap and nodes, never the clock, so that a second run is the same.

    With a `cutoff` only points below it are looked for: none found and proven gives a bound of `cutoff`.
    """
    with quiet():
        if model.problem.solver == "cbc":
            return _run_cbc(model, gap, node_limit, relax)
        unit = max((usd for _, usd in model.money), default=1.0) or 1.0
        options = {"mip_rel_gap": gap, "mip_abs_gap": 1e-9, "threads": 1, "mip_max_nodes": node_limit, "random_seed": 0}
        options |= {} if cutoff is None else {"objective_bound": cutoff / unit}
        model.prob.solve(Highs(model.columns, unit, relax, options))
    highs, model.prob.solverModel = model.prob.solverModel, None
    if impossible(highs):
        return Outcome(False, math.inf, math.inf if cutoff is None else cutoff)
    info, found = highs.getInfo(), feasible(highs)
    integer = not relax and any(variable.cat == pulp.LpInteger for variable in model.columns)
    objective = float(info.objective_function_value) * unit if found else math.inf
    bound = float(info.mip_dual_bound) * unit if integer else objective
    if cutoff is not None:
        bound = min(bound, cutoff)
    return Outcome(found, objective, min(bound, objective))


def _run_cbc(model: Model, gap: float, node_limit: int, relax: bool) -> Outcome:
    prob = model.prob
    prob.solve(
        pulp.COIN_CMD(path=pulp.apis.PULP_CBC_CMD.pulp_cbc_path, mip=not relax, msg=False, gapRel=gap, threads=1, maxNodes=node_limit)
    )
    if prob.sol_status == pulp.LpSolutionInfeasible:
        return Outcome(False, math.inf, math.inf)
    found = prob.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)
    objective = float(pulp.value(prob.objective)) if found else math.inf
    if prob.sol_status == pulp.LpSolutionOptimal:
        return Outcome(True, objective, objective - gap * abs(objective) if not relax else objective)
    return Outcome(found, objective, -math.inf)
