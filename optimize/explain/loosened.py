"""Which policy, stock or limit leaves requests unserved: each is taken away in turn, and the program solved again."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from optimize.money import HOUR_S
from optimize.program.solve import solve
from optimize.records import ProgramInput, ProgramSolution
from sim.exact import dot

GAP = 0.02
LEAST_GAIN = 1e-4  # of all requests
EVERYTHING = "everything is served"


def served_share_of(problem: ProgramInput, solution: ProgramSolution) -> float:
    """Share of all requests of a month that are served inside their promises, as planned."""
    demand = problem.demand
    lost = float(dot(solution.unserved, demand.weight_h).sum()) * HOUR_S
    return 1.0 - lost / max(float(dot(demand.mean_rps, demand.weight_h).sum()) * HOUR_S, 1e-12)


def loosened(problem: ProgramInput) -> Iterator[tuple[str, ProgramInput]]:
    """(what binds, the program without it) for each policy, stock and limit of the program."""
    if problem.max_relay_share < 1:
        yield f"policy.max_relay_share (today {100 * problem.max_relay_share:g} %)", replace(problem, max_relay_share=1.0)
    if problem.vendor_shares:
        shares = ", ".join(f"{name} {100 * share:g} %" for name, share in sorted(problem.vendor_shares.items()))
        yield f"policy.vendor_shares (today {shares})", replace(problem, vendor_shares={})
    if problem.n_plus_one:
        yield "policy.n_plus_one", replace(problem, n_plus_one=False)
    if problem.relay_outage_reserve:
        yield "policy.relay_outage_reserve", replace(problem, relay_outage_reserve=False)
    stocked = {terms.option.offer.id: terms.option.offer for terms in problem.pools if terms.option.offer.stock is not None}
    for offer in stocked.values():
        pools = tuple(
            replace(terms, option=replace(terms.option, offer=replace(offer, stock=None))) if terms.option.offer == offer else terms
            for terms in problem.pools
        )
        yield f"the stock of {offer.id} (today {offer.stock})", replace(problem, pools=pools)
    for a, terms in enumerate(problem.relays):
        limits = [f"{limit:,.0f} {unit}" for limit, unit in ((terms.relay.rpm, "RPM"), (terms.relay.tpm, "TPM")) if limit is not None]
        if terms.hard_limits and limits:
            relays = (*problem.relays[:a], replace(terms, hard_limits=False), *problem.relays[a + 1 :])
            yield f"the limits of {terms.relay.id} (today {' and '.join(limits)})", replace(problem, relays=relays)


def binding_words(problem: ProgramInput, solution: ProgramSolution) -> tuple[str, ...]:
    """A sentence for each policy, stock or limit that alone leaves requests unserved, dearest first, with what a plan without it costs."""
    now, found = served_share_of(problem, solution), []
    for name, without in loosened(problem):
        again = solve(without, gap=GAP)
        share = served_share_of(without, again)
        if share <= now + LEAST_GAIN:
            continue
        if np.any(again.unserved > 1e-6 * np.maximum(without.demand.mean_rps, 1e-12)):
            words = f"{name} binds: without it {100 * (share - now):.3g} points more of all requests are served"
        else:
            words = f"{name} binds: without it {EVERYTHING}, for ${again.cost_usd:,.0f} a month"
        found.append((-share, name, words))
    return tuple(words for *_, words in sorted(found))
