"""`decide` and `optimize --explain` as a user meets them: exit codes, one JSON object, one message for bad input."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

import cli

ROOT = Path(__file__).resolve().parents[4]
SMALL = str(ROOT / "scenarios" / "decide_small.yaml")
TWO = str(ROOT / "scenarios" / "two_offers.yaml")
FEW = "futures=[{name: today}, {name: slump, users: 0.3}]"


class Terminal:
    """Runs a command in this process, as `main` would."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.capsys, self.monkeypatch = capsys, monkeypatch

    def __call__(self, *words: str) -> tuple[int, str, str]:
        self.monkeypatch.setattr(sys, "argv", ["servemix", *words])
        with pytest.raises(SystemExit) as left:
            cli.main()
        out, err = self.capsys.readouterr()
        assert "Traceback" not in out + err
        return (left.value.code if isinstance(left.value.code, int) else 0), out, err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(capsys, monkeypatch)


def test_decide_prints_one_object_and_the_same_again(run: Terminal, tmp_path: Path) -> None:
    code, out, err = run("decide", SMALL, "--json", "--jobs", "1", "--set", FEW, "--out", str(tmp_path))
    said = json.loads(out)
    assert code == 0 and said["schema"] == "servemix.decision/1" and "results in" in err
    assert said == json.loads((tmp_path / "decision.json").read_text(encoding="utf-8"))
    assert [row["future"] for row in said["outcomes"]] == ["today", "slump"] * 3
    assert run("decide", SMALL, "--json", "--jobs", "1", "--set", FEW)[1] == out


def test_a_decision_that_leaves_requests_everywhere_exits_with_3(run: Terminal) -> None:
    code, out, _ = run(
        "decide", SMALL, "--jobs", "1", "--set", "futures=[{name: late}]", "--set", "request_classes.private.slo.ttft.p95=0.01"
    )
    assert code == 3 and "unserved" in out


@pytest.mark.parametrize(
    ("setting", "says"),
    [
        ("commitments=[{name: a}]", "a decision needs two or more"),
        ("commitments=[{name: a}, {name: a}]", "a is there twice"),
        ("commitments=[{name: a, hold: {nobody: 1}}, {name: b}]", '"nobody" is no offer of the scenario or the catalogue'),
        ("commitments=[{name: a, hold: {l40s-reserved: 0}}, {name: b}]", "0 is too small"),
        ("commitments=[{name: a, hold: {aws.g6e.xlarge.reserved_1y: 2}}, {name: b}]", "its price is only claimed; get a quote"),
        ("commitments=[{name: a, hold: {aws.g4dn.xlarge: 1}}, {name: b}]", "no model that a class accepts fits on it"),
        ("commitments=[{name: a, recourse: none}, {name: b}]", "write any or relays"),
        ("futures=[{name: a, retired: [gpt-0]}]", '"gpt-0" is sold by no relay'),
        ("futures=[{name: a, users: -1}]", "-1 is negative; write a number above 0"),
    ],
)
def test_bad_input_is_one_message_that_says_what_would_be_right(run: Terminal, setting: str, says: str) -> None:
    code, out, err = run("decide", SMALL, "--set", setting)
    assert code == 2 and out == "" and says in err


def test_an_impossible_budget_and_an_impossible_promise_exit_with_3_and_differ(run: Terminal) -> None:
    poor = run("optimize", TWO, "--json", "--jobs", "1", "--set", "budget.per_month=150")
    late = run("optimize", TWO, "--json", "--jobs", "1", "--set", "request_classes.chat.slo.ttft.p95=0.01")
    first, second = json.loads(poor[1])["why"]["no_plan"], json.loads(late[1])["why"]["no_plan"]
    assert poor[0] == late[0] == 3
    assert first["smallest_budget_per_month"] == 328.5 and first["never"] == []
    assert first["served_share"] == pytest.approx(150 / 328.5)
    assert second["smallest_budget_per_month"] is None and second["never"] == ["chat"]
    needed = [row["needed_s"] for row in second["promises"] if row["metric"] == "ttft"]
    assert needed[0] is not None and 0.02 < needed[0] < 0.2


def test_nothing_to_buy_at_all_is_bad_input(run: Terminal) -> None:
    code, _, err = run("optimize", TWO, "--set", "candidates.offers=[]", "--set", "candidates.relays=[]")
    assert code == 2 and "both lists are empty" in err


@pytest.mark.parametrize(
    ("setting", "gpus"),
    [
        ("candidates.offers=[]", set()),  # all from the relay, as in the plan with both
        ("candidates.relays=[]", {"l40s"}),  # all on own hosts, dearer
        ("request_classes.chat.slo.ttft.p95=0.1", {"h100"}),  # a tenth: too late from the relay and one L40S; two are dearer than an H100
        ("request_classes.chat.slo.tpot.p95=0.006", {"h100"}),  # a tenth: only the fastest card writes that fast
    ],
)
def test_each_thing_taken_away_has_its_own_answer(run: Terminal, setting: str, gpus: set[str]) -> None:
    code, out, _ = run("optimize", TWO, "--json", "--jobs", "1", "--set", setting)
    said = json.loads(out)
    assert code == 0 and said["status"] == "met"
    assert {pool["gpu"] for pool in said["fleet"]} == gpus and bool(said["relays"]) is not bool(gpus)
