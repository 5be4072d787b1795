"""Latency of a relay that no limit delays: draws for single requests, and the share that misses a promise."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import numpy as np
import numpy.typing as npt

from sim.catalog.assumed_latency import MEASURED_AT_TOKENS
from sim.catalog.facts import Relay
from sim.catalog.relay_records import RetryPolicy
from sim.engine.deployment import PS
from sim.exact import exp
from sim.latency import quantile
from sim.relay.law import draw
from sim.relay.outages import outage_share
from sim.scenario.scenario import Slo
from sim.streams import standard_normals

Floats = npt.NDArray[np.float64]
MOST_S = 172_800.0  # twice the longest patience that a scenario can state: what takes longer has timed out, and integer time holds it
BLOCK = 4096  # random numbers drawn at once: one numpy call per request would cost more than the request


def unthrottled_latency(relay: Relay, output_tokens: npt.NDArray[np.integer], rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    """(ttft_s, tpot_s, e2e_s) of requests that no limit delays; network not included. An answer of one
    token has TPOT 0.

    From the measured laws where the relay has some: without what load and prompt length add. Else TTFT is
    log-normal (median `ttft_p50_s`), the speed of a stream log-normal (median `tokens_per_s`). Speed is
    constant over a stream. Both are independent of each other: neutral for each, optimistic for E2E.
    """
    size = len(output_tokens)
    if relay.latency is not None:
        ttft_s, tpot_s = draw(relay.latency.ttft, rng, size), draw(relay.latency.tpot, rng, size)
    else:
        ttft_s = relay.ttft_p50_s * exp(relay.ttft_sigma * standard_normals(rng, size))
        tpot_s = exp(relay.tokens_sigma * standard_normals(rng, size)) / relay.tokens_per_s
    e2e_s = ttft_s + (output_tokens - 1) * tpot_s
    return ttft_s, np.where(output_tokens > 1, tpot_s, 0.0), e2e_s


def prompt_slope(relay: Relay) -> tuple[float, int]:
    """Seconds that a prompt token adds to TTFT, and the tokens that add none: as measured, else as assumed from the model's size."""
    if relay.latency is not None:
        return relay.latency.ttft_s_per_input_token, 0
    return relay.prefill_s_per_token, MEASURED_AT_TOKENS


def prompt_s(relay: Relay, input_tokens: npt.NDArray[np.integer]) -> Floats:
    """Seconds that prompts of these lengths add to TTFT."""
    slope_s, free = prompt_slope(relay)
    return np.asarray(np.maximum(np.asarray(input_tokens, float) - free, 0.0) * slope_s)


def relay_miss(
    relay: Relay,
    slos: Sequence[Slo],
    input_tokens: npt.NDArray[np.integer],
    output_tokens: npt.NDArray[np.integer],
    seed: int,
    network_s: float = 0.0,
    retry: RetryPolicy | None = None,
) -> Floats:
    """[slos] share of the requests with these lengths that miss each limit; see `relay_latency`."""
    values = relay_latency(relay, input_tokens, output_tokens, seed, network_s, retry)
    return np.array([float(np.mean(values[slo.metric] > slo.limit_s)) for slo in slos])


def relay_quantiles(
    relay: Relay, slos: Sequence[Slo], input_tokens: npt.NDArray[np.integer], output_tokens: npt.NDArray[np.integer], seed: int
) -> Floats:
    """[slos] seconds within which the promised share of the requests with these lengths stays; see `relay_latency`."""
    values = relay_latency(relay, input_tokens, output_tokens, seed)
    return np.array([quantile(values[slo.metric], slo.quantile) for slo in slos])


def relay_latency(
    relay: Relay,
    input_tokens: npt.NDArray[np.integer],
    output_tokens: npt.NDArray[np.integer],
    seed: int,
    network_s: float = 0.0,
    retry: RetryPolicy | None = None,
) -> dict[str, Floats]:
    """Metric -> [requests] seconds, while no RPM/TPM limit throttles; errors are retried.

    Requests that do not fit `max_context`, whose attempts all fail, or that come in an outage take for ever. Load is that of the
    highest level that was measured: pessimistic below it.
    """
    retry, rng, size = retry or relay.retry or RetryPolicy(), np.random.default_rng([seed, 0x51A7]), len(output_tokens)
    slower = relay.latency.load[-1] if relay.latency is not None and relay.latency.load else None
    ttft_s, tpot_s, e2e_s = unthrottled_latency(relay, output_tokens, rng)
    if slower is not None:
        ttft_s, tpot_s = ttft_s * slower.ttft, tpot_s * slower.tpot
    ttft_s = ttft_s + prompt_s(relay, input_tokens)
    e2e_s = ttft_s + (output_tokens - 1) * tpot_s
    failing = 1.0 - (1.0 - relay.error_share) * (1.0 - relay.torn_share)
    lost_s, pending = np.full(size, network_s), np.ones(size, dtype=np.bool_)
    for failure in range(retry.attempts if failing > 0.0 else 0):
        pending &= rng.random(size) < failing
        error_s, _, _ = unthrottled_latency(relay, output_tokens, rng)
        wait_s = rng.random(size) * ceiling_s(retry, failure)
        lost_s += np.where(pending, network_s + error_s + wait_s, 0.0)
    never = input_tokens + output_tokens > relay.max_context
    never |= (lost_s + e2e_s > retry.timeout_s) | (pending if failing > 0.0 else False)
    if (down := outage_share(relay.outages)) > 0.0:
        never |= rng.random(size) < down
    values = {"ttft": lost_s + ttft_s, "tpot": tpot_s, "e2e": lost_s + e2e_s}
    return {name: np.where(never, np.inf, seconds) for name, seconds in values.items()}


def ceiling_s(retry: RetryPolicy, failures: int) -> float:
    """Longest back-off after `failures` earlier failures."""
    return min(retry.max_wait_s, retry.base_s * 2.0**failures)


def latency_blocks(relay: Relay, rng: np.random.Generator) -> Iterator[npt.NDArray[np.int64]]:
    """[BLOCK, 2] ttft_ps and ps per token, without end; without what load and prompt length add."""
    two = np.full(BLOCK, 2)
    while True:
        ttft_s, tpot_s, _ = unthrottled_latency(relay, two, rng)
        yield np.stack([np.rint(np.minimum(seconds, MOST_S) * PS).astype(np.int64) for seconds in (ttft_s, tpot_s)], axis=1)


def single_draws(blocks: Iterator[npt.NDArray[np.int64]]) -> Iterator[tuple[int, int]]:
    """The rows of `latency_blocks`, one by one."""
    for block in blocks:
        yield from zip(*block.T.tolist(), strict=True)


def first_draws(blocks: Iterator[npt.NDArray[np.int64]], count: int) -> npt.NDArray[np.int64]:
    """The next `count` rows of `latency_blocks` at once; what is left of the last block is lost."""
    return np.concatenate([np.empty((0, 2), np.int64), *islice(blocks, -(-count // BLOCK))])[:count]


def uniform_draws(rng: np.random.Generator) -> Iterator[float]:
    """Uniform numbers without end."""
    while True:
        yield from rng.random(BLOCK).tolist()
