"""Electricity and colocation of own hosts."""

from __future__ import annotations

from optimize.money.units import HOURS_PER_MONTH

W_PER_KW = 1000.0


def host_draw_w(gpus: int, idle_w: float, max_w: float, load_share: float, host_factor: float) -> float:
    """Mean electric power of a host at the socket: GPUs between idle and full draw in proportion to load, times the host's factor.

    The factor (host power / GPU power, CPUs, fans and network) is taken as constant; an approximation: an idle host draws more than that.

    >>> round(host_draw_w(8, 124.0, 700.0, 1.0, 1.82)), round(host_draw_w(8, 124.0, 700.0, 0.0, 1.82))
    (10192, 1805)
    """
    return gpus * (idle_w + (max_w - idle_w) * load_share) * host_factor


def electricity_usd(draw_w: float, pue: float, usd_per_kwh: float, hours: float = HOURS_PER_MONTH) -> float:
    """Electricity of `hours`: draw x PUE x hours x price.

    >>> round(electricity_usd(10_200.0, 1.54, 0.146), 2)
    1674.16
    """
    return draw_w / W_PER_KW * pue * hours * usd_per_kwh


def colocation_usd(max_draw_w: float, usd_per_kw_month: float) -> float:
    """Space and power reservation of a month: colocation sells the kW that a host may draw, not what it does.

    >>> round(colocation_usd(10_200.0, 194.95), 2)
    1988.49
    """
    return max_draw_w / W_PER_KW * usd_per_kw_month


def joule_per_answer(draw_w: float, pue: float, hours: float, answers: float) -> float:
    """Energy of one answer in joules, idle hours and cooling included; infinite without answers.

    >>> joule_per_answer(1000.0, 1.5, 1.0, 5400.0)
    1000.0
    """
    return draw_w * pue * hours * 3600.0 / answers if answers > 0 else float("inf")
