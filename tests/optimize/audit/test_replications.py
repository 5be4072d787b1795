"""Another seed is an independent replication: it searches and proves on seeds of its own, and `--seeds` prints how far they spread."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from typer.testing import CliRunner

from cli import app
from optimize.audit.replications import Replication, spread
from optimize.plan import optimize
from optimize.search.fresh_seeds import HOLD_OUT_SEEDS, MORE_SEEDS, seeds_of
from sim.scenario import load_scenario
from tests.optimize.search.test_fresh_seeds import QUICK, TEXT


def scenario_file(folder: Path) -> Path:
    path = folder / "close_call.yaml"
    path.write_text(TEXT.replace("RELAYS", QUICK))
    return path


def test_seeds_of_two_replications_have_none_in_common() -> None:
    used = [set(seeds_of(seed, (*HOLD_OUT_SEEDS, *MORE_SEEDS))) for seed in (0, 1, 2, 2**31 - 1)]
    assert len(set.union(*used)) == sum(map(len, used)) and used[1] == {*HOLD_OUT_SEEDS, *MORE_SEEDS}


def test_another_seed_is_proved_on_other_requests(tmp_path: Path) -> None:
    scenario = load_scenario(scenario_file(tmp_path))
    one, two = (optimize(replace(scenario, seed=seed), jobs=1, cache=tmp_path, only_plan=True).verification for seed in (1, 2))
    assert one is not None and two is not None
    assert not set(one.seeds) & set(two.seeds) and one.requests_simulated != two.requests_simulated


def test_replications_are_printed_with_their_spread(tmp_path: Path) -> None:
    done = CliRunner().invoke(app, ["optimize", str(scenario_file(tmp_path)), "--json", "--seeds", "2", "--jobs", "1"])
    said = json.loads(done.stdout)["replications"]
    assert [each["seed"] for each in said["seeds"]] == [1, 2] and said["least_per_month"] <= said["most_per_month"]


def test_spread_of_one_price_is_none() -> None:
    assert spread([Replication(1, "met", 5.0), Replication(2, "met", 5.0)])["spread"] == 0.0
