"""The program of a plan as a text file that any solver reads."""

from __future__ import annotations

from pathlib import Path

from optimize.program.reachable import within_reach
from optimize.program.routes import penalty_usd
from optimize.program.rows.accounts import widened
from optimize.program.rows.build import build
from optimize.program.rows.model import Model, View
from optimize.program.substitutes import usable, worth_trying
from optimize.records import ProgramInput, ProgramSolution

LONGEST_NAME = 255


def whole_model(problem: ProgramInput, all_served: bool) -> Model:
    """The PuLP problem of all hours, with the pools and calls that `solve` asks about.

    Hours that `solve` takes one by one share no row, so this problem is all of theirs together. Where not all can be served, what
    is left out costs a penalty.
    """
    inside = within_reach(widened(problem).problem)
    routes = usable(inside)
    penalty = penalty_usd(inside, routes)
    inside, routes = worth_trying(inside, routes)
    budget = max(0.0, inside.budget_usd - inside.fixed_usd) if inside.budget_usd < float("inf") else None
    slices = tuple(range(len(inside.demand.slices)))
    return build(inside, View(slices, budget_usd=budget, penalty_usd=None if all_served else penalty, month=True), routes)


def write_lp(problem: ProgramInput, solution: ProgramSolution, path: Path) -> None:
    """Writes the program of `solution` in CPLEX's LP format, with what was found on top."""
    model = whole_model(problem, all_served=not solution.unserved.any())
    model.prob.writeLP(str(path), max_length=LONGEST_NAME)
    head = [
        "ServeMix: the program behind a plan. Least monthly cost in USD; x and y are shares of a class's hour, to pools and to relays.",
        f"Solver: {solution.solver}, {solution.status}. Cost {solution.cost_usd:.2f} USD a month, bound {solution.model_bound_usd:.2f}.",
        f"Of the cost, {problem.fixed_usd:.2f} USD are fixed and not in the objective.",
        "Pools and calls that no optimum needs, because another does the same for less, are left out before anything is solved.",
        "The removal test may have made the plan cheaper than the optimum of this program.",
    ]
    path.write_text("".join(f"\\ {line}\n" for line in head) + path.read_text(encoding="utf-8"), encoding="utf-8")
