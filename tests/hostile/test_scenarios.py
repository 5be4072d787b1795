"""Values that can be written and cannot be meant are one message; extreme ones that mean something run."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from sim.catalog.loader import load_catalog
from sim.engine.deployment import PS
from sim.errors import InputError
from sim.relay.endpoint import RelayEndpoint
from sim.relay.latency_draw import MOST_S, latency_blocks
from sim.relay.server import RelayServer
from sim.scenario.read.load import load_scenario

SCENARIO = Path(__file__).resolve().parents[2] / "scenarios/two_offers.yaml"


@pytest.mark.parametrize(
    ("setting", "words"),
    [
        ("finance.start=9999-12", "is not a month from 2000-01 to 2099-12"),
        ("finance.growth_per_month=10", "write at most 1"),
        ("finance.token_growth_per_month=10", "write at most 1"),
        ("request_classes.chat.task=[x]", "a list is not text"),
        ("policy.max_vendor_share={deepinfraa: 0.5}", "is no vendor of a relay; nearest: deepinfra"),
        ("policy.data_residency=[eur]", "is stated by no offer or relay"),
        ("request_classes.chat.data_residency=[europe]", "is stated by no offer or relay"),
        ("ranges={traffik.rate_rps: [1, 2]}", "is no key of a scenario; nearest: traffic"),
        ("candidates.relays=[{name: deepinfra.llama-3.1-8b, ttft_p50_s: 1e12}]", "write at most 86400"),
        ("candidates.relays=[{name: deepinfra.llama-3.1-8b, tokens_per_s: 1e-9}]", "write at least 0.001"),
        ("seed=" + "9" * 5000, "seed"),
    ],
)
def test_what_nobody_can_mean_is_refused(setting: str, words: str) -> None:
    with pytest.raises(InputError, match=words):
        load_scenario(SCENARIO, [setting.replace("request_classes.chat.task", "request_classes.0.task").replace(".chat.", ".0.")])


def slow(**more: object) -> RelayEndpoint:
    relay = replace(load_catalog().relays["deepinfra.llama-3.1-8b"], **more)  # type: ignore[arg-type]
    return RelayEndpoint("relay", relay)


def test_draws_of_a_relay_stay_within_integer_time() -> None:
    relay = slow(ttft_p50_s=80_000.0, ttft_sigma=3.0, tokens_per_s=0.001, tokens_sigma=3.0).relay
    block = next(latency_blocks(relay, np.random.default_rng(1)))
    assert block.min() >= 0 and block.max() == round(MOST_S * PS)


def test_answers_that_no_time_could_hold_have_timed_out_with_the_tokens_that_came() -> None:
    server = RelayServer(slow(ttft_p50_s=0.5, ttft_sigma=0.0, tokens_per_s=0.001, tokens_sigma=0.0), np.random.default_rng(1))
    arrival, inputs, outputs = np.array([0, PS]), np.array([10, 10]), np.array([10_000_000, 1])
    first, finish, status, _ = server.stream_all(arrival, inputs, outputs).tolist()
    assert status[0] != status[1] and 0 < first[0] < finish[0] == server.rules.deadline_ps
    assert finish[1] == first[1]
    assert server.stats().lost_output_tokens == 1
