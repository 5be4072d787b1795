"""The loop: program -> measure -> program ... -> verify -> correct ... -> remove what is not needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from optimize.market.pools import known_all
from optimize.money import plan_cost_usd
from optimize.program.by_stages.known_hours import KnownHours
from optimize.program.rows.escalations import own_miss
from optimize.program.solve import solve
from optimize.records import ProgramSolution
from optimize.search.capacity import measure_all
from optimize.search.engine_choice import add_better_limits
from optimize.search.few_hours import in_few_hours
from optimize.search.fresh_seeds import HOLD_OUT_SEEDS, MORE_SEEDS, RARE_SEEDS
from optimize.search.group_choice import add_groups
from optimize.search.hour_evidence import HourEvidence, quantiles_of
from optimize.search.known_market import Market as Market
from optimize.search.known_market import Restriction as Restriction
from optimize.search.known_market import Settled as Settled
from optimize.search.known_market import Tell as Tell
from optimize.search.overflow_choice import add_overflow
from optimize.search.relay_room import add_relay_room
from optimize.search.stability import grows
from optimize.search.verify import hours_to_simulate, verify
from sim.exact import dot
from sim.plural import counted

MEASURE_ROUNDS = 12
CHOICE_ROUNDS = 12  # in which pools of other classes and engine limits are added
VERIFY_ROUNDS = 8
ROUGH_NODES = 200  # of a program, while pools are measured roughly: the gap may be left wider in a few hours
STOP_AFTER = 2  # hours that do not hold, before the program is corrected
REMOVAL_SEEDS = (501, 502, 503, 504)
LARGEST_CORRECTION = 1.06
LARGEST_CHARGE = 1.0  # added to the miss share of a relay at once
OVERSHOOT, LEAST_CHARGE = 1.25, 0.02  # of what is short, and of what the promise allows: few rounds rather than ever smaller steps
SMALLEST_STEP, STEP = 0.01, 0.5  # load raised by 1 % at least, and by half of what attainment lacks: about where it is met again


def settle(market: Market, restriction: Restriction, rounds: int = MEASURE_ROUNDS) -> Settled:
    """Solves, measures the pools that the solution uses, and solves again until it uses only measured ones.

    First with rough measurements, which show what pays: also which groups of classes, in the plan itself, and which engine limits; then,
    unless the restriction is content with those, closely. All that in hours that stand for the others, at last in every hour.
    """
    few = in_few_hours(market, restriction)
    settled = settle_at(market, few, rounds, rough=True)
    for _ in range(CHOICE_ROUNDS):
        if not add_choices(market, few, settled):
            break
        settled = settle_at(market, few, rounds, rough=True)
    if few is not restriction and not restriction.rough:
        settle_at(market, few, rounds, rough=False)
    if few is not restriction or not restriction.rough:
        settled = settle_at(market, restriction, rounds, restriction.rough, exact=not restriction.rough)
    if not known_all(settled.problem, settled.solution):
        market.tell(f"{restriction.name}: some pools of the answer are still estimates")
    return settled


def add_choices(market: Market, restriction: Restriction, settled: Settled) -> bool:
    """Adds to the market what the next program may choose next to the pools of the last: groups of classes, room at relays' limits, engine
    limits, overflow; whether anything was added. All of them at once: a program with more to choose from is solved anew each time.
    """
    more = False
    if not restriction.rough:
        more |= add_groups(market, restriction, settled)
        more |= add_relay_room(market, settled)
    if not restriction.rough or restriction.choose_limits:
        more |= add_better_limits(market, restriction)
    if not restriction.rough:
        more |= add_overflow(market, restriction, settled)
    return more


def settle_at(market: Market, restriction: Restriction, rounds: int, rough: bool, exact: bool = False) -> Settled:
    """One pass of `settle`, with rough or close measurements; `exact` asks small programs for their optimum itself."""
    memory, hours = KnownHours(), market.demand.mean_rps.shape[1]
    nodes = min(restriction.nodes, ROUGH_NODES) if rough else restriction.nodes
    for k in range(rounds):
        pools = market.pools(restriction)
        problem = market.problem(restriction, pools)
        solution = solve(problem, gap=restriction.gap, node_limit=nodes, memory=memory, exact=exact)
        safety = market.scenario.policy.safety
        probes = [(state, probe) for p, state in enumerate(pools) for probe in state.wanted(solution, p, safety, rough, hours)]
        if not probes or k == rounds - 1:
            break
        asked = f"measuring {counted(len(probes), 'pool')} on the simulator{' roughly' if rough else ''}"
        market.tell(f"{restriction.name}: {asked} (round {k + 1})")
        points = measure_all(market.scenario, [probe for _, probe in probes], market.store, market.jobs)
        for (state, probe), point in zip(probes, points, strict=True):
            state.points[(probe.replicas, probe.mix)] = point
            market.measured += 1
            market.requests_simulated += point.requests_simulated
            market.half_width = max(market.half_width, 0.0 if point.rough else point.attainment_half_width)
    return Settled(problem, solution, tuple(pools))


def correct(market: Market, settled: Settled, evidence: Sequence[HourEvidence]) -> bool:
    """Raises the load of the weakest pools, and the miss share of relays, where an hour does not hold; False where nothing can rise.

    Where relays miss a promise on purpose, more often than it allows, and others make up for it, what is short is charged to them:
    the plan must leave the room that its proof needs. Pools are then to blame only if they are near the promise themselves.
    """
    quantiles = quantiles_of(settled.problem)
    factors: dict[int, float] = {}
    changed = False
    for seen in evidence:
        shortfall, pools = seen.shortfall(quantiles), len(seen.hour.pools)
        for i in map(int, np.flatnonzero(~seen.holds(quantiles))):
            allowed = 1 - quantiles[i]
            shares = {k: float(seen.met[k, i] / n) for k in range(pools + len(seen.hour.relays)) if (n := int(seen.seen[k, i]))}
            deliberate = [k for k, share in shares.items() if k >= pools and share < quantiles[i]]
            near = quantiles[i] + 0.25 * allowed
            least = min((share for k, share in shares.items() if k < pools and not deliberate), default=0.0)
            for k, share in shares.items():
                if k < pools and share <= max(least, near):
                    p, step = seen.hour.pools[k], 1 + max(SMALLEST_STEP, STEP * shortfall[i])
                    factors[p] = max(factors.get(p, 1.0), min(LARGEST_CORRECTION, step))
            alone = [k for k in shares if k >= pools and not any(other < pools for other in shares)]
            charged = deliberate or [k for k in alone if shares[k] <= quantiles[i] + 0.5 * allowed] or alone
            sent = seen.seen[:, i] / max(int(seen.seen[:, i].sum()), 1)
            short = max(OVERSHOOT * float(shortfall[i]), LEAST_CHARGE * float(allowed))
            each = short / max(sum(float(sent[k]) for k in charged), 1e-9)
            for k in charged:
                relay = settled.problem.relays[seen.hour.relays[k - pools]].relay.id
                changed |= _learn_relay(market, relay, i, 1 - shares[k], min(each, LARGEST_CHARGE))
    for p, factor in factors.items():
        settled.pools[p].correction *= factor
    return changed or bool(factors)


def _learn_relay(market: Market, name: str, row: int, seen: float, charge: float) -> bool:
    """Of what was sent there first the share `seen` missed; what second answers are known to add is not learnt twice. `charge` is added."""
    for k, terms in enumerate(market.relays):
        if terms.relay.id != name:
            continue
        known = float(terms.miss[row])
        miss = max(known, own_miss(terms.escalation, market.slos[row].class_index, row, seen)) + charge
        if miss > known + 1e-4:
            worse = terms.miss.copy()
            worse[row] = miss
            market.relays[k] = replace(terms, miss=worse)
            return True
    return False


def prove(market: Market, settled: Settled) -> tuple[Settled, list[HourEvidence]]:
    """Verifies on hold-out seeds; while the simulation contradicts the program, corrects it and solves again."""
    suspects: list[int] = []
    for k in range(VERIFY_ROUNDS):
        market.rounds = k + 1
        evidence = hold_out(market, settled, STOP_AFTER, suspects)
        if all_hold(settled, evidence):
            return settled, evidence
        known = list(market.relays)
        if not correct(market, settled, evidence):
            break
        suspects = failed_hours(settled, evidence)
        market.tell("the simulation contradicts the program: correcting its coefficients")
        again = settle(market, Restriction())
        if again.unserved:
            market.relays = known  # nothing has more room: what is kept was chosen without
            break
        settled = again
    return settled, hold_out(market, settled, None, suspects)


def hold_out(market: Market, settled: Settled, stop_after: int | None, first: Sequence[int] = ()) -> list[HourEvidence]:
    """Evidence on the hold-out seeds in every hour: first in the hours `first`, which failed in an earlier plan, then in those that bind
    in this one, then in all others."""
    costs = [state.cost for state in settled.pools]
    every = np.flatnonzero(settled.problem.demand.mean_rps.any(axis=0)).tolist()
    hours = list(dict.fromkeys([*first, *hours_to_simulate(settled.problem, settled.solution), *every]))
    seeds, tell = HOLD_OUT_SEEDS, market.tell
    scenario, problem, solution = market.scenario, settled.problem, settled.solution
    return verify(scenario, problem, solution, costs, seeds, market.jobs, hours, tell, stop_after, market.store, (*MORE_SEEDS, *RARE_SEEDS))


def failed_hours(settled: Settled, evidence: Sequence[HourEvidence]) -> list[int]:
    """The hours that do not speak for a fresh seed."""
    quantiles = quantiles_of(settled.problem)
    return [e.hour.index for e in evidence if not e.holds(quantiles).all()]


def all_hold(settled: Settled, evidence: Sequence[HourEvidence]) -> bool:
    """Whether every hour speaks for a fresh seed."""
    quantiles = quantiles_of(settled.problem)
    return all(bool(e.holds(quantiles).all()) for e in evidence)


def without_hosts(settled: Settled, p: int) -> ProgramSolution | None:
    """The solution with one host less of pool `p` in every hour in which only the safety margin asked for it; None without such an hour."""
    terms, solution = settled.problem.pools[p], settled.solution
    hosts = solution.hosts[p]
    load = dot(np.where(np.isfinite(terms.levels[0].load), terms.levels[0].load, 0.0), solution.pool_flow[p])
    fewer = terms.slope * (hosts - 1) * terms.option.replicas_per_host - terms.intercept
    spare = (hosts >= 2) & (load <= fewer * 1.03) & (fewer > 0)
    if not spare.any():
        return None
    slim_hosts, slim_billed = solution.hosts.copy(), solution.billed.copy()
    slim_hosts[p, spare] -= 1
    slim_billed[p] = slim_hosts[p] if terms.option.offer.elastic else slim_hosts[p].max()
    slim = replace(solution, hosts=slim_hosts, billed=slim_billed)
    return replace(slim, cost_usd=plan_cost_usd(settled.problem, slim))


def slim_down(market: Market, settled: Settled, evidence: list[HourEvidence]) -> tuple[Settled, list[HourEvidence]]:
    """Removes hosts, pool by pool, while the search seeds and then the hold-out seeds still keep every promise."""
    if market.scenario.policy.n_plus_one or not all_hold(settled, evidence):
        return settled, evidence
    costs = [state.cost for state in settled.pools]
    best = settled
    for p in range(len(settled.pools)):
        slim = without_hosts(best, p)
        if slim is None or slim.cost_usd >= best.solution.cost_usd - 0.005:
            continue
        market.tell(f"does one host less of {best.pools[p].option.id} do?")
        candidate = replace(best, solution=slim)
        hours = hours_to_simulate(candidate.problem, slim, limit=3)
        tried = verify(market.scenario, candidate.problem, slim, costs, REMOVAL_SEEDS, market.jobs, hours, stop_after=1, store=market.store)
        if all_hold(candidate, tried):
            best = candidate
    if best is settled:
        return settled, evidence
    market.tell("verifying the slimmer plan on the hold-out seeds")
    proof = hold_out(market, best, 1)
    stable = not grows(market.scenario, best.problem, best.solution, costs)
    return (best, proof) if stable and all_hold(best, proof) else (settled, evidence)
