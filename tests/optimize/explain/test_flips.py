"""Volumes and prefix hits at which the answer changes kind, against numbers of the hand."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from optimize.explain.hit_flip import at_full_price, between, crossing, hit_flip
from optimize.explain.volume_flip import volume_flips
from optimize.money import relay_request_usd
from optimize.records import Flip, LoadLevel, ProgramInput
from optimize.search.loop import Market, Settled
from sim.scenario import load_scenario
from sim.scenario.scenario import Scenario
from tests.optimize.explain.test_near_optimal import plan, pool

TWO = Path(__file__).resolve().parents[3] / "scenarios" / "two_offers.yaml"


@pytest.fixture(scope="module")
def scenario() -> Scenario:
    return load_scenario(TWO, [], None)


def one_host(scenario: Scenario, rate_rps: float, call_usd: float | None) -> tuple[Market, Settled]:
    """A host of $1 an hour that carries ten requests a second, and a relay."""
    host = pool("host", "l40s", 1.0, None, len(scenario.request_classes[0].slo))
    assert host.given is not None
    host.given = replace(host.given, levels=(LoadLevel(np.array([0.1]), host.given.levels[0].miss),))
    return plan(scenario, rate_rps, [host], call_usd)


def flips_at(found: tuple[Market, Settled]) -> list[Flip]:
    market, settled = found
    return volume_flips(settled, market)


def test_the_volume_at_which_a_host_pays_is_found(scenario: Scenario) -> None:
    """Relay: $0.36 an hour per request/s. The host pays from 1 / 0.36 = 2.78 requests/s on: 2.78 times today's one."""
    (flip,) = flips_at(one_host(scenario, 1.0, 1e-4))
    assert flip.flips_at == pytest.approx(1 / 0.36, rel=0.15)
    assert "volume: above about" in flip.sentence and "go to own GPUs" in flip.sentence


def test_less_volume_flips_the_other_way(scenario: Scenario) -> None:
    (flip,) = flips_at(one_host(scenario, 8.0, 1e-4))
    assert flip.flips_at == pytest.approx(1 / 0.36 / 8, rel=0.15) and "below about" in flip.sentence


def test_an_answer_that_stays_is_said_and_one_side_alone_is_not(scenario: Scenario) -> None:
    (flip,) = flips_at(one_host(scenario, 1.0, 1e-8))
    assert flip.flips_at is None and "most requests go to relays" in flip.sentence
    assert flips_at(one_host(scenario, 1.0, None)) == []


def hits(scenario: Scenario) -> tuple[ProgramInput, ProgramInput]:
    """A host of $1 an hour carries 20 requests a second with today's hits and 10 without; the relay asks $0.8 an hour for 10."""
    _, settled = one_host(scenario, 10.0, 0.8 / 36_000)
    on = settled.problem
    (terms,) = on.pools
    half = replace(terms, levels=(LoadLevel(np.array([0.05]), terms.levels[0].miss),))
    return replace(on, pools=(half,)), on


def test_the_part_of_the_hits_that_the_answer_needs_is_found(scenario: Scenario) -> None:
    """20 requests a second occupy 2 - h hosts, h the part of today's hits. One host carries the share s = 1 / (2 - h) for $1, the relay
    the rest for $1.6 (1 - s); all at the relay is $1.6. The host pays from 1.6 s > 1 on, s > 0.625: h > 0.4.
    """
    on, off = hits(scenario)
    demand = replace(on.demand, mean_rps=on.demand.mean_rps * 2)
    at = crossing(replace(on, demand=demand), replace(off, demand=demand), own_today=True)
    assert at == pytest.approx(0.4, abs=1 / 32)


def test_ends_of_the_line_are_the_two_programs(scenario: Scenario) -> None:
    on, off = hits(scenario)
    for part, end in ((1.0, on), (0.0, off)):
        mixed = between(on, off, part)
        assert mixed.pools[0].levels[0].load == pytest.approx(end.pools[0].levels[0].load)
        assert mixed.relays[0].usd_per_request == pytest.approx(end.relays[0].usd_per_request)


def test_a_relay_without_hits_bills_all_input_at_the_full_price(scenario: Scenario) -> None:
    market, settled = one_host(scenario, 1.0, 1e-4)
    demand = replace(settled.problem.demand, input_tokens=np.array([1000.0]), output_tokens=np.array([100.0]))
    terms = at_full_price(market.relays[0], demand)
    assert terms.usd_per_request[0] == pytest.approx(relay_request_usd(terms.relay, 1000.0, 0.0, 100.0))


def test_where_nothing_is_cached_there_is_nothing_to_flip(scenario: Scenario) -> None:
    market, settled = one_host(scenario, 1.0, 1e-4)
    assert hit_flip(settled, market) is None
