"""A relay's hard limits through retries: what it sustains in a peak minute, asked only where a limit binds."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from pathlib import Path

import numpy as np
import pytest

from optimize.plan import market_for
from optimize.program.solve import solve
from optimize.search import relay_room
from optimize.search.known_market import Market, Restriction, Settled
from optimize.search.relay_room import add_relay_room, fullest, question, sustained
from sim.scenario import load_scenario

SCENARIO = Path(__file__).parents[3] / "scenarios/two_offers.yaml"


@lru_cache
def market(rpm: int, ttft_s: float = 2.0) -> Market:
    """5 requests/s, 300 a minute, at a relay with a hard limit and the answer's first token within `ttft_s`; no hosts."""
    relay = "{name: r, model: llama-3.1-8b, usd_per_mtok_input: 0.02, usd_per_mtok_output: 0.03, ttft_p50_s: 0.3, tokens_per_s: 100, "
    settings = (
        "candidates.offers=[]", f"candidates.relays=[{relay}rpm: {rpm}, negotiable: false}}]",
        f"request_classes.0.slo={{ttft: {{p95: {ttft_s}}}}}",
        "traffic={rate_rps: 5, minute_noise_cv: 0, peak_minute_factor: 1.2}", "request_classes.0.models=[llama-3.1-8b]",
    )  # fmt: skip
    return market_for(load_scenario(SCENARIO, settings, None), jobs=1)[0]


def settled(given: Market) -> Settled:
    problem = given.problem(Restriction(), [])
    return Settled(problem, solve(problem), ())


def test_a_relay_with_a_limit_above_the_mean_and_below_the_peak_minute_serves_all_with_retries(monkeypatch: pytest.MonkeyPatch) -> None:
    """330 requests a minute allowed, 300 come on average: the program's peak minute has 360, of which 30 would be lost."""
    monkeypatch.setattr(relay_room, "SHORTEST_S", 240.0)
    monkeypatch.setattr(relay_room, "ENOUGH", 1_000)
    monkeypatch.setattr(relay_room, "SEARCH_SEEDS", (101,))
    given = replace(market(330), relays=list(market(330).relays))
    before = settled(given)
    assert before.unserved
    assert add_relay_room(given, before)
    after = settled(given)
    assert given.relays[0].sustained is not None and given.relays[0].sustained >= 1.1
    assert not after.unserved and after.problem.relays[0].rpm == pytest.approx(330 * given.relays[0].sustained)
    assert not add_relay_room(given, after), "a relay is asked once"


def test_what_no_retry_can_serve_is_not_sustained(monkeypatch: pytest.MonkeyPatch) -> None:
    """Twice the limit for minutes on end is refused half of the time, however often it is tried."""
    monkeypatch.setattr(relay_room, "SHORTEST_S", 240.0)
    monkeypatch.setattr(relay_room, "ENOUGH", 1_000)
    monkeypatch.setattr(relay_room, "SEARCH_SEEDS", (101,))
    monkeypatch.setattr(relay_room, "TIMES", (4.0,))
    given = market(330)
    asked = question(given, settled(given), 0)
    assert asked is not None
    assert sustained(given.scenario, asked)["rate_rps"] == 1.0


def test_a_relay_below_its_limits_is_not_asked() -> None:
    given = market(1000)
    before = settled(given)
    assert fullest(before.problem, before.solution, 0)[1] == pytest.approx(0.36)
    assert question(given, before, 0) is None and not add_relay_room(given, before)


def test_the_question_is_the_hour_in_which_the_peak_minute_is_at_the_limit() -> None:
    given = market(330)
    asked = question(given, settled(given), 0)
    assert asked is not None and np.array(asked.rates_rps).sum() * 60 * 1.2 == pytest.approx(330)
