"""The price by the hour of owned hosts: it follows from what they cost to buy and to run, and is shown as a formula."""

from __future__ import annotations

from dataclasses import dataclass, replace

from optimize.money.capital import annuity_usd
from optimize.money.ownership import Values, known, values_of
from optimize.money.power import colocation_usd, electricity_usd, host_draw_w
from optimize.money.units import HOURS_PER_MONTH, MONTHS_PER_YEAR
from sim.catalog.facts import Offer
from sim.scenario.scenario import Scenario

OWNED = "owned"
MOVES = frozenset(  # keys of `finance` that move the price of an owned host
    (
        *("electricity_usd_per_kwh", "pue", "colocation_usd_per_kw_month", "host_share", "network_share", "host_power_factor"),
        *("life_months", "residual_share_36m", "cost_of_capital", "maintenance_share", "failures_per_gpu_year"),
    )
)
TERMS = ("life_months", "residual_share", "maintenance_usd_per_month", "colocation_usd_per_month", "capex_usd", "power_w")


@dataclass(frozen=True)
class OwnedPrice:
    """One host: purchase, worth at the end of its life, and USD of a month by part. `usd_per_hour` is their sum over 730 hours."""

    purchase_usd: float
    residual_usd: float
    months: int
    parts: tuple[tuple[str, float], ...]

    @property
    def month_usd(self) -> float:
        return sum(usd for _, usd in self.parts)

    @property
    def running_usd(self) -> float:
        """A month without capital."""
        return sum(usd for name, usd in self.parts if name != "capital")

    @property
    def usd_per_hour(self) -> float:
        return round(self.month_usd / HOURS_PER_MONTH, 6)

    def formula(self) -> str:
        """For people."""
        parts = " + ".join(f"{name} ${usd:,.2f}" for name, usd in self.parts)
        bought = f"capital: ${self.purchase_usd:,.0f} less ${self.residual_usd:,.0f} over {self.months} months"
        return f"({parts}) a month / 730 h = ${self.usd_per_hour:,.4f} an hour ({bought})"


def written(offer: Offer, scenario: Scenario) -> bool:
    """Whether the scenario states the price by the hour itself; a new row without purchase price has no other."""
    row = scenario.catalog.offers.get(offer.id)
    if row is not None:
        return row.usd_per_hour != offer.usd_per_hour or offer.grade in ("quote", "contract")
    return offer.usd_per_hour > 0 or offer.capex_usd is None


def owned_price(offer: Offer, scenario: Scenario) -> OwnedPrice | None:
    """The price of an owned offer, where it follows from anything that the scenario says; None: the price as it stands holds.

    What the scenario says of the offer comes first, then `finance`, then the row of the catalogue and the planning figures. Resale,
    failures and the cost of capital count only where they are given, as in the prices of the catalogue: they have no figure there.
    Approximation: a host draws full power in every hour, which is more than it does.
    """
    finance, row = scenario.finance, scenario.catalog.offers.get(offer.id)
    own = row is None or any(getattr(row, name) != getattr(offer, name) for name in TERMS)
    touched = MOVES & set(finance.values) or offer.gpu in finance.gpu_purchase_usd
    if offer.term != OWNED or written(offer, scenario) or not (own or touched):
        return None
    values = values_of(finance)
    price = purchase(offer, row, scenario, values)
    if price is None:
        return None
    months = int(offer.life_months or known(values, "life_months"))
    share = offer.residual_share
    if share is None:
        share = finance.values["residual_share_36m"] ** (months / 36.0) if "residual_share_36m" in finance.values else 0.0
    parts = [("capital", annuity_usd(price, price * share, months, values["cost_of_capital"].value or 0.0))]
    return OwnedPrice(price, price * share, months, (*parts, *running(offer, price, scenario, values)))


def purchase(offer: Offer, row: Offer | None, scenario: Scenario, values: Values) -> float | None:
    """What one host costs to buy: as the offer says, else by the price of its GPUs, else as the catalogue says; None: no one says."""
    network = 1 + known(values, "network_share")
    if offer.capex_usd is not None and (row is None or row.capex_usd != offer.capex_usd):
        return offer.capex_usd
    gpu_usd = scenario.finance.gpu_purchase_usd.get(offer.gpu)
    if gpu_usd is not None:
        return offer.gpus * gpu_usd * (1 + known(values, "host_share")) * network
    return None if offer.capex_usd is None else offer.capex_usd * network


def running(offer: Offer, price: float, scenario: Scenario, values: Values) -> tuple[tuple[str, float], ...]:
    """Parts of a month next to capital."""
    finance, gpu = scenario.finance, scenario.catalog.gpus.get(offer.gpu)
    power_w = offer.power_w
    if gpu is not None and (power_w is None or "host_power_factor" in finance.values):
        power_w = host_draw_w(offer.gpus, 0.0, gpu.tdp_w, 1.0, known(values, "host_power_factor"))
    power_w = power_w or 0.0
    space = offer.colocation_usd_per_month
    if space is None:
        space = colocation_usd(power_w, known(values, "colocation_usd_per_kw_month"))
    found = [
        ("electricity", electricity_usd(power_w, known(values, "pue"), known(values, "electricity_usd_per_kwh"))),
        ("colocation", space),
    ]
    share = values["maintenance_share"].value
    if offer.maintenance_usd_per_month is not None:
        found.append(("maintenance", offer.maintenance_usd_per_month))
    elif share is not None:
        found.append(("maintenance", price * share / MONTHS_PER_YEAR))
    if "failures_per_gpu_year" in finance.values:
        found.append(("failures", price * finance.values["failures_per_gpu_year"] / MONTHS_PER_YEAR))
    return tuple(found)


def with_owned_prices(scenario: Scenario) -> Scenario:
    """The scenario with the price of every owned offer as it follows; the note of the offer is the formula."""
    offers = []
    for offer in scenario.offers:
        price = owned_price(offer, scenario)
        offers.append(offer if price is None else replace(offer, usd_per_hour=price.usd_per_hour, note=price.formula()))
    return scenario if tuple(offers) == scenario.offers else replace(scenario, offers=tuple(offers))


def owned_notes(scenario: Scenario) -> list[str]:
    """How the prices of owned offers follow, a sentence each."""
    return [f"{offer.id}: {offer.note}" for offer in scenario.offers if offer.term == OWNED and " a month / 730 h = " in offer.note]
