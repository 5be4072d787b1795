"""The only call of a solver. Solver text never reaches stdout; a proof is what the solver proved, not what PuLP calls optimal."""

from __future__ import annotations

import contextlib
import math
import os
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import pulp

NODE_LIMIT = 20_000


@dataclass(frozen=True)
class Outcome:
    """`bound_usd` is proven by the solver (objective units); `proven` says whether the gap asked for was reached."""

    feasible: bool
    proven: bool
    objective: float
    bound: float


@contextlib.contextmanager
def quiet_stdout() -> Iterator[None]:
    """Sends file descriptor 1 to nowhere: HiGHS prints a banner there even when told to be silent."""
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


def run(lp: pulp.LpProblem, gap: float, node_limit: int = NODE_LIMIT, solver: str = "highs") -> Outcome:
    """Solves `lp` to a relative gap or a node limit, on one thread, the same every time."""
    if solver == "highs":
        command = pulp.HiGHS(msg=False, gapRel=gap, threads=1, mip_max_nodes=node_limit, random_seed=1)
    elif solver == "cbc":
        command = pulp.PULP_CBC_CMD(msg=False, gapRel=gap, threads=1, options=[f"maxNodes {node_limit}"])
    else:
        raise ValueError(f"solver {solver!r} is unknown; write highs or cbc")
    with quiet_stdout():
        lp.solve(command)
    feasible = lp.sol_status in (pulp.LpSolutionOptimal, pulp.LpSolutionIntegerFeasible)
    if not feasible:
        return Outcome(False, False, math.inf, -math.inf)
    objective = float(pulp.value(lp.objective) or 0.0)
    bound = highs_bound(lp, objective) if solver == "highs" else objective * (1 - gap)
    proven = lp.sol_status == pulp.LpSolutionOptimal and objective - bound <= gap * abs(objective) + 1e-6
    return Outcome(True, proven, objective, min(bound, objective))


def highs_bound(lp: pulp.LpProblem, objective: float) -> float:
    """Dual bound of the last HiGHS run; the objective itself for a continuous problem."""
    if not any(v.cat == pulp.LpInteger for v in lp.variables()):
        return objective
    bound = float(lp.solverModel.getInfo().mip_dual_bound)
    return bound if math.isfinite(bound) else -math.inf
