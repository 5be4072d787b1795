"""Cost over demand of three strategies, each solved again at other volumes, and from where on own GPUs are cheaper than relays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from optimize.finance.pure_strategies import ALL_API, SELF_HOSTED, Strategy, all_api, alternative, self_hosted
from optimize.finance.resolve_program import Curve, Work, closed, hour_programs, only, solved
from optimize.money.amounts import scaled_usd
from optimize.money.bill import classifier_usd
from optimize.money.quantities import scaling
from optimize.records import PoolTerms, ProgramInput
from optimize.result import Plan
from sim.plural import counted, plural

DEMANDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
SEARCHED = (0.001, *DEMANDS, 30.0, 100.0)  # demands that the search for a crossing solves, times today's
TOKENS = (0.25, 0.5, 1.0, 2.0, 4.0)
SAME = 1e-6  # relative difference below which two costs are the same plan
HALVINGS = 8  # of the step of that search in which the crossing lies: to within one percent
DEFAULT_ERROR = 0.26  # 90th percentile of the throughput error of fitted laws, cross-validated, where a row states none
PROGRAMS = 4000.0  # hour programs that one break-even may solve: 3 s of CPU for a small scenario, 10 s for a large one


@dataclass(frozen=True)
class Point:
    """USD of a month at `demand` times today's requests, every figure solved at that demand; None: no such plan, or not solved.

    The band of own GPUs is that of the simulator's error.
    """

    demand: float
    plan_usd: float
    api_usd: float | None
    own_usd: float | None
    own_low_usd: float | None
    own_high_usd: float | None


@dataclass(frozen=True)
class BreakEven:
    """All-API against self-hosted. `at`: the least demand solved, times today's, from which own GPUs are cheaper there and at all larger
    demand solved; None: they are not at the largest.

    below            the neighbour, solved too, at which relays are cheaper; None: own GPUs are cheaper at all that was solved
    at_low, at_high  `at` if a request occupies `error` less or more of own GPUs than the simulator says; None: never, or not solved
    examined         least and largest demand that was solved for both
    """

    points: tuple[Point, ...]
    error: float
    at: float | None
    below: float | None
    at_low: float | None
    at_high: float | None
    examined: tuple[float, float]
    notes: tuple[str, ...]

    def with_tokens(self, factor: float) -> tuple[float | None, float | None, float | None]:
        """(at, low, high) where every request has `factor` times its tokens: both sides cost what that much more demand costs.

        Approximation: input and output grow alike, load grows with them, and no limit on requests a minute binds.
        """
        return tuple(None if at is None else at / factor for at in (self.at, self.at_low, self.at_high))  # type: ignore[return-value]


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

    def solve_pure(self, demand: float, load: float = 1.0) -> bool:
        """Solves self-hosted and all-API at a demand, as long as work is left; whether both are known there, or do not exist."""
        own = self.own is None or self.own.solve(demand * load)
        rest = self.rest is None or self.rest.solve(demand)
        return own and rest and (self.api is None or self.same or self.api.solve(demand))


def break_even(plan: Plan, programs: float = PROGRAMS, curves: Curves | None = None) -> BreakEven:
    """The three curves and their crossing, from at most so many hour programs (see `resolve_program.Work`).

    Solved in this order: today, the pure strategies where they may cross (half of the work), the mix at the demands of the table from
    today outwards, the crossing under the simulator's error. What the work does not reach is left out: nothing is extrapolated.
    """
    curves, error = curves or Curves(plan, programs), capacity_error(plan)
    curves.solve_today()
    with curves.work.half():
        solved_at = [x for x in sorted(SEARCHED, key=_from_today) if curves.solve_pure(x)]
        below, at = crossing(curves, solved_at)
    shown = [x for x in sorted(DEMANDS, key=_from_today) if x in solved_at and curves.mixed.solve(x)]
    ends = []
    for load in (1 - error, 1 + error):
        with curves.work.half():
            there = [x / load for x in solved_at if curves.solve_pure(x / load, load)]
            ends.append(crossing(curves, there, load)[1] if len(there) == len(solved_at) else None)
    for demand in shown:
        if curves.own is not None:
            _ = [curves.own.solve(demand * load) for load in (1 - error, 1 + error)]
    points = []
    for demand in sorted({*shown, 1.0}):
        own, low, high = (_finite(curves.own_usd(demand, load)) for load in (1.0, 1 - error, 1 + error))
        points.append(Point(demand, curves.plan_usd(demand), _finite(curves.api_usd(demand)), own, low, high))
    examined = (min(solved_at, default=1.0), max(solved_at, default=1.0))
    return BreakEven(tuple(points), error, at, below, ends[0], ends[1], examined, tuple(_notes(curves, points)))


def _from_today(demand: float) -> tuple[float, float]:
    return abs(math.log(demand)), demand


def crossing(curves: Curves, solved_at: Sequence[float], load: float = 1.0) -> tuple[float | None, float | None]:
    """(largest demand solved at which relays are cheaper, least one from which own GPUs are cheaper on); neighbours to one percent.

    Both ends are solved. Whole hosts make the cost of own GPUs a staircase: below the crossing there may be other demands at which a
    full host wins.
    """

    def cheaper(demand: float) -> bool:
        return curves.own_usd(demand, load) < curves.api_usd(demand) * (1 - SAME)

    if curves.own is None or curves.api is None or curves.same:
        return None, None
    below: float | None = None
    at: float | None = None
    for demand in sorted(solved_at, reverse=True):
        if not cheaper(demand):
            below = demand
            break
        at = demand
    if at is None or below is None:
        return below, at
    for _ in range(HALVINGS):
        middle = math.sqrt(below * at)
        if at / below < 1.005 or not curves.solve_pure(middle, load):
            break
        below, at = (below, middle) if cheaper(middle) else (middle, at)
    return below, at


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


def _finite(usd: float) -> float | None:
    return round(usd, 6) if math.isfinite(usd) else None


def _notes(curves: Curves, points: list[Point]) -> list[str]:
    notes = list(curves.notes)
    if curves.own is not None and not curves.measured:
        notes.append("self-hosted: rests on capacities that were not measured, which are optimistic")
    left = len(DEMANDS) - len(points)
    if left:
        notes.append(
            f"{counted(left, 'demand')} of {len(DEMANDS)} {plural(left, 'is', 'are')} not shown: the work of a run did not reach them"
        )
    return notes


def capacity_error(plan: Plan) -> float:
    """How far the simulator was off in throughput on measurements it had not seen (90th percentile), worst over the used GPU types."""
    used = {t.option.offer.gpu for p, t in enumerate(plan.program.pools) if plan.solution.hosts[p].any()}
    stated = [row.error["throughput_p90"] for row in plan.scenario.catalog.calibration if row.gpu in used and "throughput_p90" in row.error]
    return min(0.9, max((x for x in stated if math.isfinite(x)), default=DEFAULT_ERROR))
