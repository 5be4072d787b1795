"""From policy keys to what the program is told."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from optimize.market.contract_terms import boot_terms, bought_terms, contracted
from sim.requests import Demand
from sim.scenario.scenario import AccountTier, Policy, RelayAccount
from tests.optimize.program.problems import problem, relay


def week() -> Demand:
    """Two hours of each kind of day."""
    demand = problem([[1.0, 2.0, 3.0, 4.0]], hours=(200.0, 200.0, 165.0, 165.0)).demand
    return replace(demand, slices=("weekday 00", "weekday 01", "weekend 00", "weekend 01"))


def test_each_kind_of_day_is_a_ring_of_its_own() -> None:
    boot = boot_terms(Policy(boot_hours_paid=True), week())
    assert boot is not None and boot.previous == (1, 0, 3, 2)
    assert boot.times.tolist() == [200.0, 200.0, 165.0, 165.0]
    assert boot_terms(Policy(), week()) is None


def test_an_account_brings_tiers_and_tier_limits_are_hard_though_the_relay_negotiates() -> None:
    sold = relay("r", [1e-4], rpm=100.0, hard=False)
    policy = Policy(relay_accounts=(RelayAccount("r", 50.0, 900.0, (AccountTier(), AccountTier(300.0, 0.8, rpm=600.0))),))
    (terms,) = contracted([sold], policy, week())
    assert (terms.committed_usd, terms.spend_cap_usd, len(terms.tiers)) == (50.0, 900.0, 2)
    free, paid = bought_terms(terms, 0), bought_terms(terms, 1)
    assert (free.hard_limits, free.relay.rpm) == (False, None)
    assert (paid.hard_limits, paid.relay.rpm) == (True, 600.0)


def test_a_unit_carries_the_tokens_a_minute_that_its_vendor_states() -> None:
    sold = relay("r", [1e-4], rpm=100.0)
    row = replace(sold.relay, unit_usd_per_hour=2.0, unit_tokens_per_minute=6000.0, unit_output_weight=4.0, unit_minimum=15)
    plain, units = contracted([replace(sold, relay=row)], Policy(provisioned_units=True), week())
    assert plain.units is None and units.units is not None
    assert units.relay.id == "r.units" and units.usd_per_request.tolist() == [0.0] and units.relay.rpm is None
    assert units.units.least == 15 and units.units.usd_per_hour == 2.0
    assert units.units.load == pytest.approx(np.array([(50 + 4 * 50) * 60 / 6000]))  # 50 tokens in, 50 out, per request/s
    assert len(contracted([replace(sold, relay=row)], Policy(), week())) == 1
