"""Small program inputs for tests."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from optimize.records import LoadLevel, PoolOption, PoolTerms, ProgramInput, RelayTerms, SloRow
from sim.catalog.facts import Offer, Relay, Source
from sim.requests import Demand

SOURCE = Source("made up for a test", "2026-01-01")


def offer(
    name: str, usd_per_hour: float, elastic: bool = True, stock: int | None = None, term: str = "on_demand", boot_s: float = 300.0
) -> Offer:
    """A host with one GPU."""
    return Offer(name, "seller", "gpu", 1, usd_per_hour, term, SOURCE, elastic=elastic, stock=stock, boot_s=boot_s)


def pool(
    sold: Offer, load: Sequence[float], miss: Sequence[float] = (), slope: float = 1.0, intercept: float = 0.0, replicas: int = 1
) -> PoolTerms:
    """A pool whose classes are those with finite load."""
    classes = tuple(c for c, each in enumerate(load) if math.isfinite(each))
    option = PoolOption(f"{sold.id}:{'+'.join(map(str, classes))}", sold, None, replicas, classes)
    level = LoadLevel(np.array(load, dtype=float), np.array(miss, dtype=float))
    return PoolTerms(option, (level,), slope, intercept, True)


def relay(
    name: str,
    usd: Sequence[float],
    miss: Sequence[float] = (),
    rpm: float | None = None,
    tpm: float | None = None,
    hard: bool = True,
    vendor: str = "vendor",
) -> RelayTerms:
    """A relay; a class with an infinite price may not use it. 100 tokens per request."""
    row = Relay(name, vendor, "model", 1.0, 1.0, None, 0.5, 0.2, 50.0, 0.2, SOURCE, SOURCE, rpm=rpm, tpm=tpm)
    price = np.array(usd, dtype=float)
    return RelayTerms(row, np.isfinite(price), price, np.full(len(price), 100.0), np.array(miss, dtype=float), hard)


def problem(
    rates: Sequence[Sequence[float]],
    pools: Sequence[PoolTerms] = (),
    relays: Sequence[RelayTerms] = (),
    slos: Sequence[SloRow] = (),
    budget: float = math.inf,
    share: float = 1.0,
    n_plus_one: bool = False,
    hours: Sequence[float] | None = None,
) -> ProgramInput:
    """`rates` [classes][slices] in requests/s; equal slices of a 730 h month unless `hours` says otherwise."""
    mean = np.array(rates, dtype=float)
    classes, slices = mean.shape
    weight = np.array(hours if hours is not None else [730.0 / slices] * slices)
    ones = np.ones(classes)
    demand = Demand(tuple(f"h{t}" for t in range(slices)), weight, mean, 1.2, 50 * ones, 50 * ones, 0 * ones)
    return ProgramInput(demand, tuple(slos), tuple(pools), tuple(relays), budget, share, n_plus_one, tuple(f"c{c}" for c in range(classes)))
