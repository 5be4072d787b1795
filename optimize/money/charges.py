"""The charges that a bill consists of, quantity x unit price: what a workbook recalculates and what an invoice is compared with."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from optimize.money.bill import CLASSIFIER, classified_requests
from optimize.money.metering import token_price
from optimize.money.off_peak import off_peak_shares
from optimize.money.units import HOUR_S, HOURS_PER_MONTH, MTOK
from optimize.records import CostLine, Floats, ProgramInput, ProgramSolution, RelayTerms
from sim.exact import dot

OTHER = "other terms"  # what a line holds beyond quantity x price
FLAT, HOST_HOUR, UNIT_HOUR, OFF_PEAK = "per month", "host-hour", "unit-hour", "off-peak"
LEAST_USD = 1e-6
LEAST_MTOK = 1e-9  # million tokens a month: below, a flow is what the solver left of zero
DIGITS = 12  # significant digits of quantities and prices in reports: what floats know for certain


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
    factor: float = 1.0  # on the list price, from the tier that was bought and the hour

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
    found: list[Charge] = []
    for line in lines:
        parts = line_charges(problem, solution, line)
        rest = line.per_month_usd - sum(part.usd for part in parts)
        if not parts or abs(rest) > LEAST_USD * max(1.0, abs(line.per_month_usd)):
            parts.append(Charge(line.name, line.kind, line.name, OTHER if parts else FLAT, 1.0, "month", rest))
        found += parts
    return tuple(found)


def line_charges(problem: ProgramInput, solution: ProgramSolution, line: CostLine) -> list[Charge]:
    """What a line consists of by its name: a pool's host-hours and starts, a relay's tokens and provisioned units; empty for any other."""
    for p, terms in enumerate(problem.pools):
        offer = terms.option.offer
        hours = {
            terms.option.id: float(dot(solution.billed[p], problem.demand.weight_h)),
            f"{terms.option.id} starts": line.per_month_usd / offer.usd_per_hour if offer.usd_per_hour > 0 else 0.0,
        }
        if line.kind == "gpu" and line.name in hours:
            return [Charge(line.name, "gpu", offer.id, HOST_HOUR, hours[line.name], "h", offer.usd_per_hour)]
    for a, sold in enumerate(problem.relays):
        if line.kind == "relay" and line.name == sold.relay.id and sold.units is None:
            tier = -1 if solution.relay_tier is None else int(solution.relay_tier[a])
            return relay_charges(problem, sold, solution.relay_flow[a], sold.tiers[tier].price_factor if tier >= 0 else 1.0)
        if line.kind == "relay" and line.name == f"{sold.relay.id} units" and sold.units and solution.relay_units is not None:
            hours_paid = float(solution.relay_units[a]) * HOURS_PER_MONTH
            return [Charge(line.name, "relay", sold.relay.id, UNIT_HOUR, hours_paid, "h", sold.units.usd_per_hour)]
    if line.name == CLASSIFIER and problem.classifier_usd is not None:
        count = classified_requests(problem.demand, problem.classifier_usd) / MTOK
        return [Charge(line.name, line.kind, CLASSIFIER, "requests", count, "million requests", float(problem.classifier_usd.max()) * MTOK)]
    return []


def relay_charges(problem: ProgramInput, terms: RelayTerms, flow: Floats, factor: float = 1.0) -> list[Charge]:
    """Tokens of a month through a relay by kind; those that occur. Hours that have a price of their own are charges of their own.

    An hour that is off peak in part is split: each charge is at a price that the relay states.
    """
    found = []
    for hour, share in by_hour_factor(terms, flow):
        requests = dot(share, problem.demand.weight_h) * HOUR_S
        for kind, count in kinds_of(problem, terms, requests).items():
            if count > LEAST_MTOK * MTOK:
                item = f"{kind} tokens" if hour == 1.0 else f"{OFF_PEAK} ({hour:g}) {kind} tokens"
                price = token_price(terms.relay, kind) * hour * factor
                charge = Charge(terms.relay.id, "relay", terms.relay.id, item, count / MTOK, "million tokens", price, hour * factor)
                found.append(charge)
    return found


def by_hour_factor(terms: RelayTerms, flow: Floats) -> list[tuple[float, Floats]]:
    """(factor, the flow [classes, slices] that pays it), dearest first; all at 1 where the hour has no price."""
    factors, off_peak = terms.hour_factors, terms.relay.off_peak
    if factors is None:
        return [(1.0, flow)]
    share = off_peak_shares(terms)
    if share is not None and off_peak is not None:
        return [(1.0, flow * (1 - share)), (off_peak.factor, flow * share)]
    return [(float(each), np.where(factors == each, flow, 0.0)) for each in np.unique(factors)[::-1]]


def kinds_of(problem: ProgramInput, terms: RelayTerms, requests: Floats) -> dict[str, float]:
    """Tokens by kind of so many requests [classes] of a month."""
    if terms.meter is not None:
        return {kind: float(dot(requests, tokens)) for kind, tokens in terms.meter.items()}
    cached = float(dot(requests, cached_tokens(problem, terms)))
    inputs, outputs = terms.tokens(problem.demand)
    written = 0.0 if terms.written is None else float(dot(requests, terms.written))
    plain = float(dot(requests, inputs)) - cached - written
    return {"input": plain, "cached": cached, "written": written, "output": float(dot(requests, outputs))}


def kind_of(item: str) -> str:
    """The kind of token of a charge.

    >>> kind_of("off-peak (0.5) cached tokens"), kind_of("input above 272,000 tokens")
    ('cached', 'input above 272,000')
    """
    kind = item.removesuffix(" tokens")
    return kind.partition(") ")[2] if kind.startswith(OFF_PEAK) else kind


def cached_tokens(problem: ProgramInput, terms: RelayTerms) -> Floats:
    """[classes] input tokens per request that the bill holds at the cached price: what makes price rows and bill agree."""
    if terms.cached is not None:
        return terms.cached
    relay = terms.relay
    inputs, outputs = terms.tokens(problem.demand)
    if relay.usd_per_mtok_cached is None or relay.usd_per_mtok_cached >= relay.usd_per_mtok_input:
        return np.zeros(len(inputs))
    full_usd = (inputs * relay.usd_per_mtok_input + outputs * relay.usd_per_mtok_output) / MTOK
    usd = np.where(terms.eligible, terms.usd_per_request, full_usd)
    saved = (full_usd - usd) * MTOK / (relay.usd_per_mtok_input - relay.usd_per_mtok_cached)
    return np.asarray(np.clip(saved, 0.0, inputs))


def rounded(charge: Charge) -> Charge:
    """The charge with quantity and price to 12 significant digits: 0.225 and not 0.22499999999999998.

    A bill of ten billion dollars changes by less than a cent.
    """
    quantity, usd = (float(f"{value:.{DIGITS}g}") for value in (charge.quantity, charge.usd_per_unit))
    return replace(charge, quantity=quantity, usd_per_unit=usd)
