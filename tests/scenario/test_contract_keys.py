"""Keys of contracts: what they become, and how their faults are said."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.errors import InputError
from sim.scenario import load_scenario
from sim.scenario.scenario import AccountTier, RelayAccount, Spot

TEXT = """name: contracts
seed: 1
traffic: {rate_rps: 5}
request_classes:
  - {name: chat, share: 1.0, input_tokens: 500, output_tokens: 200, models: [llama-3.3-70b]}
candidates:
  offers: []
  relays: [deepinfra.llama-3.3-70b]
budget: {per_month: 1000}
policy:
"""


def written(folder: Path, *lines: str) -> Path:
    path = folder / "contracts.yaml"
    path.write_text(TEXT + "".join(f"  {line}\n" for line in lines))
    return path


def test_contracts_reach_the_policy(tmp_path: Path) -> None:
    account = "relay_accounts: [{relay: deepinfra.llama-3.3-70b, committed_usd: 9, spend_cap_usd: 90, tiers: [{rpm: 5}, {from_usd: 50}]}]"
    shares = ("spot: {max_share: 0.5}", "max_vendor_share: {deepinfra: 0.9, '*': 0.5}")
    others = (*shares, "relay_outage_reserve: true", "boot_hours_paid: true")
    policy = load_scenario(written(tmp_path, account, *others)).policy
    assert policy.relay_accounts == (RelayAccount("deepinfra.llama-3.3-70b", 9, 90, (AccountTier(rpm=5), AccountTier(50))),)
    assert policy.spot == Spot(0.5, 1.0) and policy.vendor_shares == {"deepinfra": 0.9, "*": 0.5}
    assert policy.relay_outage_reserve and policy.boot_hours_paid and not policy.provisioned_units


def test_one_vendor_share_is_that_of_every_vendor(tmp_path: Path) -> None:
    assert load_scenario(written(tmp_path, "max_vendor_share: 0.4")).policy.vendor_shares == {"*": 0.4}


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("relay_accounts: [{relay: deepinfra.llama}]", "is no relay of this scenario; nearest: deepinfra.llama-3.3-70b"),
        (
            "relay_accounts: [{relay: deepinfra.llama-3.3-70b, committed_usd: 9, spend_cap_usd: 3}]",
            "spend_cap_usd 3 is below the 9 that must be paid; write 9 or more",
        ),
        (
            "relay_accounts: [{relay: deepinfra.llama-3.3-70b, tiers: [{from_usd: 5}, {from_usd: 2}]}]",
            "not in rising order of from_usd; write the cheapest first",
        ),
        ("relay_accounts: [{relay: deepinfra.llama-3.3-70b}, {relay: deepinfra.llama-3.3-70b}]", "has two accounts; write one per relay"),
        ("max_vendor_share: {deepinfra: 2}", "2 is too large; write at most 1"),
        ("spot: {availability: 0}", "policy.spot.availability"),
    ],
)
def test_faults_are_said_with_what_would_be_right(line: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        load_scenario(written(tmp_path, line))
    assert said in str(caught.value) and "contracts.yaml:11:" in str(caught.value)
