"""The same fleet at other prices: what a plan would cost if nothing but its price book changed."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from optimize.market.relay_bills import metered_prices
from optimize.money.charges import cached_tokens, charges, repriced
from optimize.money.tokens import relay_request_usd
from optimize.records import Plan, RelayTerms
from sim.catalog.records import Relay
from sim.scenario.records import Scenario


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


def sold_at(plan: Plan, terms: RelayTerms, relay: Relay) -> RelayTerms:
    """The terms at the prices of `relay`, with as many cached tokens as before."""
    if terms.meter is not None and terms.units is None:
        return replace(terms, relay=relay, usd_per_request=metered_prices(terms, relay))
    cached, (inputs, outputs) = cached_tokens(plan.program, terms), terms.tokens(plan.demand)
    written = np.zeros(len(inputs)) if terms.written is None else terms.written
    usd = [
        relay_request_usd(relay, inputs[c], cached[c], outputs[c], written[c]) if np.isfinite(old) and terms.units is None else old
        for c, old in enumerate(terms.usd_per_request)
    ]
    return replace(terms, relay=relay, usd_per_request=np.array(usd))
