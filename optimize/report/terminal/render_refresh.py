"""A refresh of relay prices: the diff for stdout, what a reviewer must know for stderr, all of it for JSON."""

from __future__ import annotations

import io
import textwrap
from collections.abc import Iterator
from decimal import Decimal
from difflib import unified_diff
from typing import Any

from sim.catalog.refresh.price_changes import Change, Refresh, RowChange
from sim.catalog.refresh.price_diff import plain

COLOURS = {"+": "32", "-": "31", "@": "36"}  # green, red, cyan
WIDTH = 110


def diff_text(found: Refresh, colour: bool = False) -> str:
    """A unified diff that `patch -p1` or `git apply` takes (without colour); empty where nothing changes."""
    name = found.file.lstrip("/")
    lines = unified_diff(_lines(found.before), _lines(found.after), f"a/{name}", f"b/{name}")
    ended = [line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines]
    return "".join(_painted(line) if colour else line for line in ended)


def _lines(text: str) -> list[str]:
    """Lines with their ends as they are; only a line feed ends one."""
    return io.StringIO(text, newline="\n").readlines()


def _painted(line: str) -> str:
    code = "1" if line.startswith(("--- ", "+++ ")) else COLOURS.get(line[0], "")
    return f"\x1b[{code}m{line.rstrip()}\x1b[0m\n" if code else line


def refresh_words(found: Refresh, written: bool) -> Iterator[str]:
    """Lines for the reviewer: what was withheld and why, doubts by row, rows that nothing prices, and the sum of it."""
    for row in found.withheld:
        yield f"withheld {row.relay}: {'; '.join(map(_moved, row.large))}; look at {row.entry}, then --accept-large"
    for row in (*found.changed, *found.withheld):
        yield from (f"{row.relay}: {notice}" for notice in row.notices)
    yield from found.notices
    yield from (f"{relay}: {found.package} has no {entry}; the row stays, correct the mapping" for relay, entry in found.missing)
    if found.unmapped:
        listed = f"no entry of the package is mapped to {len(found.unmapped)} list rows: {', '.join(found.unmapped)}"
        yield textwrap.fill(listed, WIDTH, subsequent_indent="    ", break_long_words=False, break_on_hyphens=False)
    if found.firm:
        yield f"not list prices, left alone: {', '.join(found.firm)}"
    done = f"written to {found.file}" if written else "nothing written" + ("; --write does" if found.changed else "")
    counts = f"rows: {len(found.changed)} changed, {len(found.withheld)} withheld, {len(found.confirmed)} confirmed"
    yield f"{found.package} on {found.on}, {counts}; {done}"


def _moved(change: Change) -> str:
    return f"{change.key} {plain(change.old)} -> {plain(change.new)}"


def refresh_json(found: Refresh, written: bool) -> dict[str, Any]:
    """The same as one object; prices are numbers."""
    return {
        "schema": "servemix.refresh/1",
        "file": found.file,
        "package": found.package,
        "on": found.on.isoformat(),
        "written": written,
        "changed": [_row(row) for row in found.changed],
        "withheld": [_row(row) for row in found.withheld],
        "confirmed": list(found.confirmed),
        "missing": [{"relay": relay, "entry": entry} for relay, entry in found.missing],
        "unmapped": list(found.unmapped),
        "not_list": list(found.firm),
        "notices": list(found.notices),
        "diff": diff_text(found),
    }


def _row(row: RowChange) -> dict[str, Any]:
    changes = [{"key": c.key, "old": _number(c.old), "new": _number(c.new), "large": c.large} for c in row.changes]
    return {"relay": row.relay, "entry": row.entry, "changes": changes, "notices": list(row.notices)}


def _number(value: Decimal | str | None) -> float | str | None:
    return float(value) if isinstance(value, Decimal) else value
