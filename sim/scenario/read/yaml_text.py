"""Bytes of a YAML file -> Document: nothing in the file can run code, hang the reader or exhaust memory."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from pathlib import Path as FilePath
from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from sim import named_files
from sim.errors import InputError
from sim.guarded_yaml import MAX_DEPTH, MAX_VALUES, refuse_monsters
from sim.scenario.read.document import Document, Mark, Path, Problems, printable, shown
from sim.scenario.written_text import Origin, WrittenText

MAX_BYTES = 1_000_000
TAG = "tag:yaml.org,2002:"
PLAIN_TAGS = {TAG + kind for kind in ("str", "int", "float", "bool", "null", "timestamp", "seq", "map", "merge")}


def read_document(origin: Origin, what: str = "scenario") -> Document:
    """The YAML mapping in a file, or in a text that is none. Raises InputError for everything that is not one."""
    if isinstance(origin, WrittenText):
        return parse_document(origin.text, origin.name, origin.numbered)
    return parse_document(read_text(origin, what), str(origin))


def read_text(path: FilePath, what: str = "scenario") -> str:
    """UTF-8 text of a file, byte-order mark removed, line ends made `\\n`; `what` names it in messages."""
    return decoded(named_files.read_bytes(path, f"a {what} file", MAX_BYTES), str(path), what)


def decoded(raw: bytes, path: str, what: str) -> str:
    """The text of `raw`, which was read from `path`, in the form of `read_text`."""
    return named_files.decoded(raw, path, f"a {what} file", MAX_BYTES).replace("\r\n", "\n").replace("\r", "\n")


def parse_document(text: str, name: str, numbered: bool = True) -> Document:
    """The document in `text`; `name` stands for the file in marks, with lines if `numbered`. InputError has all problems of form."""
    node = _compose(text, name, numbered)
    if node is None:
        raise InputError(f"{name}:1:1: is empty; write a scenario (start from a copy of scenarios/two_offers.yaml)")
    document = Document(name, None)
    problems = Problems(document)
    document.data = _Builder(document, problems, origin_only=not numbered).build(node, ())
    if not problems.found and not isinstance(document.data, dict):
        problems.add((), f"{shown(document.data)} is not a scenario; write keys and values, such as `name: my_service`")
    if problems.found:
        raise InputError(problems.lines())
    return document


def parse_value(text: str, origin: str) -> tuple[Any, dict[Path, Mark]]:
    """The YAML value of a `--set` text and the paths inside it, all marked with `origin`. Raises InputError."""
    node = _compose(text, origin, in_file=False)
    document = Document(origin, None)
    problems = Problems(document)
    value = None if node is None else _Builder(document, problems, origin_only=True).build(node, ())
    if problems.found:
        raise InputError(problems.lines())
    return value, document.marks


def _compose(text: str, name: str, in_file: bool = True) -> Node | None:
    """The node tree, every alias still one shared node. Raises InputError."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # the reader warns of anchors that are used twice; harmless here
            refuse_monsters(text, name)
            node: Node | None = YAML(typ="rt", pure=True).compose(text)
            return node
    except InputError:
        raise
    except MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        where = f"{name}:{mark.line + 1}:{mark.column + 1}" if mark and in_file else name
        reason = " ".join(part for part in (error.context, error.problem) if part)
        raise InputError(f"{where}: is not YAML: {printable(reason, 200)}") from None
    except YAMLError as error:
        raise InputError(f"{name}: is not YAML: {printable(str(error), 200)}") from None
    except Exception as error:  # the YAML reader leaks ValueError, IndexError and others on hostile text
        raise InputError(f"{name}: is not YAML ({type(error).__name__}: {printable(str(error), 100)})") from None


class _Builder:
    """Turns nodes into plain values; counts values as it expands aliases, so that an alias bomb stops early."""

    def __init__(self, document: Document, problems: Problems, origin_only: bool = False) -> None:
        self.document = document
        self.problems = problems
        self.origin_only = origin_only
        self.count = 0

    def build(self, node: Node, path: Path) -> Any:
        self.document.marks[path] = self._mark(node)
        self._grow(node, path)
        if node.tag not in PLAIN_TAGS:
            self.problems.add(path, f"the tag {printable(str(node.tag))} is not allowed; write a plain value")
            return None
        if isinstance(node, MappingNode):
            return self._mapping(node, path)
        if isinstance(node, SequenceNode):
            return [self.build(item, (*path, index)) for index, item in enumerate(node.value)]
        assert isinstance(node, ScalarNode)
        return self._scalar(node, path)

    def _grow(self, node: Node, path: Path) -> None:
        self.count += 1
        if self.count > MAX_VALUES or len(path) > MAX_DEPTH:
            what = f"aliases expand to over {MAX_VALUES:,} values or into themselves; write the values out"
            raise InputError(f"{self._mark(node)}: {what}")

    def _mapping(self, node: MappingNode, path: Path) -> dict[str, Any]:
        values: dict[str, Any] = {}
        merged: list[Node] = []
        for key_node, value_node in node.value:
            if key_node.tag == TAG + "merge":
                merged += value_node.value if isinstance(value_node, SequenceNode) else [value_node]
                continue
            if not isinstance(key_node, ScalarNode):
                self.document.key_marks[(*path, "?")] = self._mark(key_node)
                self.problems.add((*path, "?"), "a key must be a plain word", of_key=True)
                continue
            key = str(key_node.value)
            child = (*path, key)
            if key in values:
                first = self.document.key_marks[child]
                self.document.key_marks[child] = self._mark(key_node)
                self.problems.add(child, f"is written twice, first at line {first.line}; keep one", of_key=True)
                continue
            self.document.key_marks[child] = self._mark(key_node)
            values[key] = self.build(value_node, child)
        for key_node, value_node in self._merged_items(merged, path):
            key = str(key_node.value)
            if key not in values:
                self.document.key_marks[(*path, key)] = self._mark(key_node)
                values[key] = self.build(value_node, (*path, key))
        return values

    def _merged_items(self, nodes: list[Node], path: Path) -> Iterator[tuple[Node, Node]]:
        for node in nodes:
            if not isinstance(node, MappingNode):
                self.problems.add(path, "`<<` merges mappings only; write `<<: *name` of a mapping")
                continue
            for key_node, value_node in node.value:
                self._grow(key_node, path)
                if key_node.tag == TAG + "merge" or not isinstance(key_node, ScalarNode):
                    self.problems.add(path, "`<<` inside a merged mapping is not followed; write the values out")
                else:
                    yield key_node, value_node

    def _scalar(self, node: ScalarNode, path: Path) -> Any:
        text, kind = str(node.value), str(node.tag).removeprefix(TAG)
        if node.style == ">":
            text = text.replace("\a", "")  # the round-trip reader leaves a bell where a folded text had a line end
        try:
            if kind == "null":
                return None
            if kind == "bool":
                return text.lower() in ("true", "yes", "on", "y")
            if kind == "int" and len(text) <= 20:
                return int(text.replace("_", ""), 10 if text.lstrip("+-").isdigit() else 0)
            if kind in ("int", "float"):
                return float(text.replace("_", "").lower().replace(".inf", "inf").replace(".nan", "nan"))
        except ValueError:
            pass  # an explicit tag on text that is no number: text, and the schema says so
        return text

    def _mark(self, node: Node) -> Mark:
        if self.origin_only:
            return Mark(0, 0, self.document.name)
        return Mark(node.start_mark.line + 1, node.start_mark.column + 1, self.document.name)
