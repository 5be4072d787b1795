"""Ctrl-C: one line, exit code 130, no word of the processes that helped, and no interruption that is lost."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

import pytest
from joblib import delayed

from optimize.search.processes import processes
from sim import interrupts
from sim.interrupts import repeated

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="POSIX signals")


def blocked(_: int) -> bool:
    return signal.SIGINT in signal.pthread_sigmask(signal.SIG_BLOCK, ())


def test_ctrl_c_does_not_reach_the_processes_that_help() -> None:
    assert processes(2)(delayed(blocked)(k) for k in range(4)) == [True] * 4
    assert not blocked(0)


def test_processes_are_started_in_one_place() -> None:
    sources = {
        path.relative_to(ROOT).as_posix(): path.read_text("utf-8") for room in ("sim", "optimize") for path in (ROOT / room).rglob("*.py")
    }
    starts = [name for name, text in sources.items() if "Parallel(" in text or "ProcessPoolExecutor(" in text]
    assert sorted(starts) == ["optimize/search/processes.py", "optimize/whatif/run_jobs.py"]  # the latter on a cluster


def test_an_interruption_that_a_library_drops_comes_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "AGAIN_S", 0.05)
    with pytest.raises(KeyboardInterrupt), repeated():
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        time.sleep(5)


def test_an_interruption_within_a_callback_of_the_interpreter_is_silent_and_comes_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    class Gone:
        def __del__(self) -> None:
            signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(interrupts, "AGAIN_S", 0.05)
    with pytest.raises(KeyboardInterrupt), repeated():
        thing = Gone()
        del thing
        time.sleep(5)
    assert capsys.readouterr().err == ""


def test_an_interruption_does_not_disturb_its_own_cleaning_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "AGAIN_S", 0.05)
    cleaned = False
    with pytest.raises(KeyboardInterrupt), repeated():
        try:
            signal.raise_signal(signal.SIGINT)
        finally:
            time.sleep(0.2)
            cleaned = True
    assert cleaned


def test_handlers_are_as_before_and_a_heard_interruption_does_not_come_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "AGAIN_S", 0.05)
    before = signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGALRM)
    with repeated():
        with suppress(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)
        interrupts.heard()
        time.sleep(0.2)
    assert (signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGALRM)) == before


@pytest.mark.slow
@pytest.mark.parametrize("after_s", [0.7 * k for k in range(2, 14)])
def test_ctrl_c_to_the_whole_group_ends_with_one_line(after_s: float, tmp_path: Path) -> None:
    words = ["whatif", "scenarios/two_offers.yaml", "--vary", "traffic.rate_rps=5:80:log6"]
    there = os.environ | {"SERVEMIX_CACHE_DIR": str(tmp_path)}
    run = subprocess.Popen(
        [sys.executable, "cli.py", *words], cwd=ROOT, env=there, stderr=subprocess.PIPE, start_new_session=True, text=True
    )
    time.sleep(after_s)
    os.killpg(run.pid, signal.SIGINT)
    said = run.communicate(timeout=60)[1]
    assert run.returncode == 130 and "Traceback" not in said and "interrupted" in said
