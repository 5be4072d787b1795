"""The random streams of one endpoint, one for each purpose: a limit that throttles does not change which latencies are drawn."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sim.catalog.facts import Relay
from sim.relay.latency_draw import latency_blocks
from sim.relay.outages import OutageClock


@dataclass(frozen=True)
class RelayDraws:
    """Latencies in blocks of `sim.relay.latency_draw.BLOCK`; uniform numbers for "error", "wait" and "torn"; outages in order."""

    latency: Iterator[npt.NDArray[np.int64]]
    uniform: dict[str, np.random.Generator]
    outages: OutageClock


def relay_draws(relay: Relay, rng: np.random.Generator) -> RelayDraws:
    """Streams spawned from `rng`."""
    latency, error, wait, torn, outages = rng.spawn(5)
    return RelayDraws(latency_blocks(relay, latency), {"error": error, "wait": wait, "torn": torn}, OutageClock(relay.outages, outages))
