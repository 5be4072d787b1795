"""Gap and CPU seconds of the integer program on made-up markets of a stated size.

    python -m benchmarks.program [NAME ...] [--json]

Prices and loads are drawn from one seed per row: dearer hosts carry more, shared pools carry a little less than dedicated ones, some
pools are paid by the month, relays have limits and miss shares. `gap` is (cost - model_bound) / cost.
"""

from __future__ import annotations

import argparse
import json
import time
from dataclasses import asdict, dataclass, replace

import numpy as np

from optimize.program.fluid import fluid_bound_usd
from optimize.program.solve import solve
from optimize.records import BootTerms, LoadLevel, PoolOption, PoolTerms, ProgramInput, RelayTerms, SloRow, SpendTier, SpotTerms, UnitTerms
from sim.catalog.facts import Offer, Relay, Source
from sim.requests import Demand

SOURCE = Source("drawn for a benchmark", "2026-11-30")


@dataclass(frozen=True)
class Size:
    """One market. `budget` is relative to the cost without one (inf: none); goals are largest gap and CPU seconds.

    `levers`: starts of hosts are paid (`boots` alone), every relay has three spend tiers.
    `extras`: besides, one relay sells provisioned units, a
    quarter of the elastic offers is spot, no vendor may serve more than 40 %.
    """

    name: str
    gpus: int
    variants: int
    classes: int
    hours: int
    relays: int
    monthly: float = 0.25  # share of offers that cannot follow the hour
    n_plus_one: bool = False
    budget: float = float("inf")
    goal_gap: float = 0.03
    goal_cpu_s: float = 20.0
    levers: bool = False
    extras: bool = False
    boots: bool = False  # starts of hosts are paid, without tiers
    relay_share: float = 1.0


@dataclass(frozen=True)
class Result:
    """One row of the table."""

    name: str
    pools: int
    cpu_s: float
    cost_usd: float
    model_bound_usd: float
    fluid_bound_usd: float
    gap: float
    unserved_share: float
    status: str
    solver: str


SIZES = (
    Size("million_like", 8, 2, 4, 48, 8, monthly=0.0, goal_cpu_s=8.0),
    Size("million_like_monthly", 8, 2, 4, 48, 8, goal_cpu_s=8.0),
    Size("four_by_ten", 10, 1, 4, 48, 4, goal_gap=0.005, goal_cpu_s=10.0),
    Size("four_by_ten_tight", 10, 1, 4, 48, 4, budget=0.9, goal_gap=0.01, boots=True, relay_share=0.3),
    Size("thirty_by_forty", 40, 1, 30, 48, 8, goal_gap=0.005, goal_cpu_s=60.0),
    Size("two_hundred_relays", 8, 1, 8, 48, 200, goal_gap=0.005),
    Size("day_10_classes", 8, 4, 10, 24, 5, n_plus_one=True),
    Size("day_10_classes_budget", 8, 4, 10, 24, 5, n_plus_one=True, budget=0.95),
    Size("day_levers", 8, 4, 10, 24, 5, n_plus_one=True, budget=1.02, levers=True),
    Size("day_levers_tight", 8, 4, 10, 24, 5, n_plus_one=True, budget=0.97, levers=True),
    Size("day_all", 8, 4, 10, 24, 5, n_plus_one=True, budget=1.02, levers=True, extras=True),
    Size("day_all_tight", 8, 4, 10, 24, 5, n_plus_one=True, budget=0.97, levers=True, extras=True),
    Size("week_10_classes", 8, 4, 10, 168, 5, n_plus_one=True, goal_cpu_s=150.0),
    Size("week_levers", 8, 4, 10, 168, 5, n_plus_one=True, budget=1.02, goal_cpu_s=150.0, levers=True),
    Size("week_levers_tight", 8, 4, 10, 168, 5, n_plus_one=True, budget=0.97, goal_cpu_s=150.0, levers=True),
    Size("week_all_tight", 8, 4, 10, 168, 5, n_plus_one=True, budget=0.97, goal_cpu_s=150.0, levers=True, extras=True),
)


def demand_of(size: Size, rng: np.random.Generator) -> Demand:
    """A daily wave with noise from hour to hour, 300 requests/s at the mean, classes of very different volume."""
    wave = 1 + 0.6 * np.sin(2 * np.pi * np.arange(size.hours) / 24) + rng.normal(0, 0.05, size.hours)
    volume = rng.dirichlet(np.full(size.classes, 1.0)) * 300
    ones = np.ones(size.classes)
    weight_h = np.full(size.hours, 730 / size.hours)
    return Demand(tuple(f"h{t}" for t in range(size.hours)), weight_h, np.outer(volume, wave), 1.2, 1000 * ones, 250 * ones, 0 * ones)


def market(size: Size, seed: int = 1) -> ProgramInput:
    """The program of one row."""
    rng = np.random.default_rng(seed)
    demand = demand_of(size, rng)
    slos = tuple(SloRow(c, metric, 0.95, 1.0) for c in range(size.classes) for metric in ("ttft", "tpot"))
    heavy = rng.uniform(0.5, 2.0, size.classes)
    pools: list[PoolTerms] = []
    for g in range(size.gpus):
        price = float(rng.uniform(0.8, 6.0))
        for v in range(size.variants):
            offer = Offer(
                f"o{g}.{v}", "seller", f"g{g}", 1, price * rng.uniform(0.9, 1.2), "on_demand", SOURCE, elastic=rng.random() >= size.monthly
            )
            load = heavy * rng.uniform(0.10, 0.25) / price**0.9 * rng.uniform(0.8, 1.25, size.classes)
            pools += pools_of(offer, load, slos, rng)
    relays = relays_of(size, heavy, slos, rng)
    given = ProgramInput(demand, slos, tuple(pools), relays, float("inf"), size.relay_share, size.n_plus_one, tuple(map(str, heavy)))
    given = with_boots(given) if size.levers or size.boots else given
    given = with_tiers(given) if size.levers else given
    return with_extras(given) if size.extras else given


def with_boots(given: ProgramInput) -> ProgramInput:
    """The market with starts that take 5 to 9 minutes."""
    slices = len(given.demand.slices)
    pools = []
    for p, terms in enumerate(given.pools):
        sold = replace(terms.option.offer, boot_s=300.0 + 60 * (p % 5))
        pools.append(replace(terms, option=replace(terms.option, offer=sold)))
    boot = BootTerms(tuple((t - 1) % slices for t in range(slices)), given.demand.weight_h)
    return replace(given, pools=tuple(pools), boot=boot)


def with_tiers(given: ProgramInput) -> ProgramInput:
    """The market with three spend tiers at every relay."""
    tiers = (SpendTier(0.0, 1.0, rpm=1000.0), SpendTier(1000.0, 0.95, rpm=3000.0), SpendTier(4000.0, 0.85, rpm=10_000.0))
    relays = tuple(replace(terms, tiers=tiers) for terms in given.relays)
    return replace(given, relays=relays)


def with_extras(given: ProgramInput) -> ProgramInput:
    """The market with spot, shares of vendors and provisioned units besides."""
    pools = []
    for terms in given.pools:
        sold = terms.option.offer
        if sold.elastic and int(sold.id.rsplit(".", 1)[1]) == 3:
            sold = replace(sold, term="spot", usd_per_hour=0.6 * sold.usd_per_hour)
        pools.append(replace(terms, option=replace(terms.option, offer=sold)))
    relays = [replace(terms, relay=replace(terms.relay, vendor=terms.relay.id)) for terms in given.relays]
    units = UnitTerms(1.5, np.full(len(given.demand.mean_rps), 0.4), 5)
    free = np.where(relays[-1].eligible, 0.0, np.inf)
    relays[-1] = replace(relays[-1], tiers=(), usd_per_request=free, units=units, hard_limits=False)
    return replace(
        given,
        pools=tuple(pools),
        relays=tuple(relays),
        spot=SpotTerms(0.4, 0.85),
        vendor_shares={"*": 0.4},
    )


def pools_of(offer: Offer, load: np.ndarray, slos: tuple[SloRow, ...], rng: np.random.Generator) -> list[PoolTerms]:
    """A pool per class and a shared one that carries 5 to 20 % less."""
    groups = [(c,) for c in range(len(load))] + [tuple(range(len(load)))]
    answer = []
    for group in groups:
        own = np.full(len(load), np.inf)
        own[list(group)] = load[list(group)] * (1.0 if len(group) == 1 else rng.uniform(1.05, 1.2))
        miss = np.array([rng.uniform(0.01, 0.05) if row.class_index in group else 0.0 for row in slos])
        intercept = float(rng.uniform(0.0, 0.4))
        option = PoolOption(f"{offer.id}:{'+'.join(map(str, group))}", offer, None, 1, group)
        answer.append(PoolTerms(option, (LoadLevel(own, miss),), 1.0 + intercept / 8, intercept, True))
    return answer


def relays_of(size: Size, heavy: np.ndarray, slos: tuple[SloRow, ...], rng: np.random.Generator) -> tuple[RelayTerms, ...]:
    """Relays for 70 % of the classes each, near the price of own hosts, half of them with hard limits."""
    answer = []
    for a in range(size.relays):
        row = Relay(f"r{a}", "vendor", "m", 1.0, 1.0, None, 0.5, 0.2, 50.0, 0.2, SOURCE, SOURCE, rpm=3000.0, tpm=4e6)
        eligible = rng.random(size.classes) < 0.7
        usd = np.where(eligible, heavy * rng.uniform(5e-5, 2e-4), np.inf)
        answer.append(RelayTerms(row, eligible, usd, np.full(size.classes, 1250.0), rng.uniform(0.0, 0.1, len(slos)), bool(a % 2)))
    return tuple(answer)


def measure(size: Size) -> Result:
    """One solve; CPU seconds of model building and solver together."""
    given = market(size)
    if np.isfinite(size.budget):
        given = replace(given, budget_usd=size.budget * solve(given).cost_usd)
    start = time.process_time()
    answer = solve(given)
    spent = time.process_time() - start
    left = float((answer.unserved @ given.demand.weight_h).sum() / (given.demand.mean_rps @ given.demand.weight_h).sum())
    return Result(
        size.name,
        len(given.pools),
        round(spent, 2),
        round(answer.cost_usd, 2),
        round(answer.model_bound_usd, 2),
        round(fluid_bound_usd(given), 2),
        round(answer.gap, 5),
        round(left, 5),
        answer.status,
        answer.solver,
    )


def main() -> None:
    """Prints a Markdown row per size, or JSON."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("names", nargs="*", help=f"of {', '.join(size.name for size in SIZES)}")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    for size in SIZES:
        if given.names and size.name not in given.names:
            continue
        row = measure(size)
        if given.json:
            print(json.dumps(asdict(row)), flush=True)
            continue
        goal = f"{size.goal_gap:.0%} in {size.goal_cpu_s:.0f} s"
        print(
            f"| {row.name} | {row.pools} | {row.gap:.2%} | {row.cpu_s:.1f} | {goal} | {row.cost_usd:,.0f} | {row.model_bound_usd:,.0f} "
            f"| {row.fluid_bound_usd:,.0f} | {row.unserved_share:.2%} | {row.status}, {row.solver} |",
            flush=True,
        )


if __name__ == "__main__":
    main()
