"""Prices and limits at which the answer changes kind."""

from __future__ import annotations

import math
from dataclasses import replace

from optimize.explain.binding import relay_need
from optimize.money.amounts import gpu_hour_usd, pool_at
from optimize.money.contracts import hosts_usd
from optimize.program.solve import solve
from optimize.records import Flip, ProgramInput, ProgramSolution
from optimize.search.loop import Market, Restriction, Settled
from sim.exact import dot

PRICE_RANGE = (0.25, 4.0)
PRICE_STEPS = 6


def limit_flips(market: Market, settled: Settled) -> list[Flip]:
    """For each relay that the plan uses: the account limit below which the plan must change."""
    answer = []
    for a, terms in enumerate(settled.problem.relays):
        rpm, tpm = relay_need(settled.problem, settled.solution, a)
        for need, limit, unit in ((rpm, terms.relay.rpm, "requests"), (tpm, terms.relay.tpm, "tokens")):
            if limit and need > 1:
                sentence = f"{terms.relay.id}: below {need:,.0f} {unit} a minute the plan must change (account limit today {limit:,.0f})"
                answer.append(Flip(f"{terms.relay.id} {unit} per minute", float(limit), need, sentence))
    return answer


def requests_on(problem: ProgramInput, solution: ProgramSolution, gpu: str) -> float:
    """Share of all requests that replicas on this GPU type serve."""
    weight = problem.demand.weight_h
    served = sum(float(dot(solution.pool_flow[p].sum(axis=0), weight)) for p, t in enumerate(problem.pools) if t.option.offer.gpu == gpu)
    return served / float(dot(problem.demand.mean_rps.sum(axis=0), weight))


def repriced(problem: ProgramInput, gpu: str, factor: float) -> ProgramInput:
    """The same program with every offer of one GPU type at `factor` times its price."""
    pools = []
    for terms in problem.pools:
        pools.append(pool_at(terms, factor) if terms.option.offer.gpu == gpu else terms)
    return replace(problem, pools=tuple(pools))


def gpu_price_flip(gpu: str, market: Market) -> Flip | None:
    """The price of one GPU type at which it loses half of its requests (or enters the plan), by bisection on what has been measured."""
    market.tell(f"where does the price of {gpu} flip the answer?")
    free = Restriction(f"price of {gpu}", budget_usd=math.inf)
    kept = market.pools(free)
    prices = [gpu_hour_usd(s.option.offer) for s in kept if s.option.offer.gpu == gpu]
    if not prices:
        return None
    problem, today = market.problem(free, kept), min(prices)

    def share(factor: float) -> float:
        scaled = repriced(problem, gpu, factor)
        return requests_on(scaled, solve(scaled, gap=0.01), gpu)

    now = share(1.0)
    inside = now > 0.01
    low, high = (1.0, PRICE_RANGE[1]) if inside else (PRICE_RANGE[0], 1.0)
    edge, threshold = (high, now / 2) if inside else (low, 0.01)
    if (share(edge) > threshold) == inside:
        verb = f"still serves more than half of its {now:.0%} of requests" if inside else "stays out of the plan"
        return Flip(f"{gpu} price", today, None, f"{gpu} {verb} even at ${today * edge:.2f} per GPU-hour (today ${today:.2f})")
    for _ in range(PRICE_STEPS):
        middle = math.sqrt(low * high)
        low, high = (middle, high) if share(middle) > threshold else (low, middle)
    at = today * math.sqrt(low * high)
    verb = f"loses half of its {now:.0%} of requests above" if inside else "enters the plan below"
    return Flip(f"{gpu} price", today, at, f"{gpu} {verb} about ${at:.2f} per GPU-hour (cheapest offer today ${today:.2f})")


def flip_gpus(settled: Settled, market: Market) -> list[str]:
    """The GPU type that the plan spends most on, and H100 where it is a candidate."""
    spent: dict[str, float] = {}
    for p, terms in enumerate(settled.problem.pools):
        spent[terms.option.offer.gpu] = spent.get(terms.option.offer.gpu, 0.0) + hosts_usd(
            settled.solution.billed[p], settled.problem.demand.weight_h, terms.option.offer.usd_per_hour
        )
    main = [gpu for gpu, usd in sorted(spent.items(), key=lambda item: (-item[1], item[0])) if usd > 0][:1]
    return list(dict.fromkeys([*main, *(["h100"] if "h100" in spent else [])]))
