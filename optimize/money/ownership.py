"""A month of own hosts, and what is left to pay what no source prices: staff, maintenance, cost of capital."""

from __future__ import annotations

from dataclasses import dataclass, replace

from optimize.money.assumptions import Assumption, finance_facts
from optimize.money.capital import annuity_usd, residual_share, straight_line_usd
from optimize.money.power import colocation_usd, electricity_usd, host_draw_w
from optimize.money.units import MONTHS_PER_YEAR
from sim.scenario.scenario import Finance

OPEN_WORDS = {"staff_usd_per_month": "staff", "maintenance_share": "maintenance", "cost_of_capital": "cost of capital"}
Values = dict[str, Assumption]


@dataclass(frozen=True)
class OwnHost:
    """What is bought: GPUs of a price and a full draw in one host."""

    gpus: int
    gpu_usd: float
    tdp_w: float


@dataclass(frozen=True)
class OwnLine:
    """One part of a month of own hosts; `how` is its formula with numbers."""

    name: str
    usd: float
    how: str


@dataclass(frozen=True)
class OwnedMonth:
    """`lines` are the parts that have a source or were given; `open` names those that have none: they are not zero, they are missing."""

    hosts: int
    purchase_usd: float
    residual_usd: float
    book_usd: float  # straight-line depreciation of a month, the book view of the capital line
    draw_w: float
    lines: tuple[OwnLine, ...]
    open: tuple[str, ...]

    @property
    def known_usd(self) -> float:
        """Sum of the parts that are known."""
        return sum(line.usd for line in self.lines)


def values_of(finance: Finance) -> Values:
    """The planning figures with the scenario's own in their place, marked as given.

    >>> values_of(Finance(values={"pue": 1.2}))["pue"].value, values_of(Finance())["cost_of_capital"].value
    (1.2, None)
    """
    facts = finance_facts().assumptions
    return {name: replace(row, value=finance.values[name], given=True) if name in finance.values else row for name, row in facts.items()}


def purchase_usd(host: OwnHost, values: Values) -> float:
    """Price of one host with its share of the network: GPUs x (1 + host share) x (1 + network share).

    >>> round(purchase_usd(OwnHost(8, 27_500.0, 700.0), values_of(Finance())))
    346500
    """
    return host.gpus * host.gpu_usd * (1 + known(values, "host_share")) * (1 + known(values, "network_share"))


def owned_month(host: OwnHost, hosts: int, load_share: float, values: Values) -> OwnedMonth:
    """A month of `hosts` own hosts that work `load_share` of their capacity, part by part.

    Without cost of capital the capital line is straight line, which is less than any annuity: the cost of capital is then among `open`.

    >>> month = owned_month(OwnHost(8, 27_500.0, 700.0), 1, 1.0, values_of(Finance()))
    >>> [(line.name, round(line.usd)) for line in month.lines]
    [('capital', 6738), ('electricity', 1673), ('colocation', 1987), ('failures', 1650)]
    >>> month.open
    ('staff', 'maintenance', 'cost of capital')
    """
    price, months = purchase_usd(host, values) * hosts, int(known(values, "life_months"))
    residual = price * residual_share(known(values, "residual_share_36m"), months)
    book_months = int(known(values, "book_life_months"))
    idle_w, factor = host.tdp_w * known(values, "idle_share"), known(values, "host_power_factor")
    draw_w = hosts * host_draw_w(host.gpus, idle_w, host.tdp_w, load_share, factor)
    lines = [_capital(price, residual, months, values), *_site(host, hosts, draw_w, values)]
    if (share := values["maintenance_share"].value) is not None:
        lines.append(OwnLine("maintenance", price * share / MONTHS_PER_YEAR, f"{share:.1%} of ${price:,.0f} a year"))
    if (staff := values["staff_usd_per_month"].value) is not None:
        lines.append(OwnLine("staff", staff, "as given"))
    missing = tuple(word for name, word in OPEN_WORDS.items() if values[name].value is None)
    book = straight_line_usd(price, price * residual_share(known(values, "residual_share_36m"), book_months), book_months)
    return OwnedMonth(hosts, price, residual, book, draw_w, tuple(lines), missing)


def _capital(price: float, residual: float, months: int, values: Values) -> OwnLine:
    rate = values["cost_of_capital"].value
    usd = annuity_usd(price, residual, months, rate or 0.0)
    kind = "straight line, cost of capital left open" if rate is None else f"annuity at {rate:.1%} a year"
    return OwnLine("capital", usd, f"${price:,.0f} less ${residual:,.0f} over {months} months, {kind}")


def _site(host: OwnHost, hosts: int, draw_w: float, values: Values) -> list[OwnLine]:
    """Electricity, colocation and failed GPUs."""
    pue, kwh = known(values, "pue"), known(values, "electricity_usd_per_kwh")
    full_w = hosts * host_draw_w(host.gpus, 0.0, host.tdp_w, 1.0, known(values, "host_power_factor"))
    per_kw, failures = known(values, "colocation_usd_per_kw_month"), known(values, "failures_per_gpu_year")
    failed = hosts * host.gpus * host.gpu_usd * failures / MONTHS_PER_YEAR
    return [
        OwnLine("electricity", electricity_usd(draw_w, pue, kwh), f"{draw_w / 1000:.2f} kW x PUE {pue:g} x 730 h x ${kwh:g}"),
        OwnLine("colocation", colocation_usd(full_w, per_kw), f"{full_w / 1000:.2f} kW x ${per_kw:g}"),
        OwnLine("failures", failed, f"{failures:g} a year x {hosts * host.gpus} GPUs x ${host.gpu_usd:,.0f}"),
    ]


def known(values: Values, name: str) -> float:
    """The value of a figure that has one."""
    value = values[name].value
    assert value is not None, f"{name} has no value"
    return value


def allowance_usd(rent_usd: float, month: OwnedMonth) -> float:
    """What may be spent a month on the parts left open before owning costs as much as renting; negative: owning never wins."""
    return rent_usd - month.known_usd


def verdict(rent_usd: float, month: OwnedMonth) -> str:
    """Own or rent in one sentence; a part without a source is never taken as zero.

    >>> month = owned_month(OwnHost(8, 27_500.0, 700.0), 1, 1.0, values_of(Finance()))
    >>> verdict(8 * 2.29 * 730, month)
    'owning wins only below $1,326 a month for staff, maintenance and cost of capital'
    >>> verdict(10_000.0, month)
    'owning never wins: $12,047 a month before staff, maintenance and cost of capital, renting $10,000'
    """
    left = allowance_usd(rent_usd, month)
    if not month.open:
        word = "wins" if left > 0 else "does not win"
        return f"owning {word}: ${month.known_usd:,.0f} a month, renting ${rent_usd:,.0f}"
    words = ", ".join(month.open[:-1]) + " and " + month.open[-1] if len(month.open) > 1 else month.open[0]
    if left <= 0:
        return f"owning never wins: ${month.known_usd:,.0f} a month before {words}, renting ${rent_usd:,.0f}"
    return f"owning wins only below ${left:,.0f} a month for {words}"
