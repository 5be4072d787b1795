"""`servemix deploy` from the command line: what it prints, and how it refuses."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

import cli
from tests.optimize.deploy.small_plan import RELAY, written


def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, *words: object) -> tuple[Any, str, str]:
    monkeypatch.setattr(sys, "argv", ["servemix", "deploy", *map(str, words)])
    with pytest.raises(SystemExit) as left:
        cli.main()
    out, err = capsys.readouterr()
    return left.value.code, out, err


def test_deploy_writes_its_files_and_says_what_to_read_first(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    code, out, err = run(capsys, monkeypatch, written(tmp_path), "--out", tmp_path / "files")
    assert (code, err) == (0, "")
    assert (tmp_path / "files/RUNBOOK.md").exists()
    assert "48 files, one for each hour of the week" in out
    assert out.endswith(f"Read {tmp_path / 'files/RUNBOOK.md'} first.\n")


@pytest.mark.parametrize(
    ("options", "changed", "said"),
    [
        (("--namespace", "My_Space"), {}, "--namespace: "),
        (("--timezone", "Mars/Olympus"), {}, "--timezone: "),
        (("--image", "not an image"), {}, "--image: "),
        (("--checkpoint", "llama-3.3-70b"), {}, "--checkpoint: "),
        (("--checkpoint", "qwen3-8b/int4=a/b"), {}, "is in no pool of"),
        ((), {"status": "infeasible"}, "has no simulated fleet to deploy"),
        ((), {"fleet": [{"pool": "x"}]}, "is not a whole plan"),
        ((), {"hours": []}, "is not a whole plan"),
        ((), {"routing": {"chat": {RELAY: [1.0]}, "faq": {RELAY: [1.0] * 48}}}, "does not state each of the 48 hours"),
        ((), {"relays": [{"relay": RELAY, "model": "llama-3.3-70b", "limits": "none"}]}, "is not a whole plan"),
        ((), {"relays": [{"relay": RELAY, "model": "llama-3.3-70b", "limits": {"rpm": "many"}}]}, "is not a whole plan"),
        ((), {"fleet": [], "relays": []}, "there is nothing to deploy"),
    ],
)
def test_what_makes_no_sense_is_one_message_and_nothing_is_written(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
    options: tuple[str, ...],
    changed: dict[str, Any],
    said: str,
) -> None:
    code, out, err = run(capsys, monkeypatch, written(tmp_path, **changed), "--out", tmp_path / "files", *options)
    assert (code, out) == (2, "")
    assert said in err and err.count("\n") == 1
    assert not (tmp_path / "files").exists()


def test_a_plan_that_misses_says_so_on_the_runbook(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert run(capsys, monkeypatch, written(tmp_path, status="missed"), "--out", tmp_path / "files")[0] == 0
    assert "This plan is missed" in (tmp_path / "files/RUNBOOK.md").read_text(encoding="utf-8")


def test_relays_alone_need_no_engines(tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    routing = {"chat": {RELAY: [1.0] * 48}, "faq": {RELAY: [1.0] * 48}}
    assert run(capsys, monkeypatch, written(tmp_path, fleet=[], routing=routing), "--out", tmp_path / "files")[0] == 0
    assert [path.name for path in (tmp_path / "files/kubernetes").iterdir()] == ["gateway.yaml"]
