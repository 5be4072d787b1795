"""Files that a user names: only regular files are opened, none is read beyond a stated size, and every fault is one message.

A device or a pipe has no end that could be waited for, so neither is opened: `open` alone would hang on a pipe that no one writes to.
"""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import stat
from pathlib import Path
from typing import Any

from sim.errors import InputError

MAX_BYTES = 2**28  # of a JSON document or a table that is held in memory as a whole
SHOWN_NUMBER = 40


def open_regular(path: Path, what: str) -> io.BufferedReader:
    """The regular file `path`, open for reading. Raises InputError, which names `what` should stand there ("a scenario file")."""
    flags = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
    try:
        handle = os.open(path, flags)
    except FileNotFoundError:
        raise InputError(f"{path}: there is no such file; write the path of {what}") from None
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        raise InputError(f"{path}: cannot be read ({reason}); write the path of {what}") from None
    mode = os.fstat(handle).st_mode
    if stat.S_ISREG(mode):
        return os.fdopen(handle, "rb")
    os.close(handle)
    if stat.S_ISDIR(mode):
        raise InputError(f"{path}: is a directory; write the path of {what} inside it")
    raise InputError(f"{path}: is a device or a pipe, not a regular file; save its content to a file and write the path of {what}")


def read_bytes(path: Path, what: str, most: int = MAX_BYTES) -> bytes:
    """All bytes of `path`. Raises InputError where there are more than `most`, or where it is no regular file."""
    try:
        with open_regular(path, what) as file:
            raw = file.read(most + 1)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror or error}); write the path of {what}") from None
    if len(raw) > most:
        raise InputError(f"{path}: is larger than {most:,} bytes; is it {what}?")
    return raw


def read_text(path: Path, what: str, most: int = MAX_BYTES) -> str:
    """UTF-8 text of `path`, byte-order mark removed. Raises InputError as `read_bytes` does, and for what is no such text."""
    return decoded(read_bytes(path, what, most), str(path), what, most)


def decoded(raw: bytes, name: str, what: str, most: int = MAX_BYTES) -> str:
    """The text of `raw`, read from `name` (a path, or standard input). Raises InputError."""
    if len(raw) > most:
        raise InputError(f"{name}: is larger than {most:,} bytes; is it {what}?")
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")):
        raise InputError(f"{name}:1:1: is UTF-16; save it as UTF-8")
    if b"\x00" in raw:
        raise InputError(f"{name}: is a binary file; write the path of {what}")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        column = error.start - (raw.rfind(b"\n", 0, error.start) + 1) + 1
        raise InputError(f"{name}:{line}:{column}: is not UTF-8 text; save it as UTF-8") from None


def sha256_of(path: Path, what: str) -> str:
    """Digest of the content of `path`, however large. Raises InputError where it is no regular file or cannot be read."""
    with open_regular(path, what) as file:
        try:
            return hashlib.file_digest(file, "sha256").hexdigest()
        except OSError as error:
            raise InputError(f"{path}: cannot be read ({error.strerror or error}); write the path of {what}") from None


def parse_json(text: str, where: str, what: str, finite: bool = True, line: int = 1) -> Any:
    """The JSON value in `text`; `where` and `what` stand in messages; it begins at `line`.

    Raises InputError also for NaN, Infinity and numbers that no float can hold; not where `finite` is False: some benchmarks write them.

    >>> parse_json('{"a": [1, 2.5]}', "x.json", "a plan")
    {'a': [1, 2.5]}
    >>> parse_json('{"a": Infinity}', "x.json", "a plan")
    Traceback (most recent call last):
    sim.errors.InputError: x.json:1: Infinity is not a finite number; is it a plan?
    """
    try:
        if not finite:
            return json.loads(text, parse_int=_whole)
        return json.loads(text, parse_constant=_refused, parse_float=_finite, parse_int=_whole)
    except json.JSONDecodeError as error:
        raise InputError(f"{where}:{line - 1 + error.lineno}:{error.colno}: is not JSON ({error.msg}); is it {what}?") from None
    except RecursionError:
        raise InputError(f"{where}:{line}: nests too deep; is it {what}?") from None
    except ValueError as error:
        raise InputError(f"{where}:{line}: {error}; is it {what}?") from None


def read_json(path: Path, what: str, most: int = MAX_BYTES) -> Any:
    """The JSON value in the file `path`. Raises InputError."""
    return parse_json(read_text(path, what, most), str(path), what)


def _refused(text: str) -> float:
    raise ValueError(f"{text} is not a finite number")


def _finite(text: str) -> float:
    value = float(text)
    return value if math.isfinite(value) else _refused(text[:SHOWN_NUMBER])


def _whole(text: str) -> int | float:
    """Whole numbers that later arithmetic in float64 can hold."""
    if len(text) <= 18:
        return int(text)
    if len(text) <= 300:
        value = int(text)
        return value if abs(value) < 2**63 else float(value)
    return _refused(text[:SHOWN_NUMBER] + "...")
