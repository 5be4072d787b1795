"""Each hour of a log gets the hosts that its own bursts ask for, no more because another hour is worse."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from optimize.plan import market_for
from optimize.search.log_hours import fewest, fit_hours, holds, with_hosts
from optimize.search.loop import Market, Restriction, Settled, settle
from tests.optimize.search.test_simple_fleets import scenario

HOST = "{{name: host, gpu: l40s, usd_per_hour: 1.0, elastic: {0}}}"


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> tuple[Market, Settled]:
    return found(tmp_path_factory.mktemp("log"))


def found(folder: Path, elastic: str = "true") -> tuple[Market, Settled]:
    """Two hours of a log: one busy and steady, one quiet with a burst; the plan of the program, which knows the first only."""
    busy, quiet = np.linspace(0.0, 3_599.0, 1500), np.linspace(3_600.0, 7_150.0, 60)
    burst = 5_000.0 + np.linspace(0.0, 6.0, 120)
    rows = [f"{time:.3f},3000,20" for time in sorted([*busy, *quiet, *burst, 7_199.0])]
    (folder / "log.csv").write_text("\n".join(["arrival_s,input_tokens,output_tokens", *rows]), encoding="utf-8")
    market, _ = market_for(scenario(folder, traffic="{log: log.csv}", offers=HOST.format(elastic)), jobs=1, cache=folder / "cache")
    return market, settle(market, Restriction())


def test_every_hour_holds_and_would_not_with_one_host_less(log: tuple[Market, Settled]) -> None:
    market, settled = log
    fitted = fit_hours(market, settled)
    hosts = fitted.solution.hosts[0]
    assert hosts[1] > hosts[0] >= 1 and (fitted.solution.billed == fitted.solution.hosts).all()
    assert all(holds(market, fitted, t) for t in (0, 1))
    assert not holds(market, with_hosts(fitted, 0, 1, int(hosts[1]) - 1), 1)
    assert fitted.solution.cost_usd == pytest.approx(hosts @ market.demand.weight_h)


def test_hosts_are_taken_out_of_an_hour_that_has_too_many(log: tuple[Market, Settled]) -> None:
    market, settled = log
    assert fewest(market, with_hosts(settled, 0, 0, 9), 0, 0).solution.hosts[0, 0] == fewest(market, settled, 0, 0).solution.hosts[0, 0]


def test_plan_beyond_the_budget_or_on_hosts_that_stay_comes_back_as_it_was(log: tuple[Market, Settled], tmp_path: Path) -> None:
    market, settled = log
    assert fit_hours(replace(market, budget_usd=settled.solution.cost_usd + 1.0), settled) is settled
    market, settled = found(tmp_path, elastic="false")
    assert fit_hours(market, settled) is settled
