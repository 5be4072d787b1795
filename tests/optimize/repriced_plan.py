"""A plan under another price book, computed without the workbook: what its formulas are compared with."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from optimize.finance.announced_prices import sold_at
from optimize.money.charges import HOST_HOUR, UNIT_HOUR, Charge, charges, kind_of
from optimize.money.metering import token_price
from optimize.result import Plan
from sim.catalog.facts import Offer, Relay
from sim.scenario.scenario import Scenario


def at_prices_of(plan: Plan, scenario: Scenario) -> Plan:
    """`plan` with hosts and routing as they are and every price, and the exchange rate, as in `scenario`.

    The program is not solved again: another plan may be cheaper at these prices. Lines keep their order, so that both can be compared.
    """
    found = charges(plan.program, plan.solution, plan.lines)
    again = repriced(found, scenario.offers, scenario.relays)
    lines = tuple(
        replace(line, per_month_usd=sum(charge.usd for charge in again if charge.line == line.name)) if line.kind != "fixed" else line
        for line in plan.lines
    )
    offers = {offer.id: offer for offer in scenario.offers}
    pools = tuple(
        replace(terms, option=replace(terms.option, offer=offers.get(terms.option.offer.id, terms.option.offer)))
        for terms in plan.program.pools
    )
    sellers = {relay.id: relay for relay in scenario.relays}
    relays = tuple(sold_at(plan, terms, sellers.get(terms.relay.id, terms.relay)) for terms in plan.program.relays)
    rate = scenario.catalog.fx_usd.get(scenario.budget.currency, 1.0)
    program = replace(plan.program, pools=pools, relays=relays)
    return replace(plan, scenario=scenario, program=program, lines=lines, usd_per_unit=rate)


def repriced(found: Sequence[Charge], offers: Iterable[Offer], relays: Iterable[Relay]) -> tuple[Charge, ...]:
    """The same quantities at the prices of `offers` and `relays`: the bill of a fixed fleet under another price book.

    The hours in which a relay is cheaper, and by how much, stay as they were.
    """
    hours = {offer.id: offer.usd_per_hour for offer in offers}
    sellers = {relay.id: relay for relay in relays}
    answer = []
    for charge in found:
        usd = charge.usd_per_unit
        seller = sellers.get(charge.source)
        if charge.item == HOST_HOUR:
            usd = hours.get(charge.source, usd)
        elif charge.item == UNIT_HOUR and seller is not None and seller.unit_usd_per_hour is not None:
            usd = seller.unit_usd_per_hour
        elif charge.item.endswith(" tokens") and seller is not None:
            usd = token_price(seller, kind_of(charge.item)) * charge.factor
        answer.append(replace(charge, usd_per_unit=usd))
    return tuple(answer)
