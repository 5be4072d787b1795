"""Fleets that somebody might name by hand: drawn at random, with what they cost and which rows of a scenario they keep."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from optimize.market.candidates import candidates
from optimize.market.context_fit import fitting
from optimize.market.optimistic_load import class_loads
from optimize.market.pools import PoolState, pool_states
from optimize.money import plan_cost_usd
from optimize.plan import costs_of
from optimize.records import Floats, ProgramInput, ProgramSolution
from optimize.search.loop import Market, Restriction, Settled

LIMITS = ((64, 2048), (128, 2048), (256, 8192), (512, 4096), (1024, 4096), (1024, 8192), (256, 512), (256, 1024))
MIXES = (0.02, 0.05, 0.1, 0.2, 0.3, 0.5, 0.7, 0.9)  # shares of a class that a second target gets


@dataclass(frozen=True)
class Drawn:
    """A fleet somebody might name: `shares` [classes, pools + relays]; `hosts` of each pool in the busiest hour."""

    kind: str
    market: Market
    states: tuple[PoolState, ...]
    hosts: tuple[int, ...]
    relays: tuple[int, ...]
    shares: Floats
    engine: str = ""

    @property
    def words(self) -> str:
        """What it is."""
        pools = [f"{n} x {state.option.id}" for n, state in zip(self.hosts, self.states, strict=True)]
        relays = [f"relay {self.market.relays[a].relay.id}" for a in self.relays]
        shares = "" if self.shares.shape[1] < 2 else f" shares {self.shares.round(3).tolist()}"
        return " + ".join([*pools, *relays]) + shares + self.engine


def able(market: Market) -> list[PoolState]:
    """Pools that a fleet may be made of: of each deployment the widest."""
    widest: dict[str, PoolState] = {}
    for state in market.states:
        name, known = state.option.id.partition(":")[0], state.cost is not None and np.isfinite(state.base).any()
        if known and (name not in widest or len(state.option.classes) > len(widest[name].option.classes)):
            widest[name] = state
    return list(widest.values())


def may(market: Market, states: Sequence[PoolState], relays: Sequence[int]) -> np.typing.NDArray[np.bool_]:
    """[classes, targets] whether a target may serve a class."""
    pools = [np.isin(np.arange(len(market.demand.mean_rps)), state.option.classes) for state in states]
    return np.array([*pools, *(market.relays[a].eligible for a in relays)]).T


def drawn(kind: str, market: Market, states: Sequence[PoolState], relays: Sequence[int], rng: np.random.Generator) -> Drawn | None:
    """A fleet of these targets with random shares and sizes; None where some class has no target."""
    allowed = may(market, states, relays)
    if not allowed[market.demand.mean_rps.any(axis=1)].any(axis=1).all():
        return None
    shares = np.zeros(allowed.shape)
    for c, row in enumerate(allowed):
        targets = rng.permutation(np.flatnonzero(row))
        if len(targets):
            second = float(rng.choice(MIXES) if rng.random() < 0.5 else rng.random()) if len(targets) > 1 and rng.random() < 0.7 else 0.0
            shares[c, targets[0]] += 1 - second
            shares[c, targets[-1]] += second
    hosts = tuple(int(rng.integers(1, 2 + 2 * ideal_hosts(market, state, shares[:, p]))) for p, state in enumerate(states))
    return Drawn(kind, market, tuple(states), hosts, tuple(relays), shares)


def ideal_hosts(market: Market, state: PoolState, share: Floats) -> int:
    """Hosts that an ideal pool would need in the busiest hour for its share of each class."""
    base = np.where(np.isfinite(state.base), state.base, 0.0)
    load = ((base * share)[:, None] * market.demand.mean_rps).sum(axis=0).max()
    return max(1, int(np.ceil(load / state.option.replicas_per_host)))


def homogeneous(market: Market, rng: np.random.Generator) -> Drawn | None:
    """Hosts of one deployment; what it may not serve goes to a relay."""
    states = able(market)
    if not states:
        return None
    state = states[int(rng.integers(len(states)))]
    alone = drawn("homogeneous", market, [state], [], rng)
    return alone or with_relays("homogeneous", market, [state], 1, rng)


def two_pools(market: Market, rng: np.random.Generator) -> Drawn | None:
    """Two deployments that share the classes out."""
    states = able(market)
    if len(states) < 2:
        return None
    chosen = [states[k] for k in rng.choice(len(states), 2, replace=False)]
    return drawn("two_pools", market, chosen, [], rng)


def relay_split(market: Market, rng: np.random.Generator) -> Drawn | None:
    """One deployment with a relay next to it."""
    states = able(market)
    return with_relays("relay_split", market, [states[int(rng.integers(len(states)))]], 1, rng) if states else None


def relays_alone(market: Market, rng: np.random.Generator) -> Drawn | None:
    """One or two relays."""
    return with_relays("relays_alone", market, [], int(rng.integers(1, 3)), rng)


def with_relays(kind: str, market: Market, states: list[PoolState], count: int, rng: np.random.Generator) -> Drawn | None:
    """These pools with `count` random relays."""
    plain = [a for a, terms in enumerate(market.relays) if not terms.tiers and terms.units is None]
    if len(plain) < count:
        return None
    return drawn(kind, market, states, sorted(rng.choice(plain, count, replace=False).tolist()), rng)


def limits(market: Market, rng: np.random.Generator) -> Drawn | None:
    """One deployment with other limits of its scheduler."""
    sequences, tokens = LIMITS[int(rng.integers(len(LIMITS)))]
    fleet = homogeneous(limited(market, sequences, tokens), rng)
    words = f" max_num_seqs {sequences} max_num_batched_tokens {tokens}"
    return None if fleet is None else replace(fleet, kind="limits", engine=words)


def limited(market: Market, sequences: int, tokens: int) -> Market:
    """The market with other limits; relays know nothing of them."""
    engine = {**market.scenario.engine, "max_num_seqs": sequences, "max_num_batched_tokens": tokens}
    scenario = replace(market.scenario, engine=engine)
    options, _ = candidates(scenario, market.demand)
    options, _, _ = fitting(scenario, options, market.relays, market.slos)
    return replace(market, scenario=scenario, states=pool_states(options, costs_of(scenario, options), market.demand, market.slos))


KINDS: dict[str, Callable[[Market, np.random.Generator], Drawn | None]] = {
    "homogeneous": homogeneous,
    "two_pools": two_pools,
    "relay_split": relay_split,
    "relays_alone": relays_alone,
    "limits": limits,
}


def settled_of(fleet: Drawn) -> Settled:
    """The fleet as a solution of the program; hosts follow the hour in proportion where their offer lets them."""
    market = fleet.market
    names = {market.relays[a].relay.id for a in fleet.relays}
    problem = market.problem(Restriction(keep_relay=lambda terms: terms if terms.relay.id in names else None), fleet.states)
    demand, pools = problem.demand, len(fleet.states)
    flow = fleet.shares.T[:, :, None] * demand.mean_rps
    hosts = np.zeros((pools, len(demand.slices)), np.int64)
    for p, (state, most) in enumerate(zip(fleet.states, fleet.hosts, strict=True)):
        rate = flow[p].sum(axis=0)
        part = rate / rate.max() if state.option.offer.elastic and rate.max() > 0 else np.ones(len(rate))
        hosts[p] = np.where(rate.max() > 0, np.maximum(1, np.ceil(most * part - 1e-9)), 0) + problem.n_plus_one
    none = np.zeros_like(demand.mean_rps)
    solution = ProgramSolution(hosts, hosts, flow[:pools], flow[pools:], none, 0.0, 0.0, "by hand", "by hand", 0.0)
    return Settled(problem, replace(solution, cost_usd=plan_cost_usd(problem, solution)), fleet.states)


def allowed(problem: ProgramInput, solution: ProgramSolution) -> bool:
    """Whether the fleet keeps budget, stock, and the limits and shares of relays and spot."""
    demand = problem.demand
    total = np.maximum(demand.mean_rps.sum(axis=0), 1e-300)
    stock: dict[str, tuple[float, Floats]] = {}
    for p, terms in enumerate(problem.pools):
        offer = terms.option.offer
        most, used = stock.get(offer.id, (float("inf") if offer.stock is None else float(offer.stock), np.zeros(len(total))))
        stock[offer.id] = (most, used + solution.hosts[p])
    spot = [p for p, terms in enumerate(problem.pools) if terms.option.offer.term == "spot"]
    most_on_spot = (1.0 if problem.spot is None else problem.spot.max_share) * demand.mean_rps
    vendors: dict[str, Floats] = {}
    fits = solution.cost_usd <= problem.budget_usd and all((used <= most).all() for most, used in stock.values())
    fits &= bool((solution.pool_flow[spot].sum(axis=0) <= most_on_spot * (1 + 1e-9)).all())
    for a, terms in enumerate(problem.relays):
        flow = solution.relay_flow[a]
        vendors[terms.relay.vendor] = vendors.get(terms.relay.vendor, np.zeros(len(total))) + flow.sum(axis=0) / total
        minute = 60.0 * demand.peak_factor * flow
        needs = ((terms.relay.rpm, minute.sum(axis=0)), (terms.relay.tpm, (minute * terms.tokens_per_request[:, None]).sum(axis=0)))
        fits &= not terms.hard_limits or all(limit is None or need.max() <= limit * (1 + 1e-9) for limit, need in needs)
        fits &= terms.spend_cap_usd is None and not terms.committed_usd
    shares = problem.vendor_shares
    fits &= all((used <= shares.get(name, shares.get("*", 1.0)) + 1e-9).all() for name, used in vendors.items())
    return bool(fits and (not vendors or (sum(vendors.values()) <= problem.max_relay_share + 1e-9).all()))


def overloaded(fleet: Drawn, settled: Settled) -> bool:
    """Whether some pool gets more in its busiest hour than it can finish at all, at the ideal load of every request: no promise can be kept
    hour after hour."""
    market, solution = fleet.market, settled.solution
    for p, state in enumerate(fleet.states):
        assert state.cost is not None
        load = class_loads(state.option, state.cost, market.demand, market.slos, rigorous=True)
        used = (np.where(np.isfinite(load), load, 0.0)[:, None] * solution.pool_flow[p]).sum(axis=0)
        if (used > solution.hosts[p] * state.option.replicas_per_host * (1 + 1e-9)).any():
            return True
    return False
