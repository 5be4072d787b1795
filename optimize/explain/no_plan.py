"""There is no plan: the least budget that works, the best inside the budget, who misses when, and which promise would have to give."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from optimize.explain.cost_gap import fluid_bound
from optimize.explain.late import why_unserved
from optimize.explain.loosened import EVERYTHING, binding_words, served_share_of
from optimize.explain.prompts_too_long import too_long
from optimize.market.pools import known_all, pool_states
from optimize.market.relay_terms import relay_terms
from optimize.records import ProgramInput, ProgramSolution, SloRow
from optimize.result import Give, Left, NoPlan
from optimize.search.loop import Market, Restriction, Settled, prove, settle
from optimize.search.routing import with_escalations
from sim.engine.deployment import StepCost
from sim.exact import dot

WIDEST = 20.0  # times its limit: how far a promise is relaxed
CONFIRMATIONS, WIDER = 3, 1.1  # simulations of a relaxed promise, each limit so many times the last
HALVINGS = 5  # of that range in logarithms: limits are found to within 10 %
SMALL = 12  # pools up to which promises are relaxed without being asked: each costs a handful of measurements
ROUNDS = 6


def no_plan(market: Market, settled: Settled, status: str, full: bool) -> NoPlan:
    """The explanation of a plan that leaves requests unserved (`settled`), whose status is over_budget or infeasible."""
    free = settle(market, Restriction("without a budget", budget_usd=math.inf))
    never = left_out(free)
    short = free if free.unserved else settled
    left = [market.scenario.request_classes.index(each) for each in market.scenario.request_classes if each.name in {n.name for n in never}]
    nobody = tuple(each.name for each in never if not may_serve(market, free.problem.class_names.index(each.name)))
    long = tuple(found for each in never if (found := too_long(market, free.problem.class_names.index(each.name))) is not None)
    wanted = {each.name for each in never or left_out(settled)} - set(nobody) - {each.class_name for each in long}
    binding = binding_words(short.problem, short.solution)
    least_usd = fluid_bound(market)
    if status == "over_budget" and least_usd > market.budget_usd:
        binding = (
            *binding,
            f"the budget alone is the reason: to serve every request costs ${least_usd:,.2f} or more, whatever the promises",
        )
        wanted = set()
    if any(EVERYTHING in each for each in binding):
        wanted = set()  # a policy or limit alone is the reason: no promise has to give
    examined = full or len(market.states) <= SMALL or not wanted
    return NoPlan(
        smallest_budget_usd=None if free.unserved else free.solution.cost_usd,
        served_share=served_share_of(settled.problem, settled.solution),
        left=left_out(settled),
        never=tuple(each.name for each in never),
        nobody=nobody,
        gives=gives(market, wanted, market.budget_usd if status == "over_budget" else math.inf) if examined else (),
        examined=examined,
        too_long=long,
        binding=binding,
        late=tuple(why_unserved(market, market.states, market.relays, left)),
    )


def no_plan_given(problem: ProgramInput, solution: ProgramSolution) -> NoPlan:
    """The explanation for capacities that the user measured: what binds."""
    left = left_out_of(problem, solution)
    return NoPlan(
        smallest_budget_usd=None,
        served_share=served_share_of(problem, solution),
        left=left,
        never=(),
        nobody=(),
        gives=(),
        examined=True,
        binding=binding_words(problem, solution),
    )


def may_serve(market: Market, c: int) -> bool:
    """Whether any candidate may serve class `c`, latency apart."""
    return any(c in state.option.classes for state in market.states) or any(bool(relay.eligible[c]) for relay in market.relays)


def left_out(settled: Settled) -> tuple[Left, ...]:
    """Classes that lose requests, with the hours in which they do."""
    return left_out_of(settled.problem, settled.solution)


def left_out_of(problem: ProgramInput, solution: ProgramSolution) -> tuple[Left, ...]:
    """The same of any solution."""
    demand, lost = problem.demand, solution.unserved
    found = []
    for c, name in enumerate(problem.class_names):
        where = np.flatnonzero(lost[c] > 1e-6 * np.maximum(demand.mean_rps[c], 1e-12))
        if len(where):
            share = float(dot(lost[c], demand.weight_h) / dot(demand.mean_rps[c], demand.weight_h))
            found.append(Left(name, share, tuple(demand.slices[t] for t in where)))
    return tuple(found)


def gives(market: Market, names: set[str], budget_usd: float) -> tuple[Give, ...]:
    """For each promise of these classes: the limit at which, all else equal, all their requests are served inside the budget."""
    answer = []
    for i, row in enumerate(market.slos):
        request_class = market.scenario.request_classes[row.class_index]
        name = request_class.name
        if name not in names or not request_class.slo:
            continue
        market.tell(f"which promise would have to give? {name} {row.metric}")
        answer.append(give(name, row, needed(market, i, budget_usd), math.isfinite(budget_usd)))
    return tuple(answer)


def give(name: str, row: SloRow, found: tuple[float, float, bool] | None, inside_budget: bool) -> Give:
    """The record with its sentence; `found` is (limit in s, USD a month, whether simulated), looked for `inside_budget` or at any."""
    promise = f"{name} {row.metric} p{100 * row.quantile:g}"
    if found is None:
        inside = " inside the budget" if inside_budget else ""
        words = f"{promise} <= {row.limit_s:g} s: even {WIDEST:g} times the limit makes no plan{inside} while the other promises stay"
        return Give(name, row.metric, row.quantile, row.limit_s, None, None, words)
    needed_s, usd, simulated = found
    words = f"{promise} would have to give from {row.limit_s:g} s to {needed_s:.3g} s; the plan then costs about ${usd:,.0f} a month"
    if not simulated:
        words += " (an estimate: no plan that a simulation confirms was found there)"
    return Give(name, row.metric, row.quantile, row.limit_s, needed_s, usd, words)


def needed(market: Market, i: int, budget_usd: float) -> tuple[float, float, bool] | None:
    """(least limit of promise `i` at which there is a plan, its cost, whether a simulation confirms it); None up to WIDEST times.

    To within 10 % on rough measurements, then from there on the first of CONFIRMATIONS steps of 10 % whose plan the hold-out seeds keep.
    """
    usd = cost_at(market, i, WIDEST, budget_usd)
    if usd is None:
        return None
    low, high = 1.0, WIDEST
    for _ in range(HALVINGS):
        middle = math.sqrt(low * high)
        cost = cost_at(market, i, middle, budget_usd)
        if cost is None:
            low = middle
        else:
            high, usd = middle, cost
    for step in range(CONFIRMATIONS):
        factor = high * WIDER**step
        found = confirmed(relaxed(market, i, factor), budget_usd)
        if found is not None:
            return market.slos[i].limit_s * factor, found, True
    return market.slos[i].limit_s * high, usd, False


def confirmed(market: Market, budget_usd: float) -> float | None:
    """USD a month of a plan of this market that serves everything and keeps every promise on the hold-out seeds, if one is found."""
    settled = settle(market, Restriction("a promise relaxed", budget_usd=budget_usd, gap=0.01), ROUNDS)
    if settled.unserved or not known_all(settled.problem, settled.solution):
        return None
    settled, evidence = prove(market, settled)
    return settled.solution.cost_usd if all(verdict.met for each in evidence for verdict in each.verdicts) else None


def cost_at(market: Market, i: int, factor: float, budget_usd: float) -> float | None:
    """USD a month with the limit of promise `i` at `factor` times its value; None where its class is not served in full inside the budget.

    Inside a budget that binds, all classes must be: what one gains may be what another lacks.
    """
    restriction = Restriction("a promise relaxed", budget_usd=budget_usd, gap=0.01, rough=True)
    again = settle(relaxed(market, i, factor), restriction, ROUNDS)
    if not known_all(again.problem, again.solution):
        return None  # rests on an estimate, which is optimistic
    left = {each.name for each in left_out(again)}
    name = market.scenario.request_classes[market.slos[i].class_index].name
    missing = bool(left) if math.isfinite(budget_usd) else name in left
    return None if missing else again.solution.cost_usd


def relaxed(market: Market, i: int, factor: float) -> Market:
    """The market with one promise relaxed; nothing is measured in it yet."""
    slos = tuple(replace(row, limit_s=row.limit_s * factor) if k == i else row for k, row in enumerate(market.slos))
    options = tuple(state.option for state in market.states)
    costs: dict[str, StepCost] = {
        s.option.deployment.id: s.cost for s in market.states if s.option.deployment is not None and s.cost is not None
    }
    priced = relay_terms(market.scenario, market.demand, slos)
    options, relays = with_escalations(market.scenario, market.demand, slos, options, costs, priced)
    return replace(
        market,
        slos=slos,
        states=pool_states(options, costs, market.demand, slos),
        relays=relays,
        tell=lambda _: None,
    )
