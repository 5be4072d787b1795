"""What decides about the calls of one endpoint, in integer picoseconds: the same for calls with an event each and without."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sim.engine.deployment import PS
from sim.relay.endpoint import RelayEndpoint
from sim.relay.latency_draw import MOST_S, ceiling_s, prompt_slope
from sim.relay.law import load_factors

MOST_PS = round(MOST_S * PS)
LOAD_TABLE = 4096  # calls in flight up to which load factors are tabulated
NO_PATIENCE = -1


@dataclass(frozen=True)
class CallRules:
    """Times of one endpoint; see `sim.relay.server` for what they mean.

    patience_ps  an attempt without a token after this time is given up; NO_PATIENCE: never
    refused_ps   how long a call takes to fail in an outage
    ceilings_s   [attempts] longest back-off after each failure
    load         [2, LOAD_TABLE] multiples of TTFT and TPOT by calls in flight; [2, 0] where load does not count
    """

    deadline_ps: int
    network_ps: int
    refused_ps: int
    patience_ps: int
    token_ps: int
    free_tokens: int
    ceilings_s: npt.NDArray[np.float64]
    load: npt.NDArray[np.float64]

    def prompt_ps(self, input_tokens: int) -> int:
        """What a prompt of this length adds to TTFT; at most twice the longest patience, and a little."""
        return min(max(input_tokens - self.free_tokens, 0), 1 + MOST_PS // max(self.token_ps, 1)) * self.token_ps

    def following(self, output_tokens: int, token_ps: int) -> int:
        """Tokens after the first, at most so many that the last one comes after every patience: no product leaves integer time."""
        return min(output_tokens - 1, 1 + MOST_PS // max(token_ps, 1))

    def loaded_ps(self, ttft_ps: int, token_ps: int, in_flight: int) -> tuple[int, int]:
        """Draws of an attempt under the load that it meets, itself included."""
        if self.load.shape[1] == 0:
            return ttft_ps, token_ps
        at = min(in_flight, LOAD_TABLE - 1)
        return _at_most(ttft_ps * float(self.load[0, at])), _at_most(token_ps * float(self.load[1, at]))


def _at_most(time_ps: float) -> int:
    return round(min(time_ps, float(MOST_PS)))


def call_rules(endpoint: RelayEndpoint) -> CallRules:
    """The rules of an endpoint."""
    relay, retry = endpoint.relay, endpoint.relay.retry or endpoint.retry
    slope_s, free_tokens = prompt_slope(relay)
    load = () if relay.latency is None else relay.latency.load
    hangs = relay.outages is not None and relay.outages.hangs
    return CallRules(
        deadline_ps=round(retry.timeout_s * PS),
        network_ps=endpoint.network_ps,
        refused_ps=round(retry.connect_s * PS) if hangs else endpoint.network_ps,
        patience_ps=NO_PATIENCE if retry.first_token_s is None else round(retry.first_token_s * PS),
        token_ps=round(slope_s * PS),
        free_tokens=free_tokens,
        ceilings_s=np.array([ceiling_s(retry, failures) for failures in range(retry.attempts)]),
        load=np.stack(load_factors(load, np.arange(LOAD_TABLE))) if load else np.empty((2, 0)),
    )
