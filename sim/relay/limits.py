"""What stops a call before it is made: the vendor's token bucket, and the client's budget for retries."""

from __future__ import annotations

from sim.engine.deployment import PS

BURST_S = 10.0
FIRST_RETRIES = 10.0  # in the budget before any request has come


class RateLimit:
    """A token bucket of `per_minute` units that holds `BURST_S` seconds' worth, kept as the integer time at
    which it is full again.

    Vendors publish the rate, not the depth. Anthropic: "token bucket ... continuously replenished up to
    your maximum limit" (60 s deep), and "60 RPM may be enforced as 1 request per second"; OpenAI: "60,000
    requests/minute may be enforced as 1,000 requests/second" (1 s deep). Ten seconds lie between. A request
    larger than the bucket passes when it is full and leaves it in debt, so the rate always holds.

    >>> limit = RateLimit(60.0)     # one per second, ten at once
    >>> sum(limit.fits(0, 1) and limit.take(0, 1) for _ in range(20))
    10
    >>> limit.fits(PS // 2, 1), limit.fits(PS, 1)
    (False, True)
    """

    __slots__ = ("burst_ps", "full_ps", "unit_ps")

    def __init__(self, per_minute: float) -> None:
        self.unit_ps = -int(-60 * PS // per_minute)  # rounded up: never faster than the limit
        self.burst_ps = max(int(BURST_S * PS), self.unit_ps)
        self.full_ps = 0

    def fits(self, now_ps: int, units: int) -> bool:
        """Whether `units` may pass at `now_ps`."""
        debt_ps = self.full_ps - now_ps
        return debt_ps <= 0 or debt_ps + units * self.unit_ps <= self.burst_ps

    def take(self, now_ps: int, units: int) -> bool:
        """Charge `units`; always True, so that it chains after `fits`."""
        self.full_ps = max(self.full_ps, now_ps) + units * self.unit_ps
        return True


class RetryBudget:
    """Retries that may still be sent: `share` more with every first attempt, so that retries cannot multiply an overload.

    >>> budget = RetryBudget(0.1)
    >>> sum(budget.spend() for _ in range(20))      # ten to begin with
    10
    >>> for _ in range(10): budget.earn()
    >>> budget.spend(), budget.spend()
    (True, False)
    """

    def __init__(self, share: float) -> None:
        self.share, self.left = share, FIRST_RETRIES

    def earn(self) -> None:
        """A first attempt was sent."""
        self.left += self.share

    def spend(self) -> bool:
        """Whether a retry may be sent; then it is charged."""
        if self.left < 1.0 - 1e-9:
            return False
        self.left -= 1.0
        return True
