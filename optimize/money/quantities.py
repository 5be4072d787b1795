"""What a plan's fleet costs when its demand is scaled: routing stays as it is, hosts follow the capacity that the plan was made with."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from optimize.money import CLASSIFIER, hosts_usd
from optimize.money.charges import OTHER, charges
from optimize.records import Floats, Ints, PoolTerms
from optimize.result import Plan
from sim.exact import dot

FOLLOWS = (" tokens", OTHER)  # charges of a relay that follow its tokens


@dataclass(frozen=True)
class Scaled:
    """A month of the plan's fleet at another demand.

    hosts     [pools] most hosts that run in any slice;  host_hours  [pools] paid;  short  ids of offers whose stock does not suffice
    """

    gpu_usd: float
    relay_usd: float
    fixed_usd: float
    hosts: tuple[int, ...]
    host_hours: tuple[float, ...]
    short: tuple[str, ...]

    @property
    def usd(self) -> float:
        return self.gpu_usd + self.relay_usd + self.fixed_usd


@dataclass(frozen=True)
class Scaling:
    """The parts of a plan's bill that follow demand; `at(s)` is the month at `s` times today's demand.

    Approximation: the program is not solved again, so that a cheaper mix at the new demand is not found; the bill is an upper estimate
    away from 1. At 1 it is the plan's bill.
    """

    plan: Plan
    token_usd: float
    relay_rest_usd: float  # relay lines that do not follow tokens (minimum payments, provisioned units): kept as they are
    fixed_usd: float
    pool_rest_usd: float  # GPU lines beyond the pools' host-hours (starts): kept as they are
    looked_usd: float  # of the fixed costs: a classifier, which looks at every request

    def at(self, demand: float, gpu_price: float = 1.0, api_price: float = 1.0, load: float = 1.0, more_usd: float = 0.0) -> Scaled:
        """`load` scales what one request occupies on own GPUs (simulator error, longer answers); prices are factors on today's.

        `more_usd` is what announced prices add to the relays' bill of the month.
        """
        plan, gpu_usd, most, paid, short = self.plan, self.pool_rest_usd * gpu_price, [], [], []
        by_offer: dict[str, int] = {}
        for p, terms in enumerate(plan.program.pools):
            hosts, billed = scaled_hosts(plan, p, demand * load)
            offer = terms.option.offer
            gpu_usd += hosts_usd(billed, plan.demand.weight_h, offer.usd_per_hour) * gpu_price
            most.append(int(hosts.max(initial=0)))
            paid.append(float(dot(billed, plan.demand.weight_h)))
            by_offer[offer.id] = by_offer.get(offer.id, 0) + most[-1]
        for terms in plan.program.pools:
            stock = terms.option.offer.stock
            if stock is not None and by_offer[terms.option.offer.id] > stock:
                short.append(terms.option.offer.id)
        relay_usd = (self.token_usd * demand + self.relay_rest_usd) * api_price + more_usd
        fixed_usd = self.fixed_usd + self.looked_usd * (demand - 1)
        return Scaled(gpu_usd, relay_usd, fixed_usd, tuple(most), tuple(paid), tuple(dict.fromkeys(short)))


def scaling(plan: Plan) -> Scaling:
    """How the bill of `plan` follows demand."""
    kinds = {"gpu": 0.0, "relay": 0.0, "fixed": 0.0}
    for line in plan.lines:
        kinds[line.kind if line.kind in kinds else "fixed"] += line.per_month_usd
    tokens = sum(c.usd for c in charges(plan.program, plan.solution, plan.lines) if c.kind == "relay" and c.item.endswith(FOLLOWS))
    weight_h, pools = plan.demand.weight_h, plan.program.pools
    hours = sum(hosts_usd(plan.solution.billed[p], weight_h, terms.option.offer.usd_per_hour) for p, terms in enumerate(pools))
    looked = sum(line.per_month_usd for line in plan.lines if line.name == CLASSIFIER)
    return Scaling(plan, tokens, kinds["relay"] - tokens, kinds["fixed"], kinds["gpu"] - hours, looked)


def scaled_hosts(plan: Plan, p: int, factor: float) -> tuple[Ints, Ints]:
    """(run, paid) hosts of pool `p` by slice at `factor` times its load: today's, plus what its capacity line asks beyond today.

    So reserves and hosts that verification added stay. A pool that is not elastic pays its largest count in every slice.
    """
    terms, hosts, billed = plan.program.pools[p], plan.solution.hosts[p], plan.solution.billed[p]
    if not billed.any() and not hosts.any():
        return hosts, billed
    work = pool_work(terms, plan.solution.pool_flow[p])
    more = needed(terms, work * factor) - needed(terms, work)
    run = np.where(hosts > 0, np.maximum(hosts + more, (work > 0).astype(np.int64)), 0)
    if terms.option.offer.elastic:
        return run, np.maximum(run, 0) + np.maximum(billed - hosts, 0)
    return run, np.full_like(billed, max(0, int(billed.max()) + int(run.max() - hosts.max())))


def pool_work(terms: PoolTerms, flow: Floats) -> Floats:
    """[slices] replica-seconds per second that the flow occupies, at the most loaded level."""
    loads = [dot(np.where(np.isfinite(level.load), level.load, 0.0), flow) for level in terms.levels]
    return np.asarray(np.max(loads, axis=0))


def needed(terms: PoolTerms, work: Floats) -> Ints:
    """Hosts for that work by the pool's capacity line: work <= slope x replicas - intercept; none where there is no work."""
    replicas = (work + terms.intercept) / max(terms.slope, 1e-12)
    hosts = np.ceil(replicas / terms.option.replicas_per_host - 1e-9)
    return np.asarray(np.where(work > 0, np.maximum(hosts, 1), 0), dtype=np.int64)


def load_share(plan: Plan, p: int) -> float:
    """Part of the paid capacity of pool `p` that works, over the month: utilisation in its second meaning, idle hours included."""
    terms, weight_h = plan.program.pools[p], plan.demand.weight_h
    paid = float(dot(plan.solution.billed[p], weight_h)) * terms.option.replicas_per_host
    work = float(dot(pool_work(terms, plan.solution.pool_flow[p]), weight_h))
    return min(1.0, work / paid) if paid > 0 else 0.0


def billed_share(plan: Plan, p: int) -> float:
    """Part of the hours of the month that is paid for, of the pool's largest host count: utilisation in its first meaning."""
    billed = plan.solution.billed[p]
    most = int(billed.max(initial=0))
    return float(dot(billed, plan.demand.weight_h)) / (most * float(plan.demand.weight_h.sum())) if most else 0.0


def tokens_per_month(plan: Plan) -> tuple[float, float]:
    """(input, output) tokens of a month, of all classes."""
    requests = dot(plan.demand.mean_rps, plan.demand.weight_h) * 3600.0
    return float(dot(requests, plan.demand.input_tokens)), float(dot(requests, plan.demand.output_tokens))


def requests_of(plan: Plan) -> float:
    """Requests of a month, of all classes."""
    return math.fsum((dot(plan.demand.mean_rps, plan.demand.weight_h) * 3600.0).tolist())
