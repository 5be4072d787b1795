"""The one place where a solver runs. Its text never reaches stdout; its word "Optimal" is never taken as proof."""

from __future__ import annotations

import math
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
import pulp

from optimize.program.model import Model

INTEGRALITY = 1e-6


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


class BulkHighs(pulp.HiGHS):  # type: ignore[misc]  # PuLP is not typed
    """PuLP's HiGHS with the model handed over as arrays (PuLP adds row by row) and with HiGHS's own bound and status kept.

    PuLP has no entry for the status of a node limit and would raise KeyError. The objective is handed over in units of the dearest
    coefficient: tolerances then do not depend on the currency, and doubling every price changes nothing that the solver sees.
    """

    unit_usd = 1.0

    def buildSolverModel(self, lp: Any) -> None:
        import highspy

        variables = lp.variables()
        for k, variable in enumerate(variables):
            variable.index = k
        rows = list(lp._constraints.values())
        starts, index, value = [0], [], []
        for k, row in enumerate(rows):
            row.index = k
            for variable, coefficient in row.items():
                index.append(variable.index)
                value.append(coefficient)
            starts.append(len(index))
        model = highspy.HighsLp()
        model.num_col_, model.num_row_ = len(variables), len(rows)
        model.col_cost_ = np.array([lp.objective.get(v, 0.0) for v in variables]) / self.unit_usd
        model.col_lower_ = np.array([v.lowBound for v in variables], dtype=np.float64)
        model.col_upper_ = np.array([v.upBound for v in variables], dtype=np.float64)
        low = [-math.inf if row.getLb() is None else row.getLb() for row in rows]
        high = [math.inf if row.getUb() is None else row.getUb() for row in rows]
        model.row_lower_, model.row_upper_ = np.array(low, dtype=np.float64), np.array(high, dtype=np.float64)
        matrix = model.a_matrix_
        matrix.format_ = highspy.MatrixFormat.kRowwise
        matrix.num_col_, matrix.num_row_ = len(variables), len(rows)
        matrix.start_ = np.array(starts, dtype=np.int32)
        matrix.index_ = np.array(index, dtype=np.int32)
        matrix.value_ = np.array(value, dtype=np.float64)
        model.a_matrix_ = matrix
        if self.mip and any(v.cat == pulp.LpInteger for v in variables):
            kinds = highspy.HighsVarType
            model.integrality_ = [kinds.kInteger if v.cat == pulp.LpInteger else kinds.kContinuous for v in variables]
        lp.solverModel.passModel(model)

    def findSolutionValues(self, lp: Any) -> tuple[int, int]:
        import highspy

        highs = lp.solverModel
        status, info = highs.getModelStatus(), highs.getInfo()
        states = highspy.HighsModelStatus
        if status in (states.kInfeasible, states.kUnboundedOrInfeasible):
            return pulp.LpStatusInfeasible, pulp.LpSolutionInfeasible
        feasible = info.primal_solution_status == 2
        if not feasible:
            return pulp.LpStatusNotSolved, pulp.LpSolutionNoSolutionFound
        solution = highs.getSolution()
        values, duals = list(solution.col_value), list(solution.row_dual)
        for variable in lp.variables():
            variable.varValue = values[variable.index]
        if duals:
            for row in lp._constraints.values():
                row.pi = duals[row.index] * self.unit_usd
        proven = status in (states.kOptimal, states.kModelEmpty)
        return pulp.LpStatusOptimal, pulp.LpSolutionOptimal if proven else pulp.LpSolutionIntegerFeasible


def run(model: Model, gap: float, node_limit: int, solver: str = "highs", relax: bool = False, cutoff: float | None = None) -> Outcome:
    """Solves `model`; values are left in its variables. Limits are gap and nodes, never the clock, so that a second run is the same.

    With a `cutoff` only points below it are looked for: none found and proven gives a bound of `cutoff`.
    """
    prob = model.prob
    unit = max((usd for _, usd in model.money), default=1.0) or 1.0
    with quiet():
        if solver == "cbc":
            return _run_cbc(model, gap, node_limit, relax)
        options = {} if cutoff is None else {"objective_bound": cutoff / unit}
        highs = BulkHighs(mip=not relax, msg=False, gapRel=gap, gapAbs=1e-9, threads=1, mip_max_nodes=node_limit, random_seed=0, **options)
        highs.unit_usd = unit
        prob.solve(highs)
    if prob.sol_status == pulp.LpSolutionInfeasible:
        return Outcome(False, math.inf, math.inf if cutoff is None else cutoff)
    info = prob.solverModel.getInfo()
    integer = not relax and any(v.cat == pulp.LpInteger for v in prob.variables())
    found = prob.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)
    objective = float(info.objective_function_value) * unit if found else math.inf
    bound = float(info.mip_dual_bound) * unit if integer else objective
    if cutoff is not None:
        bound = min(bound, cutoff)
    return Outcome(found, objective, min(bound, objective))


def _run_cbc(model: Model, gap: float, node_limit: int, relax: bool) -> Outcome:
    prob = model.prob
    cbc = pulp.COIN_CMD(path=pulp.apis.PULP_CBC_CMD.pulp_cbc_path, mip=not relax, msg=False, gapRel=gap, threads=1, maxNodes=node_limit)
    prob.solve(cbc)
    if prob.sol_status == pulp.LpSolutionInfeasible:
        return Outcome(False, math.inf, math.inf)
    found = prob.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)
    objective = float(pulp.value(prob.objective)) if found else math.inf
    if prob.sol_status == pulp.LpSolutionOptimal:
        return Outcome(True, objective, objective - gap * abs(objective) if not relax else objective)
    return Outcome(found, objective, -math.inf)
