"""Who takes over a request that a relay has failed: the other relays in their order, then own pools, as the policy says."""

from __future__ import annotations

from collections.abc import Sequence

from optimize.market.relay_terms import may_serve
from sim.catalog.facts import Relay
from sim.fleet.fleet import FailOver
from sim.scenario.scenario import Scenario


def failovers(scenario: Scenario, pool_models: Sequence[str], relays: Sequence[Relay]) -> tuple[FailOver, ...]:
    """A chain for each relay and class that it may answer; targets are numbered pools first, then relays.

    `policy.relay_failover`: "relays" the other relays that may answer, "fleet" those and then the pools whose model may, "none" nothing.
    """
    if scenario.policy.relay_failover == "none":
        return ()
    pools = len(pool_models)
    rules = []
    for c, request_class in enumerate(scenario.request_classes):
        able = [r for r, relay in enumerate(relays) if may_serve(relay, request_class)]
        own = (
            [k for k, model in enumerate(pool_models) if model in request_class.models] if scenario.policy.relay_failover == "fleet" else []
        )
        for r in able:
            chain = (*(pools + other for other in able if other != r), *own)
            if chain:
                rules.append(FailOver(pools + r, c, chain))
    return tuple(rules)
