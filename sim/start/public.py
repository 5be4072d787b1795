"""Public values that fill the gaps of a new scenario, from public.yaml."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML

FILE = Path(__file__).with_name("public.yaml")


@dataclass(frozen=True)
class Usual:
    """A value for what a user may not know, the range in which others lie, and the source of both."""

    id: str
    label: str
    unit: str
    value: Any
    low: Any
    high: Any
    source: str


@dataclass(frozen=True)
class Mix:
    """Names of the token laws of one kind of public traffic."""

    id: str
    input: str
    output: str
    source: str
    day_shape: str = ""  # of this traffic, where it is known; "": the usual one
    weekend_factor: float | None = None


@dataclass(frozen=True)
class Public:
    gaps: dict[str, Usual]
    mixes: dict[str, Mix]
    offers: tuple[str, ...]
    stand_ins: dict[str, list[str]]


@cache
def load() -> Public:
    """All rows, read once."""
    raw = YAML(typ="safe", pure=True).load(FILE.read_text(encoding="utf-8"))
    return Public(
        gaps={row["id"]: Usual(**row) for row in raw["gaps"]},
        mixes={row["id"]: Mix(**row) for row in raw["mixes"]},
        offers=tuple(raw["offers"]),
        stand_ins=raw["stand_ins"],
    )


def stand_ins(model: str) -> list[str]:
    """Open-weight models to try together with `model`, by the size that its name tells.

    >>> stand_ins("gpt-4.1"), stand_ins("gpt-4.1-mini")
    (['llama-3.3-70b'], ['llama-3.1-8b'])
    """
    table = load().stand_ins
    small = any(word in model.lower() for word in table["small_words"])
    return list(table["small" if small else "default"])
