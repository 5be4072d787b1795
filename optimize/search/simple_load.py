"""What a simple fleet of one deployment carries on so many hosts, and the least that those cost: no program is needed to refuse it."""

from __future__ import annotations

import numpy as np

from optimize.market.pools import PoolState
from optimize.money.contracts import hosts_usd
from optimize.records import LoadLevel, PoolTerms
from sim.exact import dot
from sim.requests import Demand

FILLED = 1 - 1e-9  # of the hosts in the busiest hour: a rounding error must not ask for one more


def served(state: PoolState) -> np.typing.NDArray[np.bool_]:
    """[classes] whether the deployment can serve a class at all."""
    return np.asarray(np.isfinite(state.base))


def carrying(state: PoolState, demand: Demand, hosts: int) -> PoolTerms | None:
    """The pool as if `hosts` hosts carried the busiest hour of all that it serves; None where so few are worth nothing."""
    can = served(state)
    line = state.terms() if state.points and state.given is None and np.isfinite(state.terms().levels[0].load).any() else None
    slope, intercept = (line.slope, line.intercept) if line else (1.0, 0.0)
    worth = slope * hosts * state.option.replicas_per_host - intercept
    busiest = float((np.where(can, state.base, 0.0)[:, None] * demand.mean_rps).sum(axis=0).max())
    if worth <= 0 or busiest <= 0:
        return None
    load = np.where(can, state.base, np.inf) * (worth * FILLED / busiest)
    return PoolTerms(state.option, (LoadLevel(load, np.zeros(len(state.slos))),), slope, intercept, True)


def least_usd(terms: PoolTerms, demand: Demand) -> float:
    """What the hosts cost a month that carry all requests which the pool can serve, each hour for itself where hosts follow it.

    No plan that leaves those requests to this pool alone costs less: reserves, starts and relays come on top.
    """
    load = np.where(np.isfinite(terms.levels[0].load), terms.levels[0].load, 0.0)
    work = dot(load, demand.mean_rps)
    per_host = terms.slope * terms.option.replicas_per_host
    hosts = np.where(work > 0, np.maximum(1.0, np.ceil((work + terms.intercept) / per_host - 1e-6)), 0.0)
    billed = hosts if terms.option.offer.elastic else np.full_like(hosts, hosts.max(initial=0.0))
    return hosts_usd(billed, demand.weight_h, terms.option.offer.usd_per_hour)
