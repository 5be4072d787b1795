"""From one bill to another in named steps that add up exactly: volume, routing, token mix, retries, utilisation, prices, rest."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

STEPS = ("volume", "routing", "token mix", "retries", "utilisation", "prices", "fixed and other")
MEANING = {
    "volume": "requests of a month, at the first bill's routing and prices",
    "routing": "which share of the requests goes where",
    "token mix": "billed units of a request at each relay: input, cached and output tokens",
    "retries": "billed attempts per request",
    "utilisation": "requests served per paid host-hour",
    "prices": "price of a unit, exchange rate included",
    "fixed and other": "fixed costs, minimum payments, what is not quantity x price, and rounding to the cent",
}


@dataclass(frozen=True)
class Target:
    """One seller's part of a bill, per request that it serves.

    share      of all requests;  attempts  billed attempts per request
    units      item -> units of one attempt (million tokens at a relay; host-hours of a pool: the inverse of requests per paid host-hour)
    prices     item -> price of a unit, in the currency of the comparison;  hosts  True: its units follow utilisation, not token mix
    """

    share: float
    units: Mapping[str, float]
    prices: Mapping[str, float]
    attempts: float = 1.0
    hosts: bool = False

    def per_request(self) -> float:
        """Cost of a request of the whole traffic that falls on this target."""
        return self.share * self.attempts * sum(units * self.prices[item] for item, units in self.units.items())


@dataclass(frozen=True)
class BillModel:
    """A bill as requests, targets and a rest; `total` is the amount on the bill to the cent and may differ from the model by rounding."""

    name: str
    requests: float
    targets: Mapping[str, Target]
    other: float
    total: float

    def modelled(self) -> float:
        """What requests and targets come to, without the rest."""
        return self.requests * sum(target.per_request() for target in self.targets.values())


@dataclass(frozen=True)
class Step:
    """What one kind of change adds to the bill."""

    name: str
    amount: float
    meaning: str


def bridge(first: BillModel, second: BillModel) -> tuple[Step, ...]:
    """The steps from `first` to `second`, in the order of STEPS; their sum is second.total - first.total to the cent.

    Each step exchanges one kind of input and keeps what was exchanged before, so that nothing is left over and nothing counted twice.
    A target that only one bill has enters or leaves with its own units and prices under "routing". The order matters for the split
    between steps, never for their sum.
    """
    names = list(dict.fromkeys([*first.targets, *second.targets]))
    now = {name: first.targets.get(name) or replace(second.targets[name], share=0.0) for name in names}
    goal = {name: second.targets.get(name) or replace(first.targets[name], share=0.0) for name in names}
    requests, cents, steps = first.requests, [_cents(first.modelled())], []
    changes: dict[str, Callable[[Target, Target], Target]] = {
        "routing": lambda a, b: replace(a, share=b.share),
        "token mix": lambda a, b: a if a.hosts else replace(a, units=_known(b.units, a.units), prices=_priced(a, b)),
        "retries": lambda a, b: replace(a, attempts=b.attempts),
        "utilisation": lambda a, b: replace(a, units=_known(b.units, a.units), prices=_priced(a, b)) if a.hosts else a,
        "prices": lambda a, b: replace(a, prices=_priced(b, a)),
    }
    for step in STEPS[:-1]:
        if step == "volume":
            requests = second.requests
        else:
            now = {name: changes[step](now[name], goal[name]) for name in names}
        cents.append(_cents(requests * sum(target.per_request() for target in now.values())))
        steps.append(Step(step, (cents[-1] - cents[-2]) / 100, MEANING[step]))
    explained = sum(round(100 * step.amount) for step in steps)
    rest = _cents(second.total) - _cents(first.total) - explained
    return (*steps, Step(STEPS[-1], rest / 100, MEANING[STEPS[-1]]))


def _cents(amount: float) -> int:
    return round(100 * amount)


def _known(units: Mapping[str, float], others: Mapping[str, float]) -> dict[str, float]:
    """Units of every item of either side: an item that one side does not bill has none there."""
    return {item: units.get(item, 0.0) for item in dict.fromkeys([*units, *others])}


def _priced(first: Target, second: Target) -> dict[str, float]:
    """Prices of `first`, and of `second` where only it has the item."""
    return {**second.prices, **first.prices}
