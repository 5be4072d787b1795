"""Metrics that were saved from `/metrics` pages at the begin and the end of a window: answers without a Prometheus server."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable, Sequence
from pathlib import Path

from optimize.track.questions import Answers, Question
from sim.errors import InputError, quoted
from sim.named_files import read_text

LINE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(?:\{(.*)\})?\s+(\S+)(?:\s+-?\d+)?\s*")
LABEL = re.compile(r'\s*([a-zA-Z_][a-zA-Z0-9_]*)="((?:[^"\\]|\\.)*)"\s*,?')
ESCAPE = re.compile(r"\\.")
ESCAPED = {r"\\": "\\", r"\"": '"', r"\n": "\n"}
Series = dict[tuple[str, ...], float]


def read_exposition(begin: Sequence[Path], end: Sequence[Path], asked: Sequence[Question]) -> Answers:
    """The answers to `asked` between two sets of saved pages, summed over the replicas that a set holds. Raises InputError.

    A sum that has fallen began anew, as Prometheus reads it. A gauge is the mean of the two moments; the busiest hour is the window.
    """
    wanted = {each.metric for each in asked}
    first, last = (_sums(files, asked, wanted) for files in (begin, end))
    found = {}
    for each in asked:
        before, after = first[each.key], last[each.key]
        if each.gauge:
            found[each.key] = {name: _mean([side[name] for side in (before, after) if name in side]) for name in {**before, **after}}
        else:
            found[each.key] = {name: _increase(before.get(name, 0.0), value) for name, value in after.items()}
    return found


def _increase(before: float, after: float) -> float:
    return after - before if after >= before else after


def _mean(values: Sequence[float]) -> float:
    return math.fsum(values) / len(values)


def _sums(files: Sequence[Path], asked: Sequence[Question], wanted: set[str]) -> dict[str, Series]:
    """Key -> labels -> sum over all pages of a set; of a gauge the mean."""
    rows: dict[str, list[tuple[dict[str, str], float]]] = {}
    for file in files:
        for metric, labels, value in samples(read_text(file, "a saved /metrics page"), file, wanted):
            rows.setdefault(metric, []).append((labels, value))
    found: dict[str, Series] = {}
    for each in asked:
        parts: dict[tuple[str, ...], list[float]] = {}
        for labels, value in rows.get(each.metric, ()):
            if labels.get(each.label) in each.names:
                parts.setdefault(tuple(labels.get(name, "") for name in each.by), []).append(value)
        found[each.key] = {name: (_mean if each.gauge else math.fsum)(values) for name, values in parts.items()}
    return found


def samples(text: str, file: Path, wanted: set[str]) -> Iterable[tuple[str, dict[str, str], float]]:
    """(metric, labels, value) of the wanted lines of a page in Prometheus's text format. Raises InputError for a line that is none."""
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip() or line.startswith("#"):
            continue
        found = LINE.fullmatch(line.rstrip("\r"))
        try:
            if found is None:
                raise ValueError
            value = float(found[3])
        except ValueError:
            raise InputError(f'{file}:{number}: {quoted(line)} is no line of a /metrics page; write NAME{{LABEL="..."}} NUMBER') from None
        if found[1] in wanted and math.isfinite(value):
            yield found[1], {name: ESCAPE.sub(_plain, held) for name, held in LABEL.findall(found[2] or "")}, value


def _plain(escape: re.Match[str]) -> str:
    return ESCAPED.get(escape[0], escape[0])
