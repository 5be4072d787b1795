"""Plans that cost nearly the same and differ in kind: fewer GPU types, less relay spend, one vendor, fewer H100, no spot."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from optimize.market.pools import PoolState
from optimize.money import calls_usd, plan_cost_usd
from optimize.money.amounts import calls_at, pool_at
from optimize.money.contracts import paid_request_usd
from optimize.program.solve import solve
from optimize.records import Alternative, ProgramInput, ProgramSolution, RelayTerms
from optimize.search.fresh_seeds import HOLD_OUT_SEEDS
from optimize.search.loop import ROUGH_NODES, Market, Restriction, Settled
from optimize.search.verify import hours_to_simulate, verify
from sim.exact import dot

NEAR = 0.03  # of the plan's cost
GAP = 0.01
LESS = 0.95  # of what the plan has: a plan with more is of no other kind
DEARER = (1.5, 4.0)  # factors on a price, to see how little of it can do
FIRST_SEEDS, FEW_HOURS = 4, 3
H100 = "h100"
Measure = Callable[[ProgramInput, ProgramSolution], float]


@dataclass(frozen=True)
class Kind:
    """Another kind of plan: the program that finds it, and the measure of which it has less than the plan."""

    name: str
    problem: ProgramInput
    pools: tuple[PoolState, ...]
    less: Measure
    unit: str


def groups(market: Market, settled: Settled) -> list[tuple[Kind, ...]]:
    """What is tried for this plan, by name: of one name the prices rise."""
    by_name: dict[str, list[Kind]] = {}
    for kind in candidates(market, settled):
        if covers(kind.problem):
            by_name.setdefault(kind.name, []).append(kind)
    return [tuple(each) for each in by_name.values()]


def near(group: tuple[Kind, ...], cost_usd: float, market: Market) -> list[ProgramSolution]:
    """The solutions of one name that serve everything within 3 % of `cost_usd`, at true prices.

    A price that costs too much at one factor costs more at the next, so there the group ends.
    """
    found = []
    for kind in group:
        free = replace(kind.problem, budget_usd=math.inf)  # what costs more than the budget is no answer, and dear to look for inside it
        true, solution = truly(kind, market), solve(free, gap=GAP, node_limit=ROUGH_NODES)
        usd = plan_cost_usd(true, solution)
        served = not (solution.unserved > 1e-6 * np.maximum(true.demand.mean_rps, 1e-12)).any()
        if not served or usd > min(cost_usd * (1 + NEAR), market.budget_usd):
            break
        found.append(replace(solution, cost_usd=usd))
    return found


def least(market: Market, settled: Settled, solved: Sequence[tuple[tuple[Kind, ...], Sequence[ProgramSolution]]], full: bool) -> tuple[
    Alternative, ...
]:  # fmt: skip
    """Of the plans found near `settled`, those that have less of one thing: the least of each kind.

    With `full` they are simulated in the hours that bind most, and only those that keep every promise there are recommended.
    """
    best: dict[str, tuple[tuple[float, float], Kind, ProgramSolution, float]] = {}
    for group, solutions in solved:
        for kind, solution in zip(group, solutions, strict=False):
            true = truly(kind, market)
            have, had = kind.less(true, solution), kind.less(settled.problem, settled.solution)
            name, rank = kind.name.partition(":")[0], (have, solution.cost_usd)
            if have <= had * LESS and (name not in best or rank < best[name][0]):
                best[name] = (rank, replace(kind, problem=true), solution, had)
    return tuple(_alternative(market, kind, solution, have, had, full) for (have, _), kind, solution, had in best.values())


def _alternative(market: Market, kind: Kind, solution: ProgramSolution, have: float, had: float, full: bool) -> Alternative:
    note = f"{have:,.0f} {kind.unit} instead of {had:,.0f}"
    if not full:
        return Alternative(kind.name, "within_budget", solution.cost_usd, f"{note}; an estimate until simulated: --explain full")
    market.tell(f"simulating {kind.name}")
    holds = keeps(market, kind, solution)
    word = "recommended: every promise held in its tightest hours" if holds else "not recommended: a promise broke in simulation"
    return Alternative(kind.name, "met" if holds else "missed", solution.cost_usd, f"{note}; {word}", verified=True)


def keeps(market: Market, kind: Kind, solution: ProgramSolution) -> bool:
    """Whether every promise holds in the hours that bind most, on the first hold-out seeds."""
    quantiles = np.array([row.quantile for row in kind.problem.slos])
    hours = hours_to_simulate(kind.problem, solution, limit=FEW_HOURS)
    costs, seeds = [state.cost for state in kind.pools], HOLD_OUT_SEEDS[:FIRST_SEEDS]
    found = verify(market.scenario, kind.problem, solution, costs, seeds, market.jobs, hours, store=market.store)
    return all(bool((each.attainment.mean(axis=0) >= quantiles).all()) for each in found)


def covers(problem: ProgramInput) -> bool:
    """Whether every class that asks for anything has somebody who may serve it."""
    able = {c for terms in problem.pools for c in terms.option.classes if np.isfinite(terms.levels[0].load[c])}
    able |= {c for terms in problem.relays for c in np.flatnonzero(terms.eligible).tolist()}
    return set(np.flatnonzero(problem.demand.mean_rps.any(axis=1)).tolist()) <= able


def candidates(market: Market, settled: Settled) -> Iterator[Kind]:
    """What is tried, for this plan."""
    problem, solution = settled.problem, settled.solution
    used = [p for p in range(len(problem.pools)) if solution.hosts[p].any()]
    gpus = sorted({problem.pools[p].option.offer.gpu for p in used})
    sellers = sorted({problem.pools[p].option.offer.provider for p in used})
    vendors = sorted({t.relay.vendor for a, t in enumerate(problem.relays) if solution.relay_flow[a].any()})
    if len(gpus) > 1:
        yield from (narrowed(market, f"fewest GPU types: {gpu}", gpu_types, "GPU types", gpu=gpu) for gpu in gpus)
        yield from (narrowed(market, f"fewest GPU types: no {gpu}", gpu_types, "GPU types", no_gpu=gpu) for gpu in gpus if len(gpus) > 2)
    if len(sellers) + len(vendors) > 1:
        for seller in sellers or [""]:
            for vendor in vendors or [""]:
                name = " and ".join(filter(None, (seller, vendor)))
                yield narrowed(market, f"one vendor: {name}", vendor_count, "vendors", seller=seller, vendor=vendor)
    if any(problem.pools[p].option.offer.term == "spot" for p in used):
        yield narrowed(market, "no spot", spot_hosts, "spot host-hours", spot=False)
    for factor in DEARER:
        if vendors:
            yield dearer(market, "least relay spend", relay_spend, "USD to relays", relay=factor)
        if H100 in gpus:
            yield dearer(market, "fewest H100", h100_hours, "H100 GPU-hours", h100=factor)


def measured(market: Market, keep: Callable[[PoolState], bool], relay: Callable[[RelayTerms], RelayTerms | None]) -> tuple[
    ProgramInput, tuple[PoolState, ...]
]:  # fmt: skip
    """The program of pools that were measured, and that `keep` keeps."""
    restriction = Restriction("kinds", keep_pool=lambda s: bool(s.points) and keep(s), keep_relay=relay)
    pools = market.pools(restriction)
    return market.problem(restriction, pools), tuple(pools)


def narrowed(
    market: Market,
    name: str,
    less: Measure,
    unit: str,
    gpu: str | None = None,
    no_gpu: str | None = None,
    seller: str | None = None,
    vendor: str | None = None,
    spot: bool = True,
) -> Kind:
    """A plan among fewer offers and relays."""

    def keep(state: PoolState) -> bool:
        offer = state.option.offer
        fits = gpu in (None, offer.gpu) and no_gpu != offer.gpu and seller in (None, offer.provider)
        return fits and (spot or offer.term != "spot")

    problem, pools = measured(market, keep, lambda terms: terms if vendor in (None, terms.relay.vendor) else None)
    return Kind(name, problem, pools, less, unit)


def dearer(market: Market, name: str, less: Measure, unit: str, relay: float = 1.0, h100: float = 1.0) -> Kind:
    """A plan made as if relays or H100 hosts were dearer; `truly` brings their prices back."""
    problem, pools = measured(market, lambda _: True, lambda terms: calls_at(terms, relay))
    priced = [pool_at(terms, h100 if terms.option.offer.gpu == H100 else 1.0) for terms in problem.pools]
    return Kind(name, replace(problem, pools=tuple(priced)), pools, less, unit)


def truly(kind: Kind, market: Market) -> ProgramInput:
    """The program of a kind at the prices of the market."""
    prices = {terms.relay.id: terms.usd_per_request for terms in market.relays}
    relays = tuple(replace(terms, usd_per_request=prices[terms.relay.id]) for terms in kind.problem.relays)
    return replace(kind.problem, pools=tuple(state.terms() for state in kind.pools), relays=relays)


def gpu_types(problem: ProgramInput, solution: ProgramSolution) -> float:
    """GPU types in use."""
    return float(len({t.option.offer.gpu for p, t in enumerate(problem.pools) if solution.hosts[p].any()}))


def vendor_count(problem: ProgramInput, solution: ProgramSolution) -> float:
    """Parties that are paid: sellers of hosts and of tokens."""
    sellers = {t.option.offer.provider for p, t in enumerate(problem.pools) if solution.hosts[p].any()}
    return float(len(sellers | {t.relay.vendor for a, t in enumerate(problem.relays) if solution.relay_flow[a].any()}))


def spot_hosts(problem: ProgramInput, solution: ProgramSolution) -> float:
    """Spot host-hours a month."""
    return hours_of(problem, solution, lambda offer_term, _: offer_term == "spot")


def h100_hours(problem: ProgramInput, solution: ProgramSolution) -> float:
    """H100 GPU-hours a month."""
    return hours_of(problem, solution, lambda _, gpu: gpu == H100, gpus=True)


def hours_of(problem: ProgramInput, solution: ProgramSolution, which: Callable[[str, str], bool], gpus: bool = False) -> float:
    """Paid host-hours (or GPU-hours) a month of the offers that `which` (term, GPU) chooses."""
    offers = [terms.option.offer for terms in problem.pools]
    hours: Sequence[float] = [float(dot(solution.billed[p], problem.demand.weight_h)) for p in range(len(offers))]
    return sum(h * (offer.gpus if gpus else 1) for h, offer in zip(hours, offers, strict=True) if which(offer.term, offer.gpu))


def relay_spend(problem: ProgramInput, solution: ProgramSolution) -> float:
    """USD a month for calls at list prices."""
    weight_h = problem.demand.weight_h
    return sum(calls_usd(solution.relay_flow[a], paid_request_usd(terms, -1), weight_h) for a, terms in enumerate(problem.relays))
