"""Which classes share a pool: any group of few classes can be the plan's, many classes stay quick, and nothing is measured for nothing."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from optimize.market.operating_point import OperatingPoint, Probe
from optimize.plan import market_for
from optimize.search import loop
from optimize.search.group_choice import groups_of
from optimize.search.known_market import Market, Restriction
from sim.scenario import load_scenario

SCENARIO = Path(__file__).parents[3] / "scenarios/two_offers.yaml"


def market(classes: int, rate_rps: float) -> Market:
    """`classes` alike classes on one kind of host, engine limits fixed."""
    each = "{name: c%d, share: %r, input_tokens: 500, output_tokens: 100, models: [llama-3.1-8b], slo: {ttft: {p95: 2}}}"
    listed = ", ".join(each % (k, 1 / classes) for k in range(classes))
    settings = (
        f"request_classes=[{listed}]", "candidates={offers: [verda.h100], relays: [], weights: [fp8], tensor_parallel: [1]}",
        f"traffic={{rate_rps: {rate_rps}, minute_noise_cv: 0}}", "engine={max_num_seqs: 256, max_num_batched_tokens: 2048}",
    )  # fmt: skip
    return market_for(load_scenario(SCENARIO, settings, None), jobs=1)[0]


def measured_as(monkeypatch: pytest.MonkeyPatch, friends: Sequence[set[int]]) -> list[tuple[int, ...]]:
    """Measurements answer that a replica carries 10 requests/s of classes that are friends, and a tenth of that of any other mix."""
    asked: list[tuple[int, ...]] = []

    def answer(_: Any, probes: Sequence[Probe], *__: Any) -> list[OperatingPoint]:
        found = []
        for probe in probes:
            sent = {c for c, share in enumerate(probe.mix) if share > 0}
            asked.append(tuple(sorted(sent)))
            rate = 10.0 * probe.replicas if any(sent <= group for group in friends) else 1.0 * probe.replicas
            found.append(OperatingPoint(rate, (0.0,) * len(probe.slos), 0.0, 1, probe.rough))
        return found

    monkeypatch.setattr(loop, "measure_all", answer)
    return asked


@pytest.mark.parametrize("friends", [[{0, 1}, {2, 3}], [{0, 3}, {1, 2}], [{0, 1, 3}, {2}], [{0, 1, 2, 3}]])
def test_classes_that_go_well_together_share_a_pool(monkeypatch: pytest.MonkeyPatch, friends: list[set[int]]) -> None:
    """Alone each class takes a host of which it fills a quarter: who may share with whom, only measurements tell."""
    measured_as(monkeypatch, friends)
    settled = loop.settle(market(4, 10.0), Restriction())
    used = [set(state.option.classes) for p, state in enumerate(settled.pools) if settled.solution.hosts[p].any()]
    assert settled.solution.hosts.sum() == len(friends)
    assert sorted(map(sorted, used)) == sorted(map(sorted, friends))


def test_all_fifteen_groups_of_four_classes_can_be_pools() -> None:
    assert len(list(groups_of(range(4)))) + 4 == 15


def test_groups_that_would_save_nothing_are_not_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = measured_as(monkeypatch, [{0, 1, 2, 3}])
    loop.settle(market(4, 10.0), Restriction())
    assert set(asked) == {(0, 1, 2, 3)}, "one host for all is as few as can be"


def test_thirty_classes_merge_step_by_step_with_few_measurements(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 435 pairs and a billion groups a few dozen are asked for; pairs that leave half a host idle share one."""
    asked = measured_as(monkeypatch, [{k, k + 1} for k in range(0, 30, 2)])
    settled = loop.settle(market(30, 150.0), Restriction())
    assert settled.solution.hosts.sum() < 30
    assert len(asked) < 200
