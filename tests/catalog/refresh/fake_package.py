"""A price package of a few models with the shape of genai-prices, written into a folder that Python imports from."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

INIT = '__version__ = "9.9.9"\n'
DATA = """
from dataclasses import dataclass, field
from datetime import date
from decimal import Decimal
from types import SimpleNamespace

@dataclass
class Start:
    start_date: date
    def active(self, moment):
        return moment.date() >= self.start_date

@dataclass
class Hours:
    first: int
    last: int
    def active(self, moment):
        return self.first <= moment.hour < self.last

@dataclass
class Model:
    id: str
    prices: object
    price_variants: list = field(default_factory=list)
    deprecated: bool = False
    def get_prices(self, moment, context=None):
        found = self.prices
        if isinstance(found, list):
            found = next((each.prices for each in reversed(found) if each.constraint is None or each.constraint.active(moment)))
        if context:
            for variant in self.price_variants:
                if variant.when == context:
                    return price(**(vars(found) | vars(variant.prices)))
        return found

def price(**kinds):
    return SimpleNamespace(**{key: Decimal(value) if isinstance(value, str) else value for key, value in kinds.items()})

def step(base, start, above):
    return SimpleNamespace(base=Decimal(base), tiers=[SimpleNamespace(start=start, price=Decimal(above))])

def when(constraint, prices):
    return SimpleNamespace(constraint=constraint, prices=prices)

batch = SimpleNamespace(when={"processing": "batch"}, constraint=None, prices=price(input_mtok="0.55", output_mtok="2.2"))
providers = [SimpleNamespace(id="maker", models=[
    Model("small", price(input_mtok="1.1", output_mtok="4.4", cache_read_mtok="0.11", web_searches_kcount="10"), [batch]),
    Model("long", price(input_mtok=step("2", 1000, "4"), output_mtok=step("8", 1000, "12.5"))),
    Model("night", [
        when(None, price(input_mtok="0.1", output_mtok="0.2")),
        when(Start(date(2026, 9, 10)), price(input_mtok="0.13999999999999999", output_mtok="0.3")),
        when(Hours(1, 4), price(input_mtok="0.28", output_mtok="0.6")),
    ]),
    Model("rising", [
        when(None, price(input_mtok="1", output_mtok="2")),
        when(Start(date(2027, 1, 1)), price(input_mtok="1.5", output_mtok="3")),
    ]),
    Model("cheap", price(input_mtok="0.4", output_mtok="4"), deprecated=True),
])]
"""


def install(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes `import genai_prices` find the fake for one test; the real one, if there is one, comes back afterwards."""
    package = folder / "genai_prices"
    package.mkdir()
    (package / "__init__.py").write_text(INIT)
    (package / "data.py").write_text(DATA)
    forget(monkeypatch)
    monkeypatch.syspath_prepend(str(folder))


def remove(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes `import genai_prices` fail for one test."""
    forget(monkeypatch)
    monkeypatch.setitem(sys.modules, "genai_prices", None)


def forget(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was imported goes, and comes back after the test."""
    for name in imported():
        monkeypatch.delitem(sys.modules, name)


def drop() -> None:
    """What was imported goes for good."""
    for name in imported():
        del sys.modules[name]


def imported() -> list[str]:
    return [name for name in sys.modules if name.partition(".")[0] == "genai_prices"]
