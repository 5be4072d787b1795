"""The charges that a bill consists of, quantity x unit price: what a workbook recalculates and what an invoice is compared with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from optimize.money.units import HOUR_S, MTOK
from optimize.records import CostLine, Floats, PoolTerms, ProgramInput, ProgramSolution, RelayTerms
from sim.catalog.records import Offer, Relay

OTHER = "other terms"  # what a line holds beyond quantity x price
LEAST_USD = 1e-6


@dataclass(frozen=True)
class Charge:
    """One priced quantity of a line of the bill. `price_name` names its price cell: charges of the same price share it.

    `kind` is that of the line; `source` is the id of the offer or relay; `usd` = quantity x usd_per_unit.
    """

    line: str
    kind: str
    source: str
    item: str
    quantity: float
    unit: str
    usd_per_unit: float

    @property
    def usd(self) -> float:
        return self.quantity * self.usd_per_unit

    @property
    def price_name(self) -> str:
        return f"{self.source} {self.item}"


def charges(problem: ProgramInput, solution: ProgramSolution, lines: Sequence[CostLine]) -> tuple[Charge, ...]:
    """The charges of each line, in the order of the lines; per line they sum to its amount.

    What quantity x price does not explain (a price that is not linear, a line that no pool or relay has) is a charge of its own,
    `other terms`, one unit at that amount.
    """
    pools = {terms.option.id: p for p, terms in enumerate(problem.pools)}
    relays = {terms.relay.id: a for a, terms in enumerate(problem.relays)}
    found: list[Charge] = []
    for line in lines:
        parts: list[Charge] = []
        if line.kind == "gpu" and line.name in pools:
            p = pools[line.name]
            parts = [pool_charge(problem.pools[p], float(solution.billed[p] @ problem.demand.weight_h))]
        elif line.kind == "relay" and line.name in relays:
            a = relays[line.name]
            parts = relay_charges(problem, problem.relays[a], solution.relay_flow[a])
        rest = line.per_month_usd - sum(part.usd for part in parts)
        if not parts or abs(rest) > LEAST_USD * max(1.0, abs(line.per_month_usd)):
            item = OTHER if parts else "per month"
            parts.append(Charge(line.name, line.kind, line.name, item, 1.0, "month", rest))
        found += parts
    return tuple(found)


def pool_charge(terms: PoolTerms, host_hours: float) -> Charge:
    """Paid host-hours of a pool at the price of its offer."""
    offer = terms.option.offer
    return Charge(terms.option.id, "gpu", offer.id, "host-hour", host_hours, "h", offer.usd_per_hour)


def relay_charges(problem: ProgramInput, terms: RelayTerms, flow: Floats) -> list[Charge]:
    """Tokens of a month through a relay by kind: plain input, cached input, output; kinds that do not occur are left out."""
    requests = flow @ problem.demand.weight_h * HOUR_S
    cached = float(requests @ cached_tokens(problem, terms))
    inputs, outputs = terms.tokens(problem.demand)
    tokens = {"input": float(requests @ inputs) - cached, "cached": cached, "output": float(requests @ outputs)}
    relay = terms.relay
    return [
        Charge(relay.id, "relay", relay.id, f"{item} tokens", count / MTOK, "million tokens", token_price(relay, item))
        for item, count in tokens.items()
        if count > 0
    ]


def token_price(relay: Relay, item: str) -> float:
    """USD per million tokens of a kind; without a cached price the input price holds."""
    if item == "cached" and relay.usd_per_mtok_cached is not None:
        return relay.usd_per_mtok_cached
    return relay.usd_per_mtok_output if item == "output" else relay.usd_per_mtok_input


def cached_tokens(problem: ProgramInput, terms: RelayTerms) -> Floats:
    """[classes] input tokens per request that the bill holds at the cached price: what makes price rows and bill agree."""
    relay = terms.relay
    inputs, outputs = terms.tokens(problem.demand)
    if relay.usd_per_mtok_cached is None or relay.usd_per_mtok_cached >= relay.usd_per_mtok_input:
        return np.zeros(len(inputs))
    full_usd = (inputs * relay.usd_per_mtok_input + outputs * relay.usd_per_mtok_output) / MTOK
    usd = np.where(terms.eligible, terms.usd_per_request, full_usd)
    saved = (full_usd - usd) * MTOK / (relay.usd_per_mtok_input - relay.usd_per_mtok_cached)
    return np.asarray(np.clip(saved, 0.0, inputs))


def repriced(found: Sequence[Charge], offers: Iterable[Offer], relays: Iterable[Relay]) -> tuple[Charge, ...]:
    """The same quantities at the prices of `offers` and `relays`: the bill of a fixed fleet under another price book."""
    hours = {offer.id: offer.usd_per_hour for offer in offers}
    sellers = {relay.id: relay for relay in relays}
    answer = []
    for charge in found:
        usd = charge.usd_per_unit
        if charge.item == "host-hour":
            usd = hours.get(charge.source, usd)
        elif charge.item.endswith(" tokens") and charge.source in sellers:
            usd = token_price(sellers[charge.source], charge.item.removesuffix(" tokens"))
        answer.append(replace(charge, usd_per_unit=usd))
    return tuple(answer)
