"""The catalogue from its YAML files: all problems of all files in one error, or frozen records.

A file holds `sources` (anchors that rows point at: one place per publication) and its rows under its own
name: `gpus.yaml` -> `gpus: [...]`. `fx.yaml` maps a currency to dollars. `calibration.yaml` may be absent.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from sim.catalog.assumed_latency import assumed_prefill_s_per_token
from sim.catalog.check import ROWS, instead, record_of
from sim.catalog.error_law import ErrorLaw, law_from
from sim.catalog.facts import CalibrationRow, Catalog, Model, Relay, Source
from sim.errors import InputError, quoted
from sim.guarded_yaml import load_plain

FOLDER = Path(__file__).parent
MOST_VALUES = 200_000  # the rows of all measured engines are 10,000
OPTIONAL = ("calibration", "fx", "tokenizers")
LAW = "error_law.yaml"  # how wrong the step costs may be; absent: nothing is known of it
Raw = dict[str, Any]


class _Problems:
    """Problems of the files of one folder; the line of each is looked up only when there is one."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.index: dict[tuple[str, str], int] = {}  # of a row in its file
        self.broken: set[str] = set()  # files with a row that could not be read

    def add(self, file: Path, text: str, path: tuple[str | int, ...], what: str) -> None:
        dotted = ".".join(str(part) for part in path)
        self.lines.append(f"{file}:{_line(text, path)}: {dotted}: {what}")


def load_catalog(folder: Path | None = None) -> Catalog:
    """All facts of `folder` (default: those of the package), checked; the same object on every call.

    Raises InputError with every problem: unknown or missing keys, values that are no finite number, double
    ids, names that no row has. Files that change are read again only by a new process.

    >>> load_catalog().gpus["l40s"].link
    'pcie'
    """
    return _load(FOLDER if folder is None else Path(folder).resolve())


def read_relays(file: Path, text: str) -> dict[str, Relay]:
    """Relay rows by id of one file's text, checked row by row. Raises InputError with every problem; successors are not looked up."""
    problems = _Problems()
    raw = _parse(file, text, problems)
    if set(raw) == {file.stem}:  # a bare list goes by the name of its file
        raw = {"relays": raw[file.stem]}
    rows = _rows("relays", file, text, raw, problems) if raw else {}
    if not raw and not problems.lines:
        problems.lines.append(f"{file}:1: empty; write `relays:` and rows below")
    if problems.lines:
        raise InputError(problems.lines)
    return rows


@lru_cache(maxsize=8)
def _load(folder: Path) -> Catalog:
    problems, digest = _Problems(), hashlib.sha256()
    texts: dict[str, tuple[Path, str]] = {}
    files: dict[str, str] = {}
    for name in (*ROWS, "fx"):
        file = folder / f"{name}.yaml"
        if not file.exists():
            if name not in OPTIONAL:
                problems.broken.add(name)
                problems.lines.append(f"{file}: no such file; a catalogue folder has {name}.yaml")
            continue
        content = file.read_bytes()
        digest.update(name.encode() + b"\0" + content)
        files[file.name] = hashlib.sha256(content).hexdigest()
        texts[name] = (file, content.decode("utf-8", errors="replace"))
    law = _law(folder / LAW, digest, files, problems)
    raw = {name: _parse(file, text, problems) for name, (file, text) in texts.items()}
    rows = {name: _rows(name, *texts[name], raw[name], problems) for name in ROWS if name in raw}
    fx = _fx(*texts["fx"], raw["fx"], problems) if "fx" in raw else {"USD": 1.0}
    _references(rows, texts, problems)
    if problems.lines:
        raise InputError(problems.lines)
    return replace(_catalog(rows, fx, digest.hexdigest()), files=files, error_law=law)


def _law(file: Path, digest: Any, files: dict[str, str], problems: _Problems) -> ErrorLaw | None:
    """The law of the step costs' errors, if the folder has one."""
    if not file.exists():
        return None
    content = file.read_bytes()
    digest.update(file.name.encode() + b"\0" + content)
    files[file.name] = hashlib.sha256(content).hexdigest()
    try:
        return law_from(_json(content.decode("utf-8", errors="replace")) or {})
    except (KeyError, TypeError, ValueError) as error:
        problems.lines.append(f"{file}:1: is no law of errors ({error}); `python -m sim.calibration.derive_law` writes one")
        return None


def with_prefill(relay: Relay, models: dict[str, Model]) -> Relay:
    """`relay` with what is assumed of its prompts, by the size of its model."""
    return replace(relay, prefill_s_per_token=assumed_prefill_s_per_token(models.get(relay.model)))


def _catalog(rows: dict[str, dict[str, Any]], fx: dict[str, float], digest: str) -> Catalog:
    prices = [row.source.date for name in ("offers", "relays") for row in rows[name].values()]
    return Catalog(
        gpus=rows["gpus"],
        models=rows["models"],
        weight_formats=rows["weight_formats"],
        offers=rows["offers"],
        relays={name: with_prefill(row, rows["models"]) for name, row in rows["relays"].items()},
        calibration=tuple(rows.get("calibration", {}).values()),
        date=max(prices, default=""),
        digest=digest,
        fx_usd=fx,
        tokenizers=rows.get("tokenizers", {}),
    )


def _json(text: str) -> Raw | None:
    """The mapping of a file that is JSON below its comments, which loads in a tenth of the time; None of any other file."""
    body = "\n".join(line for line in text.split("\n") if not line.startswith("#"))
    if not body.startswith("{"):
        return None
    try:
        raw = json.loads(body)
    except ValueError:
        return None
    return raw if isinstance(raw, dict) else None


def _parse(file: Path, text: str, problems: _Problems) -> Raw:
    """The mapping that the file holds, or an empty one after a problem."""
    written_by_machine = _json(text) if file.stem == "calibration" else None
    if written_by_machine is not None:
        return written_by_machine
    try:
        raw = load_plain(text, str(file), MOST_VALUES)
    except InputError as error:
        problems.lines += error.problems
        return {}
    if isinstance(raw, list):
        raw = {file.stem: raw}
    if not isinstance(raw, dict):
        problems.lines.append(f"{file}:1: a catalogue file is a mapping; write `{file.stem}:` and rows below")
        return {}
    return raw


def _rows(name: str, file: Path, text: str, raw: Raw, problems: _Problems) -> dict[str, Any]:
    """Records of one file by id; calibration rows by GPU, engine and format."""
    for key in raw:
        if key not in ("sources", name):
            problems.add(file, text, (key,), f"unknown key; write sources or {name}")
    listed = raw.get(name)
    if not isinstance(listed, list):
        problems.broken.add(name)
        if raw:
            problems.add(file, text, (name,), "missing; write a list of rows")
        return {}
    found: dict[str, Any] = {}
    for index, item in enumerate(listed):

        def say(key: str, what: str, index: int = index) -> None:
            problems.add(file, text, (name, index, *(key.split(".") if key else ())), what)

        row = record_of(ROWS[name], item, say)
        if row is None:
            problems.broken.add(name)
            continue
        key = f"{row.gpu} {row.engine} {row.weights}" if isinstance(row, CalibrationRow) else row.id
        if key in found:
            say("id" if name != "calibration" else "gpu", f"{quoted(key)} is here twice; keep one row per fact")
        found[key] = row
        problems.index[name, key] = index
    return found


def _fx(file: Path, text: str, raw: Raw, problems: _Problems) -> dict[str, float]:
    """Dollars per unit of each currency; each row states its source."""
    rates = {"USD": 1.0}
    for key in raw:
        if key not in ("sources", "fx"):
            problems.add(file, text, (key,), "unknown key; write sources or fx")
    for index, item in enumerate(raw.get("fx") or ()):
        row: Raw = item if isinstance(item, dict) else {}
        where = ("fx", index)
        if set(row) != {"currency", "usd_per_unit", "source"}:
            problems.add(file, text, where, "a rate has currency, usd_per_unit and source")
            continue
        rate = row["usd_per_unit"]
        if isinstance(rate, bool) or not isinstance(rate, (int, float)) or not 0 < rate < float("inf"):
            problems.add(file, text, (*where, "usd_per_unit"), f"{quoted(rate)} is not a positive number")
            continue

        def say(key: str, what: str, index: int = index) -> None:
            problems.add(file, text, ("fx", index, "source", key), what)

        record_of(Source, row["source"], say)
        if row["currency"] in rates and rates[row["currency"]] != rate:
            problems.add(file, text, where, f"{row['currency']} is here twice; keep one row per currency")
        rates[str(row["currency"])] = float(rate)
    return rates


def _references(rows: dict[str, dict[str, Any]], texts: dict[str, tuple[Path, str]], problems: _Problems) -> None:
    """Every name that a row mentions is the id of a row. `*` in calibration means any."""
    wanted: tuple[tuple[str, str, str, tuple[str | None, ...]], ...] = (
        ("offers", "gpu", "gpus", ()),
        ("relays", "successor", "relays", (None,)),
        ("calibration", "gpu", "gpus", ("*",)),
        ("calibration", "weights", "weight_formats", ("*",)),
    )
    for name, key, target, allowed in wanted:
        if target in problems.broken:
            continue  # the row that is meant may be the one that has a problem of its own
        for row_key, row in rows.get(name, {}).items():
            value = getattr(row, key)
            if value not in rows[target] and value not in allowed:
                what = f"{quoted(value)} is no id in {target}.yaml; {instead(value, rows[target])}"
                problems.add(*texts[name], (name, problems.index[name, row_key], key), what)


@lru_cache(maxsize=16)
def _tree(text: str) -> Any:
    """The nodes of a file with their places, once for all of its problems."""
    from ruamel.yaml import YAML

    return YAML(typ="safe").compose(text)


def _line(text: str, path: tuple[str | int, ...]) -> int:
    """Line (from 1) of the node at `path`, or of the deepest part of it that exists."""
    node = _tree(text)
    line = 1
    for part in path:
        if node is None:
            break
        line = node.start_mark.line + 1
        pairs = node.value if isinstance(node.value, list) else []
        if isinstance(part, int):
            node = pairs[part] if part < len(pairs) else None
        else:
            match = next((pair for pair in pairs if isinstance(pair, tuple) and pair[0].value == part), None)
            if match is None:
                break
            line, node = match[0].start_mark.line + 1, match[1]
    else:
        if node is not None and isinstance(path[-1], int):
            line = node.start_mark.line + 1
    return int(line)
