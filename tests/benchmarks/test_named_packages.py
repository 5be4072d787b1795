"""The trace of the named packages counts what it says, and a whole answer passes it."""

from __future__ import annotations

from pathlib import Path

import highspy
import pytest

from benchmarks.named_packages import main, traced

TEXT = """
name: small
traffic: {rate_rps: 3}
request_classes: [{name: chat, share: 1.0, input_tokens: 300, output_tokens: 60, models: [llama-3.1-8b], slo: {ttft: {p95: 1.0}}}]
candidates: {offers: [aws.g6e.xlarge], relays: [deepinfra.llama-3.1-8b], weights: [fp8], tensor_parallel: [1]}
budget: {per_month: 50000}
"""


def test_every_program_of_an_answer_is_a_pulp_problem_and_every_arrival_an_event(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path = tmp_path / "small.yaml"
    path.write_text(TEXT, encoding="utf-8")
    assert main([str(path), "--cache", str(tmp_path / "cache")]) == 0
    said = capsys.readouterr()
    problems, runs = (int(word.split(":")[1].replace(",", "")) for word in said.out.splitlines()[1].split(";"))
    arrivals, events = (int(word.split(":")[1].replace(",", "")) for word in said.out.splitlines()[2].split(";"))
    assert problems == runs > 3 and events >= arrivals > 1000
    assert "CPU s  end" in said.err


def test_a_run_of_the_solver_without_a_problem_is_seen() -> None:
    with traced() as trace:
        highspy.Highs().run()  # type: ignore[no-untyped-call]
    assert (trace.runs, len(trace.problems), trace.agrees) == (1, 0, False)
