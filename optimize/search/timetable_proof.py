"""Whether the plan holds when its timetable changes; where it does not, hosts are held beyond their hours."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from optimize.market.pools import PoolState
from optimize.search.fresh_seeds import HOLD_OUT_SEEDS, seeds_of
from optimize.search.hour_evidence import HourEvidence
from optimize.search.log_hours import refit
from optimize.search.loop import Market, Restriction, Settled, prove, settle, slim_down
from optimize.search.played_hours import Played, play
from sim.exact import dot

ROUNDS = 5
LEAST, MOST_AT_ONCE = 1.01, 1.5  # factors on a pool's load
HELD_S = (0.0, 300.0, 900.0, 3600.0)  # lead times and times to linger that are tried, in this order


def prove_timetable(
    market: Market, settled: Settled, evidence: list[HourEvidence], proof: str
) -> tuple[Settled, list[HourEvidence], list[Played]]:
    """Plays changes of the timetable; while one misses a promise, its hosts are held longer, and the plan is made and proved anew.

    A plan of which an hour misses a promise by itself is played as it is.
    """
    if proof == "hours" or not market.scenario.request_classes:
        return settled, evidence, []
    played = hours_played(market, settled, proof, evidence)
    for _ in range(ROUNDS):
        missed = [each for each in played if not each.met]
        if not missed or not all(verdict.met for each in evidence for verdict in each.verdicts):
            break
        if not (hold_longer(settled, missed) or ask_one_host_more(settled, missed)):
            break
        names = ", ".join(each.hour.name for each in missed)
        market.tell(f"a change of the timetable is felt ({names}): holding hosts longer")
        again = settle(market, Restriction())
        if again.unserved:
            break
        settled, evidence = prove(market, again)
        settled, evidence = refit(market, *slim_down(market, settled, evidence))
        played = hours_played(market, settled, proof, evidence)
    return settled, evidence, played


def hours_played(market: Market, settled: Settled, proof: str, evidence: Sequence[HourEvidence] = ()) -> list[Played]:
    """The hours of the plan that `proof` asks for, each after the one before it; `evidence` is that of the hours by themselves."""
    costs = [state.cost for state in settled.pools]
    problem, solution = settled.problem, settled.solution
    scenario, seeds = market.scenario, seeds_of(market.scenario.seed, HOLD_OUT_SEEDS)
    return play(scenario, problem, solution, costs, seeds, market.jobs, proof, market.tell, market.store, evidence)


def hold_longer(settled: Settled, missed: Sequence[Played]) -> bool:
    """Raises the lead of pools that grew, and the time to linger of pools that shrank, where a promise was missed; False without any.

    Those that missed the promise themselves, if their hosts changed; else all whose hosts changed.
    """
    wiser = False
    states = {state.option.id: state for state in settled.pools}
    for each in missed:
        at_fault = blamed(settled, each)
        moves = [move for move in each.moves if move.pool in at_fault] or list(each.moves)
        for move in moves:
            wiser |= _next_step(states[move.pool], "lead_s" if move.after > move.before else "linger_s")
    return wiser


def ask_one_host_more(settled: Settled, missed: Sequence[Played]) -> bool:
    """Raises the load of the pools that missed a promise until the hour takes one host more, where holding hosts is of no more use."""
    wiser, solution = False, settled.solution
    for each in missed:
        t, at_fault = each.hour.hour.index, blamed(settled, each)
        for p, terms in enumerate(settled.problem.pools):
            load = np.where(np.isfinite(terms.levels[0].load), terms.levels[0].load, 0.0)
            used = dot(load, solution.pool_flow[p, :, t])
            carried = terms.slope * int(solution.hosts[p, t]) * terms.option.replicas_per_host - terms.intercept
            if terms.option.id in at_fault and used > 0:
                settled.pools[p].correction *= min(MOST_AT_ONCE, max(LEAST, carried / used * LEAST))
                wiser = True
    return wiser


def blamed(settled: Settled, played: Played) -> set[str]:
    """Ids of the pools that attained less than a promise that was missed in the hour."""
    evidence, found = played.hour, set()
    for i, row in enumerate(settled.problem.slos):
        if any(v.row == row and not v.met for v in evidence.verdicts):
            met, seen = evidence.met[:, i], evidence.seen[:, i]
            low = np.flatnonzero((seen > 0) & (met < row.quantile * seen))
            found |= {settled.problem.pools[evidence.hour.pools[k]].option.id for k in low if k < len(evidence.hour.pools)}
    return found


def _next_step(state: PoolState, name: str) -> bool:
    """The next of the times that are tried; False at the longest."""
    longer = [each for each in HELD_S if each > getattr(state, name)]
    if not longer:
        return False
    setattr(state, name, longer[0])
    return True
