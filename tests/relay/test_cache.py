"""What a relay's cache holds of a session, and what not."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sim.engine.deployment import PS
from sim.fleet.fleet import Fleet
from sim.fleet.simulate import simulate
from sim.relay.endpoint import RelayEndpoint
from sim.relay.prompt_cache import cached_and_written
from sim.requests import Requests
from tests.relay.test_server import RELAY

CACHING = replace(RELAY, usd_per_mtok_cached=0.1)


def turns(*rows: tuple[float, int, int, int, int]) -> Requests:
    """Requests from (arrival in s, session, input, prefix, system)."""
    arrival, session, inputs, prefix, system = zip(*rows, strict=True)
    tokens = [np.array(column, np.int32) for column in (inputs, [10] * len(rows), prefix, system)]
    times = np.array([round(a * PS) for a in arrival], np.int64)
    return Requests(times, np.zeros(len(rows), np.int16), tokens[0], tokens[1], np.array(session, np.int64), tokens[2], tokens[3])


def read(requests: Requests, shares: list[float] | None = None) -> tuple[list[int], list[int]]:
    shares = shares or [1.0]
    targets = tuple(RelayEndpoint(f"r{k}", CACHING) for k in range(len(shares)))
    log = simulate(Fleet(targets, np.array([shares])), requests, seed=1).log
    cached, written = cached_and_written(requests, log, 0, CACHING)
    return cached.tolist(), written.tolist()


def test_a_turn_finds_the_last_prompt_of_its_session_but_not_the_answer_that_was_never_sent() -> None:
    cached, written = read(turns((0, 1, 2000, 500, 500), (60, 1, 2300, 2010, 500)))
    assert cached == [0, 1920]  # 2,000 of the 2,010 shared tokens, in steps of 128
    assert written == [2000, 380]


def test_the_lifetime_the_least_prefix_and_another_session_end_it() -> None:
    late = turns((0, 1, 2000, 500, 500), (301, 1, 2300, 2010, 500))
    short = turns((0, 1, 900, 500, 500), (60, 1, 1010, 910, 500))
    other = turns((0, 1, 2000, 500, 500), (60, 2, 2300, 2010, 500))
    assert read(late)[0] == read(short)[0] == read(other)[0] == [0, 0]


def test_a_long_system_prompt_is_shared_by_strangers() -> None:
    assert read(turns((0, 1, 2000, 1500, 1500), (10, 2, 2000, 1500, 1500), (400, 3, 2000, 1500, 1500)))[0] == [0, 1408, 0]


def test_a_cache_belongs_to_one_provider() -> None:
    requests = turns(*((10.0 * k, 1, 2000 + 20 * k, 1990 + 20 * k, 0) for k in range(200)))
    alone, shared = (sum(read(requests, shares)[0]) for shares in ([1.0], [0.5, 0.5]))
    assert 0 < shared < 0.6 * alone


def test_a_relay_without_a_price_for_it_has_no_cache() -> None:
    requests = turns((0, 1, 2000, 500, 500), (60, 1, 2300, 2010, 500))
    log = simulate(Fleet((RelayEndpoint("r", RELAY),), np.array([[1.0]])), requests, seed=1).log
    assert not any(column.any() for column in cached_and_written(requests, log, 0, RELAY))


@pytest.mark.parametrize("gap_s", [30.0, 99.0])
def test_cached_and_written_tokens_never_exceed_the_prompt(gap_s: float) -> None:
    rng = np.random.default_rng(3)
    rows = [(gap_s * k, k % 3, int(n), int(rng.integers(0, n)), 0) for k, n in enumerate(rng.integers(1, 5000, 300))]
    cached, written = read(turns(*rows))
    inputs = [row[2] for row in rows]
    assert all(c + w in (0, i) or (c == 0 and w == i) for c, w, i in zip(cached, written, inputs, strict=True))
    assert any(cached)
