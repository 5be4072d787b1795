"""When a relay answers nothing."""

from __future__ import annotations

import numpy as np

from sim.catalog.relay_records import Outages
from sim.engine.deployment import PS
from sim.streams import standard_exponentials

NEVER = 2**62


class OutageClock:
    """The outages of one run, in order: `begin_ps` and `end_ps` of the one that is on or comes next.

    Ask with times that do not go back. A process starts in the "up" state: the first outage is as far away as any.
    """

    def __init__(self, outages: Outages | None, rng: np.random.Generator) -> None:
        self._outages, self._rng = outages, rng
        self.begin_ps = self.end_ps = NEVER
        if outages is not None and outages.at_s is not None:
            self.begin_ps = round(outages.at_s * PS)
            self.end_ps = self.begin_ps + round(outages.minutes * 60 * PS)
        elif outages is not None:
            self._next(0)

    def _next(self, after_ps: int) -> None:
        assert self._outages is not None
        if self._outages.every_h is None:
            self.begin_ps = self.end_ps = NEVER
            return
        up, down = standard_exponentials(self._rng, 2).tolist()
        up_s, down_s = up * self._outages.every_h * 3600.0, down * self._outages.minutes * 60.0
        self.begin_ps = after_ps + round(up_s * PS)
        self.end_ps = self.begin_ps + round(down_s * PS)

    def down(self, now_ps: int) -> bool:
        """Whether an outage is on at `now_ps`."""
        while now_ps >= self.end_ps:
            self._next(self.end_ps)
        return now_ps >= self.begin_ps


def outage_share(outages: Outages | None) -> float:
    """Part of all time that is outage, in the long run; a single window does not count.

    >>> outage_share(Outages(minutes=30, every_h=9.5))
    0.05
    """
    if outages is None or outages.every_h is None:
        return 0.0
    return outages.minutes / (outages.minutes + outages.every_h * 60.0)
