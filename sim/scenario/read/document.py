"""A parsed file: plain values, and for each of them the place where the user wrote it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from difflib import get_close_matches
from typing import Any

Path = tuple[str | int, ...]


@dataclass(frozen=True, order=True)
class Mark:
    """Line and column, both from 1; line 0 stands for text that is not in the file, such as a `--set` argument."""

    line: int
    column: int
    origin: str

    def __str__(self) -> str:
        return f"{self.origin}:{self.line}:{self.column}" if self.line else self.origin


@dataclass
class Document:
    """`data` holds dicts with text keys, lists, text, numbers, booleans and None; `marks` and `key_marks` are by path."""

    name: str
    data: Any
    marks: dict[Path, Mark] = field(default_factory=dict)
    key_marks: dict[Path, Mark] = field(default_factory=dict)

    def mark(self, path: Path, of_key: bool = False) -> Mark:
        """Where `path` stands; where it does not exist, the nearest parent that does."""
        if of_key and path in self.key_marks:
            return self.key_marks[path]
        for end in range(len(path), -1, -1):
            if path[:end] in self.marks:
                return self.marks[path[:end]]
        return Mark(1, 1, self.name)


@dataclass
class Problems:
    """Collects what is wrong, to be told all at once and in the order of the file."""

    document: Document
    found: list[tuple[Mark, str]] = field(default_factory=list)

    def add(self, path: Path, text: str, of_key: bool = False) -> None:
        """Note that the value (or key) at `path` is wrong; `text` says what and what to write."""
        mark = self.document.mark(path, of_key)
        where = f"{dotted(path)}: " if path else ""
        self.found.append((mark, f"{mark}: {where}{text}"))

    def lines(self) -> list[str]:
        """All problems once each, sorted by line and column."""
        return list(dict.fromkeys(text for _, text in sorted(self.found)))


def dotted(path: Iterable[str | int]) -> str:
    """The path as a user would type it.

    >>> dotted(("request_classes", 0, "share"))
    'request_classes.0.share'
    """
    return ".".join(printable(str(part)) for part in path)


def printable(text: str, limit: int = 60) -> str:
    """`text` on one line without control characters or lone surrogates, cut after `limit` characters."""
    clean = "".join(c if c.isprintable() else c.encode("unicode_escape", "backslashreplace").decode() for c in text)
    return clean if len(clean) <= limit else clean[: limit - 3] + "..."


def shown(value: object) -> str:
    """A value as it is quoted in a message.

    >>> shown("200ms"), shown(-1), shown(None), shown([1]), shown(float("nan"))
    ('"200ms"', '-1', 'nothing', 'a list', 'nan')
    """
    if value is None:
        return "nothing"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return "a mapping"
    if isinstance(value, list):
        return "a list"
    return f'"{printable(value)}"' if isinstance(value, str) else f"{value}"


def nearest(name: str, known: Iterable[str], count: int = 3) -> str:
    """The names most like `name`, or the first few when nothing is like it; "none is known" for an empty list.

    >>> nearest("aws.g6e.xlrage", ["aws.g6e.xlarge", "lambda.h100"])
    'nearest: aws.g6e.xlarge'
    """
    names = sorted(set(known))
    if not names:
        return "none is known"
    folded: dict[str, str] = {}
    for each in names:
        folded.setdefault(each.lower(), each)
    like = get_close_matches(name.lower()[:100], list(folded), n=count, cutoff=0.5)
    if like:
        return "nearest: " + ", ".join(folded[each] for each in like)
    return "known: " + ", ".join(names[:8]) + (", ..." if len(names) > 8 else "")
