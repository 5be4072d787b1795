"""Batch work in other hours: placed as well as any order can, never later than promised, and only where the plan becomes cheaper."""

from __future__ import annotations

import itertools
import math
from pathlib import Path

import numpy as np
import pytest

from optimize.plan import optimize
from optimize.search.batch_hours import level_room, moved_by, placed, waits_h, with_moved
from optimize.simulate.saved_plan import as_planned
from optimize.tables.plan_json import plan_json
from sim.errors import InputError
from sim.scenario import load_scenario
from sim.scenario.scenario import Scenario, SyntheticTraffic
from sim.traffic import demand, hour

TEXT = """
name: nights
traffic: {{requests_per_day: 30000, turns_per_conversation: 1, day_shape: office, weekend_factor: 0.33, peak_minute_factor: 1.0}}
request_classes:
  - {{name: chat, share: 0.6, input_tokens: 3200, output_tokens: 800, models: [llama-3.1-8b], slo: {{ttft: {{p95: 4.0}}}}}}
  - {{name: pages, share: 0.4, {kind} input_tokens: 8000, output_tokens: 1200, models: [llama-3.1-8b], slo: {{e2e: {{p95: {limit}}}}}}}
candidates:
  offers: [{{name: mine, gpu: l40s, usd_per_hour: 1.0, elastic: false}}]
  relays: []
  weights: [fp8]
budget: {{per_month: 20000}}
"""


def nights(tmp_path: Path, kind: str = "kind: batch,", limit: float = 86_400) -> Scenario:
    file = tmp_path / "nights.yaml"
    file.write_text(TEXT.format(kind=kind, limit=limit))
    return load_scenario(file)


def most_placed(room: tuple[int, ...], came: tuple[int, ...], wait: int) -> int:
    """The most units that any way to place them serves, by trying every way."""
    hours = len(came)
    units = [at for at, count in enumerate(came) for _ in range(count)]
    best = 0
    for choice in itertools.product(range(wait + 2), repeat=len(units)):  # the last: not served
        used = [0] * hours
        for at, later in zip(units, choice, strict=True):
            if later <= wait:
                used[(at + later) % hours] += 1
        if all(a <= b for a, b in zip(used, room, strict=True)):
            best = max(best, sum(used))
    return best


@pytest.mark.parametrize("wait", [0, 1, 2])
def test_oldest_first_serves_as_much_as_any_way_that_enumeration_finds(wait: int) -> None:
    rng = np.random.default_rng(wait)
    for _ in range(40):
        room, came = tuple(rng.integers(0, 3, 4).tolist()), tuple(rng.integers(0, 2, 4).tolist())
        served, late, longest = placed(room, came, wait)
        assert math.fsum(served) == pytest.approx(most_placed(room, came, wait)) and longest <= wait
        assert math.fsum(served) + math.fsum(late) == pytest.approx(sum(came))


def test_no_lower_level_serves_everything_in_time() -> None:
    base, came = [4.0, 1.0, 0.0, 6.0], [0.0, 2.0, 3.0, 1.0]
    room = level_room(base, came, 2)
    level = room[2]
    assert math.fsum(placed(room, came, 2)[1]) == pytest.approx(0, abs=1e-6)
    lower = [max(0.0, 0.99 * level - each) for each in base]
    assert math.fsum(placed(lower, came, 2)[1]) > 0


@pytest.mark.parametrize(("limit", "hours"), [(86_400, 23), (7200, 1), (3599, 0)])
def test_a_class_waits_as_long_as_its_promise_leaves_an_hour(tmp_path: Path, limit: float, hours: int) -> None:
    assert waits_h(nights(tmp_path, limit=limit).request_classes[1]) == hours
    assert waits_h(nights(tmp_path, kind="", limit=60).request_classes[1]) == 0


def test_moved_work_keeps_its_volume_and_is_played_where_it_is_served(tmp_path: Path) -> None:
    scenario = nights(tmp_path)
    came = demand(scenario).mean_rps[1]
    moved = moved_by(np.where(np.arange(48) % 24 < 6, np.inf, 0.0), came, 23, 1)
    assert moved is not None
    there = with_moved(scenario, (moved,))
    found = demand(there)
    assert found.mean_rps[1][:24].sum() == pytest.approx(came[:24].sum()) and found.mean_rps[1][12] == 0
    assert found.mean_rps[0].tolist() == demand(scenario).mean_rps[0].tolist()
    assert {row.limit_s for row in there.request_classes[1].slo} == {86_400 - moved.wait_h * 3600}
    assert not (hour(there, 12, seed=1, duration_s=60, warmup_s=0).class_id == 1).any()
    night = hour(there, 0, seed=1, duration_s=600, warmup_s=0).class_id
    assert np.count_nonzero(night == 1) == pytest.approx(600 * found.mean_rps[1][0], rel=0.2)


def test_night_work_of_own_hosts_waits_and_the_plan_needs_one_host_instead_of_two(tmp_path: Path) -> None:
    plan = optimize(nights(tmp_path), jobs=1, cache=tmp_path, only_plan=True)
    assert plan.status == "met" and plan.solution.cost_usd == 730.0  # one host is the least that there is
    assert any("Batch work of pages waits" in words for words in plan.assumptions)
    said = plan_json(plan)
    again = as_planned(said, nights(tmp_path))
    assert isinstance(again.traffic, SyntheticTraffic) and again.traffic.moved[0].class_index == 1
    assert demand(again).mean_rps == pytest.approx(plan.demand.mean_rps, rel=1e-6, abs=1e-9)


def test_batch_hours_that_do_not_fit_are_told(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="batch hours do not fit"):
        as_planned({"moved": [{"class": "pages", "wait_h": 5, "by_hour": [1.0]}]}, nights(tmp_path))
