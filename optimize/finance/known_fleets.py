"""Fleets found at other prices or volumes, each of which serves everything: what the plan's fleet is compared with when inputs move."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

from optimize.finance.curves import Curves
from optimize.finance.pure_strategies import ALL_API
from optimize.finance.pure_strategies import SELF_HOSTED as SELF
from optimize.finance.resolve_program import Curve, Shift, Work, hour_programs, shifted, solved
from optimize.money.amounts import scaled_usd
from optimize.money.bill import cost_lines
from optimize.money.quantities import Scaling, scaling
from optimize.records import ProgramInput, ProgramSolution
from optimize.result import Plan

PROGRAMS = 2000.0  # hour programs that the other prices may cost: 1 s of CPU for a small scenario, 5 s for a large one
PRICES = (0.8, 1.25, 0.5, 2.0)  # times today's, nearest first
VOLUMES = (0.5, 2.0, 0.2, 5.0)  # times today's requests, of those that the break-even solves
ALTERNATIVES = {"api": ALL_API, "own": SELF}  # names of alternatives
THIS, BY_API, SELF_HOSTED = "this fleet", "everything by API", "everything self-hosted"


@dataclass(frozen=True)
class KnownFleet:
    """One way to serve everything. `parts`: (fleet, demand that it was made for, times today's); each follows demand in whole hosts.

    `level` brings an unproved solution to the level of the plan, in which verification added hosts; `fixed_usd` and `looked_usd` are
    fixed costs and what of them follows demand.
    """

    name: str
    parts: tuple[tuple[Scaling, float], ...]
    level: float = 1.0
    fixed_usd: float = 0.0
    looked_usd: float = 0.0

    def usd(self, demand: float, gpu_price: float = 1.0, api_price: float = 1.0) -> float:
        """A month at these factors on today's requests, prices of hosts and prices of tokens."""
        months = [fleet.at(demand / made_for, gpu_price, api_price) for fleet, made_for in self.parts]
        moving = math.fsum(month.gpu_usd + month.relay_usd for month in months)
        return scaled_usd(moving, self.level) + self.fixed_usd + scaled_usd(self.looked_usd, demand - 1)


def known_fleets(curves: Curves, programs: float = PROGRAMS) -> tuple[KnownFleet, ...]:
    """The plan's fleet, then both pure strategies and the mix that is best at other prices and volumes; only the first was simulated.

    Fleets that cost the same at today's prices, hosts and tokens apart, stand once.
    """
    curves.solve_today()
    plan, problem, level = curves.plan, curves.mixed.problem, curves.levels["mixed"]
    today = scaling(plan)
    found = [KnownFleet(THIS, ((today, 1.0),), 1.0, today.fixed_usd, today.looked_usd)]
    fixed = (today.fixed_usd, today.looked_usd)
    for name, of, strategy in (
        (BY_API, [curves.api], "api"),
        (SELF_HOSTED, [curves.own, curves.rest], "own"),
    ):
        parts = _solved_today(plan, of) if _promised(plan, ALTERNATIVES[strategy]) else ()
        found += [KnownFleet(name, parts, curves.levels[strategy], *fixed)] if parts else []
    work = Work(programs)
    for factor in PRICES:
        for what, shift in (("GPU prices", Shift(gpu_price=factor)), ("token prices", Shift(api_price=factor))):
            answer = solved(shifted(problem, shift)) if work.take(hour_programs(problem)) else None
            if answer is not None:
                name = f"the fleet for {factor:g} times today's {what}"
                found.append(KnownFleet(name, ((scaling(_as_plan(plan, problem, answer)), 1.0),), level, *fixed))
    for factor in VOLUMES:
        answer = curves.mixed.answers.get(factor)
        if answer is not None:
            made = scaling(_as_plan(plan, shifted(problem, Shift(factor)), answer))
            found.append(KnownFleet(f"the fleet for {factor:g} times today's requests", ((made, factor),), level, *fixed))
    return _different(found)


def _promised(plan: Plan, names: Sequence[str]) -> bool:
    """Whether a strategy has a plan that keeps every promise, as far as was examined."""
    return all(other.per_month_usd is not None for other in plan.alternatives if other.name in names)


def _solved_today(plan: Plan, of: Sequence[Curve | None]) -> tuple[tuple[Scaling, float], ...]:
    """The parts of a strategy at today's demand; empty where one of them is not known."""
    parts = []
    for curve in of:
        if curve is None or not math.isfinite(curve.nodes.get(1.0, math.inf)):
            return ()
        answer = curve.answers.get(1.0)
        if answer is not None:
            parts.append((scaling(_as_plan(plan, curve.problem, answer)), 1.0))
    return tuple(parts)


def _as_plan(plan: Plan, problem: ProgramInput, answer: ProgramSolution) -> Plan:
    """A solution in the place of the plan's, with its own bill."""
    return replace(plan, demand=problem.demand, program=problem, solution=answer, lines=cost_lines(problem, answer))


def _different(found: Sequence[KnownFleet]) -> tuple[KnownFleet, ...]:
    """The first of those whose hosts and calls cost the same, to the cent, at two volumes."""
    seen: dict[tuple[float, ...], KnownFleet] = {}
    for fleet in found:
        key = tuple(round(fleet.usd(demand, gpu, api), 2) for demand in (1.0, 1.7) for gpu, api in ((1.0, 1.0), (1.0, 2.0)))
        seen.setdefault(key, fleet)
    return tuple(seen.values())
