"""Pools and relays serve requests in the tokens of their own models."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sim.catalog.loader import load_catalog
from sim.fleet.fleet import Fleet
from sim.fleet.simulate import simulate
from sim.relay.endpoint import RelayEndpoint
from sim.traffic.model_tokens import counted, counted_by_class, counted_by_target
from tests.samples import make_cost, make_pool, random_requests

RELAY = replace(load_catalog().relays["openai.gpt-4.1"], rpm=None, tpm=None)


def test_tokens_are_scaled_and_rounded_and_never_vanish() -> None:
    requests = random_requests(1, 400, 1e9)
    some = replace(requests, prefix_tokens=(requests.input_tokens // 2).astype(np.int32))
    scaled = counted(some, np.tile([1.3, 0.01], (400, 1)))
    np.testing.assert_array_equal(scaled.input_tokens, np.maximum(np.rint(some.input_tokens * 1.3), 1))
    assert scaled.output_tokens.min() == 1
    assert (scaled.prefix_tokens <= scaled.input_tokens).all()
    assert scaled.input_tokens.dtype == scaled.output_tokens.dtype == np.int32


def test_factors_of_one_change_nothing() -> None:
    requests = random_requests(2, 50, 1e9, classes=2)
    assert counted_by_class(requests, None) is requests
    assert counted_by_target(requests, np.zeros(50, np.int16), None) is requests
    same = counted_by_target(requests, np.full(50, -1, np.int16), np.full((2, 1, 2), 3.0))
    np.testing.assert_array_equal(same.input_tokens, requests.input_tokens)  # no one serves them, no one counts otherwise


def test_a_relay_bills_and_answers_in_its_own_tokens() -> None:
    requests = random_requests(3, 300, 1e9, classes=2)
    fleet = Fleet((RelayEndpoint("r", RELAY),), np.ones((2, 1)))
    factors = np.array([[[2.0, 1.5]], [[1.0, 1.0]]])  # the first class only
    plain, more = (simulate(replace(fleet, token_factors=f), requests, seed=1) for f in (None, factors))
    mine = requests.class_id == 0
    added_in = int(requests.input_tokens[mine].sum())
    assert more.targets[0].billed_input_tokens == plain.targets[0].billed_input_tokens + added_in
    expected = np.where(mine, np.maximum(np.rint(requests.output_tokens * 1.5), 1), requests.output_tokens)
    np.testing.assert_array_equal(more.log.output_tokens, expected)
    longer = (more.log.finish_ps - plain.log.finish_ps)[mine & (requests.output_tokens > 1)]
    assert (longer >= 0).all() and longer.max() > 0


def test_a_pool_computes_the_tokens_of_its_model() -> None:
    requests = random_requests(4, 200, 1e6)
    fleet = Fleet((make_pool(make_cost(token_ps=5), kv_blocks=5000, replicas=2),), np.ones((1, 1)))
    twice = simulate(replace(fleet, token_factors=np.full((1, 1, 2), 2.0)), requests, seed=1)
    by_hand = simulate(fleet, counted(requests, np.full((200, 2), 2.0)), seed=1)
    np.testing.assert_array_equal(twice.log.finish_ps, by_hand.log.finish_ps)
    assert twice.targets[0].computed_tokens == by_hand.targets[0].computed_tokens


@pytest.mark.parametrize("per_event", [True, False])
def test_each_target_counts_for_itself(per_event: bool) -> None:
    requests = random_requests(5, 400, 1e9)
    targets = (make_pool(kv_blocks=5000), RelayEndpoint("r", RELAY))
    factors = np.array([[[1.0, 1.0], [3.0, 1.0]]])
    result = simulate(Fleet(targets, np.array([[0.5, 0.5]]), token_factors=factors), requests, seed=1, event_per_arrival=per_event)
    at_relay = result.log.target == 1
    np.testing.assert_array_equal(result.log.input_tokens[at_relay], 3 * requests.input_tokens[at_relay])
    np.testing.assert_array_equal(result.log.input_tokens[~at_relay], requests.input_tokens[~at_relay])
