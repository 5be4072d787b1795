"""The capacity store: what is put is got, across processes; what is broken counts as absent."""

from __future__ import annotations

import sqlite3
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from optimize.search import cache as store_module
from optimize.search.cache import CapacityStore

POINT = {"rate_rps": 3.25, "miss": [0.01, 0.0], "attainment_half_width": 0.001, "requests_simulated": 1000}


def test_value_is_found_by_a_second_store_on_the_same_folder(tmp_path: Path) -> None:
    CapacityStore(tmp_path).put("key", POINT)
    assert CapacityStore(tmp_path).get("key") == POINT


def test_unknown_key_is_absent(tmp_path: Path) -> None:
    assert CapacityStore(tmp_path).get("other") is None


def test_corrupt_entry_counts_as_absent(tmp_path: Path) -> None:
    store = CapacityStore(tmp_path)
    store.put("key", POINT)
    store.disk.close()
    with sqlite3.connect(tmp_path / "cache.db") as database:
        database.execute("UPDATE Cache SET value = x'00ff'")
    database.close()
    again = CapacityStore(tmp_path)
    assert again.get("key") is None
    again.put("key", POINT)
    assert again.get("key") == POINT


def test_folder_that_cannot_be_written_falls_back_to_memory(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("not a folder")
    store = CapacityStore(blocker / "cache")
    store.put("key", POINT)
    assert store.get("key") == POINT


def write_many(folder: Path, writer: int, entries: int) -> int:
    store = CapacityStore(folder)
    for k in range(entries):
        store.put(f"{writer}-{k}", POINT | {"rate_rps": float(k)})
        store.put("shared", POINT)
    return sum(CapacityStore(folder).get(f"{writer}-{k}") is not None for k in (0, entries - 1))


def test_four_processes_write_at_once_and_no_entry_is_lost(tmp_path: Path) -> None:
    with ProcessPoolExecutor(4, mp_context=get_context("spawn")) as pool:
        found = list(pool.map(write_many, [tmp_path] * 4, range(4), [25] * 4))
    assert found == [2] * 4
    store = CapacityStore(tmp_path)
    assert all(store.get(f"{writer}-{k}") == POINT | {"rate_rps": float(k)} for writer in range(4) for k in range(25))
    assert store.get("shared") == POINT


def test_database_that_is_none_any_more_is_moved_aside_and_begun_anew(tmp_path: Path) -> None:
    CapacityStore(tmp_path).put("key", POINT)
    for file in tmp_path.glob("cache.db*"):
        file.write_bytes(b"this is not a database " * 100)
    store = CapacityStore(tmp_path)
    assert store.get("key") is None
    store.put("key", POINT)
    assert CapacityStore(tmp_path).get("key") == POINT
    assert (tmp_path / "cache.db.damaged").exists()


@pytest.mark.parametrize("wrong", [{"rate_rps": "fast"}, {"rate_rps": -1.0}, {"miss": [2.0]}, {"miss": None}])
def test_entry_that_is_no_operating_point_counts_as_absent(tmp_path: Path, wrong: dict[str, object]) -> None:
    CapacityStore(tmp_path).put("key", POINT | wrong)
    assert CapacityStore(tmp_path).get("key") is None


def test_store_stays_below_its_size_and_drops_what_was_stored_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "SIZE_LIMIT_BYTES", 200_000)
    store = CapacityStore(tmp_path)
    import random

    noise = random.Random(1)
    for k in range(40):
        store.put(str(k), POINT | {"miss": [noise.random() for _ in range(2000)]})
    fresh = CapacityStore(tmp_path)
    assert fresh.disk.volume() < 400_000
    assert fresh.get("0") is None
    assert fresh.get("39") is not None
