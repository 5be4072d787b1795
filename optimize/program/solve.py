"""The integer program solved: whole where it is small, else a first stage for what is paid in every hour and one program per hour."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import pulp

from optimize.money import billed_hosts, plan_cost_usd
from optimize.program.budget import add_budget, spend
from optimize.program.prune import undominated
from optimize.program.rows import add_rows
from optimize.program.solver import NODE_LIMIT, Outcome, run
from optimize.program.variables import Program, make_program
from optimize.records import ProgramInput, ProgramSolution

WHOLE_INTEGERS = 400


@dataclass
class Answer:
    """Arrays that hours are written into; see ProgramSolution."""

    hosts: np.ndarray
    base: np.ndarray
    pool_flow: np.ndarray
    relay_flow: np.ndarray
    unserved: np.ndarray


def solve(problem: ProgramInput, *, gap: float = 0.005, node_limit: int = NODE_LIMIT, solver: str = "highs") -> ProgramSolution:
    """The cheapest mix for `problem` within `gap`, deterministic: no clock stops it. Unserved demand shows in `unserved`, never as an error."""
    kept = undominated(problem.pools)
    narrow = replace(problem, pools=tuple(problem.pools[p] for p in kept))
    slices = tuple(range(len(problem.demand.slices)))
    integers = sum(1 for t in slices for _ in narrow.pools) + len(narrow.pools)
    if integers <= WHOLE_INTEGERS:
        answer, objective, bound, proven = solve_whole(narrow, slices, gap, node_limit, solver)
    else:
        answer, objective, bound, proven = solve_by_hour(narrow, slices, gap, node_limit, solver)
    return finish(problem, narrow, kept, answer, objective, bound, proven, solver)


def solve_whole(
    problem: ProgramInput, slices: tuple[int, ...], gap: float, node_limit: int, solver: str
) -> tuple[Answer, float, float, bool]:
    """All hours in one program."""
    program = make_program(problem, slices, integer=True)
    add_rows(program)
    add_budget(program, problem.budget_usd - problem.fixed_usd)
    outcome = run(program.lp, gap, node_limit, solver)
    answer = empty_answer(problem)
    read_hours(program, answer, outcome)
    return answer, outcome.objective, outcome.bound, outcome.proven


def solve_by_hour(
    problem: ProgramInput, slices: tuple[int, ...], gap: float, node_limit: int, solver: str
) -> tuple[Answer, float, float, bool]:
    """Base hosts first (hourly counts continuous), then each hour by itself; where the budget binds, with a spending limit by hour.

    Limits come from the relaxed program under the budget; what an hour leaves over goes to the next ones, busiest hour first.
    """
    base, allowance, relaxed = first_stage(problem, slices, gap, node_limit, solver)
    answer = empty_answer(problem)
    for p, count in base.items():
        answer.base[p] = count
    free = [solve_hour(problem, t, base, None, gap, node_limit, solver) for t in slices]
    budget = problem.budget_usd - problem.fixed_usd
    if sum(cost for _, _, cost in free) <= budget:
        for program, outcome, _ in free:
            read_hours(program, answer, outcome)
        objective = sum(outcome.objective for _, outcome, _ in free)
        bound = sum(outcome.bound for _, outcome, _ in free) if not base else relaxed
        return answer, objective, max(bound, relaxed), all(o.proven for _, o, _ in free)
    spare, objective = 0.0, 0.0
    for t in sorted(slices, key=lambda s: -float(problem.demand.mean_rps[:, s].sum())):
        limit = allowance[t] + spare
        program, outcome, cost = solve_hour(problem, t, base, limit, gap, node_limit, solver)
        read_hours(program, answer, outcome)
        spare, objective = limit - cost, objective + outcome.objective
    return answer, objective, relaxed, False


def first_stage(
    problem: ProgramInput, slices: tuple[int, ...], gap: float, node_limit: int, solver: str
) -> tuple[dict[int, int], dict[int, float], float]:
    """Base hosts by pool, spending by hour, and a lower bound on the objective, from the program with continuous hourly counts."""
    program = make_program(problem, slices, integer=False)
    for base in program.base.values():
        base.cat = pulp.LpInteger
    add_rows(program)
    add_budget(program, problem.budget_usd - problem.fixed_usd)
    outcome = run(program.lp, gap, node_limit, solver)
    base_hosts = {p: round(v.value() or 0.0) for p, v in program.base.items()}
    spent = dict.fromkeys(slices, 0.0)
    by_name = {v.name: t for (_, t), v in program.hosts.items()} | {v.name: t for (_, _, t), v in program.relay_flow.items()}
    weight = problem.demand.weight_h
    for variable, usd in spend(program):
        value = (variable.value() or 0.0) * usd
        if variable.name in by_name:
            spent[by_name[variable.name]] += value
        else:
            for t in slices:
                spent[t] += value * float(weight[t] / weight.sum())
    left = problem.budget_usd - problem.fixed_usd - sum(spent.values())
    if math.isfinite(left) and left > 0:
        spent = {t: usd + left * float(weight[t] / weight.sum()) for t, usd in spent.items()}
    return base_hosts, spent, outcome.bound


def solve_hour(
    problem: ProgramInput, t: int, base: dict[int, int], limit_usd: float | None, gap: float, node_limit: int, solver: str
) -> tuple[Program, Outcome, float]:
    """One hour with base hosts given; its cost without penalty. A spending limit below the base hosts' price leaves only those."""
    program = make_program(problem, (t,), integer=True)
    for p, variable in program.base.items():
        variable.lowBound = variable.upBound = base[p]
    add_rows(program)
    if limit_usd is not None:
        floor = sum(
            usd * base[p]
            for p, usd in ((p, problem.pools[p].option.offer.usd_per_hour * float(problem.demand.weight_h[t])) for p in program.base)
        )
        add_budget(program, max(limit_usd, floor))
    outcome = run(program.lp, gap, node_limit, solver)
    cost = sum((v.value() or 0.0) * usd for v, usd in spend(program))
    return program, outcome, cost


def empty_answer(problem: ProgramInput) -> Answer:
    """Nothing bought, everything unserved."""
    pools, relays, (classes, slices) = len(problem.pools), len(problem.relays), problem.demand.mean_rps.shape
    return Answer(
        hosts=np.zeros((pools, slices), np.int64),
        base=np.zeros(pools, np.int64),
        pool_flow=np.zeros((pools, classes, slices)),
        relay_flow=np.zeros((relays, classes, slices)),
        unserved=problem.demand.mean_rps.copy(),
    )


def read_hours(program: Program, answer: Answer, outcome: Outcome) -> None:
    """Writes the values of a solved program into `answer`; solver dust below 1e-9 of a class's rate is removed."""
    if not outcome.feasible:
        return
    for (p, t), n in program.hosts.items():
        answer.hosts[p, t] = round(n.value() or 0.0)
    for p, base in program.base.items():
        answer.base[p] = round(base.value() or 0.0)
    for (p, c, _, t), x in program.pool_flow.items():
        answer.pool_flow[p, c, t] += max(0.0, x.value() or 0.0)
    for (a, c, t), y in program.relay_flow.items():
        answer.relay_flow[a, c, t] = max(0.0, y.value() or 0.0)
    for (c, t), z in program.unserved.items():
        answer.unserved[c, t] = max(0.0, z.value() or 0.0)
    rate = program.problem.demand.mean_rps
    for array in (answer.pool_flow, answer.relay_flow, answer.unserved[None]):
        array[np.broadcast_to(np.abs(array) <= 1e-7 * rate[None], array.shape)] = 0.0


def finish(
    problem: ProgramInput, narrow: ProgramInput, kept: list[int], answer: Answer, objective: float, bound: float, proven: bool, solver: str
) -> ProgramSolution:
    """The solution in the indices of the whole problem, its cost recomputed from what is bought."""
    pools, slices = len(problem.pools), len(problem.demand.slices)
    classes = len(problem.class_names)
    hosts, pool_flow = np.zeros((pools, slices), np.int64), np.zeros((pools, classes, slices))
    billed = np.zeros((pools, slices), np.int64)
    for k, p in enumerate(kept):
        hosts[p], pool_flow[p] = answer.hosts[k], answer.pool_flow[k]
        offer = problem.pools[p].option.offer
        billed[p] = billed_hosts(offer, hosts[p])
    unused = ~pool_flow.any(axis=1)
    hosts[unused] = 0
    for p in range(pools):
        billed[p] = billed_hosts(problem.pools[p].option.offer, hosts[p])
    solution = ProgramSolution(hosts, billed, pool_flow, answer.relay_flow, answer.unserved, 0.0, 0.0, "", solver, 0.0)
    cost = plan_cost_usd(problem, solution)
    penalty = max(0.0, objective + problem.fixed_usd - cost) if answer.unserved.any() else 0.0
    model_bound = min(cost, max(0.0, bound + problem.fixed_usd - penalty))
    reached = (cost - model_bound) / cost if cost > 0 else 0.0
    status = "optimal" if proven and reached <= 1e-6 else "gap_limit" if proven or reached <= 0.02 else "node_limit"
    if answer.unserved.any():
        status = "infeasible"
    return replace(solution, cost_usd=cost, model_bound_usd=model_bound, status=status, gap=reached)
