"""Cost over demand of three strategies, each solved again at other volumes, and from where on own GPUs are cheaper than relays."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np

from optimize.finance.pure_strategies import Strategy, all_api, self_hosted
from optimize.finance.resolve_program import Curve, Work, closed, only
from optimize.money.bill import classifier_usd
from optimize.money.quantities import scaling
from optimize.records import PoolTerms, ProgramInput
from optimize.result import Plan
from sim.plural import plural

DEMANDS = (0.01, 0.02, 0.05, 0.1, 0.2, 0.35, 0.5, 0.75, 1.0, 1.25, 1.5, 2.0, 3.0, 5.0, 10.0)
TOKENS = (0.25, 0.5, 1.0, 2.0, 4.0)
LOW, HIGH, STEPS = 1e-3, 1e3, 120  # demand that the search for a crossing looks at, times today's, in equal ratios
SAME = 1e-6  # relative difference below which two costs are the same plan
HALVINGS = 4  # of the step of that search in which the crossing lies: to within one percent
DEFAULT_ERROR = 0.26  # 90th percentile of the throughput error of fitted laws, cross-validated, where a row states none
PROGRAMS = 1200.0  # hour programs that one break-even may solve: 2 s of CPU for a small scenario, 4 s for a large one


@dataclass(frozen=True)
class Point:
    """USD of a month at `demand` times today's requests; None: no such plan. The band of own GPUs is that of the simulator's error.

    `estimated`: the strategies whose figure here is a scaled fleet; all others were solved again
    """

    demand: float
    plan_usd: float
    api_usd: float | None
    own_usd: float | None
    own_low_usd: float | None
    own_high_usd: float | None
    estimated: tuple[str, ...] = ()


@dataclass(frozen=True)
class BreakEven:
    """All-API against self-hosted. `at`: the demand, times today's, from which own GPUs are first cheaper; None: at none up to 1,000.

    `at_low`, `at_high`: the same if a request occupies `error` less or more of own GPUs than the simulator says.
    """

    points: tuple[Point, ...]
    error: float
    at: float | None
    at_low: float | None
    at_high: float | None
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
        self.levels = {"mixed": 1.0, "own": 1.0}
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
        """The mix solved anew, at the level of today's plan, in which verification may have added hosts."""
        return self.mixed.at(demand) * self.levels["mixed"] + self.fixed_usd(demand)

    def api_usd(self, demand: float) -> float:
        """All-API; infinite where not everything can be served."""
        if self.same and self.own is not None and self.api is not None:
            return self.own_usd(demand)
        return math.inf if self.api is None else self.api.at(demand) + self.fixed_usd(demand)

    def own_usd(self, demand: float, load: float = 1.0) -> float:
        """Self-hosted; `load` scales what a request occupies on own GPUs, which is what demand on them does."""
        if self.own is None or self.rest is None:
            return math.inf
        return (self.own.at(demand * load) + self.rest.at(demand)) * self.levels["own"] + self.fixed_usd(demand)

    def solve_today(self) -> None:
        """Solves all at today's demand, and takes the level of each from what is known of today.

        The plan's is its bill. Where self-hosted rests on pools that were not measured, it stands at today's solved alternative.
        """
        usd = sum(line.per_month_usd for line in self.plan.lines) - self.plan.program.fixed_usd
        if self.mixed.solve(1.0) and 0 < self.mixed.at(1.0) < math.inf and usd > 0:
            self.levels["mixed"] = usd / self.mixed.at(1.0)
        self.solve(1.0)
        if not self.measured and self.own is not None and self.rest is not None and self.own.known(1.0) and self.rest.known(1.0):
            now, then = self.own.at(1.0) + self.rest.at(1.0), self.own.estimate(1.0) + self.rest.estimate(1.0)
            self.levels["own"] = then / now if 0 < now < math.inf else 1.0

    def solve(self, demand: float) -> None:
        """Solves the self-hosted, the all-API and the mixed program at a demand, as long as work is left."""
        for curve in (self.own, self.rest, None if self.same else self.api, self.mixed):
            if curve is not None:
                curve.solve(demand)

    def estimated(self, demand: float) -> tuple[str, ...]:
        """Names of the strategies that were not solved at this demand."""
        known = {
            "this plan": demand == 1.0 or self.mixed.known(demand),
            "all-API": self.api is None or self.api.known(demand),
            "self-hosted": self.own is None or self.rest is None or (self.own.known(demand) and self.rest.known(demand)),
        }
        if self.same and self.own is not None and self.api is not None:
            known["all-API"] = known["self-hosted"]
        return tuple(name for name, yes in known.items() if not yes)


def break_even(plan: Plan, programs: float = PROGRAMS) -> BreakEven:
    """The three curves and their crossing, from at most so many hour programs (see `resolved.Work`).

    Solved first at today's demand, then where the curves cross (with half of what is left), then at the demands of the table from today
    outwards; what is left when the work is used up is a scaled fleet at the level of the nearest solution, and says so.
    """
    curves, error = Curves(plan, programs), capacity_error(plan)
    curves.solve_today()
    with curves.work.half():
        ats = [crossing(curves, load, solved=load == 1.0) for load in (1.0, 1 - error, 1 + error)]
    for demand in sorted(DEMANDS, key=lambda x: (abs(math.log(x)), x)):
        curves.solve(demand)
    bill = sum(line.per_month_usd for line in plan.lines)
    points = []
    for demand in DEMANDS:
        own, low, high = (_finite(curves.own_usd(demand, load)) for load in (1.0, 1 - error, 1 + error))
        plan_usd = bill if demand == 1.0 else curves.plan_usd(demand)
        points.append(Point(demand, plan_usd, _finite(curves.api_usd(demand)), own, low, high, curves.estimated(demand)))
    return BreakEven(tuple(points), error, ats[0], ats[1], ats[2], tuple(_notes(curves, points)))


def crossing(curves: Curves, load: float, solved: bool = True) -> float | None:
    """The least demand examined from which own GPUs are cheaper there and at all larger demand examined; None: they never are.

    `solved`: the programs are solved where the curves cross, as long as work is left. Whole hosts make the cost of own GPUs a
    staircase: below the crossing there may be other demands at which a full host wins.
    """

    def cheaper(demand: float) -> bool:
        return curves.own_usd(demand, load) < curves.api_usd(demand) * (1 - SAME)

    if curves.own is None or curves.api is None or curves.same:
        return None
    ratio = (HIGH / LOW) ** (1 / STEPS)
    for _ in range(HALVINGS if solved else 1):
        at = None
        for k in range(STEPS, -1, -1):
            if not cheaper(LOW * ratio**k):
                break
            at = LOW * ratio**k
        if at is None or not solved or not (curves.own.solve(at) and curves.api.solve(at)):
            break
    if at is None or at <= LOW * 1.001:
        return at
    below = at / ratio
    for _ in range(HALVINGS):
        middle = math.sqrt(below * at)
        if solved:
            curves.own.solve(middle)
            curves.api.solve(middle)
        below, at = (below, middle) if cheaper(middle) else (middle, at)
    return at


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
    scaled = sorted({name for point in points for name in point.estimated})
    if scaled:
        count = sum(not point.estimated for point in points)
        what = ", ".join(scaled)
        again = f"{count} of {len(points)} demands {plural(count, 'was', 'were')} solved again for every strategy"
        notes.append(f"{again}; elsewhere scaled fleets stand for {what}")
    return notes


def capacity_error(plan: Plan) -> float:
    """How far the simulator was off in throughput on measurements it had not seen (90th percentile), worst over the used GPU types."""
    used = {t.option.offer.gpu for p, t in enumerate(plan.program.pools) if plan.solution.hosts[p].any()}
    stated = [row.error["throughput_p90"] for row in plan.scenario.catalog.calibration if row.gpu in used and "throughput_p90" in row.error]
    return min(0.9, max((x for x in stated if math.isfinite(x)), default=DEFAULT_ERROR))
