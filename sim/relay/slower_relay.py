"""A relay that answers a factor more slowly than its row says."""

from __future__ import annotations

from dataclasses import replace

from sim.catalog.facts import Relay
from sim.catalog.relay_records import Law, RelayLatency


def slower(relay: Relay, factor: float, per_token: float | None = None) -> Relay:
    """`relay` with its TTFT `factor` times as long, and its time per token `per_token` times (None: `factor` too)."""
    pace = factor if per_token is None else per_token
    latency = relay.latency
    if latency is not None:
        prefill = latency.ttft_s_per_input_token * factor
        latency = RelayLatency(slower_law(latency.ttft, factor), slower_law(latency.tpot, pace), prefill, latency.load)
    return replace(relay, ttft_p50_s=relay.ttft_p50_s * factor, tokens_per_s=relay.tokens_per_s / pace, latency=latency)


def slower_law(law: Law, factor: float) -> Law:
    """The law of `factor` times its seconds: medians and shifts are seconds, all other parameters have no unit."""
    seconds = 2 if law.family == "shifted_lognormal" else 1
    parameters = tuple(value * factor if k < seconds else value for k, value in enumerate(law.parameters))
    return replace(law, parameters=parameters, points=tuple((quantile, value * factor) for quantile, value in law.points))
