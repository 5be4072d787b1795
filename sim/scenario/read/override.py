"""`--set key.path=value`: one value of a scenario replaced from the command line, its errors named by its own text."""

from __future__ import annotations

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
    key, equals, written = text.partition("=")
    parts = key.strip().split(".")
    if not equals or not all(parts) or len(parts) > MAX_DEPTH:
        raise InputError(f"{origin}: is not key.path=value; write for example --set budget.per_month=60000")
    append = written.lstrip().startswith("+") and not _is_number(written)
    value, marks = parse_value(written.lstrip()[1:] if append else written, origin)
    holder, path = _descend(document, parts[:-1], origin)
    path = _place(holder, path, parts[-1], value, append, origin)
    _remark(document, path, marks, Mark(0, 0, origin))


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _descend(document: Document, parts: list[str], origin: str) -> tuple[Any, Path]:
    """The mapping or list that `parts` lead to; mappings that do not exist yet are made."""
    holder: Any = document.data
    path: Path = ()
    for part in parts:
        if isinstance(holder, list):
            index = _index(holder, part, path, origin)
            holder, path = holder[index], (*path, index)
        elif isinstance(holder, dict):
            if holder.get(part) is None:
                holder[part] = {}
            holder, path = holder[part], (*path, part)
        else:
            raise InputError(f"{origin}: {'.'.join(map(str, path))} has no keys inside")
    return holder, path


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
