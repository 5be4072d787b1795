"""What a plan expects a relay to find in its cache, against what the relay's cache finds in a simulated hour."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from optimize.market.context_fit import class_sample
from optimize.market.relay_bills import Kept, cached_tokens, kept_of
from sim.fleet.fleet import Fleet
from sim.fleet.simulate import simulate
from sim.relay.endpoint import RelayEndpoint
from sim.relay.prompt_cache import cached_and_written
from sim.scenario.scenario import Scenario, SyntheticTraffic
from sim.traffic import demand as demand_of
from sim.traffic import hour
from tests.relay.test_server import RELAY
from tests.traffic.scenarios import chat, constant, request_class, scenario, week

CACHING = replace(RELAY, usd_per_mtok_cached=0.1, rpm=None, tpm=None)


def talk(users: float, turns: float, think_s: float, system: int) -> Scenario:
    """One class of conversations; the hour 14 has 7 % of the day."""
    traffic = replace(week(users), turns_per_conversation=turns, think_time_median_s=think_s)
    return scenario(traffic, request_class("chat", 1.0, conversation=chat(system=system), output=constant(100)))


def expected(asked: Scenario) -> float:
    return cached_tokens(class_sample(asked, 0), CACHING, kept_of(asked, demand_of(asked), 0))


def seen(asked: Scenario, seeds: int = 2) -> float:
    """Mean cached tokens of a request in the hour 14, the first ten minutes left out, over some seeds."""
    shares = []
    for seed in range(1, 1 + seeds):
        requests = hour(asked, 14, seed=seed, duration_s=3600, warmup_s=600)
        log = simulate(Fleet((RelayEndpoint("r", CACHING),), np.array([[1.0]])), requests, seed=seed).log
        cached, _ = cached_and_written(requests, log, 0, CACHING)
        late = (requests.arrival_ps > 600 * 10**12) & (log.status == 0)
        shares.append(float(cached[late].mean()))
    return float(np.mean(shares))


@pytest.mark.parametrize(
    ("users", "turns", "think_s", "system"),
    [(20_000, 1.0, 73.7, 2000), (20_000, 3.0, 73.7, 2000), (20_000, 3.0, 600.0, 2000), (20_000, 4.0, 40.0, 1100)],
)
def test_the_plan_expects_what_the_relay_finds_in_a_busy_hour(users: float, turns: float, think_s: float, system: int) -> None:
    """Within 4 %: the hour is one of the month, and sessions that begin before it are cut off."""
    asked = talk(users, turns, think_s, system)
    assert expected(asked) == pytest.approx(seen(asked), rel=0.04)


def test_the_time_between_turns_does_not_matter_where_there_is_one_turn() -> None:
    quick, slow = (expected(talk(20_000, 1.0, think_s, 2000)) for think_s in (5.0, 600.0))
    assert quick == slow == pytest.approx(1920, rel=0.02)  # of 2,000 tokens, in steps of 128


def test_a_system_prompt_that_hardly_anybody_reads_is_forgotten() -> None:
    """One call an hour on average: another one within five minutes is rare."""
    asked = talk(8.0, 1.0, 73.7, 2000)
    assert isinstance(asked.traffic, SyntheticTraffic)
    kept = kept_of(asked, demand_of(asked), 0)
    assert 0.05 < kept.system < 0.2
    assert expected(asked) == pytest.approx(1920 * kept.system)


def test_a_prefix_without_a_system_prompt_depends_on_the_last_turn_alone() -> None:
    asked = talk(20_000, 3.0, 73.7, 2000)
    sample = class_sample(asked, 0)
    bare = replace(sample, system_tokens=np.zeros_like(sample.system_tokens))
    assert cached_tokens(bare, CACHING, Kept(0.5, 1.0)) == pytest.approx(0.5 * cached_tokens(bare, CACHING, Kept(1.0, 0.0)))
