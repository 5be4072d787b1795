"""Own or rent, for each pool that the plan rents."""

from __future__ import annotations

from dataclasses import dataclass

from optimize.money.amounts import share_of
from optimize.money.assumptions import finance_facts
from optimize.money.capital import payback_months
from optimize.money.contracts import hosts_usd
from optimize.money.extras import double_running_usd
from optimize.money.ownership import OwnedMonth, OwnHost, known, owned_month, values_of, verdict
from optimize.money.quantities import billed_share, load_share
from optimize.records import PoolTerms
from optimize.result import Plan

OWNED = "owned"


@dataclass(frozen=True)
class OwnOrRent:
    """A rented pool and the own hosts that would replace it: as many as its busiest hour needs, paid for in every hour."""

    pool: str
    gpu: str
    rent_usd: float
    host: OwnHost | None  # None: no purchase price is known for this GPU
    month: OwnedMonth | None
    load_share: float
    sentence: str
    once_usd: float | None = None  # rent while both fleets run; None: the overlap is open
    payback_months: float | None = None  # from the order: of purchase and `once_usd`, open parts left out; None: not within its life


def own_or_rent(plan: Plan) -> tuple[OwnOrRent, ...]:
    """One row per pool that is rented, in the plan's order. Staff that the scenario gives is charged to each pool by its share of rent."""
    rents = {p: _rent_usd(plan, p) for p in range(len(plan.program.pools)) if plan.solution.billed[p].any()}
    rents = {p: usd for p, usd in rents.items() if plan.program.pools[p].option.offer.term != OWNED}
    return tuple(_row(plan, p, usd, share_of(usd, sum(rents.values()))) for p, usd in rents.items())


def _row(plan: Plan, p: int, rent_usd: float, share: float) -> OwnOrRent:
    terms, finance = plan.program.pools[p], plan.scenario.finance
    host, gpu = own_host(plan, terms), terms.option.offer.gpu
    load = load_share(plan, p) * billed_share(plan, p)  # own hosts stand there in every hour: the same work is a smaller share
    if host is None:
        words = f"no purchase price is known for {gpu}: write finance.gpu_purchase_usd.{gpu}"
        if gpu not in plan.scenario.catalog.gpus and terms.option.deployment is None:
            words = f"{gpu} is no GPU of the catalogue: write `gpu` on the offer to compare with owning"
        return OwnOrRent(terms.option.id, gpu, rent_usd, None, None, load, words)
    values = values_of(finance)
    staff = values["staff_usd_per_month"]
    if staff.value is not None:
        values |= {"staff_usd_per_month": type(staff)(**{**vars(staff), "value": staff.value * share})}
    month = owned_month(host, int(plan.solution.billed[p].max()), load, values)
    overlap, lead = values["overlap_months"].value, values["lead_time_months"].value or 0.0
    once = None if overlap is None else double_running_usd(rent_usd, overlap)  # rent of the lead time is paid in either case
    words = verdict(rent_usd, month) + ("" if once is None else f"; ${once:,.0f} once for rent while both run")
    running = sum(line.usd for line in month.lines if line.name != "capital")
    life = int(known(values, "life_months"))
    back = payback_months(month.purchase_usd + (once or 0.0), [rent_usd - running] * life) if rent_usd > running else None
    return OwnOrRent(terms.option.id, gpu, rent_usd, host, month, load, words, once, None if back is None else back + lead)


def own_host(plan: Plan, terms: PoolTerms) -> OwnHost | None:
    """The host to buy in place of the offer: the scenario's price of its GPU, else the middle of what is quoted; None without either."""
    offer, deployment = terms.option.offer, terms.option.deployment
    gpu = deployment.gpu if deployment is not None else plan.scenario.catalog.gpus.get(offer.gpu)
    price = plan.scenario.finance.gpu_purchase_usd.get(offer.gpu)
    quoted = finance_facts().purchase.get(offer.gpu)
    if price is None and quoted is not None:
        price = quoted.middle
    return None if price is None or gpu is None else OwnHost(offer.gpus, price, gpu.tdp_w)


def _rent_usd(plan: Plan, p: int) -> float:
    return hosts_usd(plan.solution.billed[p], plan.demand.weight_h, plan.program.pools[p].option.offer.usd_per_hour)
