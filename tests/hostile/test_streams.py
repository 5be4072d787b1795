"""Output that cannot be written: results are on disk before the answer is printed, and nothing ends in a traceback."""

from __future__ import annotations

import csv
import io
import os
import subprocess
import sys
from pathlib import Path

import pytest

import cli
from optimize.commands.common import deliver
from optimize.report.page.style import HEAD
from optimize.tables.columns import Column, Table
from optimize.tables.folder import table_csv
from optimize.whatif.run_jobs import Where, run_all
from sim.errors import InputError

ROOT = Path(__file__).resolve().parents[2]


def run(words: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = f'exec "{sys.executable}" cli.py {words}'
    settings = os.environ | environment
    return subprocess.run(["sh", "-c", command], cwd=ROOT, env=settings, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize(
    ("words", "code"),
    [
        ("catalog gpus >/dev/full", 2),
        ("catalog gpus >&-", 0),
        ("catalog gpus 2>/dev/full", 0),
        ("catalog gpus 2>&- <&-", 0),
        ("compare nowhere 2>/dev/full", 2),
        ("compare nowhere >&- 2>&-", 2),
    ],
)
def test_streams_that_refuse_end_in_a_code(words: str, code: int) -> None:
    done = run(words)
    assert done.returncode == code
    assert "Traceback" not in done.stdout + done.stderr and "Exception ignored" not in done.stderr


@pytest.mark.parametrize("encoding", ["ascii", "cp1252"])
def test_signs_that_a_terminal_lacks_are_shown_by_others(encoding: str) -> None:
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    cli.write_anything(stream)
    stream.write("▪▪ ≤ 2.00 s → met")
    stream.flush()
    assert stream.buffer.getvalue() == b"## <= 2.00 s -> met"  # type: ignore[attr-defined]


def test_results_are_written_before_the_answer_is_printed_and_the_answer_is_printed_if_they_cannot(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    done: list[str] = []
    deliver(lambda: done.append("answer") or "answer\n", lambda: done.append("files") or "results in x")  # type: ignore[func-returns-value]
    assert done == ["files", "answer"]

    def refuse() -> str:
        raise InputError("x: No space left on device; name another folder with --out")

    with pytest.raises(InputError):
        deliver(lambda: "answer\n", refuse)
    assert capsys.readouterr().out == "answer\nanswer\n"


def test_a_whatif_of_which_all_points_are_kept_runs_again(tmp_path: Path) -> None:
    assert run_all([], Where(2, None, tmp_path)).outcomes == ()


def test_text_of_a_table_is_never_a_formula() -> None:
    columns = (Column("name", "str", "", "n"), Column("cost", "float", "USD", "c"))
    texts = ["=1+1", "+cmd|' /C calc'!A0", "-2+3", "@SUM(A1)", "\t=1", "plain", "-", "-5"]
    table = Table("t", "T", columns, tuple((text, -1.5) for text in texts))
    rows = list(csv.reader(io.StringIO(table_csv(table))))[1:]
    assert [row[0] for row in rows] == ["'" + text for text in texts[:5]] + texts[5:]
    assert {row[1] for row in rows} == {"-1.5"}


def test_pages_may_load_nothing_and_run_nothing() -> None:
    assert "default-src 'none'" in HEAD and "script-src" not in HEAD
