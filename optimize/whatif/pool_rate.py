"""What one replica sustains inside every promise: the figure behind levers and rules of thumb that a whole plan would hide."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from optimize.market.engine_settings import router_of
from optimize.market.pools import slo_rows
from optimize.whatif.outcome import Row, rounded
from optimize.whatif.task import content_key, scenario_content
from sim.engine.deployment import PS, Deployment
from sim.engine.memory import kv_blocks, weight_bytes
from sim.engine.pool import Pool
from sim.engine.step_cost import step_cost
from sim.fleet.simulate import probe
from sim.latency import class_metrics
from sim.scenario.scenario import Scenario
from sim.traffic import at_rates

SEEDS = (401, 402)
WARMUP_S, WINDOW_S = 300.0, 900.0
STEPS = 9  # bisections: the rate is known within 0.3 %


@dataclass(frozen=True)
class PoolRate:
    """One replica of `deployment` under the classes that its model may answer, in their shares of the scenario."""

    scenario: Scenario
    deployment: Deployment

    @property
    def key(self) -> str:
        """Hash of all that the outcome depends on."""
        shape = asdict(self.deployment)
        return content_key({"pool": {name: str(value) for name, value in shape.items()}, "point": scenario_content(self.scenario, ())})

    @property
    def family(self) -> str:
        """Each variant is measured by itself."""
        return self.key

    @property
    def size(self) -> float:
        """All variants of a replica take about as long."""
        return 1.0

    def row(self) -> Row:
        """Rate inside the promises, memory, and the speed of one stream alone."""
        cost = step_cost(self.deployment, self.scenario.catalog.calibration)
        context = 1000
        alone_s = float(cost.base_ps[1] + cost.context_ps[1] * context + cost.sequence_ps) / PS
        return {
            "status": "simulated",
            "rate_rps": rounded(self.rate_rps()),
            "weights_gb": rounded(weight_bytes(self.deployment.model, self.deployment.weights) / 1e9),
            "kv_tokens": kv_blocks(self.deployment) * 16,
            "alone_tokens_per_s": rounded(1 / alone_s),
            "calibrated": cost.calibrated,
        }

    def rate_rps(self) -> float:
        """The largest total rate at which every promise holds on every seed, by bisection; 0 where none does."""
        low, high = 0.0, 0.5
        while self.holds(high) and high < 1e4:
            low, high = high, 2 * high
        for _ in range(STEPS):
            middle = 0.5 * (low + high)
            low, high = (middle, high) if self.holds(middle) else (low, middle)
        return low

    def holds(self, rate_rps: float) -> bool:
        """Whether every promise of every class holds at this rate, on each seed."""

        scenario, deployment = self.scenario, self.deployment
        wanted = [each.share if deployment.model.id in each.models else 0.0 for each in scenario.request_classes]
        rates = [rate_rps * share / sum(wanted) for share in wanted]
        cost = step_cost(deployment, scenario.catalog.calibration)
        network_ps, context = round(scenario.policy.network_s * PS), deployment.model.max_context
        pool = Pool("pool", cost, kv_blocks(deployment), deployment.limits, 1, network_ps, context)
        for seed in SEEDS:
            requests = at_rates(scenario, rates, seed=seed, duration_s=WARMUP_S + WINDOW_S)
            log = probe(pool, requests, router_of(scenario)).log
            for row in slo_rows(scenario):
                if rates[row.class_index] <= 0:
                    continue
                span = {"from_ps": round(WARMUP_S * PS), "to_ps": round((WARMUP_S + WINDOW_S) * PS)}
                samples = class_metrics(log, row.class_index, **span)[row.metric]
                if len(samples) and float(np.mean(samples <= row.limit_s)) < row.quantile:
                    return False
        return True
