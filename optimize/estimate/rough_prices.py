"""What a scenario costs before anything is simulated: at relays, on own GPUs that are never idle, and at one model's price row."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np

from optimize.market.candidates import candidates
from optimize.market.optimistic_load import class_loads
from optimize.market.pools import slo_rows
from optimize.market.relay_terms import relay_terms
from optimize.money import HOURS_PER_MONTH, relay_request_usd, requests_per_month
from optimize.money.amounts import amount_usd, hours_of_load_usd
from optimize.records import Floats, RelayTerms, SloRow
from sim.catalog.facts import Catalog, Relay
from sim.engine.deployment import StepCost
from sim.engine.step_cost import step_cost
from sim.errors import InputError
from sim.scenario.read.document import nearest, shown
from sim.scenario.scenario import Scenario
from sim.traffic import demand as demand_of

HOUR_S = 3600.0
FIRMEST = ("quote", "contract", "list", "claimed")


@dataclass(frozen=True)
class Quick:
    """USD a month; inf where no candidate may serve some class.

    relays_usd   every class at its cheapest relay that keeps its promises
    own_usd      every class on its cheapest pool, replicas divisible and full, and at least one host: optimistic, see
                 `optimize.market.optimistic_load.saturated_load_s`; hosts that cannot follow the hour are paid for the busiest one
    requests     [classes] a month; lengths [classes] mean prompt and answer
    """

    relays_usd: float
    own_usd: float
    requests: Floats
    lengths: tuple[tuple[float, float], ...]

    @property
    def best(self) -> tuple[str, float]:
        """The cheaper side and its cost."""
        return min((("relays", self.relays_usd), ("own GPUs", self.own_usd)), key=lambda each: each[1])

    def at_row(self, row: Relay, cached_share: float = 0.0) -> float:
        """All requests at one price row, whether or not it may still serve them: a bill is of the past."""
        prices = [relay_request_usd(row, asked, cached_share * asked, answered) for asked, answered in self.lengths]
        return _sum(self.requests, np.array(prices))


@dataclass
class Pricer:
    """Prices scenarios that differ in a few keys; step costs are computed once for each deployment."""

    costs: dict[str, StepCost] = field(default_factory=dict)

    def quick(self, scenario: Scenario) -> Quick:
        """See `Quick`; no simulation."""
        demand, slos = demand_of(scenario), slo_rows(scenario)
        requests = np.array([requests_per_month(rate, demand.weight_h) for rate in demand.mean_rps])
        relays = relay_terms(scenario, demand, slos)
        own, host_usd = np.full(len(requests), math.inf), math.inf
        busy_h = float(demand.weight_h[demand.mean_rps.any(axis=0)].sum())
        busiest = demand.mean_rps.max(axis=1) * HOUR_S * HOURS_PER_MONTH
        for option in candidates(scenario, demand)[0]:
            assert option.deployment is not None
            name = option.deployment.id
            if name not in self.costs:
                self.costs[name] = step_cost(option.deployment, scenario.catalog.calibration)
            loads = class_loads(option, self.costs[name], demand, slos, rigorous=False)
            paid = requests if option.offer.elastic else busiest
            own = np.minimum(own, hours_of_load_usd(paid * loads, option))
            if np.isfinite(loads).any():
                hours = busy_h if option.offer.elastic else HOURS_PER_MONTH
                host_usd = min(host_usd, amount_usd(option.offer.usd_per_hour, hours))
        at_relays = np.min([_kept(terms, slos) for terms in relays], axis=0) if relays else np.full(len(requests), math.inf)
        lengths = tuple(zip(demand.input_tokens.tolist(), demand.output_tokens.tolist(), strict=True))
        own_usd = max(float(own[requests > 0].sum()), host_usd)
        return Quick(_sum(requests, at_relays), own_usd, requests, lengths)


def _kept(terms: RelayTerms, slos: tuple[SloRow, ...]) -> Floats:
    """[classes] USD a request; inf where the relay misses a promise of the class."""
    usd = terms.usd_per_request.copy()
    for row, miss in zip(slos, terms.miss, strict=True):
        if miss > 1 - row.needed:
            usd[row.class_index] = math.inf
    return usd


def _sum(requests: Floats, usd: Floats) -> float:
    """Cost of all classes; classes without requests cost nothing at any price."""
    return float(sum(amount_usd(price, n) for n, price in zip(requests, usd, strict=True) if n > 0))


def price_row(model: str, catalog: Catalog) -> Relay:
    """The row whose prices a bill for `model` is read with: the firmest grade, the maker's own before other sellers.

    Raises InputError where the model is not for sale.
    """
    rows = [each for each in catalog.relays.values() if each.model == model]
    if not rows:
        sold = {each.model for each in catalog.relays.values()}
        raise InputError(f"--from-bill: the catalogue has no seller of {shown(model)}; {nearest(model, sold)}")
    return min(rows, key=lambda each: (FIRMEST.index(each.grade), not each.maker))
