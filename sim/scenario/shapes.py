"""Named day shapes and token laws, from shapes.yaml."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

from sim.scenario import tokens
from sim.scenario.scenario import Tokens

FILE = Path(__file__).with_name("shapes.yaml")


@dataclass(frozen=True)
class Shapes:
    """By name: weights of 24 hours (sum 1), token laws, and where each comes from."""

    days: dict[str, tuple[float, ...]]
    tokens: dict[str, Tokens]
    meanings: dict[str, str]


@cache
def load() -> Shapes:
    """All named shapes, read once."""
    raw = YAML(typ="safe", pure=True).load(FILE.read_text(encoding="utf-8"))
    days = {row["id"]: normalised(row["weights"]) for row in raw["days"]}
    laws = {row["id"]: _law(row) for row in raw["tokens"]}
    meanings = {row["id"]: row["meaning"] for row in raw["days"]}
    meanings |= {row["id"]: row["source"]["title"] for row in raw["tokens"]}
    return Shapes(days, laws, meanings)


def normalised(weights: list[float]) -> tuple[float, ...]:
    """Weights divided by their sum.

    >>> normalised([1, 3])
    (0.25, 0.75)
    """
    total = sum(weights)
    return tuple(weight / total for weight in weights)


def _law(row: dict[str, Any]) -> Tokens:
    if "quantiles" in row:
        return tokens.from_points([(q, x) for q, x in row["quantiles"]])
    given = {float(key[1:]) / 100: x for key, x in row["summary"].items() if key != "mean"}
    return tokens.summary(given, row["summary"]["mean"])
