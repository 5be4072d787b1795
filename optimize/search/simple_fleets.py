"""Simple fleets, tried in the simulator: hosts of one deployment, or one relay.

No plan may cost more than one of them that holds, and there is a plan wherever one of them holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np

from optimize.market.optimistic_load import class_loads
from optimize.market.pools import PoolState
from optimize.money import plan_cost_usd
from optimize.money.amounts import amount_usd, scaled_usd, share_of
from optimize.program.solve import solve
from optimize.records import Floats, RelayTerms
from optimize.search.fresh_seeds import RARE_REQUESTS
from optimize.search.hour_evidence import HourEvidence
from optimize.search.loop import REMOVAL_SEEDS, Market, Restriction, Settled, all_hold, hold_out, prove, settle
from optimize.search.simple_load import carrying, least_usd, served
from optimize.search.simulated_hour import HOUR_S, WARMUP_S
from optimize.search.stability import grows
from optimize.search.verify import hours_to_simulate, verify
from sim.engine.deployment import StepCost
from sim.scenario.scenario import LogTraffic

EFFORT = 20_000_000  # simulated requests that a search may take
LIGHT = 3_000_000  # and where there is a plan already, with a small gap
LOOKS = 12  # fleets of one deployment, from the smallest that a seed passes, of which the hold-out seeds are asked
QUICK_HOURS = 3
QUICK_SEEDS = (*REMOVAL_SEEDS, *range(701, 727))  # the first alone where many requests come
WORTH = 0.005  # of its cost that a plan must save against a simple fleet


@dataclass
class Effort:
    """Simulated requests that are left."""

    left: float

    def pays(self, requests: float) -> bool:
        """Takes `requests` from what is left; False where that is not enough."""
        self.left -= requests
        return self.left >= 0


@dataclass(frozen=True)
class Fleet:
    """A simple fleet that some seeds passed: `state` with `hosts` hosts in the busiest hour, or None for a relay alone."""

    settled: Settled
    state: PoolState | None = None
    hosts: int = 0

    @property
    def usd(self) -> float:
        return self.settled.solution.cost_usd


Proof = tuple[Settled, list[HourEvidence]]


def simplest(market: Market, restriction: Restriction, below_usd: float, requests: float = EFFORT) -> Proof | None:
    """The cheapest simple fleet below `below_usd` that keeps every promise on the hold-out seeds, with its proof; None where none does.

    Each deployment serves all classes that it may, the cheapest relays the rest; hosts follow the hour where their offer lets them.
    Rows of budget, stock, shares and limits hold as for any plan.
    """
    effort = Effort(requests)
    market.tell("simple fleets, hosts of one deployment or one relay: does one cost less?")
    waiting = sorted(passed(market, restriction, below_usd, effort), key=lambda fleet: fleet.usd)
    looks: dict[str, int] = {}
    while waiting:
        fleet = waiting.pop(0)
        market.tell(f"proving a simple fleet: {name_of(fleet)}")
        evidence, held = asked(market, fleet.settled)
        if held:
            return fleet.settled, evidence
        if fleet.state is None:
            continue
        name = fleet.state.option.id
        looks[name] = looks.get(name, 0) + 1
        if looks[name] > LOOKS:
            continue
        larger = with_more(market, restriction, fleet, evidence)
        if larger is not None and larger.usd < below_usd and effort.pays(requests_of(market, len(evidence) * 4)):
            waiting = sorted([*waiting, larger], key=lambda each: each.usd)
    return None


def with_more(market: Market, restriction: Restriction, fleet: Fleet, evidence: list[HourEvidence]) -> Fleet | None:
    """The fleet with more hosts in the hours that missed a promise; where hosts do not follow the hour, or none missed, one more.

    An hour of little demand may have a burst that its share of hosts does not carry.
    """
    assert fleet.state is not None
    offer, solution = fleet.state.option.offer, fleet.settled.solution
    missed = [each.hour.index for each in evidence if not all(verdict.met for verdict in each.verdicts)]
    if not offer.elastic or not missed:
        return with_hosts(market, restriction, fleet.state, fleet.hosts + 1)
    hosts = solution.hosts.copy()
    hosts[0, missed] += np.maximum(1, hosts[0, missed] // 8)
    if offer.stock is not None and hosts.max() > offer.stock:
        return None
    more = replace(solution, hosts=hosts, billed=hosts)
    cost = plan_cost_usd(fleet.settled.problem, more)
    return replace(fleet, settled=replace(fleet.settled, solution=replace(more, cost_usd=cost)))


def name_of(fleet: Fleet) -> str:
    """What the fleet is, for people."""
    if fleet.state is None:
        return ", ".join(terms.relay.id for terms in fleet.settled.problem.relays)
    return f"{fleet.hosts} x {fleet.state.option.id}"


def asked(market: Market, settled: Settled) -> tuple[list[HourEvidence], bool]:
    """Evidence of the hold-out seeds, and whether it proves the fleet: under N+1 first what is left of it with its spare hosts lost."""
    bare = without_spares(settled)
    evidence = hold_out(market, bare, 1)
    held = proves(market, bare, evidence)
    if not held or bare is settled:
        return evidence, held
    evidence = hold_out(market, settled, 1)
    return evidence, proves(market, settled, evidence)


def without_spares(settled: Settled) -> Settled:
    """What is left under N+1 with one host of every pool lost: what is found to carry everything must not lean on its spare."""
    if not settled.problem.n_plus_one:
        return settled
    solution = settled.solution
    return replace(settled, solution=replace(solution, hosts=np.maximum(solution.hosts - 1, 0)))


def proves(market: Market, settled: Settled, evidence: list[HourEvidence]) -> bool:
    """Whether the hold-out seeds keep every promise in every hour, on requests that came, and no backlog grows."""
    rows = {verdict.row for each in evidence for verdict in each.verdicts}
    sent = {row for row in market.slos if market.demand.mean_rps[row.class_index].any()}
    kept = sent <= rows and all(verdict.met for each in evidence for verdict in each.verdicts)
    return kept and not grows(market.scenario, settled.problem, settled.solution, costs_of(settled))


def costs_of(settled: Settled) -> list[StepCost | None]:
    """Step cost of each of its pools."""
    return [state.cost for state in settled.pools]


def requests_of(market: Market, hours: int) -> float:
    """Simulated requests of so many of the busiest hours."""
    return float(market.demand.mean_rps.sum(axis=0).max()) * (HOUR_S + WARMUP_S) * hours


def passed(market: Market, restriction: Restriction, below_usd: float, effort: Effort) -> Iterator[Fleet]:
    """Every relay alone, and of every deployment the smallest fleet, that one seed passes below `below_usd`."""
    for terms in (each for each in map(restriction.keep_relay, market.relays) if each is not None):
        fleet = relay_alone(market, restriction, terms)
        if fleet is not None and fleet.usd < below_usd and passes(market, fleet, effort):
            yield fleet
    for state in deployments(market, restriction):
        fleet = smallest(market, restriction, state, below_usd, effort)
        if fleet is not None:
            yield fleet


def relay_alone(market: Market, restriction: Restriction, terms: RelayTerms) -> Fleet | None:
    """All traffic at one relay, whatever the program thinks of its misses: the simulator decides; None where its rows forbid that."""
    wanted = market.demand.mean_rps.any(axis=1)
    if (wanted & ~terms.eligible).any():
        return None
    bold = replace(terms, miss=np.zeros_like(terms.miss))
    only = replace(restriction, keep_relay=lambda each: bold if each.relay.id == terms.relay.id else None)
    return fleet_of(market, only, ())


def deployments(market: Market, restriction: Restriction) -> list[PoolState]:
    """Of each deployment on an offer the pool with most classes, the cheapest at its ideal load first.

    Left out: what an idle engine of it was seen to miss already.
    """
    widest: dict[str, PoolState] = {}
    for state in market.states:
        shape = state.option.id.partition(":")[0]
        if restriction.keep_pool(state) and len(state.option.classes) > len(widest[shape].option.classes if shape in widest else ()):
            widest[shape] = state
    able = [s for s in widest.values() if s.cost is not None and served(s).any()]
    if not isinstance(market.scenario.traffic, LogTraffic):
        able = [s for s in able if all(point.rate_rps > 0 for point in s.points.values())]
    return sorted(able, key=lambda s: (amount_usd(s.option.offer.usd_per_hour, hosts_at_least(market, s, s.base)), s.option.id))


def hosts_at_least(market: Market, state: PoolState, load: Floats) -> int:
    """Hosts that the busiest hour needs at `load` [classes] replica-seconds per request."""
    busiest = float((np.where(served(state), load, 0.0)[:, None] * market.demand.mean_rps).sum(axis=0).max())
    return max(1, math.ceil(busiest / state.option.replicas_per_host - 1e-9))


def covers(market: Market, restriction: Restriction, state: PoolState) -> bool:
    """Whether every class with demand is served by the deployment, or else may go to a relay."""
    relays = [each.eligible for each in map(restriction.keep_relay, market.relays) if each is not None]
    anywhere = np.any([served(state), *relays], axis=0)
    return bool(anywhere[market.demand.mean_rps.any(axis=1)].all())


def smallest(market: Market, restriction: Restriction, state: PoolState, below_usd: float, effort: Effort) -> Fleet | None:
    """The fewest hosts of one deployment that pass, found by doubling and halving; None where they cost `below_usd` or more."""
    assert state.cost is not None
    if not covers(market, restriction, state):
        return None
    rigorous = class_loads(state.option, state.cost, market.demand, market.slos, rigorous=True)
    failing = hosts_at_least(market, state, rigorous) - 1
    hosts, step, enough = max(hosts_at_least(market, state, state.base), failing + 1), 1, 0
    best: Fleet | None = None
    while not enough or enough - failing > 1:
        fleet = with_hosts(market, restriction, state, hosts, below_usd)
        if fleet is None or fleet.usd >= below_usd:
            enough = hosts
        elif passes(market, fleet, effort):
            best, enough = fleet, hosts
        elif effort.left < 0:
            return best
        else:
            failing = hosts
        hosts, step = ((failing + enough) // 2, step) if enough else (hosts + step, 2 * step)
    return best


def with_hosts(market: Market, restriction: Restriction, state: PoolState, hosts: int, below_usd: float = math.inf) -> Fleet | None:
    """All that the deployment serves on `hosts` hosts in the busiest hour, fewer in others in proportion.

    None where rows forbid that, or where the hosts alone cost more than `below_usd`."""
    given, can = carrying(state, market.demand, hosts), served(state)
    budget_usd = market.budget_usd if restriction.budget_usd is None else restriction.budget_usd
    if given is None or least_usd(given, market.demand) > min(below_usd, budget_usd):
        return None

    def rest(terms: RelayTerms) -> RelayTerms | None:
        kept = restriction.keep_relay(terms)
        return None if kept is None or not (kept.eligible & ~can).any() else replace(kept, eligible=kept.eligible & ~can)

    return fleet_of(market, replace(restriction, keep_relay=rest), (replace(state, given=given, correction=1.0),), hosts)


def fleet_of(market: Market, restriction: Restriction, states: tuple[PoolState, ...], hosts: int = 0) -> Fleet | None:
    """The cheapest way to run nothing but `states` and the relays of the restriction; None where something stays unserved."""
    problem = market.problem(restriction, states)
    settled = Settled(problem, solve(problem, gap=restriction.gap), states)
    return None if settled.unserved else Fleet(settled, states[0] if states else None, hosts)


def adopted(market: Market, proof: Proof) -> Proof:
    """The program's answer once it knows what the simulator showed of a simple fleet: a cheaper one that holds, else the fleet.

    From here on the market has the fleet's deployment at the load that it carried. The lower bound is that of the wiser program.
    """
    settled, evidence = proof
    settled = replace(settled, pools=tuple(learnt(market, state) for state in settled.pools))  # what is learnt later is learnt of these
    again = settle(market, Restriction())
    solution = again.solution
    if not again.unserved and solution.cost_usd < scaled_usd(settled.solution.cost_usd, 1 - WORTH):
        better, tried = prove(market, again)
        held = all_hold(better, tried) and (not better.problem.n_plus_one or asked(market, better)[1])
        if held and better.solution.cost_usd < settled.solution.cost_usd:
            return better, tried
    cost = settled.solution.cost_usd
    bound = settled.problem.fixed_usd if again.unserved else min(solution.model_bound_usd, cost)
    gap = 1.0 - share_of(bound, cost) if cost > 0 else 0.0
    return replace(settled, solution=replace(settled.solution, model_bound_usd=bound, gap=gap)), evidence


def learnt(market: Market, state: PoolState) -> PoolState:
    """The market's own state of this pool, which now knows what the fleet carried; what contradicted its measured points is over."""
    known = next(each for each in market.states if each.option.id == state.option.id)
    known.given, known.correction = state.given, 1.0
    return known


def passes(market: Market, fleet: Fleet, effort: Effort) -> bool:
    """Whether one seed of the hours that bind keeps every promise, and no backlog grows; False too where the effort is spent.

    Where hosts follow the hour only the busiest is asked: others get hosts of their own later. Under N+1 the spare hosts stay out of it.
    """
    problem, solution, costs = fleet.settled.problem, without_spares(fleet.settled).solution, costs_of(fleet.settled)
    hours = hours_to_simulate(problem, solution, limit=1 if fleet.state and fleet.state.option.offer.elastic else QUICK_HOURS)
    if not effort.pays(requests_of(market, len(hours))):
        return False
    seeds = QUICK_SEEDS if requests_of(market, 1) <= RARE_REQUESTS else QUICK_SEEDS[:1]  # one late answer of a few proves nothing
    seen = verify(market.scenario, problem, solution, costs, seeds, market.jobs, hours, stop_after=1, store=market.store)
    met = all(verdict.kept for each in seen for verdict in each.verdicts)
    return met and not grows(market.scenario, problem, solution, costs)
