"""Mean waits and sojourns of replicas that are textbook queues, against the formulas."""

from __future__ import annotations

import numpy as np
import pytest

from sim.engine.deployment import PS, EngineLimits
from sim.engine.pool import Pool, Status
from sim.fleet.fleet import Fleet, SimulationResult
from sim.fleet.simulate import probe, simulate
from tests.samples import make_cost
from tests.theory.queues import (
    SEEDS,
    Lengths,
    assert_mean,
    constant,
    either,
    erlang_c_wait,
    geometric,
    poisson,
    pollaczek_khinchine_wait,
    server_pool,
    sharing_pool,
)

N = 6000
WARM_UP = N // 6


def mean_wait_s(result: SimulationResult, first_step_ps: int) -> float:
    """Mean time in the queue: until the start of the step that gives the first token, which lasts `first_step_ps`."""
    log = result.log
    assert (log.status == Status.FINISHED).all()
    return float((log.first_ps - log.arrival_ps - first_step_ps)[WARM_UP:].mean()) / PS


def mean_sojourn_s(result: SimulationResult) -> float:
    return float((result.log.finish_ps - result.log.arrival_ps)[WARM_UP:].mean()) / PS


@pytest.mark.parametrize(
    ("outputs", "mean", "second_moment"),
    [
        (geometric(50), 50.0, 50.0 * (2 * 50 - 1)),  # the discrete exponential: M/M/1 but for 1 %, which the moments include
        (constant(50), 50.0, 2500.0),
        (either(10, 210, 0.2), 50.0, 0.8 * 100 + 0.2 * 44100),
    ],
    ids=["geometric", "constant", "two-point"],
)
def test_one_sequence_at_a_time_waits_as_in_a_single_server_queue(outputs: Lengths, mean: float, second_moment: float) -> None:
    step_ps, rate = PS // 50, 0.6  # a service lasts 1 s in the mean
    step_s = step_ps / PS
    waits = [mean_wait_s(probe(server_pool(1, step_ps), poisson(rate, N, seed, outputs)), step_ps) for seed in SEEDS]
    assert_mean(waits, pollaczek_khinchine_wait(rate, mean * step_s, second_moment * step_s**2))


def test_prompts_alone_make_a_single_server_queue_of_prefill_cost() -> None:
    """Embedding-like traffic, one prompt a step: the service time is the cost of the chunk, its square law included."""
    limits = EngineLimits(max_num_seqs=1, max_num_batched_tokens=512)
    cost = make_cost(PS // 10, PS // 1000, pair_ps=PS // 10**5, limits=limits)
    pool = Pool("prefill", cost, 1000, limits, 1)
    service = {p: 0.1 + p / 1000 + p * (p + 1) / 2 / 10**5 for p in (100, 400)}
    rate, share = 0.8, 0.25
    mean, second = ((1 - share) * service[100] ** k + share * service[400] ** k for k in (1, 2))
    results = [probe(pool, poisson(rate, N, seed, constant(1), either(100, 400, share))) for seed in SEEDS]
    assert_mean([mean_sojourn_s(result) for result in results], mean + pollaczek_khinchine_wait(rate, mean, second))


@pytest.mark.parametrize(("servers", "load"), [(2, 0.7), (8, 0.85)])
def test_a_constant_step_makes_a_batch_of_c_a_queue_of_c_servers(servers: int, load: float) -> None:
    """The wait for the end of the step of the others is left out of the theory: 1/2000 of a service at most."""
    tokens = 2000
    step_ps, rate = PS // tokens, load * servers
    waits = [mean_wait_s(probe(server_pool(servers, step_ps), poisson(rate, N, seed, geometric(tokens))), step_ps) for seed in SEEDS]
    assert_mean(waits, erlang_c_wait(servers, rate, 1.0))


@pytest.mark.parametrize("outputs", [geometric(1000), constant(1000)], ids=["geometric", "constant"])
def test_a_step_paid_by_the_token_shares_the_replica_like_a_processor(outputs: Lengths) -> None:
    """Under processor sharing the mean sojourn depends on the mean service alone: service / (1 - load)."""
    token_ps, load = PS // 1000, 0.6
    sojourns = [mean_sojourn_s(probe(sharing_pool(token_ps), poisson(load, N, seed, outputs))) for seed in SEEDS]
    assert_mean(sojourns, 1.0 / (1 - load))


def test_a_random_split_of_poisson_traffic_makes_independent_queues() -> None:
    step_ps, rate = PS // 50, 1.3
    fleet = Fleet((server_pool(1, step_ps), server_pool(1, step_ps)), np.array([[0.5, 0.5]]))
    waits = [mean_wait_s(simulate(fleet, poisson(rate, N, seed, constant(50)), seed), step_ps) for seed in SEEDS]
    assert_mean(waits, pollaczek_khinchine_wait(rate / 2, 1.0, 1.0))
