"""Money of a first stage: what is paid once, by the month and whatever comes, and what leaving costs."""

from __future__ import annotations

import math
from dataclasses import dataclass

from optimize.money.capital import residual_share
from optimize.money.contracts import reservation_usd
from optimize.money.extras import double_running_usd


@dataclass(frozen=True)
class Held:
    """The terms of one offer that is held: USD, months.

    purchase_usd  paid at the start (owned);  month_usd  paid for each month that it runs, rent of a term not included there
    term_months   how long it must be paid: None where it can be given back at any time
    residual_36m  worth after 36 months, of the purchase
    follows_rent  whether its monthly price moves with the market
    """

    purchase_usd: float = 0.0
    month_usd: float = 0.0
    term_months: float | None = None
    residual_36m: float = 0.0
    follows_rent: bool = False

    def resale_usd(self, age_months: float) -> float:
        """What a buyer pays after `age_months`.

        >>> Held(purchase_usd=1000.0, residual_36m=0.3).resale_usd(36)
        300.0
        """
        return self.purchase_usd * residual_share(self.residual_36m, age_months) if self.purchase_usd else 0.0

    def owed_usd(self, used_months: float) -> float:
        """What the term still asks for after `used_months`.

        >>> Held(month_usd=730.0, term_months=12).owed_usd(3)
        6570.0
        """
        return 0.0 if self.term_months is None else reservation_usd(1, self.month_usd / 730.0, round(self.term_months), used_months)[1]

    def committed_usd(self) -> float:
        """What is paid whatever comes: the purchase, the whole term.

        >>> Held(month_usd=100.0, term_months=12).committed_usd(), Held(purchase_usd=5.0, month_usd=1.0).committed_usd()
        (1200.0, 5.0)
        """
        return self.purchase_usd + self.owed_usd(0.0)

    def exit_usd(self, used_months: float) -> float:
        """What is lost by leaving after `used_months`: purchase not got back, term still owed.

        >>> round(Held(purchase_usd=1000.0, residual_36m=0.3).exit_usd(12)), Held(month_usd=100.0, term_months=12).exit_usd(12)
        (331, 0.0)
        """
        return self.purchase_usd - self.resale_usd(used_months) + self.owed_usd(used_months)

    def held_months(self, horizon_months: float, lead_months: float) -> float:
        """Months inside the horizon in which it serves.

        >>> Held(term_months=12).held_months(24, 3), Held(purchase_usd=1.0).held_months(24, 3)
        (12, 21)
        """
        left = max(0.0, horizon_months - lead_months)
        return left if self.term_months is None else min(left, self.term_months)


@dataclass(frozen=True)
class Timing:
    """Months: of the horizon, from order to first request, in which the old fleet runs as well."""

    horizon: float
    lead: float = 0.0
    overlap: float = 0.0


def horizon_usd(held: tuple[Held, ...], at: Timing, with_usd: float, without_usd: float, once_usd: float = 0.0, rent: float = 1.0) -> float:
    """Cost of a first stage over the horizon, undiscounted.

    with_usd, without_usd  what a month of recourse costs in addition to the held hosts, and without them;  rent  factor on market rents

    While the hosts are on their way, and while both fleets run, the month without them is paid; then the month with them for as long
    as the shortest of them is held; after that again the month without. Purchases come back as resale at the end of the horizon; what a
    term asks for beyond the horizon is paid too.

    >>> own = Held(purchase_usd=1000.0, month_usd=10.0, residual_36m=0.3)
    >>> horizon_usd((own,), Timing(36), 50.0, 100.0)  # 700 of value lost, 36 x (10 + 50)
    2860.0
    >>> horizon_usd((own,), Timing(36, lead=6, overlap=1), 50.0, 100.0) - (1000 - own.resale_usd(30)) - 7 * 100 - 30 * 60
    0.0
    >>> horizon_usd((), Timing(36), 100.0, 100.0)
    3600.0
    """
    if not held:
        return once_usd + at.horizon * without_usd
    served = min(each.held_months(at.horizon, at.lead) for each in held)
    usd = once_usd + double_running_usd(without_usd, min(at.lead, at.horizon) + min(at.overlap, served))
    usd += served * with_usd + max(0.0, at.horizon - at.lead - served) * without_usd
    for each in held:
        months = each.held_months(at.horizon, at.lead)
        paid = each.month_usd * (rent if each.follows_rent else 1.0)
        usd += months * paid + each.purchase_usd - each.resale_usd(months) + each.owed_usd(months)
    return usd


def cash_by_month(
    held: tuple[Held, ...], at: Timing, with_usd: float, without_usd: float, once_usd: float = 0.0, rent: float = 1.0
) -> list[float]:
    """Cash of each month of the horizon; the months sum to `horizon_usd` of the same terms.

    Purchases and one-off costs are paid in the first month, months that begin or end within a calendar month by their part; resale, and
    what a term asks for beyond the horizon, fall into the last month.

    >>> own = Held(purchase_usd=1000.0, month_usd=10.0, residual_36m=0.0)
    >>> cash_by_month((own,), Timing(3, lead=1), 50.0, 100.0)
    [1100.0, 60.0, 60.0]
    """
    count = max(1, math.ceil(at.horizon))
    cash = [0.0] * count

    def pay(usd: float, start: float, end: float) -> None:
        """`usd` a month from `start` to `end`."""
        for m in range(count):
            cash[m] += usd * max(0.0, min(m + 1, end, at.horizon) - max(m, start))

    served = min((each.held_months(at.horizon, at.lead) for each in held), default=0.0)
    lead = min(at.lead, at.horizon) if held else 0.0
    pay(without_usd, 0.0, lead)
    pay(with_usd if held else without_usd, lead, lead + served if held else at.horizon)
    if held:
        pay(without_usd, lead, lead + min(at.overlap, served))
        pay(without_usd, lead + served, at.horizon)
    for each in held:
        months = each.held_months(at.horizon, at.lead)
        pay(each.month_usd * (rent if each.follows_rent else 1.0), lead, lead + months)
        cash[0] += each.purchase_usd
        cash[-1] += each.owed_usd(months) - each.resale_usd(months)
    cash[0] += once_usd
    return cash
