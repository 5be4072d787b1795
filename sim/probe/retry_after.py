"""What `Retry-After` asks for."""

from __future__ import annotations

import math
import time
from collections.abc import Mapping
from email.utils import parsedate_to_datetime

LONGEST_S = 86_400.0


def retry_after_s(headers: Mapping[str, str], now: float | None = None) -> float | None:
    """Seconds to wait, from `retry-after-ms` or `Retry-After` (seconds or HTTP date, RFC 9110); None where nothing usable stands.

    >>> retry_after_s({"retry-after": "2"}), retry_after_s({"retry-after-ms": "150"}), retry_after_s({"retry-after": "soon"})
    (2.0, 0.15, None)
    >>> retry_after_s({"retry-after": "Thu, 01 Jan 1970 00:01:00 GMT"}, now=50.0)
    10.0
    """
    for name, unit_s in (("retry-after-ms", 1e-3), ("retry-after", 1.0)):
        text = headers.get(name)
        if not text:
            continue
        try:
            seconds = float(text) * unit_s
        except ValueError:
            try:
                seconds = parsedate_to_datetime(text).timestamp() - (time.time() if now is None else now)
            except (ValueError, TypeError, OverflowError):
                continue
        if math.isfinite(seconds):
            return min(max(seconds, 0.0), LONGEST_S)
    return None
