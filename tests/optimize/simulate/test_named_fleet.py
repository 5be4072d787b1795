"""Fleets that are named on the command line."""

from __future__ import annotations

from pathlib import Path

import pytest

from optimize.simulate.named_fleet import NamedRelay, build_fleet, parse_fleet
from sim.errors import InputError
from sim.fleet.fleet import Fleet, Overflow
from sim.scenario import load_scenario


def test_a_relay_that_may_answer_nobody_is_told_and_not_simulated() -> None:
    """Every request would be rejected, and the table would not say why."""
    scenario = load_scenario(Path(__file__).parents[3] / "scenarios/two_offers.yaml")
    with pytest.raises(
        InputError, match=r"relay:openai\.gpt-4\.1: no class of two_offers takes answers of gpt-4\.1; they take llama-3\.1-8b"
    ):
        parse_fleet("relay:openai.gpt-4.1", scenario)
    assert parse_fleet("relay:deepinfra.llama-3.1-8b", scenario) == ([], [NamedRelay("deepinfra.llama-3.1-8b")])


TWO = Path(__file__).parents[3] / "scenarios/two_offers.yaml"
L40S, L4, RELAY = "aws.g6e.xlarge/llama-3.1-8b/fp8", "aws.g6.xlarge/llama-3.1-8b/fp8", "relay:deepinfra.llama-3.1-8b"


def named(text: str, overflow: int | None = None) -> Fleet:
    scenario = load_scenario(TWO)
    return build_fleet(scenario, *parse_fleet(text, scenario), "least_outstanding", overflow)[0]


def test_an_entry_names_limits_kv_format_and_overflow() -> None:
    plain = named(f"{L40S}=1")
    fleet = named(f"{L40S}=1[max_num_seqs=64 max_num_batched_tokens=4096 kv=fp8 overflow=16:#2], {L4}=2[overflow=8:{RELAY}], {RELAY}")
    first, before = fleet.targets[0], plain.targets[0]
    assert (first.limits.max_num_seqs, first.limits.max_num_batched_tokens) == (64, 4096)  # type: ignore[union-attr]
    assert first.kv_blocks > 1.9 * before.kv_blocks  # type: ignore[union-attr]
    assert fleet.overflow == (Overflow(0, 1, 16), Overflow(1, 2, 8))


def test_written_shares_hold_and_capacity_splits_the_rest() -> None:
    fleet = named(f"{L40S}=1[classes=chat:0.3], {L4}=1, {RELAY}[classes=chat:0.2]")
    assert fleet.shares[0].tolist() == pytest.approx([0.3, 0.5, 0.2])
    assert named(f"{L40S}=1, {RELAY}").shares[0].tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        (f"{L40S}=1[seqs=4]", "is not an option; write each of classes, max_num_seqs"),
        (f"{L40S}=1[kv=int3]", "write auto or fp8"),
        (f"{L40S}=1[overflow=8]", "not THRESHOLD:TARGET"),
        (f"{L40S}=1[overflow=8:#1]", "is no other entry"),
        (f"{L40S}=1[overflow=8:#2], {L4}=1[overflow=8:#1]", "circle"),
        (f"{L40S}=1[overflow=8:{RELAY}]", "is no other entry"),
        (f"{L40S}=1[classes=chatt]", "is not a class"),
        (f"{L40S}=1[classes=chat:2]", "above 0 and at most 1"),
        (f"{L40S}=1[classes=chat:0.7]", "sum to 0.7"),
        (f"{L40S}=1[classes=chat:0.7], {L4}=1[classes=chat:0.7]", "sum to 1.4"),
        (f"{L40S}=1[kv=fp8", "brackets do not close"),
        (f"{RELAY}[kv=fp8]", "is not an option; write each of classes once"),
        (f"{L40S}=1[max_num_seqs=512 max_num_batched_tokens=64]", "below max_num_seqs"),
    ],
)
def test_an_option_that_makes_no_sense_is_told(text: str, says: str) -> None:
    from sim.fleet.checks import check_fleet
    from tests.samples import make_requests

    with pytest.raises(InputError, match=says):
        check_fleet(named(text), make_requests([(0, 10, 10)]))
