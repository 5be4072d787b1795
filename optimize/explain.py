"""Why this plan: what binds, where the answer flips, and what it costs if demand is not what was assumed."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np

from optimize.program.solve import solve
from optimize.records import Flip, PoolTerms, ProgramInput, ProgramSolution
from optimize.search import Market, Restriction, Settled, settle
from sim.scenario.records import SyntheticTraffic

PRICE_RANGE = (0.25, 4.0)
PRICE_STEPS = 6


def relay_need(problem: ProgramInput, solution: ProgramSolution, a: int) -> tuple[float, float]:
    """(requests, tokens) per minute that the plan sends to relay `a` in its peak minute."""
    rate = solution.relay_flow[a] * problem.demand.peak_factor * 60
    return float(rate.sum(axis=0).max()), float((problem.relays[a].tokens_per_request @ rate).max())


def binding(market: Market, settled: Settled) -> tuple[str, ...]:
    """Constraints that hold with (almost) no slack, in words."""
    problem, solution = settled.problem, settled.solution
    words = []
    if problem.budget_usd <= 0:
        words.append("budget: there is none")
    elif solution.cost_usd >= 0.98 * problem.budget_usd:
        words.append(f"budget: {solution.cost_usd / problem.budget_usd:.1%} of it is spent")
    for p, terms in enumerate(problem.pools):
        words += pool_words(terms, solution, p, problem)
    for a, relay in enumerate(problem.relays):
        rpm, tpm = relay_need(problem, solution, a)
        if rpm <= 0:
            continue
        for need, limit, unit in ((rpm, relay.relay.rpm, "RPM"), (tpm, relay.relay.tpm, "TPM")):
            if limit and need > 0.95 * limit:
                state = "binds" if relay.hard_limits else "must be raised"
                words.append(f"{relay.relay.id}: peak minute needs {need:,.0f} {unit} of {limit:,.0f}: the limit {state}")
    return tuple(words)


def pool_words(terms: PoolTerms, solution: ProgramSolution, p: int, problem: ProgramInput) -> list[str]:
    """What binds in one pool: its capacity at its fullest hour, and its stock."""
    hosts = solution.hosts[p]
    if not hosts.any():
        return []
    load = np.where(np.isfinite(terms.levels[0].load), terms.levels[0].load, 0.0) @ solution.pool_flow[p]
    room = np.maximum(terms.slope * hosts * terms.option.replicas_per_host - terms.intercept, 1e-9)
    share = np.where(hosts > 0, load / room, 0.0)
    t = int(np.argmax(share))
    words = [f"{terms.option.id}: {share[t]:.0%} of measured capacity at {problem.demand.slices[t]}"] if share[t] > 0.95 else []
    stock = terms.option.offer.stock
    if stock is not None and hosts.max() >= stock:
        words.append(f"{terms.option.offer.id}: all {stock} in stock are used")
    return words


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
    served = sum(float(solution.pool_flow[p].sum(axis=0) @ weight) for p, t in enumerate(problem.pools) if t.option.offer.gpu == gpu)
    return served / float(problem.demand.mean_rps.sum(axis=0) @ weight)


def repriced(problem: ProgramInput, gpu: str, factor: float) -> ProgramInput:
    """The same program with every offer of one GPU type at `factor` times its price."""
    pools = []
    for terms in problem.pools:
        offer = terms.option.offer
        if offer.gpu == gpu:
            offer = replace(offer, usd_per_hour=offer.usd_per_hour * factor)
        pools.append(replace(terms, option=replace(terms.option, offer=offer)))
    return replace(problem, pools=tuple(pools))


def gpu_price_flip(market: Market, gpu: str) -> Flip | None:
    """The price of one GPU type at which it loses half of its requests (or enters the plan), by bisection on what has been measured."""
    free = Restriction(f"price of {gpu}", budget_usd=math.inf)
    kept = market.pools(free)
    prices = [s.option.offer.usd_per_hour / s.option.offer.gpus for s in kept if s.option.offer.gpu == gpu]
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


def flips(market: Market, settled: Settled) -> tuple[Flip, ...]:
    """Relay limits and GPU prices at which the answer changes."""
    answer = limit_flips(market, settled)
    for gpu in flip_gpus(settled, market):
        market.tell(f"where does the price of {gpu} flip the answer?")
        flip = gpu_price_flip(market, gpu)
        if flip is not None:
            answer.append(flip)
    return tuple(answer)


def flip_gpus(settled: Settled, market: Market) -> list[str]:
    """The GPU type that the plan spends most on, and H100 where it is a candidate."""
    spent: dict[str, float] = {}
    for p, terms in enumerate(settled.problem.pools):
        spent[terms.option.offer.gpu] = spent.get(terms.option.offer.gpu, 0.0) + float(
            settled.solution.billed[p] @ settled.problem.demand.weight_h * terms.option.offer.usd_per_hour
        )
    main = [gpu for gpu, usd in sorted(spent.items(), key=lambda item: (-item[1], item[0])) if usd > 0][:1]
    return list(dict.fromkeys([*main, *(["h100"] if "h100" in spent else [])]))


def demand_band(market: Market, settled: Settled) -> tuple[tuple[float, float], ...]:
    """Monthly cost at the ends of the plausible band of requests per user-day, re-planned; empty without a band."""
    traffic, band = market.scenario.traffic, market.scenario.requests_per_user_band
    if not isinstance(traffic, SyntheticTraffic) or band is None:
        return ()
    today = traffic.conversations_per_user * traffic.turns_per_conversation
    answer = []
    for requests_per_user in band:
        market.tell(f"demand band: {requests_per_user:g} requests per user-day")
        scaled = replace(market.demand, mean_rps=market.demand.mean_rps * (requests_per_user / today))
        again = settle(market, Restriction(f"{requests_per_user:g} requests per user-day", budget_usd=math.inf, demand=scaled, gap=0.01, rough=True), 2)
        answer.append((float(requests_per_user), again.solution.cost_usd))
    return (answer[0], (today, settled.solution.cost_usd), answer[-1])
