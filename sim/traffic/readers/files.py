"""Text of a log file, plain or gzip, with every fault of the file itself as an InputError."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TextIO

from sim.errors import InputError
from sim.named_files import open_regular

GZIP_MAGIC = b"\x1f\x8b"
FORMATS = "arrival_s,input_tokens,output_tokens[,session_id,class], or a published trace format"
LONGEST_LINE = 16 * 2**20  # bytes: a row that carries the prompt and the answer of a million tokens each is shorter
DOCUMENT_BYTES = 2**27  # of JSON that is one document: all of it is in memory at once
BLOCK = 2**16
MOST_GROWTH = 200  # times that a gzip file may grow: logs grow 5 to 30 times
GROWN_BYTES = 16 * 2**20  # below so much, growth harms no one


@contextmanager
def open_log(path: Path) -> Iterator[TextIO]:
    """Text of `path`; gzip is recognised by its first bytes, not by its name. Bytes that are not UTF-8 become U+FFFD.

    A number with such a byte in it is then no number, so its row is dropped with a reason. A gzip stream that
    is torn or damaged raises InputError even when rows before the tear were fine: a log that ends early is no
    picture of its hours. So do a line that never ends, and a gzip file that grows beyond all reason.
    """
    with open_regular(path, "a log") as file:
        try:
            head = file.read(2)
            file.seek(0)
        except OSError as error:
            raise InputError(f"{path}: cannot be read: {error.strerror or error}; write the path of a log") from error
        if not head:
            raise InputError(f"{path}:1: the file is empty; a log starts with a header like {FORMATS}")
        metered = Metered(path, file, packed=head == GZIP_MAGIC)
        with io.TextIOWrapper(io.BufferedReader(metered, BLOCK), encoding="utf-8-sig", errors="replace", newline="") as text:
            yield text


class Metered(io.RawIOBase):
    """The bytes of a log, unpacked, as long as no line and no growth is beyond reason: an endless one ends in an InputError."""

    def __init__(self, path: Path, file: io.BufferedReader, packed: bool) -> None:
        self.path, self.file = path, file
        self.source: Any = gzip.GzipFile(fileobj=file) if packed else file
        self.packed = packed
        self.lines = 0
        self.since_line_end = 0
        self.unpacked = 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.source.read(min(len(buffer), BLOCK))
        buffer[: len(data)] = data
        self.check(data)
        return len(data)

    def check(self, data: bytes) -> None:
        """Raises InputError where the line at hand, or the whole, has grown too large."""
        self.unpacked += len(data)
        last = data.rfind(b"\n")
        self.since_line_end = self.since_line_end + len(data) if last < 0 else len(data) - last - 1
        self.lines += data.count(b"\n")
        most = LONGEST_LINE if self.lines else DOCUMENT_BYTES  # JSON as one document may have no line ends
        if self.since_line_end > most:
            raise InputError(f"{self.path}:{self.lines + 1}: a line of over {most:,} bytes; a log has a line for each request")
        if self.packed and self.unpacked > GROWN_BYTES and self.unpacked > MOST_GROWTH * self.file.tell():
            raise InputError(f"{self.path}: the gzip file grows more than {MOST_GROWTH}-fold, as no log does; unpack it and look at it")


def whole_text(path: Path, text: TextIO, begun: str) -> str:
    """`begun` and the rest of `text`. Raises InputError where that is more than fits into memory with ease."""
    rest = text.read(DOCUMENT_BYTES)
    if len(rest) == DOCUMENT_BYTES:
        raise InputError(f"{path}: is a JSON document of over {DOCUMENT_BYTES:,} characters; write JSON lines, one request a line")
    return begun + rest


@contextmanager
def gzip_faults(path: Path, line: list[int]) -> Iterator[None]:
    """Turns a torn or damaged gzip stream into an InputError at `line[0]`, the last line that was read."""
    try:
        yield
    except (EOFError, gzip.BadGzipFile, zlib.error) as error:
        raise InputError(f"{path}:{line[0]}: the gzip stream is torn or damaged after this line ({error}); fetch the file again") from error
