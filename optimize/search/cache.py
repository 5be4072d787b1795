"""Measured capacities and simulated hours on disk, by content hash: the same question is simulated once per machine.

An entry is one file of plain text: a line with the version and a digest, then JSON. Nothing that is read from the folder can run code,
name another file or grow without bound, so that the folder may be shared. What it cannot prove is that whoever wrote an entry was honest:
see docs/explanation/safety.md.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sim.errors import InputError
from sim.named_files import read_bytes

SIZE_LIMIT_BYTES = 256 * 2**20
MOST_BYTES = 16 * 2**20  # of one entry: the evidence of a large hour is below 1 MB
BLOCK_BYTES = 4096  # what a small file takes of a disk
MAGIC = "servemix-cache 1"  # raise the number when entries are written in another form
ENTRIES, SUFFIX, PART = "entries", ".entry", ".part"
TRIM_EVERY = 256  # entries written by a process from one look at the size of the folder to the next
ABANDONED_S = 3600.0  # then a half-written file is taken for that of a killed process


def default_folder() -> Path:
    """The user's cache folder, or what SERVEMIX_CACHE_DIR names."""
    from platformdirs import user_cache_path

    named = os.environ.get("SERVEMIX_CACHE_DIR")
    return Path(named) if named else user_cache_path("servemix") / "capacity"


def plausible(value: Any) -> bool:
    """Whether `value` is an operating point: a rate of at least 0 and shares of misses."""
    if not isinstance(value, dict):
        return False
    rate, miss = value.get("rate_rps"), value.get("miss")
    if not isinstance(rate, int | float) or not math.isfinite(rate) or rate < 0 or not isinstance(miss, list | tuple):
        return False
    return all(isinstance(share, int | float) and 0 <= share <= 1 for share in miss)


class Entries:
    """Files of a folder, one for each key, each written whole or not at all. OSError where the disk refuses."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._written = 0
        (folder / ENTRIES).mkdir(parents=True, exist_ok=True)

    def path(self, key: str) -> Path:
        """Where the entry of `key` stands: names come from a hash of the key, never from the folder."""
        name = hashlib.sha256(key.encode()).hexdigest()
        return self.folder / ENTRIES / name[:2] / f"{name}{SUFFIX}"

    def get(self, key: str) -> Any:
        """The value of `key`; None where there is none, or none with the right version and digest."""
        try:
            head, _, body = read_bytes(self.path(key), "a cache entry", MOST_BYTES).partition(b"\n")
            if head != _head(key, body):
                return None
            return json.loads(body)
        except (InputError, OSError, ValueError, RecursionError):
            return None

    def put(self, key: str, value: Any) -> None:
        """Stores `value`; above SIZE_LIMIT_BYTES the entries stored longest ago go first."""
        body, path = json.dumps(value).encode(), self.path(key)
        path.parent.mkdir(exist_ok=True)
        handle, name = tempfile.mkstemp(dir=path.parent, suffix=PART)
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_head(key, body) + b"\n" + body)
            os.replace(name, path)
        except BaseException:
            Path(name).unlink(missing_ok=True)
            raise
        if self._written % TRIM_EVERY == 0:
            self.trim()
        self._written += 1

    def volume(self) -> int:
        """Bytes that the entries take of the disk."""
        return sum(size for _, size, _ in self._files())

    def trim(self) -> None:
        """Removes the oldest entries until the rest fits, and what killed processes have left half-written."""
        now_s, files = time.time(), sorted(self._files())
        excess = sum(size for _, size, _ in files) - SIZE_LIMIT_BYTES
        for stored_s, size, path in files:
            abandoned = path.suffix == PART and now_s - stored_s > ABANDONED_S
            if excess > 0 or abandoned:
                path.unlink(missing_ok=True)
                excess -= size

    def _files(self) -> list[tuple[float, int, Path]]:
        """(time stored, bytes on disk, path) of every file of entries; a folder that is a link leads elsewhere and is left alone."""
        found = []
        for path in (self.folder / ENTRIES).glob("??/*"):
            if path.parent.is_symlink() or path.suffix not in (SUFFIX, PART):
                continue
            try:
                status = path.lstat()
            except OSError:  # another process was faster
                continue
            found.append((status.st_mtime, -(-status.st_size // BLOCK_BYTES) * BLOCK_BYTES, path))
        return found


def _head(key: str, body: bytes) -> bytes:
    """The first line of an entry: its digest covers the key, so that an entry under another name counts as damaged."""
    return f"{MAGIC} {hashlib.sha256(key.encode() + bytes(1) + body).hexdigest()}".encode()


class CapacityStore:
    """A bounded key-value store that any number of processes may read and write at once. Where the disk refuses, it holds values for
    this run only.

    Keys are hashes of the whole question, so that no process overwrites another's answer with a different one. An entry that is damaged, of
    another version, or no regular file counts as absent and is measured again.
    """

    def __init__(self, folder: Path | None) -> None:
        self.memory: dict[str, dict[str, Any]] = {}
        self.disk: Entries | None = None
        self.hits = 0
        if folder is None:
            return
        try:
            self.disk = Entries(folder)
        except (OSError, ValueError):
            self.disk = None

    def get(self, key: str, fits: Callable[[Any], bool] = plausible) -> dict[str, Any] | None:
        """The value stored under `key`, or None; an entry that cannot be read, or that does not look like one, counts as absent."""
        value = self.memory.get(key)
        if value is None and self.disk is not None:
            value = self.disk.get(key)
        if value is None or not fits(value):
            return None
        self.hits += 1
        return value

    def put(self, key: str, value: dict[str, Any]) -> None:
        """Stores `value`; a full or read-only disk is not an error."""
        self.memory[key] = value
        if self.disk is not None:
            try:
                self.disk.put(key, value)
            except OSError:
                self.disk = None
