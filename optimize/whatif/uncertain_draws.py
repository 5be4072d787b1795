"""What fixed plans do when the inputs come out otherwise: one draw of all inputs, every candidate plan on it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from optimize.market.engine_settings import router_of
from optimize.market.pools import slo_rows
from optimize.market.relay_terms import relay_terms
from optimize.money import calls_usd, to_currency
from optimize.money.amounts import scaled_usd
from optimize.money.contracts import paid_request_usd
from optimize.records import SloRow
from optimize.search.simulated_hour import HOUR_S, WARMUP_S, warmup_keep, without_backlog
from optimize.simulate.saved_plan import fleet_in
from optimize.whatif.factors import with_factors
from optimize.whatif.outcome import Row, rounded
from optimize.whatif.task import Factors, content_key, scenario_content, size_of
from sim.engine.deployment import PS
from sim.fleet.simulate import simulate
from sim.latency import class_metrics
from sim.requests import Demand
from sim.scenario.scenario import Scenario
from sim.traffic import demand as demand_of
from sim.traffic import hour as hour_traffic

FIRST_SEED = 30_001  # neither searched on, nor held out, nor used by the tests of fresh seeds
HOURS = 2
Json = dict[str, Any]


@dataclass(frozen=True)
class Draw:
    """One draw: the scenario at the drawn keys, the drawn factors, and the candidate plans (`task.fleet_of`) that stay as they are."""

    number: int
    scenario: Scenario
    factors: Factors
    plans: tuple[Json, ...]
    gpu_prices: float = 1.0

    @property
    def key(self) -> str:
        """Hash of all that the outcome depends on."""
        return content_key({"draw": self.number, "point": scenario_content(self.scenario, self.factors), "plans": self.plans})

    @property
    def family(self) -> str:
        """A draw has its own load and seed: it shares nothing."""
        return str(self.number)

    @property
    def size(self) -> float:
        """Requests of a day."""
        return size_of(self.scenario, self.factors)

    def row(self) -> Row:
        """Cost and attainment of each plan under this draw."""
        scenario = with_factors(self.scenario, self.factors)
        demand, slos = demand_of(scenario), slo_rows(scenario)
        prices = {terms.relay.id: paid_request_usd(terms, -1) for terms in relay_terms(scenario, demand, slos)}
        plans = [self.one(plan, scenario, demand, slos, prices) for plan in self.plans]
        return {"status": "simulated", "load": rounded(float(demand.mean_rps.sum())), "plans": plans}

    def one(self, plan: Json, scenario: Scenario, demand: Demand, slos: Sequence[SloRow], prices: dict[str, Any]) -> Row:
        """One plan: what the month costs, and the tightest promise in its binding hours."""
        attained = [simulated(plan, scenario, demand, slos, t, FIRST_SEED + self.number) for t in binding_hours(plan, demand)]
        worst = np.min(attained, axis=0)
        room = worst - np.array([row.quantile for row in slos])
        tightest = int(np.argmin(room))
        return {
            "per_month": round(month(plan, scenario, demand, prices, self.gpu_prices), 2),
            "attainment": rounded(float(worst[tightest])),
            "margin": rounded(float(room[tightest])),
            "held": bool((room >= 0).all()),
        }


def month(plan: Json, scenario: Scenario, demand: Demand, prices: dict[str, Any], gpu_prices: float) -> float:
    """Cost of a month in the scenario's currency: the hosts of the plan, and the tokens that this demand sends to its relays.

    Approximation: minimum payments, spend tiers and provisioned units of relays are not in it.
    """
    gpus = scaled_usd(sum(float(entry["cost_per_month"]) for entry in plan["fleet"]), gpu_prices)
    usd = 0.0
    for relay in plan["relays"]:
        shares = [plan["routing"][each.name].get(relay["relay"], [0.0] * len(demand.slices)) for each in scenario.request_classes]
        usd += calls_usd(np.array(shares) * demand.mean_rps, prices[relay["relay"]], demand.weight_h)
    return gpus + to_currency(usd, scenario.catalog.fx_usd.get(scenario.budget.currency, 1.0))


def binding_hours(plan: Json, demand: Demand) -> list[int]:
    """The busiest hour, and the one with most requests for each replica that runs."""
    total = demand.mean_rps.sum(axis=0)
    replicas = sum((np.array(entry["replicas"]["by_hour"], float) for entry in plan["fleet"]), np.zeros(len(total)))
    found = [int(np.argmax(total))]
    if replicas.any():
        found.append(int(np.argmax(np.where(replicas > 0, total / np.maximum(replicas, 1), 0.0))))
    return list(dict.fromkeys(found))[:HOURS]


def simulated(plan: Json, scenario: Scenario, demand: Demand, slos: Sequence[SloRow], t: int, seed: int) -> npt.NDArray[np.float64]:
    """[slo rows] share of the requests of the hour that meet each promise, on one seed; 1 where no request came."""

    fleet, _ = fleet_in(plan, scenario, t, router_of(scenario))
    requests = hour_traffic(scenario, t, seed=seed, duration_s=HOUR_S, warmup_s=WARMUP_S)
    log = simulate(fleet, without_backlog(requests, warmup_keep(demand, t), seed), seed=seed, event_per_arrival=False).log
    start, end = round(WARMUP_S * PS), round((WARMUP_S + HOUR_S) * PS)
    metrics = {c: class_metrics(log, c, from_ps=start, to_ps=end) for c in {row.class_index for row in slos}}
    samples = [(metrics[row.class_index][row.metric], row.limit_s) for row in slos]
    return np.array([float(np.mean(values <= limit)) if len(values) else 1.0 for values, limit in samples])
