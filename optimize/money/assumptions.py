"""Planning figures of money, each with default, unit, range and source, from the catalogue's finance.yaml; blanks stay blank."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import sim.catalog
from sim.catalog.facts import Source

FILE = Path(sim.catalog.__file__).parent / "finance.yaml"


@dataclass(frozen=True)
class Assumption:
    """`value` None: no source could be cited. `given` True: the scenario says it. `low`, `high`: what is plausible, None if unknown."""

    name: str
    value: float | None
    unit: str
    meaning: str
    source: Source
    low: float | None = None
    high: float | None = None
    given: bool = False


@dataclass(frozen=True)
class Purchase:
    """Price of one GPU, as low and high of what is quoted."""

    gpu: str
    low: float
    high: float
    source: Source

    @property
    def middle(self) -> float:
        return (self.low + self.high) / 2


@dataclass(frozen=True)
class FinanceFacts:
    """All rows of finance.yaml; `egress` maps a provider to (up to GB, USD per GB)."""

    assumptions: dict[str, Assumption]
    purchase: dict[str, Purchase]
    egress: dict[str, tuple[tuple[float, float], ...]]
    egress_source: Source


@lru_cache(maxsize=1)
def finance_facts() -> FinanceFacts:
    """The planning figures that come with the package.

    >>> finance_facts().assumptions["pue"].value, finance_facts().assumptions["staff_usd_per_month"].value
    (1.54, None)
    """
    from ruamel.yaml import YAML

    raw: Any = YAML(typ="safe").load(FILE.read_text(encoding="utf-8"))
    rows = [Assumption(**{"value": None, **row, "source": _source(row["source"])}) for row in raw["assumptions"]]
    bought = [Purchase(row["gpu"], float(row["low"]), float(row["high"]), _source(row["source"])) for row in raw["purchase"]]
    egress = dict(raw["egress"])
    source = _source(egress.pop("source"))
    tiers = {name: tuple((math.inf if upto is None else float(upto), float(usd)) for upto, usd in each) for name, each in egress.items()}
    return FinanceFacts({row.name: row for row in rows}, {row.gpu: row for row in bought}, tiers, source)


def _source(raw: dict[str, Any]) -> Source:
    return Source(str(raw["title"]), str(raw["date"]), str(raw.get("note", "")))
