"""Three strategies of a plan over demand, each solved again: the mix, all-API, self-hosted."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from optimize.finance.pure_strategies import ALL_API, SELF_HOSTED, Strategy, all_api, alternative, self_hosted
from optimize.finance.resolve_program import Curve, Work, closed, hour_programs, only, solved
from optimize.money.all_in import all_in_usd, on_top, pools_of, runs_hosts
from optimize.money.amounts import scaled_usd
from optimize.money.bill import classifier_usd
from optimize.money.quantities import scaling
from optimize.records import PoolTerms, ProgramInput
from optimize.result import Plan


class Curves:
    """The three strategies of a plan over demand.

    The plan: measured pools and relays mixed anew. All-API: relays wherever one may serve the class. Self-hosted: pools wherever one
    can. Shares, reserves and limits of the policy hold in each. `measured` False: some class has no pool that was measured.
    """

    def __init__(self, plan: Plan, programs: float) -> None:
        self.plan, self.work = plan, Work(programs)
        self.problem, self.measured = known_program(plan)
        classes = range(len(plan.program.class_names))
        pooled = [c for c in classes if any(math.isfinite(level.load[c]) for terms in self.problem.pools for level in terms.levels)]
        sold = [c for c in classes if any(bool(t.eligible[c]) and math.isfinite(t.usd_per_request[c]) for t in self.problem.relays)]
        self.notes: list[str] = []
        scaled, api, own = scaling(plan), all_api(plan), self_hosted(plan)
        self.notes = [f"{what}: {other}" for what, other in (("all-API", api), ("self-hosted", own)) if isinstance(other, str)]
        self.mixed = Curve(only(self.problem, list(classes)), lambda x: scaled.at(x).gpu_usd + scaled.at(x).relay_usd, self.work)
        self.api = self._curve(api, only(without_pools(self.problem, sold), list(classes)))
        self.own = self._curve(own, replace(only(self.problem, pooled), relays=()), relays=False)
        self.rest = self._curve(own, replace(only(self.problem, [c for c in classes if c not in pooled]), pools=()), pools=False)
        self.levels = {"mixed": 1.0, "own": 1.0, "api": 1.0}
        self.same = not set(pooled) & set(sold)  # every class goes where it must: one strategy under two names

    def _curve(self, found: Strategy | str, problem: ProgramInput, relays: bool = True, pools: bool = True) -> Curve | None:
        """A curve of one part of a strategy; None where the strategy does not exist."""
        if isinstance(found, str):
            return None
        part = replace(found, relays=found.relays if relays else (-1,) * len(found.relays), pools=found.pools if pools else ())
        return Curve(problem, lambda x: part.at(x) - self.plan.program.fixed_usd, self.work)

    def fixed_usd(self, demand: float) -> float:
        """Fixed costs, of which a classifier follows demand."""
        looked = classifier_usd(self.plan.demand, self.plan.program.classifier_usd)
        return self.plan.program.fixed_usd + looked * (demand - 1)

    def plan_usd(self, demand: float) -> float:
        """The mix solved anew, at the level of today's plan, in which verification may have added hosts; a pure strategy is a mix too.

        Infinite where that demand was not solved; at today's it is the bill.
        """
        if demand == 1.0:
            return sum(line.per_month_usd for line in self.plan.lines)
        if not self.mixed.known(demand):
            return math.inf
        mixed = scaled_usd(self.mixed.at(demand), self.levels["mixed"]) + self.fixed_usd(demand)
        return min(mixed, self.api_usd(demand), self.own_usd(demand))

    def api_usd(self, demand: float) -> float:
        """All-API, solved; infinite where not everything can be served or that demand was not solved."""
        if self.same and self.own is not None and self.api is not None:
            return self.own_usd(demand)
        if self.api is None or not self.api.known(demand):
            return math.inf
        return scaled_usd(self.api.at(demand), self.levels["api"]) + self.fixed_usd(demand)

    def own_usd(self, demand: float, load: float = 1.0) -> float:
        """Self-hosted, solved; `load` scales what a request occupies on own GPUs, which is what demand on them does."""
        if self.own is None or self.rest is None or not (self.own.known(demand * load) and self.rest.known(demand)):
            return math.inf
        return scaled_usd(self.own.at(demand * load) + self.rest.at(demand), self.levels["own"]) + self.fixed_usd(demand)

    def loaded_usd(self, load: float) -> float:
        """The mix at today's demand where a request occupies `load` times as much of own GPUs; infinite where no work is left."""
        if not self.work.take(hour_programs(self.mixed.problem)):
            return math.inf
        pools = tuple(replace(t, levels=tuple(replace(e, load=e.load * load) for e in t.levels)) for t in self.mixed.problem.pools)
        answer = solved(replace(self.mixed.problem, pools=pools))
        return math.inf if answer is None else scaled_usd(answer.cost_usd, self.levels["mixed"]) + self.fixed_usd(1.0)

    def solve_today(self) -> None:
        """Solves all at today's demand, and takes the level of each from what is known of today: the bill, and the solved alternatives."""
        usd = sum(line.per_month_usd for line in self.plan.lines) - self.plan.program.fixed_usd
        if self.mixed.solve(1.0) and 0 < self.mixed.at(1.0) < math.inf and usd > 0:
            self.levels["mixed"] = usd / self.mixed.at(1.0)
        self.solve_pure(1.0)
        self.levels |= {"api": 1.0, "own": 1.0}
        levels = {"api": self.level_of(ALL_API, self.api_usd(1.0)), "own": self.level_of(SELF_HOSTED, self.own_usd(1.0))}
        self.levels |= levels

    def level_of(self, names: tuple[str, ...], solved_usd: float) -> float:
        """What brings today's solved cost to that of the alternative of one of these names; 1 where there is none."""
        other, fixed = alternative(self.plan, names), self.plan.program.fixed_usd
        stated = math.inf if other is None or other.per_month_usd is None else other.per_month_usd
        known = fixed < solved_usd < math.inf and fixed < stated < math.inf
        return (stated - fixed) / (solved_usd - fixed) if known else 1.0

    def all_in_usd(self, usd: float, hosts: bool) -> float | None:
        """A month with what `finance` adds; None where a part is open. GPUs run in as many pools as in today's plan, one at least."""
        if not math.isfinite(usd):
            return math.inf
        pools = max(pools_of(self.plan), 1) if hosts else 0
        return None if on_top(self.plan.scenario.finance, usd, pools)[1] else all_in_usd(self.plan.scenario.finance, usd, pools)

    def api_all_in_usd(self, demand: float) -> float | None:
        """All-API all-in; GPUs run in it where a class may not leave them."""
        return self.all_in_usd(self.api_usd(demand), runs_hosts(self.plan, ALL_API[0]))

    def own_all_in_usd(self, demand: float) -> float | None:
        """Self-hosted all-in."""
        return self.all_in_usd(self.own_usd(demand), True)

    def plan_all_in_usd(self, demand: float) -> float | None:
        """The cheapest of the three all-in."""
        found = [self.all_in_usd(self.plan_usd(demand), pools_of(self.plan) > 0), self.api_all_in_usd(demand), self.own_all_in_usd(demand)]
        known = [usd for usd in found if usd is not None]
        return min(known) if len(known) == len(found) else None

    def solve_pure(self, demand: float, load: float = 1.0) -> bool:
        """Solves self-hosted and all-API at a demand, as long as work is left; whether both are known there, or do not exist."""
        own = self.own is None or self.own.solve(demand * load)
        rest = self.rest is None or self.rest.solve(demand)
        return own and rest and (self.api is None or self.same or self.api.solve(demand))


def known_program(plan: Plan) -> tuple[ProgramInput, bool]:
    """(the plan's program with the pools whose capacity is known, whether these serve every class that any pool serves).

    Known: measured, or in use. A class that only pools without a measurement could serve keeps them; their capacity is optimistic.
    """
    pools, hosts = plan.program.pools, plan.solution.hosts
    known = [terms.measured or bool(hosts[p].any()) for p, terms in enumerate(pools)]
    covered = np.zeros(len(plan.program.class_names), dtype=bool)
    for p, terms in enumerate(pools):
        if known[p]:
            covered |= np.isfinite(terms.levels[0].load)
    kept = tuple(terms if known[p] else _for_others(terms, covered) for p, terms in enumerate(pools))
    others = any(np.isfinite(terms.levels[0].load).any() for p, terms in enumerate(kept) if not known[p])
    return replace(plan.program, pools=kept), not others


def _for_others(terms: PoolTerms, covered: np.typing.NDArray[np.bool_]) -> PoolTerms:
    """The pool without the classes that others are known to serve."""
    if covered.all():
        return closed(terms)
    return replace(terms, levels=tuple(replace(level, load=np.where(covered, np.inf, level.load)) for level in terms.levels))


def without_pools(problem: ProgramInput, sold: list[int]) -> ProgramInput:
    """The program in which a pool serves only classes that no relay may serve."""
    mask = np.zeros(len(problem.class_names), dtype=bool)
    mask[sold] = True
    return replace(problem, pools=tuple(_for_others(terms, mask) for terms in problem.pools))
