"""Numbers as people read them: durations, counts, shares, promises."""

from __future__ import annotations

import math


def duration(value_s: float) -> str:
    """Three significant digits in s or ms; "never" for infinity (rejected, failed, or not ended).

    >>> duration(0.0483), duration(1.25), duration(math.inf)
    ('48.3 ms', '1.25 s', 'never')
    """
    if not math.isfinite(value_s):
        return "never"
    if 0 < value_s < 0.9995:
        return f"{value_s * 1000:.3g} ms" if value_s < 0.09995 else f"{value_s * 1000:.0f} ms"
    return f"{value_s:.2f} s" if value_s < 9.995 else f"{value_s:.0f} s" if value_s >= 99.95 else f"{value_s:.1f} s"


def count(value: float) -> str:
    """Three significant digits with k, M or B.

    >>> count(218_300_000), count(1_020), count(7)
    ('218 M', '1.02 k', '7')
    """
    for size, letter in ((1e9, " B"), (1e6, " M"), (1e3, " k")):
        if abs(value) >= size * 0.9995:
            scaled = value / size
            digits = 0 if scaled >= 99.95 else 1 if scaled >= 9.995 else 2
            return f"{scaled:.{digits}f}{letter}"
    return f"{value:.3g}"


def percent(share: float) -> str:
    """A share as a percentage; never rounded up to 100 % or down to 0 %.

    >>> percent(0.9999), percent(0.25), percent(1.0), percent(5e-8)
    ('99.99 %', '25.0 %', '100 %', '<0.1 %')
    """
    if share in (0.0, 1.0):
        return f"{share * 100:.0f} %"
    if share > 0.999:
        return f"{math.floor(share * 1e4) / 100:.2f} %"
    return f"{share * 100:.1f} %" if share >= 0.0005 else "<0.1 %"


def promise(metric: str, quantile: float, limit_s: float) -> str:
    """One promise.

    >>> promise("ttft", 0.95, 1.0)
    'TTFT p95 <= 1.00 s'
    """
    return f"{metric.upper()} p{quantile * 100:g} <= {duration(limit_s)}"
