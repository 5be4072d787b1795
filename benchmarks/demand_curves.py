"""Every printed point of the break-even curves against `optimize` at that demand: `python -m benchmarks.demand_curves [SCENARIO ...]`.

For each scenario: plan and curves as reports print them, then for each demand of the curves a run of its own, whose cost, all-API and
self-hosted alternatives are compared with the curve. A pure strategy is never cheaper than the plan on the curve. `--points N` takes the N
points nearest to today. Exit 1 where a point is further off than `--within` (0.01), or the plan lies above a pure strategy.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from optimize.finance.break_even import Point
from optimize.finance.pure_strategies import ALL_API, SELF_HOSTED, alternative
from optimize.plan import optimize
from optimize.result import Plan
from optimize.tables.finance_tables import Money
from sim.scenario import load_scenario
from sim.scenario.scenario import Scenario, SyntheticTraffic

SCENARIOS = ("scenarios/two_offers.yaml", "scenarios/rag_search.yaml", "scenarios/support_bot.yaml")
SIDES = ("plan", "all API", "self-hosted")


@dataclass(frozen=True)
class Compared:
    """One figure of a curve and of a run at that demand; None: no such plan."""

    demand: float
    side: str
    curve_usd: float | None
    solved_usd: float | None

    @property
    def off(self) -> float:
        """Relative difference; 0 where both say that there is no such plan, infinite where one does."""
        if self.curve_usd is None or self.solved_usd is None:
            return 0.0 if self.curve_usd is self.solved_usd else math.inf
        return self.curve_usd / self.solved_usd - 1 if self.solved_usd else float(self.curve_usd != 0)


def at_demand(path: Path, scenario: Scenario, demand: float) -> Scenario:
    """The scenario with `demand` times its requests."""
    traffic = scenario.traffic
    key = "daily_active_users" if isinstance(traffic, SyntheticTraffic) else "rate_rps"
    return load_scenario(path, [f"traffic.{key}={getattr(traffic, key) * demand!r}", "budget.per_month=1e12"])


def costs(plan: Plan) -> tuple[float | None, float | None, float | None]:
    """(the bill, all-API, self-hosted) of a run, USD."""
    bill = sum(line.per_month_usd for line in plan.lines) if plan.status in ("met", "unverified", "missed") else None
    others = (alternative(plan, names) for names in (ALL_API, SELF_HOSTED))
    return bill, *(None if other is None else other.per_month_usd for other in others)  # type: ignore[return-value]


def compared(path: Path, points: int) -> tuple[list[Compared], list[Point]]:
    """(figures of the curve beside those of runs of their own, the points)."""
    scenario = load_scenario(path, ["budget.per_month=1e12"])
    edge = Money(optimize(scenario, tell=note)).break_even
    shown = sorted(edge.points, key=lambda point: (abs(math.log(point.demand)), point.demand))[:points]
    rows = []
    for point in sorted(shown, key=lambda point: point.demand):
        note(f"{path.name} at {point.demand:g} times its demand")
        found = costs(optimize(at_demand(path, scenario, point.demand), tell=lambda _: None))
        for side, curve, solved in zip(SIDES, (point.plan_usd, point.api_usd, point.own_usd), found, strict=True):
            rows.append(Compared(point.demand, side, curve, solved))
    return rows, list(edge.points)


def note(text: str) -> None:
    """Progress goes to stderr."""
    print(text, file=sys.stderr)


def above(points: Sequence[Point]) -> list[float]:
    """Demands at which the plan costs more than a pure strategy."""
    return [p.demand for p in points if p.plan_usd > min(p.api_usd or math.inf, p.own_usd or math.inf) * (1 + 1e-9)]


def main() -> None:
    """One table per scenario."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("scenarios", nargs="*", default=list(SCENARIOS))
    parser.add_argument("--points", type=int, default=100)
    parser.add_argument("--within", type=float, default=0.01)
    args = parser.parse_args()
    bad = 0
    for name in args.scenarios:
        rows, points = compared(Path(name), args.points)
        print(f"{name}: {len(points)} points on the curves")
        for row in rows:
            mark = "" if abs(row.off) <= args.within else "  <-- off"
            cells = ("-" if usd is None else f"{usd:,.2f}" for usd in (row.curve_usd, row.solved_usd))
            print(f"  {row.demand:6g}  {row.side:12} curve {next(cells):>12}  optimize {next(cells):>12}  {row.off:+.2%}{mark}", flush=True)
        over = above(points)
        print(f"  plan above a pure strategy at: {', '.join(f'{x:g}' for x in over) or 'no demand'}", flush=True)
        bad += len(over) + sum(abs(row.off) > args.within for row in rows)
    raise SystemExit(1 if bad else 0)


if __name__ == "__main__":
    main()
