"""Claims: what two processes want at the same time is computed once, and a killed one blocks no other."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import pytest

from optimize.search.cache import CapacityStore
from optimize.search.cache_lock import FOLDER, claimed, once, place

KEYS = ["a", "b", "c", "d", "e", "f"]
ROOT = Path(__file__).resolve().parents[3]


def point(key: str) -> dict[str, Any]:
    return {"rate_rps": float(ord(key[0])), "miss": [0.0]}


def slowly(folder: Path, keys: list[str], took_s: float = 0.2) -> list[str]:
    """The keys that this process computed itself, of all that it then knows."""
    mine: list[str] = []

    def compute(some: list[str]) -> list[dict[str, Any]]:
        mine.extend(some)
        time.sleep(took_s * len(some))
        return [point(key) for key in some]

    assert once(CapacityStore(folder), keys, compute) == {key: point(key) for key in keys}
    return mine


def test_two_processes_that_want_the_same_share_it_out_and_compute_nothing_twice(tmp_path: Path) -> None:
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        list(pool.map(abs, range(2)))  # both are up
        one, other = pool.map(slowly, [tmp_path] * 2, [KEYS] * 2)
    assert sorted(one + other) == KEYS
    assert one
    assert other


def test_known_values_are_not_computed_and_each_key_is_asked_once(tmp_path: Path) -> None:
    CapacityStore(tmp_path).put("a", point("a"))
    assert slowly(tmp_path, ["a"], 0) == []
    asked: list[list[str]] = []

    def compute(some: list[str]) -> list[dict[str, Any]]:
        asked.append(some)
        return [point(key) for key in some]

    assert set(once(CapacityStore(tmp_path), ["a", "b", "b", "c"], compute, at_once=9)) == {"a", "b", "c"}
    assert asked == [["b", "c"]]


def test_claim_of_a_killed_process_is_free_at_once(tmp_path: Path) -> None:
    code = (
        "import sys, time; from pathlib import Path; "
        "from optimize.search.cache_lock import claimed; from optimize.search.cache import CapacityStore\n"
        f"with claimed(CapacityStore(Path({str(tmp_path)!r})), ['a'], 1) as mine: print(mine, flush=True); time.sleep(60)"
    )
    process = subprocess.Popen([sys.executable, "-c", code], cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "['a']\n"
    store = CapacityStore(tmp_path)
    with claimed(store, ["a"], 1) as mine:
        assert mine == []
    process.send_signal(signal.SIGKILL)
    process.communicate()
    with claimed(store, ["a"], 1) as mine:
        assert mine == ["a"]


def test_claim_of_a_stuck_process_is_waited_for_only_so_long(tmp_path: Path) -> None:
    store = CapacityStore(tmp_path)
    with claimed(store, ["a"], 1):
        assert once(CapacityStore(tmp_path), ["a"], lambda some: [point(key) for key in some], patience_s=0.1) == {"a": point("a")}


def test_error_lets_go_of_the_claim(tmp_path: Path) -> None:
    def compute(some: list[str]) -> list[dict[str, Any]]:
        raise RuntimeError("no")

    with pytest.raises(RuntimeError):
        once(CapacityStore(tmp_path), ["a"], compute)
    assert slowly(tmp_path, ["a"], 0) == ["a"]


def test_store_without_a_folder_or_a_folder_that_refuses_files_computes_as_before(tmp_path: Path) -> None:
    assert once(CapacityStore(None), ["a"], lambda some: [point(key) for key in some]) == {"a": point("a")}
    (tmp_path / FOLDER).write_text("in the way")
    assert slowly(tmp_path, ["a", "b"], 0) == ["a", "b"]


def test_two_keys_of_one_place_are_computed_one_after_the_other(tmp_path: Path) -> None:
    first = "x0"
    second = next(f"x{k}" for k in range(1, 100_000) if place(f"x{k}") == place(first))
    assert slowly(tmp_path, [first, second], 0) == [first, second]
    assert len(os.listdir(tmp_path / FOLDER)) == 1
