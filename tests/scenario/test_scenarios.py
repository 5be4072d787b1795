"""The scenarios that come with the project: they load without a complaint, every value says where it is from, and each has a verdict."""

from __future__ import annotations

import gzip
import re
import subprocess
import sys
from pathlib import Path

import pytest

from optimize.report.terminal.render_simulate import render_simulation
from optimize.simulate.named_fleet import simulate_fleet
from sim.scenario import load_scenario
from sim.traffic import demand
from sim.traffic.readers import read_log

ROOT = Path(__file__).resolve().parents[2]
SCENARIOS = sorted((ROOT / "scenarios").glob("*.yaml"))
NEW = {"support_bot": 0, "trace_replay": 0, "rag_search": 0, "model_3b_support": 0, "reasoning_api": 0}
NUMBER = re.compile(r":\s*(\{.*\d|\[.*\d|-?[\d_.]+)")


@pytest.mark.parametrize("path", SCENARIOS, ids=lambda path: path.stem)
def test_it_loads_and_has_demand(path: Path) -> None:
    scenario = load_scenario(path)
    assert scenario.name == path.stem and scenario.description
    assert demand(scenario).mean_rps.sum() > 0


@pytest.mark.parametrize("name", sorted(NEW))
def test_every_number_says_its_unit_or_source(name: str) -> None:
    """A number without a remark next to it or on the line above is a number that no one can check."""
    lines = (ROOT / "scenarios" / f"{name}.yaml").read_text(encoding="utf-8").splitlines()
    bare = []
    for above, line in zip(["", *lines], lines, strict=False):
        key = line.strip().split(":")[0].lstrip("- {")
        if NUMBER.search(line.split("#")[0]) and "#" not in line and not above.strip().startswith("#"):
            bare.append(key)
    names = {"seed", "name", "models", "offers", "relays", "weights", "tensor_parallel"}  # no quantities
    assert [key for key in bare if key not in names] == []


def test_the_example_log_is_what_its_script_writes(tmp_path: Path) -> None:
    script = ROOT / "scenarios" / "make_example_log.py"
    subprocess.run([sys.executable, str(script), str(tmp_path / "log.csv.gz")], check=True)
    again, kept = (gzip.decompress(path.read_bytes()) for path in (tmp_path / "log.csv.gz", ROOT / "scenarios" / "example_log.csv.gz"))
    assert again == kept


def test_the_example_log_has_classes_sessions_and_twenty_minutes() -> None:
    log = read_log(ROOT / "scenarios" / "example_log.csv.gz")
    assert log.class_names == ("faq", "hard") and not log.dropped and 1100 < log.arrival_s[-1] < 1200
    assert (log.prefix_tokens > 0).any()


@pytest.mark.slow
@pytest.mark.parametrize(("name", "code"), sorted(NEW.items()))
def test_it_ends_with_a_verdict(name: str, code: int, tmp_path: Path) -> None:
    command = [sys.executable, str(ROOT / "cli.py"), "optimize", str(ROOT / "scenarios" / f"{name}.yaml")]
    run = subprocess.run(command, capture_output=True, text=True, env={"SERVEMIX_CACHE_DIR": str(tmp_path), "PATH": "/usr/bin:/bin"})
    assert run.returncode == code, run.stderr
    assert re.search(r"^(MET|NO PLAN|MISSED|OVER BUDGET)", run.stdout, flags=re.M)


def test_a_fleet_answers_the_example_log() -> None:
    """Its sessions keep to their replica: the default router of a log is one that `simulate` knows."""
    scenario = load_scenario(ROOT / "scenarios" / "trace_replay.yaml")
    run = simulate_fleet(
        scenario, fleet="aws.g6.xlarge/llama-3.1-8b/fp8=1, relay:groq.llama-3.3-70b", plan=None, hour=None, router=None, overflow=None
    )
    assert "log hour 0" in render_simulation(run)
