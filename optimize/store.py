"""Measured capacities on disk, by content hash: the same question is simulated once per machine."""

from __future__ import annotations

import os
import sqlite3
import zlib
from pathlib import Path
from typing import Any

SIZE_LIMIT_BYTES = 256 * 2**20


def default_folder() -> Path:
    """The user's cache folder, or what SERVEMIX_CACHE_DIR names."""
    from platformdirs import user_cache_path

    named = os.environ.get("SERVEMIX_CACHE_DIR")
    return Path(named) if named else user_cache_path("servemix") / "capacity"


class CapacityStore:
    """A bounded key-value store that several processes may share. Where the disk refuses, it holds values for this run only."""

    def __init__(self, folder: Path | None) -> None:
        self.memory: dict[str, dict[str, Any]] = {}
        self.disk: Any = None
        self.hits = 0
        if folder is None:
            return
        import diskcache

        try:
            self.disk = diskcache.Cache(str(folder), size_limit=SIZE_LIMIT_BYTES, disk=diskcache.JSONDisk)
        except (OSError, sqlite3.Error):
            self.disk = None

    def get(self, key: str) -> dict[str, Any] | None:
        """The value stored under `key`, or None; an entry that cannot be read counts as absent."""
        value = self.memory.get(key)
        if value is None and self.disk is not None:
            try:
                value = self.disk.get(key)
            except (OSError, ValueError, sqlite3.Error, zlib.error):
                value = None
        if not (isinstance(value, dict) and "rate_rps" in value and "miss" in value):
            return None
        self.hits += 1
        return value

    def put(self, key: str, value: dict[str, Any]) -> None:
        """Stores `value`; a full or read-only disk is not an error."""
        self.memory[key] = value
        if self.disk is not None:
            try:
                self.disk.set(key, value)
            except (OSError, sqlite3.Error):
                self.disk = None
