"""Which inputs are uncertain, and between which ends: `--vary` first, then the scenario's `ranges`, then the defaults of ranges.yaml."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from optimize.whatif.scenarios import Source
from optimize.whatif.study import Axis, Level
from optimize.whatif.vary import PREFIX, level_of, parse_axes
from sim.errors import InputError
from sim.scenario.scenario import LogTraffic, Scenario, SyntheticTraffic

FILE = Path(__file__).with_name("ranges.yaml")
LENGTHS = ("factor.input_tokens", "factor.output_tokens")


@dataclass(frozen=True)
class Range:
    """One uncertain input. `today` is what the scenario says (1 for a factor; None where the key is not written)."""

    key: str
    low: float
    high: float
    today: float | None
    source: str

    def level(self, value: float) -> Level:
        """The level at which the input has this value."""
        return level_of(self.key, value)


def ranges_of(source: Source, scenario: Scenario, texts: Sequence[str]) -> tuple[Range, ...]:
    """The uncertain inputs, those of `--vary` first. InputError where an end cannot be loaded."""
    given = {axis.key: ends(axis) for axis in parse_axes(texts, sampled=True)}
    found = {key: Range(key, low, high, today(source, key), "--vary") for key, (low, high) in given.items()}
    for key, (low, high) in scenario.ranges.items():
        found.setdefault(key, Range(key, low, high, today(source, key), "the scenario's ranges"))
    for row in defaults():
        if applies(str(row["key"]), scenario):
            key = str(row["key"])
            found.setdefault(key, Range(key, float(row["low"]), float(row["high"]), today(source, key), str(row["source"])))
    check(source, tuple(found.values()))
    return tuple(found.values())


def ends(axis: Axis) -> tuple[float, float]:
    """Low and high end of an axis: of its range, or of its numbers."""
    if axis.span is not None:
        return axis.span.low, axis.span.high
    numbers = [level.label for level in axis.levels if isinstance(level.label, int | float)]
    if len(numbers) != len(axis.levels) or len(numbers) < 2:
        raise InputError(
            f"--vary {axis.key}: an uncertain input needs a low and a high number; write for example --vary {axis.key}=0.8:1.25"
        )
    return min(numbers), max(numbers)


def defaults() -> list[dict[str, Any]]:
    """Rows of ranges.yaml: key, low, high, source."""
    from ruamel.yaml import YAML

    rows: list[dict[str, Any]] = YAML(typ="safe").load(FILE.read_text(encoding="utf-8"))
    return rows


def applies(key: str, scenario: Scenario) -> bool:
    """Whether the input means something in this scenario: a log has its own lengths, users are not written everywhere."""
    if key.startswith("traffic."):
        return isinstance(scenario.traffic, SyntheticTraffic)
    if key in LENGTHS:
        return not isinstance(scenario.traffic, LogTraffic)
    if key in ("factor.gpu_prices", "factor.step_time"):
        return bool(scenario.offers)
    return bool(scenario.relays) if key.startswith("factor.relay") else True


def today(source: Source, key: str) -> float | None:
    """What the scenario says of the key."""
    if key.startswith(PREFIX):
        return 1.0
    value: Any = source.data
    for part in key.split("."):
        if isinstance(value, list):
            value = next((item for item in value if isinstance(item, dict) and item.get("name") == part), None)
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return float(value) if isinstance(value, int | float) and not isinstance(value, bool) else None


def check(source: Source, ranges: Sequence[Range]) -> None:
    """InputError for every end that the scenario refuses, all at once."""
    problems: list[str] = []
    for each in ranges:
        for value in (each.low, each.high):
            try:
                parse_axes([f"{each.key}={value!r}"])
                source.load((each.level(value),))
            except InputError as error:
                problems += [
                    f"ranges: {problem.removeprefix('--vary ')}" if each.source != "--vary" else problem for problem in error.problems
                ]
    if problems:
        raise InputError(list(dict.fromkeys(problems)))
