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

from optimize.program.rows.model import Model
from optimize.program.rows.sheet import Sheet

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


# What pays off in large programs costs more than the search itself in an hour of a few dozen columns. A version of HiGHS that does not
# know one of these keeps its own way.
LEAN: dict[str, Any] = {
    "presolve": "off",
    "mip_detect_symmetry": False,
    "mip_heuristic_effort": 0.0,
    "mip_heuristic_run_feasibility_jump": False,
    "mip_heuristic_run_root_reduced_cost": False,
    "mip_heuristic_run_rens": False,
    "mip_heuristic_run_rins": False,
}
FEW = 300  # columns up to which a program is solved with these


def solved_by_highs(sheet: Sheet, unit: float, options: dict[str, Any], relax: bool) -> Any:
    """A solver that has run on the sheet; values, and duals of a relaxation, are in its columns and rows.

    The model goes over as arrays, the objective in units of the dearest coefficient: tolerances then do not depend on the currency,
    and doubling every price changes nothing that the solver sees. Each run has a solver of its own, so none remembers another.
    """
    import highspy

    highs = highspy.Highs()  # type: ignore[no-untyped-call]
    highs.setOptionValue("output_flag", False)
    for name, value in ((LEAN if len(sheet.columns) <= FEW else {}) | options).items():
        highs.setOptionValue(name, value)
    assert passed(sheet, unit, highs, relax) != highspy.HighsStatus.kError, "a row holds a column twice, or a number is none"
    highs.run()
    if feasible(highs):
        solution = highs.getSolution()
        for column, value in zip(sheet.columns, solution.col_value, strict=True):
            column.varValue = value
        for row, dual in zip(sheet.rows.values(), solution.row_dual, strict=True) if relax else ():
            row.pi = dual * unit
    return highs


def passed(sheet: Sheet, unit: float, highs: Any, relax: bool) -> Any:
    """HiGHS's status after it has read the sheet."""
    import highspy

    columns, rows = sheet.columns, list(sheet.rows.values())
    cost = np.zeros(len(columns))
    for column, usd in sheet.objective.items():
        cost[column.index] = usd / unit
    index = np.array([column.index for row in rows for column, _ in row.terms], dtype=np.int32)
    value = np.array([number for row in rows for _, number in row.terms], dtype=np.float64)
    starts = np.zeros(len(rows) + 1, dtype=np.int32)
    np.cumsum([len(row.terms) for row in rows], out=starts[1:])
    return highs.passModel(
        len(columns),
        len(rows),
        len(index),
        int(highspy.MatrixFormat.kRowwise),
        int(highspy.ObjSense.kMinimize),
        0.0,
        cost,
        np.array([column.lowBound for column in columns], dtype=np.float64),
        np.array([column.upBound for column in columns], dtype=np.float64),
        np.array([row.rhs if row.sense >= 0 else -math.inf for row in rows], dtype=np.float64),
        np.array([row.rhs if row.sense <= 0 else math.inf for row in rows], dtype=np.float64),
        starts,
        index,
        value,
        np.array([column.integer and not relax for column in columns], dtype=np.int32),
    )


def feasible(highs: Any) -> bool:
    """Whether the solver holds a point that keeps all rows."""
    return bool(highs.getInfo().primal_solution_status == 2)


def run(model: Model, gap: float, node_limit: int, solver: str = "highs", relax: bool = False, cutoff: float | None = None) -> Outcome:
    """Solves `model`; values are left in its variables. Limits are gap and nodes, never the clock, so that a second run is the same.

    With a `cutoff` only points below it are looked for: none found and proven gives a bound of `cutoff`.
    """
    import highspy

    sheet = model.prob
    unit = max((usd for _, usd in model.money), default=1.0) or 1.0
    with quiet():
        if solver == "cbc":
            return _run_cbc(sheet, gap, node_limit, relax)
        options = {"mip_rel_gap": gap, "mip_abs_gap": 1e-9, "threads": 1, "mip_max_nodes": node_limit, "random_seed": 0}
        highs = solved_by_highs(sheet, unit, options | ({} if cutoff is None else {"objective_bound": cutoff / unit}), relax)
    states = highspy.HighsModelStatus
    if highs.getModelStatus() in (states.kInfeasible, states.kUnboundedOrInfeasible):
        return Outcome(False, math.inf, math.inf if cutoff is None else cutoff)
    info, found = highs.getInfo(), feasible(highs)
    integer = not relax and any(column.integer for column in sheet.columns)
    objective = float(info.objective_function_value) * unit if found else math.inf
    bound = float(info.mip_dual_bound) * unit if integer else objective
    if cutoff is not None:
        bound = min(bound, cutoff)
    return Outcome(found, objective, min(bound, objective))


def _run_cbc(sheet: Sheet, gap: float, node_limit: int, relax: bool) -> Outcome:
    prob, variables = sheet.to_pulp()
    cbc = pulp.COIN_CMD(path=pulp.apis.PULP_CBC_CMD.pulp_cbc_path, mip=not relax, msg=False, gapRel=gap, threads=1, maxNodes=node_limit)
    prob.solve(cbc)
    if prob.sol_status == pulp.LpSolutionInfeasible:
        return Outcome(False, math.inf, math.inf)
    for column, variable in zip(sheet.columns, variables, strict=True):
        column.varValue = variable.varValue
    for row, constraint in zip(sheet.rows.values(), prob._constraints.values(), strict=True):
        row.pi = constraint.pi
    found = prob.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)
    objective = float(pulp.value(prob.objective)) if found else math.inf
    if prob.sol_status == pulp.LpSolutionOptimal:
        return Outcome(True, objective, objective - gap * abs(objective) if not relax else objective)
    return Outcome(found, objective, -math.inf)
