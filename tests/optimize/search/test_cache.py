"""The capacity store: what is put is got, across processes; what is broken counts as absent."""

from __future__ import annotations

import os
import pickle
import random
import sqlite3
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

from optimize.search import cache as store_module
from optimize.search.cache import ABANDONED_S, CapacityStore, Entries

POINT = {"rate_rps": 3.25, "miss": [0.01, 0.0], "attainment_half_width": 0.001, "requests_simulated": 1000}


def entry(folder: Path, key: str = "key") -> Path:
    return Entries(folder).path(key)


def test_value_is_found_by_a_second_store_on_the_same_folder(tmp_path: Path) -> None:
    CapacityStore(tmp_path).put("key", POINT)
    assert CapacityStore(tmp_path).get("key") == POINT


def test_unknown_key_is_absent(tmp_path: Path) -> None:
    assert CapacityStore(tmp_path).get("other") is None


def harm(path: Path, how: str) -> None:
    content = path.read_bytes()
    path.unlink()
    if how == "bytes":
        path.write_bytes(b"\x00\xff" * 100)
    elif how == "another value":
        path.write_bytes(content.replace(b"3.25", b"9.25"))
    elif how == "torn":
        path.write_bytes(content[:-7])
    elif how == "another version":
        path.write_bytes(content.replace(b"cache 1", b"cache 0"))
    elif how == "folder":
        path.mkdir()
    elif how == "pipe":
        os.mkfifo(path)
    elif how == "endless":
        path.symlink_to("/dev/zero")
    elif how == "pickle":
        path.write_bytes(pickle.dumps(POINT))
    elif how == "deep":
        path.write_bytes(content.split(b"\n")[0] + b"\n" + b"[" * 100_000)


@pytest.mark.parametrize("how", ["bytes", "another value", "torn", "another version", "folder", "pipe", "endless", "pickle", "deep"])
def test_an_entry_that_is_damaged_counts_as_absent(tmp_path: Path, how: str) -> None:
    CapacityStore(tmp_path).put("key", POINT)
    harm(entry(tmp_path), how)
    again = CapacityStore(tmp_path)
    assert again.get("key") is None
    again.put("key", POINT)
    if how != "folder":
        assert CapacityStore(tmp_path).get("key") == POINT
    assert again.get("key") == POINT


def test_an_entry_under_the_name_of_another_counts_as_absent(tmp_path: Path) -> None:
    CapacityStore(tmp_path).put("key", POINT)
    other = entry(tmp_path, "other")
    other.parent.mkdir(exist_ok=True)
    os.replace(entry(tmp_path), other)
    assert CapacityStore(tmp_path).get("other") is None


class Planted:
    """Unpickling it makes a file."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[object, tuple[str, str]]:
        return open, (str(self.path), "w")


def test_nothing_in_the_folder_is_unpickled(tmp_path: Path) -> None:
    """A database of rows in pickle mode, as an earlier version would have read it, and a pickle in place of an entry."""
    planted, mark = pickle.dumps(Planted(tmp_path / "ran")), tmp_path / "ran"
    folder = tmp_path / "cache"
    CapacityStore(folder).put("key", POINT)
    with sqlite3.connect(folder / "cache.db") as database:
        database.execute("CREATE TABLE Cache (key BLOB, raw INTEGER, mode INTEGER, filename TEXT, value BLOB)")
        database.execute("INSERT INTO Cache VALUES (?, 1, 4, NULL, ?)", ("key", planted))
    database.close()
    entry(folder).write_bytes(planted)
    store = CapacityStore(folder)
    assert store.get("key") is None
    assert not mark.exists()
    pickle.loads(planted).close()
    assert mark.exists()  # the test of the test


def test_folder_that_cannot_be_written_falls_back_to_memory(tmp_path: Path) -> None:
    blocker = tmp_path / "file"
    blocker.write_text("not a folder")
    for folder in (blocker / "cache", Path("/proc/cache"), tmp_path / ("x" * 300), tmp_path / "a\0b"):
        store = CapacityStore(folder)
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


@pytest.mark.parametrize("wrong", [{"rate_rps": "fast"}, {"rate_rps": -1.0}, {"miss": [2.0]}, {"miss": None}])
def test_entry_that_is_no_operating_point_counts_as_absent(tmp_path: Path, wrong: dict[str, object]) -> None:
    CapacityStore(tmp_path).put("key", POINT | wrong)
    assert CapacityStore(tmp_path).get("key") is None


def test_store_stays_below_its_size_and_drops_what_was_stored_first(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "SIZE_LIMIT_BYTES", 200_000)
    monkeypatch.setattr(store_module, "TRIM_EVERY", 1)
    store, noise = CapacityStore(tmp_path), random.Random(1)
    for k in range(40):
        store.put(str(k), POINT | {"miss": [noise.random() for _ in range(2000)]})
        os.utime(entry(tmp_path, str(k)), (k, k))
    fresh = CapacityStore(tmp_path)
    assert fresh.disk is not None and fresh.disk.volume() < 400_000
    assert fresh.get("0") is None
    assert fresh.get("39") is not None


def test_what_a_killed_process_left_half_written_goes_after_an_hour(tmp_path: Path) -> None:
    CapacityStore(tmp_path).put("key", POINT)
    part = entry(tmp_path).with_suffix(".part")
    part.write_bytes(b"half")
    CapacityStore(tmp_path).put("other", POINT)
    assert part.exists()
    old_s = part.stat().st_mtime - 2 * ABANDONED_S
    os.utime(part, (old_s, old_s))
    CapacityStore(tmp_path).put("third", POINT)
    assert not part.exists()
    assert CapacityStore(tmp_path).get("key") == POINT


def test_a_link_in_the_folder_never_makes_it_remove_files_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(store_module, "SIZE_LIMIT_BYTES", 0)
    elsewhere, folder = tmp_path / "elsewhere", tmp_path / "cache"
    elsewhere.mkdir()
    precious = elsewhere / "a.entry"
    precious.write_text("precious")
    Entries(folder)
    (folder / "entries" / "aa").symlink_to(elsewhere)
    Entries(folder).trim()
    assert precious.exists()


def test_an_entry_takes_whole_blocks_of_the_disk(tmp_path: Path) -> None:
    store = Entries(tmp_path)
    store.put("small", 1)
    assert store.volume() == 4096
    store.put("large", "x" * 4096)
    assert store.volume() == 3 * 4096


def test_files_that_are_no_entries_and_folders_that_are_links_hide_no_others(tmp_path: Path) -> None:
    """Whatever else stands in the folder, in any order, all entries are counted."""
    store, elsewhere = Entries(tmp_path / "cache"), tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "a.entry").write_text("not ours")
    for k in range(20):
        store.put(str(k), k)
        store.path(str(k)).with_suffix(".txt").write_text("a note")
    for name in ("00", "7f", "ff"):
        if not (tmp_path / "cache" / "entries" / name).exists():
            (tmp_path / "cache" / "entries" / name).symlink_to(elsewhere)
    assert store.volume() == 20 * 4096


def test_an_entry_that_another_process_removes_meanwhile_hides_no_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store, real = Entries(tmp_path), Path.lstat
    for k in range(10):
        store.put(str(k), k)
    gone = {store.path(str(k)) for k in range(0, 10, 2)}

    def lstat(path: Path) -> os.stat_result:
        if path in gone:
            raise FileNotFoundError(path)
        return real(path)

    monkeypatch.setattr(Path, "lstat", lstat)
    assert store.volume() == 5 * 4096


def test_the_folder_is_the_one_that_the_environment_names(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SERVEMIX_CACHE_DIR", str(tmp_path))
    assert store_module.default_folder() == tmp_path
    monkeypatch.delenv("SERVEMIX_CACHE_DIR")
    assert store_module.default_folder().name == "capacity" and "servemix" in store_module.default_folder().parts


@pytest.mark.parametrize(
    "value", [None, [], {"rate_rps": float("nan"), "miss": []}, {"rate_rps": 1.0}, {"rate_rps": 1.0, "miss": ["x"]}, {"miss": [0.1]}]
)
def test_only_rates_and_shares_are_plausible(value: object) -> None:
    assert not store_module.plausible(value)
    assert store_module.plausible({"rate_rps": 0, "miss": [0, 1.0]})


def test_an_old_entry_that_another_process_removes_first_is_no_fault(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    store = Entries(tmp_path)
    for k in range(3):
        store.put(str(k), k)
    files = list(store._files())
    files[0][2].unlink()
    monkeypatch.setattr(store_module, "SIZE_LIMIT_BYTES", 0)
    monkeypatch.setattr(store, "_files", lambda: files)
    store.trim()
    assert not any(path.exists() for _, _, path in files)
