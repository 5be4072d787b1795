"""The commands as people type them: exit codes, streams, files, and what bad input is told."""

from __future__ import annotations

import csv
import gzip
import json
import resource
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

import cli
from tests.terminal import alone

ROOT = Path(__file__).resolve().parents[1]
TWO_OFFERS = str(ROOT / "scenarios" / "two_offers.yaml")
MELANGE = str(ROOT / "scenarios" / "melange.yaml")
L40S = "aws.g6e.xlarge/llama-3.1-8b/fp8"
PLAN_KEYS = [
    "scenario",
    "seed",
    "status",
    "cost",
    "fleet",
    "relays",
    "classes",
    "alternatives",
    "verification",
    "solver",
    "assumptions",
    "warnings",
]
COST_KEYS = ["currency", "per_month", "lines", "lower_bound_per_month", "fluid_bound_per_month", "gap"]
FLEET_KEYS = ["offer", "gpu", "model", "weights", "tensor_parallel", "term", "replicas", "cost_per_month"]
CLASS_KEYS = ["name", "requests_per_month", "served_by", "slo"]
SLO_KEYS = ["metric", "quantile", "limit_s", "simulated_s", "ci95_s", "hour", "met"]
COMMANDS = ("optimize", "simulate", "catalog", "validate", "compare", "rerun", "probe", "decide")


class Ran:
    """What one command did; `said` is both streams."""

    def __init__(self, code: int, out: str, err: str) -> None:
        self.code, self.out, self.err = code, out, err
        self.said = out + err
        assert "Traceback" not in self.said

    def json(self) -> Any:
        return json.loads(self.out)


class Terminal:
    """Runs commands in this process, as `main` would, with streams kept apart."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.capsys, self.monkeypatch = capsys, monkeypatch

    def __call__(self, *words: str) -> Ran:
        self.monkeypatch.setattr(sys, "argv", ["servemix", *alone(*words)])
        with pytest.raises(SystemExit) as left:
            cli.main()
        out, err = self.capsys.readouterr()
        code = left.value.code
        return Ran(code if isinstance(code, int) else 0, out, err)


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(capsys, monkeypatch)


def process(*words: str) -> Ran:
    """The same in a process of its own."""
    done = subprocess.run([sys.executable, str(ROOT / "cli.py"), *words], capture_output=True, text=True, timeout=120, check=False)
    return Ran(done.returncode, done.stdout, done.stderr)


@pytest.fixture(scope="module")
def first() -> Ran:
    """`optimize two_offers --json` with the processes that it starts."""
    return process("optimize", TWO_OFFERS, "--json")


@pytest.fixture
def plan_file(first: Ran, tmp_path: Path) -> Path:
    path = tmp_path / "plan.json"
    path.write_text(first.out, encoding="utf-8")
    return path


def missing(record: dict[str, Any], keys: list[str]) -> list[str]:
    return [key for key in keys if key not in record]


# --- help


def test_help_answers_in_under_three_tenths_of_a_cpu_second() -> None:
    def spent() -> float:
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        assert "optimize" in process("--help").out
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime

    assert min(spent() for _ in range(3)) < 0.3  # least of three: neighbours on the machine only add


@pytest.mark.parametrize("command", COMMANDS)
def test_help_of_a_command_ends_with_an_example(run: Terminal, command: str) -> None:
    ran = run(command, "--help")
    assert ran.code == 0
    assert f"Example: servemix {command} " in " ".join(ran.out.split())


def test_unknown_command_is_bad_input(run: Terminal) -> None:
    ran = run("optimise", TWO_OFFERS)
    assert ran.code == 2 and "optimise" in ran.err and ran.out == ""


# --- optimize


def test_plan_of_two_offers_is_met_and_has_every_key_of_the_contract(first: Ran) -> None:
    plan = first.json()
    assert first.code == 0 and plan["status"] == "met" and plan["schema"] == "servemix.plan/1"
    assert missing(plan, PLAN_KEYS) == [] and missing(plan["cost"], COST_KEYS) == []
    assert missing(plan["verification"], ["seeds", "requests_simulated", "rounds"]) == []
    assert missing(plan["solver"], ["name", "status", "bound", "gap"]) == []
    for relay in plan["relays"]:
        assert missing(relay, ["relay", "model", "requests_per_month", "tokens_per_month", "cost_per_month"]) == []
        assert set(relay["tokens_per_month"]) == {"input", "cached", "output"}
    for each in plan["classes"]:
        assert missing(each, CLASS_KEYS) == [] and each["slo"]
        assert [missing(row, SLO_KEYS) for row in each["slo"]] == [[]] * len(each["slo"])
    assert all(missing(each, ["name", "status", "per_month"]) == [] for each in plan["alternatives"])


def test_sums_of_the_plan_add_up_and_its_verdicts_agree_with_their_numbers(first: Ran) -> None:
    check_sums(first.json())


def check_sums(plan: dict[str, Any]) -> None:
    """Lines sum to the total, parts stay below it, bounds below cost, verdicts match their numbers."""
    cost = plan["cost"]
    assert sum(line["per_month"] for line in cost["lines"]) == pytest.approx(cost["per_month"], rel=1e-6, abs=0.02)
    assert cost["lower_bound_per_month"] <= cost["per_month"] * 1.0001
    parts = sum(each["cost_per_month"] for each in (*plan["fleet"], *plan["relays"]))
    assert parts <= cost["per_month"] * 1.001 + 0.02
    for each in plan["classes"]:
        assert sum(each["served_by"].values()) == pytest.approx(1.0, abs=0.01)
        for row in each["slo"]:
            low, high = row["ci95_s"]
            assert low <= row["simulated_s"] <= high
            assert row["met"] == (row["simulated_s"] <= row["limit_s"])
    assert len(plan["alternatives"]) >= 3


def test_same_bytes_again_and_on_an_empty_cache(first: Ran, run: Terminal, tmp_path: Path) -> None:
    assert run("optimize", TWO_OFFERS, "--json").out == first.out
    run.monkeypatch.setenv("SERVEMIX_CACHE_DIR", str(tmp_path / "empty"))
    assert run("optimize", TWO_OFFERS, "--json").out == first.out


def test_own_gpus_are_followed_by_their_keys(run: Terminal) -> None:
    ran = run("optimize", TWO_OFFERS, "--json", "--set", "candidates.relays=[]")
    plan = ran.json()
    assert ran.code == 0 and plan["relays"] == []
    check_sums(plan)
    for pool in plan["fleet"]:
        assert missing(pool, FLEET_KEYS) == []
        assert pool["replicas"]["peak"] == max(pool["replicas"]["by_hour"])


def test_results_folder_holds_the_plan_that_was_printed(first: Ran, run: Terminal, tmp_path: Path) -> None:
    ran = run("optimize", TWO_OFFERS, "--json", "--out", str(tmp_path / "made" / "here"))
    folder = tmp_path / "made" / "here"
    assert json.loads((folder / "plan.json").read_text(encoding="utf-8")) == first.json() == ran.json()
    assert {each.name for each in folder.iterdir()} == {
        "plan.json", "report.html", "report.xlsx", "tables", "figures", "inputs", "manifest.json"
    }  # fmt: skip


def test_budget_of_zero_is_no_plan_and_says_by_how_much(first: Ran, run: Terminal) -> None:
    ran = run("optimize", TWO_OFFERS, "--set", "budget.per_month=0")
    assert ran.code == 3
    least, said = f"${first.json()['cost']['per_month']:,.2f}", " ".join(ran.out.split())
    assert f"the smallest budget that serves everything: {least} a month, {least} above the budget" in said
    assert f"By API wherever allowed: {least} a month, over budget." in said and "the same plan" not in said


def test_promise_that_nobody_can_keep_names_its_class(run: Terminal) -> None:
    ran = run("optimize", TWO_OFFERS, "--set", "request_classes.chat.slo.ttft.p95=0.0001", "--json")
    plan = ran.json()
    assert ran.code == 3 and plan["status"] == "infeasible" and plan["cost"]["per_month"] == 0
    assert any("chat" in words and "100" in words for words in plan["warnings"])


def test_measured_capacities_give_one_of_each_gpu_unverified(run: Terminal) -> None:
    ran = run("optimize", MELANGE, "--json")
    plan = ran.json()
    assert ran.code == 0 and plan["status"] == "unverified"
    assert plan["cost"]["per_month"] == pytest.approx(4.68 * 730)
    assert {pool["offer"]: pool["replicas"]["peak"] for pool in plan["fleet"]} == {"A10G": 1, "A100-80GB": 1}
    assert all(each["slo"] == [] for each in plan["classes"])
    check_sums(plan)


# --- simulate


def test_simulated_fleet_prints_all_quantiles_and_writes_its_log(run: Terminal, tmp_path: Path) -> None:
    ran = run("simulate", TWO_OFFERS, "--fleet", f"{L40S}=2", "--out", str(tmp_path))
    assert ran.code == 0
    for word in ("p50", "p90", "p95", "p99", "TTFT", "TPOT", "E2E", "KV peak", "queue peak", "preempted", "busy", "requests/s"):
        assert word in ran.out
    with gzip.open(tmp_path / "requests.csv.gz", "rt", encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    assert rows and {row["status"] for row in rows} == {"finished"}
    assert {row["target"] for row in rows} == {L40S}
    assert all(0 < float(row["ttft_s"]) <= float(row["e2e_s"]) for row in rows[:500])
    assert [each.name for each in tmp_path.iterdir()] == ["requests.csv.gz"]


def test_simulation_as_json_is_one_object_with_ordered_quantiles(run: Terminal) -> None:
    ran = run("simulate", TWO_OFFERS, "--fleet", f"{L40S}=2, relay:deepinfra.llama-3.1-8b", "--json")
    for metric in ("ttft", "tpot", "e2e"):
        values = [ran.json()["classes"][0]["latency_s"][metric][q] for q in ("p50", "p90", "p95", "p99")]
        assert values == sorted(values) and values[0] > 0


def test_saved_plan_is_simulated_on_its_own_fleet(first: Ran, run: Terminal, plan_file: Path) -> None:
    said = run("simulate", TWO_OFFERS, "--plan", str(plan_file), "--json").json()
    plan = first.json()
    names = {each["pool"] for each in plan["fleet"]} | {each["relay"] for each in plan["relays"]}
    assert {target["name"] for target in said["targets"]} == names
    assert all(row["met"] for row in said["classes"][0]["slo"])


# --- what bad input gets: exit code 2, one message, nothing on stdout


def refused(ran: Ran, *words: str) -> None:
    assert ran.code == 2 and ran.out == ""
    for word in words:
        assert word in ran.err


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        ("candidates.offers=[aws.g6e.xlarg]", ("aws.g6e.xlarg", "aws.g6e.xlarge")),
        ("candidates.offers=[{name: mine, gpu: l40, usd_per_hour: 1}]", ("l40", "l40s")),
        ("candidates.relays=[deepinfra.llama-3.1-8]", ("deepinfra.llama-3.1-8", "deepinfra.llama-3.1-8b")),
        ("request_classes.chat.models=[llama-3.1-8]", ("llama-3.1-8", "llama-3.1-8b")),
        ("budget.per_month=-1", ("budget.per_month", "-1")),
        ("budget.per_month=.nan", ("budget.per_month",)),
        ("request_classes.chat.slo.ttft.p95=200ms", ("200ms", "0.2")),
        ("request_classes.nobody.share=1", ("nobody", "chat")),
        ("no_equals_sign", ("no_equals_sign",)),
    ],
)
def test_fault_in_a_setting_names_the_value_and_what_would_be_right(run: Terminal, fault: str, words: tuple[str, ...]) -> None:
    refused(run("optimize", TWO_OFFERS, "--set", fault), *words)


def test_missing_file_is_named(run: Terminal, tmp_path: Path) -> None:
    for words in (("optimize",), ("simulate", "--fleet", f"{L40S}=1")):
        refused(run(words[0], str(tmp_path / "none.yaml"), *words[1:]), "none.yaml")
    refused(run("simulate", TWO_OFFERS, "--plan", str(tmp_path / "none.json")), "none.json")
    refused(run("validate", str(tmp_path / "none.csv")), "none.csv")


def test_folder_in_place_of_a_file_is_refused(run: Terminal, tmp_path: Path) -> None:
    refused(run("optimize", str(tmp_path)), str(tmp_path))
    refused(run("simulate", TWO_OFFERS, "--plan", str(tmp_path)), str(tmp_path))
    refused(run("validate", str(tmp_path)), str(tmp_path))


def test_every_bad_entry_of_a_fleet_is_told_at_once(run: Terminal) -> None:
    unknown = "aws.g6e.xlarge/llama-3.1-7b/fp8=1, relay:deepinfra.llama-3.1-8, nebius.h10/llama-3.1-8b/fp8=1"
    ran = run("simulate", TWO_OFFERS, "--fleet", f"{L40S}=x, nonsense, {L40S}/tp9=1, {L40S}=0, {unknown}")
    refused(ran, '"x"', '"nonsense"', "tp9", '"0"', "llama-3.1-8b", "deepinfra.llama-3.1-8b", "nebius.h100")
    assert len(ran.err.splitlines()) == 7


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), ("--fleet", "--plan")),
        (("--fleet", ""), ("OFFER/MODEL/WEIGHTS",)),
        (("--fleet", f"{L40S}=1", "--hour", "weekday 25"), ("weekday 25", "every hour")),
        (("--fleet", f"{L40S}=1", "--router", "random"), ("random", "round_robin")),
        (("--fleet", f"{L40S}=1", "--overflow", "4"), ("--overflow", "relay:")),
        (("--fleet", "aws.g6e.xlarge/llama-3.1-70b/bf16=1"), ("llama-3.1-70b",)),
        (("--fleet", "aws.g6e.xlarge/mistral-7b/fp8=1"), ("mistral-7b", "llama-3.1-8b")),
    ],
)
def test_fleet_that_cannot_be_run_is_refused(run: Terminal, words: tuple[str, ...], told: tuple[str, ...]) -> None:
    refused(run("simulate", TWO_OFFERS, *words), *told)


def test_plan_for_another_scenario_is_refused(run: Terminal, plan_file: Path) -> None:
    refused(run("simulate", MELANGE, "--plan", str(plan_file)), "two_offers", "melange", str(plan_file))


def test_plan_made_with_other_settings_is_refused(run: Terminal, tmp_path: Path) -> None:
    path = tmp_path / "own.json"
    path.write_text(run("optimize", TWO_OFFERS, "--json", "--set", "candidates.relays=[]").out, encoding="utf-8")
    refused(run("simulate", TWO_OFFERS, "--plan", str(path)), "scenario_digest", "--set", str(path))
    assert run("simulate", TWO_OFFERS, "--plan", str(path), "--set", "candidates.relays=[]").code == 0


def test_plan_may_be_tried_on_another_seed_and_under_other_traffic(run: Terminal, plan_file: Path) -> None:
    assert run("simulate", TWO_OFFERS, "--plan", str(plan_file), "--seed", "7").code == 0
    assert run("simulate", TWO_OFFERS, "--plan", str(plan_file), "--set", "traffic.rate_rps=6").code == 0


def test_plan_without_an_engine_is_refused(run: Terminal, tmp_path: Path) -> None:
    path = tmp_path / "measured.json"
    path.write_text(run("optimize", MELANGE, "--json").out, encoding="utf-8")
    refused(run("simulate", MELANGE, "--plan", str(path)), "measured_capacity")


@pytest.mark.parametrize("keep", [0, 1, 300, 1500])
def test_torn_plan_is_refused_with_its_place(run: Terminal, plan_file: Path, keep: int) -> None:
    plan_file.write_text(plan_file.read_text(encoding="utf-8")[:keep], encoding="utf-8")
    refused(run("simulate", TWO_OFFERS, "--plan", str(plan_file)), f"{plan_file}:")


@pytest.mark.parametrize("text", ["[]", "null", '{"schema": "other"}', '{"schema": "servemix.plan/1", "scenario": "two_offers"}', "\x00"])
def test_json_that_is_no_plan_is_refused(run: Terminal, plan_file: Path, text: str) -> None:
    plan_file.write_text(text, encoding="utf-8")
    refused(run("simulate", TWO_OFFERS, "--plan", str(plan_file)), f"{plan_file}:")


@pytest.mark.parametrize("key", ["fleet", "relays", "routing"])
@pytest.mark.parametrize("value", [None, 7, [7], {"chat": {"x": None}}])
def test_plan_with_a_spoilt_part_is_refused(run: Terminal, plan_file: Path, key: str, value: object) -> None:
    plan = json.loads(plan_file.read_text(encoding="utf-8"))
    plan_file.write_text(json.dumps(plan | {key: value}), encoding="utf-8")
    ran = run("simulate", TWO_OFFERS, "--plan", str(plan_file))
    assert ran.code == 2 and ran.err.count("\n") >= 1 and "Traceback" not in ran.err


@pytest.mark.parametrize("command", [("optimize",), ("simulate", "--fleet", f"{L40S}=1")])
def test_folder_that_cannot_be_written_is_told_before_any_work(run: Terminal, tmp_path: Path, command: tuple[str, ...]) -> None:
    taken = tmp_path / "taken"
    taken.write_text("a file", encoding="utf-8")
    ran = run(command[0], TWO_OFFERS, *command[1:], "--out", str(taken / "results"))
    refused(ran, "--out", str(taken))
    assert "measuring" not in ran.err
    assert [each.name for each in tmp_path.iterdir()] == ["taken"] and taken.read_text(encoding="utf-8") == "a file"


def test_unknown_row_of_the_catalogue_gets_the_nearest_name(run: Terminal) -> None:
    refused(run("catalog", "gpus", "h10"), "h10", "h100")
    refused(run("catalog", "gpu"), "gpus")


def test_torn_measurements_are_refused(run: Terminal, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "scenarios", tmp_path / "scenarios")
    (tmp_path / "scenarios" / "melange_capacity.csv").write_text("offer,class,rate_rps\nA10G,small-short\nA10G,none,x\n", encoding="utf-8")
    refused(run("optimize", str(tmp_path / "scenarios" / "melange.yaml")), "melange_capacity.csv:2", "melange_capacity.csv:3")


# --- compare, rerun


def test_saved_plans_are_compared_and_made_again(run: Terminal, tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    assert run("optimize", MELANGE, "--out", str(first)).code == 0
    assert run("optimize", MELANGE, "--out", str(second), "--set", "candidates.offers.A10G.usd_per_hour=1.2").code == 0
    found = run("compare", str(first), str(second), "--json").json()
    steps = {step["name"]: step["amount"] for step in found["bridges"][0]["steps"]}
    assert round(100 * sum(steps.values())) == round(100 * (found["bridges"][0]["after"] - found["bridges"][0]["before"])) != 0
    assert run("compare", str(first), "--actual", str(first / "tables" / "focus.csv")).code == 0
    again = run("rerun", str(second))
    assert (again.code, again.out) == (0, "identical: the plan made again has the same bytes\n")


def test_a_plan_that_comes_out_otherwise_ends_with_four(run: Terminal, tmp_path: Path) -> None:
    assert run("optimize", MELANGE, "--out", str(tmp_path)).code == 0
    plan = json.loads((tmp_path / "plan.json").read_text(encoding="utf-8"))
    plan["cost"]["per_month"] += 1
    (tmp_path / "plan.json").write_text(json.dumps(plan), encoding="utf-8")
    ran = run("rerun", str(tmp_path))
    assert ran.code == 4 and "cost.per_month" in ran.out


def test_comparing_one_plan_or_a_scenario_is_bad_input(run: Terminal, tmp_path: Path) -> None:
    refused(run("compare", str(tmp_path / "a")), "plan.json")
    refused(run("compare", MELANGE, MELANGE), "melange.yaml", "optimize")
    refused(run("rerun", str(tmp_path)), "manifest.json")


def test_ctrl_c_ends_with_130_and_says_what_is_kept(run: Terminal, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("sim.scenario.load_scenario", interrupted)
    ran = run("optimize", TWO_OFFERS)
    assert ran.code == 130 and "measurements made so far are kept" in ran.err
