"""`--set key.path=value`: one value of a scenario replaced from the command line, its errors named by its own text."""

from __future__ import annotations

import re
from typing import Any

from sim.errors import InputError
from sim.guarded_yaml import MAX_DEPTH
from sim.plural import counted
from sim.scenario.read.document import Document, Mark, Path, nearest, printable
from sim.scenario.read.yaml_text import parse_value


def apply_overrides(document: Document, overrides: list[str]) -> list[str]:
    """Change `document` in place, in the order given; the problems of texts that cannot be applied are returned."""
    problems: list[str] = []
    for text in overrides:
        try:
            _apply(document, text)
        except InputError as error:
            problems += error.problems
    return problems


def _apply(document: Document, text: str) -> None:
    origin = f"--set {printable(text, 100)}"
    key, equals, written = _halves(text)
    parts = parts_of(key)
    if not equals or not all(parts) or len(parts) > MAX_DEPTH:
        raise InputError(f"{origin}: is not key.path=value; write for example --set budget.per_month=60000")
    append = written.lstrip().startswith("+") and not _is_number(written)
    value, marks = parse_value(written.lstrip()[1:] if append else written, origin)
    holder, path, last = _descend(document, parts, origin)
    path = _place(holder, path, last, _amount(value, written, holder, last), append, origin)
    _remark(document, path, marks, Mark(0, 0, origin))


PIECE = re.compile(r"""\.?(?:\[?"([^"]*)"\]?|\[?'([^']*)'\]?|\[([^\]]*)\]|([^.\["']+))""")
ROUND = re.compile(r"\$?(\d[\d_,]*(?:\.\d+)?)\s*([kKmMbB])")
SIZES = {"k": 1e3, "m": 1e6, "b": 1e9}


def _halves(text: str) -> tuple[str, str, str]:
    """Key, sign and value; a sign inside quotes or brackets belongs to the key.

    >>> _halves('a["x=y"].b=2')
    ('a["x=y"].b', '=', '2')
    """
    quote, depth = "", 0
    for at, sign in enumerate(text):
        if quote:
            quote = "" if sign == quote else quote
        elif sign in "\"'":
            quote = sign
        elif sign in "[]":
            depth += 1 if sign == "[" else -1
        elif sign == "=" and depth <= 0:
            return text[:at], "=", text[at + 1 :]
    return text.partition("=")


def parts_of(key: str) -> list[str]:
    """The names that a key leads through: dots divide them, quotes and brackets hold names with dots together.

    >>> parts_of("budget.per_month"), parts_of('candidates.offers["verda.h100"].stock'), parts_of("a.'b.c'.d"), parts_of("a[0].b")
    (['budget', 'per_month'], ['candidates', 'offers', 'verda.h100', 'stock'], ['a', 'b.c', 'd'], ['a', '0', 'b'])
    """
    plain = key.strip()
    if not set(plain) & set("[]\"'"):
        return plain.split(".")
    found, at = [], 0
    while at < len(plain):
        piece = PIECE.match(plain, at)
        if piece is None or piece.end() == at:
            return [""]
        found.append(next(each for each in piece.groups() if each is not None))
        at = piece.end()
    return found


def _amount(value: Any, written: str, holder: Any, part: str) -> Any:
    """40k and 1.5M as numbers, unless the value that they replace is a text."""
    found = ROUND.fullmatch(written.strip()) if isinstance(value, str) else None
    if found is None or (isinstance(holder, dict) and isinstance(holder.get(part), str)):
        return value
    return float(found[1].replace("_", "").replace(",", "")) * SIZES[found[2].lower()]


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _descend(document: Document, parts: list[str], origin: str) -> tuple[Any, Path, str]:
    """The mapping or list that all parts but the last lead to, and the last; mappings that do not exist yet are made.

    A name with dots that stands in a list or mapping counts as one part: `candidates.offers.verda.h100.stock`.
    """
    holder: Any = document.data
    path: Path = ()
    at = 0
    while True:
        part, used = _joined(holder, parts[at:])
        at += used
        if at == len(parts):
            return holder, path, part
        if isinstance(holder, list):
            index = _index(holder, part, path, origin)
            if isinstance(holder[index], str):
                holder[index] = {"name": holder[index]}  # a mere name takes keys as an entry of its own
            holder, path = holder[index], (*path, index)
        elif isinstance(holder, dict):
            if holder.get(part) is None:
                holder[part] = {}
            holder, path = holder[part], (*path, part)
        else:
            raise InputError(f"{origin}: {'.'.join(map(str, path))} has no keys inside")


def _joined(holder: Any, parts: list[str]) -> tuple[str, int]:
    """The next name below `holder` and how many parts it takes: the most that together are a name there, else one."""
    names: set[Any] = set()
    if isinstance(holder, list):
        names = {name for item in holder if isinstance(name := item.get("name") if isinstance(item, dict) else item, str)}
    elif isinstance(holder, dict):
        names = set(holder)
    found = next((n for n in range(len(parts), 1, -1) if ".".join(parts[:n]) in names), 1)
    return ".".join(parts[:found]), found


def _index(items: list[Any], part: str, path: Path, origin: str) -> int:
    """The position that `part` names, by number or by the `name` of an entry."""
    if part.isdecimal() and len(part) < 6 and int(part) < len(items):
        return int(part)
    names = [item.get("name") if isinstance(item, dict) else item for item in items]
    if part in names:
        return names.index(part)
    known = nearest(part, [name for name in names if isinstance(name, str)])
    where = ".".join(map(str, path))
    raise InputError(f'{origin}: {where} has {counted(len(items), "entry", "entries")} and none is "{printable(part)}"; {known}')


def _place(holder: Any, path: Path, part: str, value: Any, append: bool, origin: str) -> Path:
    """Write `value` and return its path."""
    if isinstance(holder, list):
        index = _index(holder, part, path, origin)
        if append:
            raise InputError(f"{origin}: `+` adds to a list; entry {index} is not one")
        holder[index] = value
        return (*path, index)
    if not isinstance(holder, dict):
        raise InputError(f"{origin}: {'.'.join(map(str, path))} has no keys inside")
    if not append:
        holder[part] = value
        return (*path, part)
    items = holder.setdefault(part, [])
    if not isinstance(items, list):
        raise InputError(f"{origin}: `+` adds to a list; {part} is not one")
    items.append(value)
    return (*path, part, len(items) - 1)


def _remark(document: Document, path: Path, marks: dict[Path, Mark], mark: Mark) -> None:
    """Every place at or below `path` is now the text of the override."""
    for table in (document.marks, document.key_marks):
        for old in [each for each in table if each[: len(path)] == path]:
            del table[old]
    document.marks[path] = document.key_marks[path] = mark
    for below in marks:
        document.marks[path + below] = document.key_marks[path + below] = mark
