"""Which promise a relay or a deployment breaks whatever it is sent, by how much, and what it would cost if the promise gave way."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from optimize.market.context_fit import class_sample
from optimize.market.engine_settings import priorities_of, router_of
from optimize.market.operating_point import pool_of
from optimize.market.pools import PoolState
from optimize.market.token_factors import class_factors
from optimize.money import HOUR_S, hosts_usd
from optimize.money.amounts import amount_usd
from optimize.records import Dropped, Floats, ProgramSolution, RelayTerms, SloRow
from optimize.search.loop import Market
from sim.exact import dot
from sim.fleet.simulate import probe
from sim.latency import class_metrics, quantile
from sim.relay.latency_draw import relay_quantiles
from sim.scenario.scenario import Slo
from sim.traffic import at_rates
from sim.traffic.model_tokens import counted_by_class

IDLE_RPS, IDLE_REQUESTS = 0.0005, 300  # so few that hardly two of them meet, even where one takes ten seconds


def missed_rows(market: Market, terms: RelayTerms, c: int) -> list[int]:
    """The promises of class `c` that the relay alone breaks, by what was known before any proof."""
    miss = market.at_first.get(terms.relay.id, terms.miss)
    return [i for i, row in enumerate(market.slos) if row.class_index == c and miss[i] > 1 - row.needed + 1e-9]


def relay_words(market: Market, terms: RelayTerms, c: int) -> str:
    """What the relay does to the promises of class `c` that it breaks, and its price; empty where it breaks none."""
    rows = missed_rows(market, terms, c)
    if not rows:
        return ""
    request_class = market.scenario.request_classes[c]
    sample = counted_by_class(class_sample(market.scenario, c), class_factors(market.scenario.request_classes, terms.relay.model))
    promises = [Slo(market.slos[i].metric, market.slos[i].quantile, market.slos[i].limit_s) for i in rows]
    found = relay_quantiles(terms.relay, promises, sample.input_tokens, sample.output_tokens, market.scenario.seed)
    found = found + np.array([request_class.before_s(each.metric) for each in promises])
    requests = float(dot(market.demand.mean_rps[c], market.demand.weight_h)) * HOUR_S
    usd = amount_usd(float(terms.usd_per_request[c]), requests)
    return f"{broken(market.slos, rows, found)}; with such limits it would serve {request_class.name} for about ${usd:,.0f} a month"


def broken(slos: Sequence[SloRow], rows: Sequence[int], found_s: Iterable[float]) -> str:
    """Promises and what they become: "ttft p95 is 3.2 s, promised 3 s"."""
    parts = []
    for i, seconds in zip(rows, found_s, strict=True):
        row = slos[i]
        is_s = f"is {spell(seconds)}" if np.isfinite(seconds) else "is never reached: too many requests fail"
        parts.append(f"{row.metric} p{100 * row.quantile:g} {is_s}, promised {spell(row.limit_s)}")
    return " and ".join(parts)


def spell(seconds: float) -> str:
    """Three digits, in ms below half a second.

    >>> spell(0.0559), spell(3.0)
    ('55.9 ms', '3 s')
    """
    return f"{1000 * seconds:.3g} ms" if seconds < 0.5 else f"{seconds:.3g} s"


def late_relays(market: Market, solution: ProgramSolution, kept: Sequence[RelayTerms]) -> Iterator[Dropped]:
    """Each relay that the plan sends nothing of a class because it breaks a promise of it: which, by how much, and what it would cost."""
    flows = {terms.relay.id: flow for terms, flow in zip(kept, solution.relay_flow, strict=True)}
    for terms in market.relays:
        flow = flows.get(terms.relay.id)
        for c in map(int, np.flatnonzero(terms.eligible)):
            if (flow is None or not flow[c].any()) and (words := relay_words(market, terms, c)):
                yield Dropped(f"{terms.relay.id}:{market.scenario.request_classes[c].name}", words)


def idle_s(market: Market, state: PoolState, c: int, rows: Sequence[int]) -> Floats:
    """[rows] latency at the promised quantile of requests of class `c` that have a replica nearly to themselves."""
    assert state.cost is not None
    rates = [IDLE_RPS if k == c else 0.0 for k in range(len(market.scenario.request_classes))]
    requests = counted_by_class(at_rates(market.scenario, rates, seed=77, n_requests=IDLE_REQUESTS), state.option.token_factors)
    log = probe(
        pool_of(state.option, state.cost, 1, market.scenario.policy.network_s),
        requests,
        router_of(market.scenario),
        priorities_of(market.scenario),
    ).log
    metrics = class_metrics(log, c, 0, int(log.arrival_ps.max(initial=0)) + 1)
    before_s = market.scenario.request_classes[c].before_s
    return np.array([quantile(metrics[market.slos[i].metric], market.slos[i].quantile) + before_s(market.slos[i].metric) for i in rows])


def pool_words(market: Market, state: PoolState, c: int) -> str:
    """What an idle replica does to the promises of class `c` that it breaks, and the least that hosts would cost; empty: it breaks none."""
    if state.cost is None:
        return ""
    rows = [i for i, row in enumerate(market.slos) if row.class_index == c]
    found = idle_s(market, state, c, rows)
    late = [(i, seconds) for i, seconds in zip(rows, found, strict=True) if seconds > market.slos[i].limit_s]
    if not late:
        return ""
    said = broken(market.slos, [i for i, _ in late], [seconds for _, seconds in late])
    name, usd = market.scenario.request_classes[c].name, least_hosts_usd(market, state, c)
    return f"{said} on an idle replica; with looser limits it would serve {name} for ${usd:,.0f} a month or more"


def least_hosts_usd(market: Market, state: PoolState, c: int) -> float:
    """USD a month of the hosts that class `c` alone takes at its ideal load, hour by hour where the offer follows the hour."""
    offer, base = state.option.offer, float(state.base[c])
    loads = market.demand.mean_rps[c] * (base if np.isfinite(base) else 0.0) / state.option.replicas_per_host
    hosts = np.where(market.demand.mean_rps[c] > 0, np.maximum(1, np.ceil(loads - 1e-9)), 0)
    paid = hosts if offer.elastic else np.full_like(hosts, hosts.max())
    return hosts_usd(paid, market.demand.weight_h, offer.usd_per_hour)


def why_unserved(market: Market, pools: Sequence[PoolState], relays: Sequence[RelayTerms], left: Iterable[int]) -> list[str]:
    """Why classes `left` go without among these candidates: for each candidate the promise that it breaks; else that there is none, or that
    no fleet that was tried carries the load."""
    words = []
    for c in left:
        name = market.scenario.request_classes[c].name
        able = [(terms.relay.id, relay_words(market, terms, c)) for terms in relays if terms.eligible[c]]
        own = {state.option.id.rpartition(":")[0]: state for state in pools if c in state.option.classes}
        able += [(shape, pool_words(market, state, c)) for shape, state in own.items()]
        words += [f"{shape}: {said}" for shape, said in able if said]
        if not able:
            words.append(f"no candidate is left for {name}")
    return words
