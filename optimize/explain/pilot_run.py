"""The cheapest measurement that would settle what the plan is least sure of: which GPU, how long, which commands, what it costs."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from optimize.market.serve_line import serve_command
from optimize.money.amounts import amount_usd
from optimize.result import Pilot, PoolError
from optimize.search.known_market import Settled
from sim.calibration.advise import proposals
from sim.calibration.own_fit import unfitted
from sim.catalog.facts import Offer
from sim.engine.deployment import Deployment
from sim.engine.step_cost import best_row, coefficients_of
from sim.exact import dot
from sim.scenario.scenario import Scenario

SET_UP_H = 0.75  # boot, download of the weights, start of the engine
RUN_S = 600.0  # at the plan's own load
HALF_HOURS = 2


def pilot_for(scenario: Scenario, settled: Settled, errors: Sequence[PoolError]) -> Pilot | None:
    """The pilot for the pool of which share of requests x p90 error is largest, uncalibrated ones first; None without a GPU to rent."""
    if not errors:
        return None
    weakest = max(errors, key=lambda e: (not e.calibrated, e.share * e.step[1], e.pool))
    return pilot_at(scenario, settled, next(k for k, state in enumerate(settled.pools) if state.option.id == weakest.pool))


def pilot_of(scenario: Scenario, settled: Settled, deployment: Deployment) -> Pilot | None:
    """The pilot of one deployment, at the load of its pool with most requests; None without a GPU to rent."""
    flow = settled.solution.pool_flow.sum(axis=(1, 2))
    own = [p for p, state in enumerate(settled.pools) if state.option.deployment == deployment]
    return pilot_at(scenario, settled, max(own, key=lambda p: (float(flow[p]), -p)))


def pilot_at(scenario: Scenario, settled: Settled, p: int) -> Pilot | None:
    """The pilot of pool `p`, at its own load; None without a GPU to rent."""
    deployment = settled.pools[p].option.deployment
    assert deployment is not None
    offer = cheapest_host(scenario, deployment)
    if offer is None:
        return None
    fit = unfitted(deployment, coefficients_of(best_row(deployment, scenario.catalog.calibration)))
    runs = proposals(fit)
    seconds = RUN_S + sum(run.seconds for run in runs)
    hours = math.ceil(HALF_HOURS * (SET_UP_H + seconds / 3600)) / HALF_HOURS
    commands = (serve_command(deployment), own_load_command(settled, p), *(run.command() for run in runs), calibrate_command(deployment))
    return Pilot(deployment.id, offer.id, hours, amount_usd(offer.usd_per_hour, hours), commands)


def cheapest_host(scenario: Scenario, deployment: Deployment) -> Offer | None:
    """The cheapest host, of the scenario or the catalogue, that can be rented by the hour and holds one replica."""
    known = {offer.id: offer for offer in (*scenario.catalog.offers.values(), *scenario.offers)}
    rented = [offer for offer in known.values() if offer.term == "on_demand" and offer.usd_per_hour > 0]
    fitting = [offer for offer in rented if offer.gpu == deployment.gpu.id and offer.gpus >= deployment.tensor_parallel]
    return min(fitting, key=lambda offer: (offer.usd_per_hour, offer.id), default=None)


def own_load_command(settled: Settled, p: int) -> str:
    """The run that shows one replica at the load of the pool's busiest hour, at the mean lengths of the requests that it gets."""
    terms, solution, demand = settled.problem.pools[p], settled.solution, settled.problem.demand
    replicas = np.maximum(solution.hosts[p] * terms.option.replicas_per_host, 1)
    rate = solution.pool_flow[p] / replicas
    t = int(np.argmax(rate.sum(axis=0)))
    total = float(rate[:, t].sum())
    entering, leaving = (float(dot(rate[:, t], tokens) / total) for tokens in (demand.input_tokens, demand.output_tokens))
    return (
        f"vllm bench serve --model $MODEL --dataset-name random --random-input-len {entering:.0f} --random-output-len {leaving:.0f} "
        f"--ignore-eos --request-rate {total:.3g} --num-prompts {max(50, round(total * RUN_S))} --save-result --save-detailed "
        "--result-filename plan_load.json"
    )


def calibrate_command(deployment: Deployment) -> str:
    """What turns the runs into a row for the scenario."""
    parallel = f" --tensor-parallel {deployment.tensor_parallel}" if deployment.tensor_parallel > 1 else ""
    return (
        f"servemix calibrate *.json --gpu {deployment.gpu.id} --model {deployment.model.id} --weights {deployment.weights.id}{parallel} "
        "--out own.yaml"
    )
