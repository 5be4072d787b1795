"""Money over time: annuity (the economic view), straight line (the book view), present value, payback."""

from __future__ import annotations

from collections.abc import Sequence

from optimize.money.units import MONTHS_PER_YEAR


def monthly_rate(per_year: float) -> float:
    """The rate of a month that compounds to `per_year` over twelve.

    >>> round((1 + monthly_rate(0.10)) ** 12 - 1, 12), monthly_rate(0.0)
    (0.1, 0.0)
    """
    return float((1.0 + per_year) ** (1.0 / MONTHS_PER_YEAR) - 1.0)


def annuity_usd(price_usd: float, residual_usd: float, months: int, cost_of_capital: float) -> float:
    """Economic view: the equal payment at the end of each of `months` that repays price less residual at `cost_of_capital` a year.

    (price - residual / (1+i)^n) x i / (1 - (1+i)^-n), i the rate of a month; without cost of capital (price - residual) / n.

    >>> round(annuity_usd(15000.0, 0.0, 36, 0.0), 2), round(annuity_usd(15000.0, 0.0, 36, 0.10), 2)
    (416.67, 480.98)
    """
    i = monthly_rate(cost_of_capital)
    if i == 0.0:
        return straight_line_usd(price_usd, residual_usd, months)
    growth = (1 + i) ** months
    return float((price_usd - residual_usd / growth) * i / (1 - 1 / growth))


def straight_line_usd(price_usd: float, residual_usd: float, months: int) -> float:
    """Book view: depreciation of a month, (price - residual) / months.

    >>> round(straight_line_usd(15000.0, 0.0, 36), 2)
    416.67
    """
    return (price_usd - residual_usd) / months


def residual_share(at_36_months: float, months: float) -> float:
    """Part of the purchase price that is left after `months`, by constant percentage decline through the share known at 36 months.

    An approximation: sources state 36 months only.

    >>> residual_share(0.3, 36), round(residual_share(0.3, 72), 4), residual_share(0.3, 0)
    (0.3, 0.09, 1.0)
    """
    return float(at_36_months ** (months / 36.0))


def npv_usd(flows_usd: Sequence[float], cost_of_capital: float) -> float:
    """Present value of flows at the ends of months 0, 1, 2, ... (month 0 is today and is not discounted).

    >>> npv_usd([-100.0, 50.0, 50.0], 0.0), round(npv_usd([-100.0] + [10.0] * 12, 0.10), 2)
    (0.0, 14.0)
    """
    i = monthly_rate(cost_of_capital)
    return float(sum(flow / (1 + i) ** month for month, flow in enumerate(flows_usd)))


def payback_months(once_usd: float, saving_usd_per_month: Sequence[float]) -> float | None:
    """Months until savings have repaid `once_usd`, linear inside a month; None: not within the months given.

    >>> payback_months(150.0, [100.0, 100.0]), payback_months(300.0, [100.0, 100.0]), payback_months(0.0, [])
    (1.5, None, 0.0)
    """
    left = once_usd
    if left <= 0:
        return 0.0
    for month, saving in enumerate(saving_usd_per_month):
        if saving >= left:
            return month + left / saving
        left -= saving
    return None


def drifted(usd: float, per_year: float, months: float) -> float:
    """A price after `months` of a change of `per_year`, compounded.

    >>> drifted(100.0, -0.1, 12), drifted(100.0, 0.38, 0)
    (90.0, 100.0)
    """
    return float(usd * (1.0 + per_year) ** (months / MONTHS_PER_YEAR))
