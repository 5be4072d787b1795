"""Measured capacities and simulated hours on disk, by content hash: the same question is simulated once per machine."""

from __future__ import annotations

import math
import os
import sqlite3
import zlib
from collections.abc import Callable
from pathlib import Path
from typing import Any

SIZE_LIMIT_BYTES = 256 * 2**20


def default_folder() -> Path:
    """The user's cache folder, or what SERVEMIX_CACHE_DIR names."""
    from platformdirs import user_cache_path

    named = os.environ.get("SERVEMIX_CACHE_DIR")
    return Path(named) if named else user_cache_path("servemix") / "capacity"


def opened(folder: Path) -> Any:
    """The cache in `folder`; a database that is no database any more is moved aside and begun anew."""
    import diskcache

    def cache() -> Any:
        return diskcache.Cache(str(folder), size_limit=SIZE_LIMIT_BYTES, disk=diskcache.JSONDisk)

    try:
        return cache()
    except sqlite3.OperationalError:  # locked, full or forbidden: the content is not at fault
        raise
    except sqlite3.DatabaseError:
        for name in ("cache.db", "cache.db-wal", "cache.db-shm"):
            if (folder / name).exists():
                os.replace(folder / name, folder / f"{name}.damaged")
        return cache()


def plausible(value: Any) -> bool:
    """Whether `value` is an operating point: a rate of at least 0 and shares of misses."""
    if not isinstance(value, dict):
        return False
    rate, miss = value.get("rate_rps"), value.get("miss")
    if not isinstance(rate, int | float) or not math.isfinite(rate) or rate < 0 or not isinstance(miss, list | tuple):
        return False
    return all(isinstance(share, int | float) and 0 <= share <= 1 for share in miss)


class CapacityStore:
    """A bounded key-value store that any number of processes may read and write at once. Where the disk refuses, it holds values for
    this run only.

    Keys are hashes of the whole question, so that nobody overwrites another's answer with a different one. Entries are compressed with a
    checksum; one that is damaged counts as absent and is measured again, a damaged database is moved aside and begun anew. Above
    SIZE_LIMIT_BYTES the entries stored longest ago go first.
    """

    def __init__(self, folder: Path | None) -> None:
        self.memory: dict[str, dict[str, Any]] = {}
        self.disk: Any = None
        self.hits = 0
        if folder is None:
            return
        try:
            self.disk = opened(folder)
        except (OSError, sqlite3.Error):
            self.disk = None

    def get(self, key: str, fits: Callable[[Any], bool] = plausible) -> dict[str, Any] | None:
        """The value stored under `key`, or None; an entry that cannot be read, or that does not look like one, counts as absent."""
        value = self.memory.get(key)
        if value is None and self.disk is not None:
            try:
                value = self.disk.get(key, retry=True)
            except (OSError, ValueError, TypeError, sqlite3.Error, zlib.error):
                value = None
        if value is None or not fits(value):
            return None
        self.hits += 1
        return value

    def put(self, key: str, value: dict[str, Any]) -> None:
        """Stores `value`; a full or read-only disk is not an error."""
        self.memory[key] = value
        if self.disk is not None:
            try:
                self.disk.set(key, value, retry=True)
            except (OSError, sqlite3.Error):
                self.disk = None
