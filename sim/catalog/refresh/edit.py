"""Edits of single values of a catalogue file: every other character, comments and order included, stays as it is."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from sim.catalog.refresh.price_changes import ANNOUNCED, Change
from sim.catalog.refresh.price_diff import plain
from sim.errors import InputError

Edit = tuple[int, int, str]  # replace text[start:end]
ALIAS = re.compile(r"[ \t]*\*[^\s,\]}]+")


class RowFile:
    """A file with `sources` and `relays`, with the place of every value in its text."""

    def __init__(self, name: str, text: str) -> None:
        from ruamel.yaml import YAML
        from ruamel.yaml.nodes import MappingNode

        self.name, self.text = name, text
        self.newline = "\r\n" if "\r\n" in text else "\n"
        root = YAML(typ="safe", pure=True).compose(text)  # pure: its marks count characters of the text
        top = {key.value: value for key, value in root.value} if isinstance(root, MappingNode) else {"relays": root}
        self.sources: Any = top.get("sources")
        self.rows: dict[str, dict[str, tuple[Any, Any]]] = {}
        self.flow: dict[str, bool] = {}
        for node in top["relays"].value:
            pairs = {key.value: (key, value) for key, value in node.value if key.value != "<<"}
            if "id" not in pairs:
                raise InputError(f"{name}:{node.start_mark.line + 1}: a row without an id of its own cannot be edited; write it here")
            self.rows[pairs["id"][1].value] = pairs
            self.flow[pairs["id"][1].value] = bool(node.flow_style)

    def edited(self, changes: Mapping[str, Sequence[Change]], source: Mapping[str, str]) -> str:
        """The text with `changes` by row id, each of these rows pointing at `source` (title, date, note).

        Raises InputError where a value is an alias of a value elsewhere.
        """
        if not changes:
            return self.text
        anchor, edits, problems = self._anchor(source), [], []
        reference = f"*{anchor[0]}" if anchor[0] else _flow(source)
        edits += [anchor[1]] if anchor[1] else []
        for row, each in changes.items():
            for change in each:
                try:
                    edits.append(self._value(row, change))
                except ValueError as error:
                    problems.append(f"{self.name}:{self._line(row)}: {row}: {error}")
            try:
                edits.append(self._source(row, reference))
            except ValueError as error:
                problems.append(f"{self.name}:{self._line(row)}: {row}: {error}")
        if problems:
            raise InputError(problems)
        text = self.text
        order = sorted(range(len(edits)), key=lambda k: (*edits[k][:2], k), reverse=True)  # from the end, so that places stay true
        for start, end, words in (edits[k] for k in order):
            text = text[:start] + words + text[end:]
        return text

    def _line(self, row: str) -> int:
        return int(self.rows[row]["id"][0].start_mark.line) + 1

    def _value(self, row: str, change: Change) -> Edit:
        found = self._found(row, change.key)
        if found is None:
            return self._inserted(row, change)
        key, value = found
        if _elsewhere(key, value):
            raise ValueError(f"{change.key} is an alias; write the number itself")
        if change.new is None:
            return self._removed(row, key, value)
        if not value.value:  # nothing behind the colon is null too; its mark is that of what comes next
            colon = self._colon(key)
            return colon, colon, f" {plain(change.new)}"
        return value.start_mark.index, value.end_mark.index, plain(change.new)

    def _colon(self, key: Any) -> int:
        return self.text.index(":", key.end_mark.index) + 1

    def _found(self, row: str, path: str) -> tuple[Any, Any] | None:
        """(key, value) nodes at a dotted path such as `long_prompts.0.usd_per_mtok_input`; None where the row has no such key."""
        name, _, rest = path.partition(".")
        pairs = self.rows[row]
        while rest:
            index, _, rest = rest.partition(".")
            if name not in pairs or _elsewhere(*pairs[name]):
                raise ValueError(f"{path} is written elsewhere; write {name} here")
            node = pairs[name][1].value[int(index)]
            pairs = {key.value: (key, value) for key, value in node.value if key.value != "<<"}
            name, _, rest = rest.partition(".")
        return pairs.get(name)

    def _inserted(self, row: str, change: Change) -> Edit:
        """A new key behind the last one of its kind that the row has (prices behind prices)."""
        pairs = self.rows[row]
        before = [name for name in pairs if name.startswith("usd_per_mtok_") or name in ANNOUNCED]
        key, value = pairs[max(before, key=lambda name: pairs[name][0].start_mark.index)] if before else pairs["id"]
        if self.flow[row]:
            end = value.end_mark.index if value.value else self._colon(key)
            return end, end, f", {change.key}: {plain(change.new)}"
        end = self._line_end(key.start_mark.index)
        return end, end, f"{self.newline}{' ' * key.start_mark.column}{change.key}: {plain(change.new)}"

    def _removed(self, row: str, key: Any, value: Any) -> Edit:
        start, end = key.start_mark.index, value.end_mark.index if value.value else self._colon(key)
        if self.flow[row]:
            comma = re.compile(r"\s*,\s*").match(self.text, end)
            return start, comma.end() if comma else end, ""
        if self.text[self._line_start(start) : start].strip():
            raise ValueError(f"{key.value} begins the row and is to go; write it further down")
        return self._line_start(start), self._line_end(end) + len(self.newline), ""

    def _source(self, row: str, reference: str) -> Edit:
        if "source" not in self.rows[row]:  # it comes from another row by `<<`
            return self._inserted(row, Change("source", None, reference))
        key, value = self.rows[row]["source"]
        colon = self._colon(key)
        if _elsewhere(key, value):
            alias = ALIAS.match(self.text, colon)
            assert alias is not None
            return colon, alias.end(), f" {reference}"
        if value.anchor:
            raise ValueError("its source has an anchor that other rows may use; write it under sources")
        return colon, _end(value), f" {reference}"

    def _anchor(self, source: Mapping[str, str]) -> tuple[str, Edit | None]:
        """(name of the anchor of `source`, the edit that writes it if it is new); no name where the file keeps no list of sources."""
        if self.sources is None or self.sources.flow_style or not self.sources.value:
            return "", None
        named = {key.value: value for key, value in self.sources.value}
        for value in named.values():
            if value.anchor and {k.value: v.value for k, v in value.value} == dict(source):
                return str(value.anchor), None
        anchors = set(re.findall(r"&([\w-]+)", self.text))
        base = re.sub(r"[^a-z0-9]+", "-", source["title"].lower()).strip("-")
        taken = {*named, *anchors}
        name = base if base not in taken else f"{base}-{source['date']}"
        name = next(each for each in (name, *(f"{name}-{k}" for k in range(2, 1000))) if each not in taken)
        key, value = self.sources.value[-1]
        indent = " " * key.start_mark.column
        lines = [f"{indent}{name}: &{name}", *(f"{indent}  {k}: {_quoted(k, v)}" for k, v in source.items())]
        end = self._line_end(_end(value))
        return name, (end, end, "".join(self.newline + line for line in lines))

    def _line_end(self, index: int) -> int:
        found = self.text.find(self.newline, index)
        return len(self.text) if found < 0 else found

    def _line_start(self, index: int) -> int:
        return self.text.rfind("\n", 0, index) + 1


def _elsewhere(key: Any, value: Any) -> bool:
    """Whether the value of a key is an alias: its node stands before the key."""
    return bool(value.start_mark.index < key.start_mark.index)


def _end(node: Any) -> int:
    """Behind the last character of a value; the mark of a block ends at the next token, comments in between."""
    if isinstance(node.value, str) or node.flow_style:
        return int(node.end_mark.index)
    return max(_end(value) for _, value in node.value)


def _flow(source: Mapping[str, str]) -> str:
    return "{" + ", ".join(f"{key}: {_quoted(key, value)}" for key, value in source.items()) + "}"


def _quoted(key: str, value: str) -> str:
    return value if key == "date" else '"' + value.replace("\\", "\\\\").replace('"', '\\"') + '"'
