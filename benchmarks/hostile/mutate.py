"""Good files made bad: bytes, words and values changed at random."""

from __future__ import annotations

import copy
import json
import random
from typing import Any

WORDS = (
    *("", "0", "-1", "1e999", "nan", ".inf", "9" * 40, "9" * 5000, "null", "true", "[]", "{}", "[x]", "{a: b}", "&a [*a]"),
    *('"', "'", "\n", "\r", "\t", "\0", "\ud800", "é", "=1+1", "../../etc/passwd", "/dev/zero", "x" * 300, "- " * 40),
    *("2026-13-45", "1e-300", "!!python/name:os.system"),
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    *(0, -1, 1, 2, 0.0, -0.0, 1e-300, 1e-12, 1e12, 1e300, 2**31, 2**63, 10**30, 0.5, 1.0000001, True, False, None),
    *("", "x", "é", "=1+1", "0", "1e5", "nan", "2026-11-30", "9999-12", "../x", "/dev/zero", "a\nb", "\u202e", "🙂", "x" * 200, "$(id)"),
    *([], {}, [[]], [None], ["x"], {"a": 1}, {"p95": 1}, [0, 1], "default", "all", "none"),
)  # fmt: skip


def text_mutation(text: str, rng: random.Random) -> bytes:
    """`text` with one to four changes: a word in place of a piece, a piece twice, gone, or moved, or single bytes."""
    for _ in range(rng.randint(1, 4)):
        at, length = rng.randrange(len(text) + 1), rng.choice((1, 2, 5, 20, 200))
        piece = text[at : at + length]
        change = rng.choice(("word", "twice", "gone", "moved", "value"))
        if change == "value":  # what stands behind a colon or comma
            at = max(text.find(mark, at) for mark in ":,") + 1
            end = min([end for mark in ",\n}]" if (end := text.find(mark, at)) >= 0] or [len(text)])
            text = text[:at] + " " + rng.choice(WORDS) + text[end:]
        elif change == "word":
            text = text[:at] + rng.choice(WORDS) + text[at + length :]
        elif change == "twice":
            text = text[:at] + piece * rng.choice((2, 3, 50)) + text[at + length :]
        else:
            rest = text[:at] + text[at + length :]
            there = rng.randrange(len(rest) + 1) if change == "moved" else 0
            text = rest[:there] + piece + rest[there:] if change == "moved" else rest
    raw = bytearray(text.encode("utf-8", "surrogatepass"))
    if raw and rng.random() < 0.2:
        raw[rng.randrange(len(raw))] = rng.randrange(256)
    return bytes(raw)


def value_mutation(tree: Any, rng: random.Random) -> bytes:
    """The tree as JSON (which is YAML too) with one to three values changed, moved, gone or doubled: most of them read well."""
    tree = copy.deepcopy(tree)
    for _ in range(rng.randint(1, 3)):
        places = list(_places(tree))
        if not places:
            break
        holder, key = rng.choice(places)
        change = rng.choice(("scaled", "scaled", "value", "gone", "doubled", "swapped", "renamed"))
        _change(change, holder, key, rng.choice(places), rng)
    return json.dumps(tree, indent=1).encode()


def _places(tree: Any) -> Any:
    """(container, key) of every value in the tree."""
    pairs = tree.items() if isinstance(tree, dict) else enumerate(tree) if isinstance(tree, list) else ()
    for key, value in pairs:
        yield tree, key
        yield from _places(value)


def _change(change: str, holder: Any, key: Any, other: tuple[Any, Any], rng: random.Random) -> None:
    value = holder[key]
    number = isinstance(value, (int, float)) and not isinstance(value, bool)
    if change == "scaled" and number:
        holder[key] = type(value)(value * 10 ** rng.uniform(-4, 4))
    elif change == "gone":
        del holder[key]
    elif change == "doubled" and isinstance(holder, list):
        holder.append(copy.deepcopy(value))
    elif change == "swapped":
        holder[key] = copy.deepcopy(other[0][other[1]])
    elif change == "renamed" and isinstance(holder, dict):
        holder[rng.choice((f"{key}s", "x", str(other[1])))] = holder.pop(key)
    else:
        holder[key] = copy.deepcopy(rng.choice(VALUES))
