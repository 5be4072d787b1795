"""Text of a log file, plain or gzip, with every fault of the file itself as an InputError."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TextIO

from sim.errors import InputError

GZIP_MAGIC = b"\x1f\x8b"
FORMATS = "arrival_s,input_tokens,output_tokens[,session_id,class], or a published trace format"


@contextmanager
def open_log(path: Path) -> Iterator[TextIO]:
    """Text of `path`; gzip is recognised by its first bytes, not by its name. Bytes that are not UTF-8 become U+FFFD.

    A number with such a byte in it is then no number, so its row is dropped with a reason. A gzip stream that
    is torn or damaged raises InputError even when rows before the tear were fine: a log that ends early is no
    picture of its hours.
    """
    try:
        with path.open("rb") as probe:
            head = probe.read(2)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}; write the path of a log") from error
    if not head:
        raise InputError(f"{path}:1: the file is empty; a log starts with a header like {FORMATS}")
    binary = gzip.open(path, "rb") if head == GZIP_MAGIC else path.open("rb")  # noqa: SIM115 (closed by the text layer)
    with io.TextIOWrapper(binary, encoding="utf-8-sig", errors="replace", newline="") as text:
        yield text


@contextmanager
def gzip_faults(path: Path, line: list[int]) -> Iterator[None]:
    """Turns a torn or damaged gzip stream into an InputError at `line[0]`, the last line that was read."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path}:{line[0]}: the gzip stream is torn or damaged after this line ({error}); fetch the file again") from error
