"""Hours that stand for others while the search looks for what pays."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from optimize.plan import market_for
from optimize.search.few_hours import ALIKE, alike_hours, in_few_hours
from optimize.search.known_market import Restriction
from sim.scenario import load_scenario

SCENARIO = Path(__file__).parents[3] / "scenarios/support_bot.yaml"


def test_each_hour_is_stood_for_once_and_the_month_stays_as_long() -> None:
    market = market_for(load_scenario(SCENARIO, (), None), jobs=1)[0]
    few = in_few_hours(market, Restriction()).demand
    assert few is not None
    groups = alike_hours(market.demand, market.relays)
    assert sorted(t for group in groups for t in group) == list(range(48))
    assert max(map(len, groups)) <= ALIKE
    assert few.weight_h.sum() == pytest.approx(market.demand.weight_h.sum())
    volume, whole = (each.mean_rps @ each.weight_h for each in (few, market.demand))
    assert volume == pytest.approx(whole, rel=0.05)
    assert few.mean_rps.max() == market.demand.mean_rps.max()
    assert few.mean_rps.sum(axis=0).min() == market.demand.mean_rps.sum(axis=0).min()


def test_hours_at_other_prices_are_not_alike() -> None:
    market = market_for(load_scenario(SCENARIO, (), None), jobs=1)[0]
    night = np.where(np.arange(48) % 24 < 7, 0.5, 1.0)[None, :].repeat(len(market.slos), axis=0)
    relay = replace(market.relays[0], hour_factors=night)
    groups = alike_hours(market.demand, [relay])
    assert all(len({float(night[0, t]) for t in group}) == 1 for group in groups)
    market.relays[0] = relay
    kept = in_few_hours(market, Restriction()).keep_relay(relay)
    assert kept is not None and kept.hour_factors is not None
    assert kept.hour_factors.shape[1] == len(groups)


def test_a_plan_whose_hours_depend_on_each_other_is_searched_in_all_of_them() -> None:
    market = market_for(load_scenario(SCENARIO, ("policy.boot_hours_paid=true",), None), jobs=1)[0]
    restriction = Restriction()
    assert in_few_hours(market, restriction) is restriction
