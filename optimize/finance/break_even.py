"""Cost over demand of three strategies, each solved again at other volumes, and from where on own GPUs are cheaper than relays."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from optimize.finance.curves import Curves
from optimize.money.all_in import on_top
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
    plan_all_in_usd: float | None = None  # with what `finance` adds; None where a part is open
    api_all_in_usd: float | None = None
    own_all_in_usd: float | None = None


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
    all_in: tuple[float | None, float | None] | None = None  # (below, at) all-in; None: nothing is added, or a part is open

    def with_tokens(self, factor: float) -> tuple[float | None, float | None, float | None]:
        """(at, low, high) where every request has `factor` times its tokens: both sides cost what that much more demand costs.

        Approximation: input and output grow alike, load grows with them, and no limit on requests a minute binds.
        """
        return tuple(None if at is None else at / factor for at in (self.at, self.at_low, self.at_high))  # type: ignore[return-value]


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
        sums = (curves.plan_all_in_usd(demand), curves.api_all_in_usd(demand), curves.own_all_in_usd(demand))
        whole = tuple(None if usd is None else _finite(usd) for usd in sums)
        points.append(Point(demand, curves.plan_usd(demand), _finite(curves.api_usd(demand)), own, low, high, *whole))
    examined = (min(solved_at, default=1.0), max(solved_at, default=1.0))
    notes = tuple(_notes(curves, points))
    return BreakEven(tuple(points), error, at, below, ends[0], ends[1], examined, notes, _all_in_crossing(curves, solved_at))


def _all_in_crossing(curves: Curves, solved_at: Sequence[float]) -> tuple[float | None, float | None] | None:
    """(below, at) with what `finance` adds to both; None where that is nothing, or a part is open."""
    parts, missing = on_top(curves.plan.scenario.finance, 1.0, 1)
    return crossing(curves, solved_at, whole=True) if parts and not missing else None


def _from_today(demand: float) -> tuple[float, float]:
    return abs(math.log(demand)), demand


def crossing(curves: Curves, solved_at: Sequence[float], load: float = 1.0, whole: bool = False) -> tuple[float | None, float | None]:
    """(largest demand solved at which relays are cheaper, least one from which own GPUs are cheaper on); neighbours to one percent.
    `whole`: both all-in.

    Both ends are solved. Whole hosts make the cost of own GPUs a staircase: below the crossing there may be other demands at which a
    full host wins.
    """

    def cheaper(demand: float) -> bool:
        if whole:
            own, api = curves.own_all_in_usd(demand), curves.api_all_in_usd(demand)
            return own is not None and api is not None and own < api * (1 - SAME)
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
