"""Who is computing what at the moment: two processes that want the same answer at the same time compute it once.

A claim is a lock on a file of the cache folder. The system lets go of it when its process ends, however it ends, so that a killed
process never blocks the others.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from pathlib import Path
from typing import Any

from filelock import BaseFileLock, FileLock, Timeout

from optimize.search.cache import CapacityStore

FOLDER = "claims"
PLACES = 4096  # files at most: keys that share one wait for each other now and then, which costs time and no answer
PATIENCE_S = 600.0  # then the other process is taken for stuck, and the answer is computed twice
LOOK_S = 0.05  # from one look at what others have finished to the next

Value = dict[str, Any]


def once(
    store: CapacityStore,
    keys: Sequence[str],
    compute: Callable[[list[str]], Sequence[Value]],
    at_once: int = 1,
    patience_s: float = PATIENCE_S,
) -> dict[str, Value]:
    """The value of every key: from the store, else computed here and stored, else awaited from a process that is at it.

    `compute` is given at most `at_once` keys and returns their values in order. No process waits while it holds a claim, so that two
    processes never wait for each other; those that want the same many keys share them out.

    >>> store = CapacityStore(None)
    >>> once(store, ["a"], lambda keys: [{"rate_rps": 1.0, "miss": []} for _ in keys])
    {'a': {'rate_rps': 1.0, 'miss': []}}
    """
    known: dict[str, Value] = {}
    left = list(dict.fromkeys(keys))
    waited_s = 0.0
    while True:
        known |= found(store, left)
        left = [key for key in left if key not in known]
        if not left:
            return known
        with claimed(store, left, at_once, force=waited_s > patience_s) as mine:
            fresh = found(store, mine)  # another may have finished it between the look and the claim
            todo = [key for key in mine if key not in fresh]
            for key, value in zip(todo, compute(todo) if todo else (), strict=True):
                store.put(key, value)
                fresh[key] = value
        known |= fresh
        if mine:
            waited_s = 0.0
        else:
            time.sleep(LOOK_S)
            waited_s += LOOK_S


def found(store: CapacityStore, keys: Sequence[str]) -> dict[str, Value]:
    """Those of `keys` that the store holds."""
    return {key: value for key in keys if (value := store.get(key)) is not None}


@contextmanager
def claimed(store: CapacityStore, keys: Sequence[str], most: int, force: bool = False) -> Iterator[list[str]]:
    """Within, up to `most` of `keys` no other process claims; the list may be empty. With `force`, they are taken whoever has them."""
    folder = folder_of(store)
    if folder is None or force:
        yield list(keys[:most])
        return
    with ExitStack() as held:
        mine: list[str] = []
        for key in keys:
            if len(mine) == most:
                break
            file = locked(folder / place(key))
            if file is not None:
                held.enter_context(file)
                mine.append(key)
        yield mine


def place(key: str) -> str:
    """The name of the file that stands for `key`.

    >>> place("a") == place("a")
    True
    """
    return f"{int(hashlib.sha256(key.encode()).hexdigest(), 16) % PLACES:03x}"


def folder_of(store: CapacityStore) -> Path | None:
    """Where claims of this store stand; None where there are none: a store without a folder."""
    if store.disk is None:
        return None
    folder = store.disk.folder / FOLDER
    try:
        folder.mkdir(exist_ok=True)
    except OSError:
        return None
    return folder


def locked(path: Path) -> AbstractContextManager[Any] | None:
    """The lock on that file, held until it is closed; None where another has it. A disk that refuses locks gives it to everybody."""
    lock = FileLock(path, thread_local=False)
    try:
        lock.acquire(blocking=False)
    except Timeout:
        return None
    except (OSError, NotImplementedError):
        return nullcontext()
    return closing_of(lock)


@contextmanager
def closing_of(lock: BaseFileLock) -> Iterator[None]:
    """Within, `lock` is held as it is; afterwards it is free."""
    try:
        yield
    finally:
        lock.release()
