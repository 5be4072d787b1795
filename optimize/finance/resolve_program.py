"""The program of a plan solved again: other demand, other prices, the capacities that are known. Nothing is simulated."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace

import numpy as np

from optimize.money.amounts import amount_usd, per_unit_usd, pool_at, relay_at
from optimize.money.bill import classifier_usd
from optimize.program.by_stages.month import joined
from optimize.program.routes import pool_routes
from optimize.program.solve import SMALL, integers, solve
from optimize.records import PoolTerms, ProgramInput, ProgramSolution, RelayTerms

GAP = 0.005
PER_POOL = 0.1  # work that a pool adds to an hour, of that of an hour without any
JOINED = 20.0  # times the work where hours share decisions and the program is large


@dataclass
class Work:
    """What may still be solved, in hour programs: one distinct hour of demand without pools, 1.5 to 3.3 ms of CPU.

    Counted from the size of the programs and not by a clock, so that the same plan is answered with the same solutions.
    """

    left: float

    def take(self, programs: float) -> bool:
        """Whether that much is left; if so it is used up."""
        if programs > self.left:
            return False
        self.left -= programs
        return True

    @contextmanager
    def half(self) -> Iterator[None]:
        """Inside, only half of what is left may be used."""
        kept = self.left / 2
        self.left -= kept
        try:
            yield
        finally:
            self.left += kept


@dataclass(frozen=True)
class RelayPrices:
    """Announced prices: `usd` [relays][classes] of a request before the factors of a shift; `gone` relays can no longer be bought."""

    usd: tuple[tuple[float, ...], ...]
    gone: tuple[int, ...] = ()


@dataclass(frozen=True)
class Shift:
    """Factors on today: requests, prices of hosts, prices of calls, tokens of a request; and prices of relays, None for today's.

    `tokens` multiplies what a request occupies on a pool, what it costs at a relay and what counts against token limits: as if input
    and output grew alike and load grew with them.
    """

    demand: float = 1.0
    gpu_price: float = 1.0
    api_price: float = 1.0
    tokens: float = 1.0
    relays: RelayPrices | None = None


def shifted(problem: ProgramInput, shift: Shift) -> ProgramInput:
    """The program under a shift, without a budget: what serving everything costs. A classifier looks at as many requests as there are."""
    demand = replace(problem.demand, mean_rps=problem.demand.mean_rps * shift.demand)
    looked = classifier_usd(demand, problem.classifier_usd) - classifier_usd(problem.demand, problem.classifier_usd)
    pools = tuple(_pool(terms, shift) for terms in problem.pools)
    relays = tuple(_relay(terms, shift, a) for a, terms in enumerate(problem.relays))
    return replace(problem, demand=demand, pools=pools, relays=relays, budget_usd=math.inf, fixed_usd=problem.fixed_usd + looked)


def _pool(terms: PoolTerms, shift: Shift) -> PoolTerms:
    levels = tuple(replace(level, load=level.load * shift.tokens) for level in terms.levels)
    return pool_at(replace(terms, levels=levels), shift.gpu_price)


def _relay(terms: RelayTerms, shift: Shift, a: int) -> RelayTerms:
    usd, eligible = terms.usd_per_request, terms.eligible
    if shift.relays is not None:
        usd = np.array(shift.relays.usd[a])
        eligible = eligible & (a not in shift.relays.gone)
    units = relay_at(terms, shift.api_price).units
    if units is not None:
        units = replace(units, load=units.load * shift.tokens)
    return replace(
        terms,
        eligible=eligible,
        usd_per_request=amount_usd(usd, shift.api_price * shift.tokens),
        tokens_per_request=terms.tokens_per_request * shift.tokens,
        units=units,
    )


def closed(terms: PoolTerms) -> PoolTerms:
    """The pool as one that can serve nothing; pools keep their positions."""
    return replace(terms, levels=tuple(replace(level, load=np.full_like(level.load, np.inf)) for level in terms.levels))


def only(problem: ProgramInput, classes: Sequence[int]) -> ProgramInput:
    """The program with the demand of these classes alone, and no fixed costs."""
    rates = np.zeros_like(problem.demand.mean_rps)
    rates[list(classes)] = problem.demand.mean_rps[list(classes)]
    return replace(problem, demand=replace(problem.demand, mean_rps=rates), fixed_usd=0.0, classifier_usd=None, budget_usd=math.inf)


def hour_programs(problem: ProgramInput) -> float:
    """The work of one solution of `problem`, in hour programs."""
    factors = [terms.hour_factors for terms in problem.relays if terms.hour_factors is not None]
    rows = np.vstack([problem.demand.mean_rps, *factors])
    routes = pool_routes(problem)
    large = joined(problem, routes) and integers(problem, routes) > SMALL
    return len(np.unique(rows, axis=1).T) * (1 + PER_POOL * len(routes)) * (JOINED if large else 1.0)


def solved(problem: ProgramInput) -> ProgramSolution | None:
    """The cheapest solution that serves everything, inside half a percent; None where no solution does."""
    if not problem.demand.mean_rps.any():
        return None
    answer = solve(problem, gap=GAP, exact=False)
    return None if (answer.unserved > 1e-6 * np.maximum(problem.demand.mean_rps, 1e-12)).any() else answer


@dataclass
class Curve:
    """USD of a month over demand (1: today's), solved again where that was asked for and work is left, estimated elsewhere.

    problem    of the strategy, without fixed costs;  estimate  its cost by scaling a fleet, for any demand
    nodes      demand -> cost, solved; infinite where not everything can be served
    answers    demand -> the solution behind a finite node
    """

    problem: ProgramInput
    estimate: Callable[[float], float]
    work: Work
    nodes: dict[float, float] = field(default_factory=dict)
    answers: dict[float, ProgramSolution] = field(default_factory=dict)

    @property
    def linear(self) -> bool:
        """Whether cost is exactly in proportion to demand: only calls by the token, and nothing that depends on how many."""
        return not pool_routes(self.problem) and not any(
            terms.tiers or terms.units is not None or terms.committed_usd > 0 or terms.spend_cap_usd is not None
            or (terms.hard_limits and (terms.relay.rpm is not None or terms.relay.tpm is not None))
            for terms in self.problem.relays
        )  # fmt: skip

    def solve(self, demand: float) -> bool:
        """Solves the program at a demand, if work is left; whether the cost there is now known."""
        if demand not in self.nodes and not (self.linear and self.nodes):
            if not self.problem.demand.mean_rps.any():
                self.nodes[demand] = 0.0
            elif self.work.take(hour_programs(self.problem)):
                answer = solved(shifted(self.problem, Shift(demand)))
                self.nodes[demand] = math.inf if answer is None else answer.cost_usd
                if answer is not None:
                    self.answers[demand] = answer
        return self.known(demand)

    def known(self, demand: float) -> bool:
        """Whether the cost at a demand is solved, or in exact proportion to one that is."""
        return demand in self.nodes or (self.linear and bool(self.nodes))

    def at(self, demand: float) -> float:
        """The cost: solved where it is known; else the scaled fleet at the level of the nearest solution, between its neighbours.

        A plan for more demand also serves less, so no demand costs more than a larger one that was solved.
        """
        above = [usd for node, usd in self.nodes.items() if node >= demand]
        if demand in self.nodes and not self.linear:
            return min(above)
        if self.linear and self.nodes:
            node, usd = next(iter(self.nodes.items()))
            return per_unit_usd(amount_usd(usd, demand), node)
        below = max((self.at(node) for node in self.nodes if node < demand), default=0.0)
        finite = [node for node, usd in self.nodes.items() if math.isfinite(usd)]
        level = 1.0
        if finite:
            near = min(finite, key=lambda node: (abs(math.log(node / demand)), node))
            level = self.at(near) / max(self.estimate(near), 1e-300)
        return min(max(self.estimate(demand) * level, below), min(above, default=math.inf))
