"""The capacity store: what is put is got, across processes; what is broken counts as absent."""

from __future__ import annotations

import sqlite3
from pathlib import Path

from optimize.store import CapacityStore

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
