"""Prompt tokens that a relay reads from its cache, from the same sessions that fill the prefix cache of own replicas."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sim.catalog.facts import Relay
from sim.engine.pool import Status
from sim.request_log import RequestLog
from sim.requests import Requests

LIFETIME_S = 300.0  # shortest lifetime that vendors state for automatic prompt caching; each use begins it anew
GRAIN = 128  # cached prefixes are billed in steps of so many tokens
PS_PER_S = 10**12
Int64s = npt.NDArray[np.int64]


def cached_and_written(requests: Requests, log: RequestLog, target: int, relay: Relay) -> tuple[Int64s, Int64s]:
    """(tokens read from the cache, tokens written to it) of each request that `target` has answered whole; 0 for all others.

    A turn finds what its session's last prompt at the same relay held (a cache belongs to one provider), when that came within the
    lifetime; else what any request of its class left: the system prompt. Prefixes below the vendor's least length are not cached, and
    neither is an answer before it comes back in a prompt. What a prompt of that length does not find it writes.
    """
    cached, written = np.zeros(len(log), np.int64), np.zeros(len(log), np.int64)
    mine = np.flatnonzero((log.target == target) & (log.status == Status.FINISHED))
    if relay.usd_per_mtok_cached is None or len(mine) == 0:
        return cached, written
    inputs = log.input_tokens[mine].astype(np.int64)
    factor = inputs / np.maximum(requests.input_tokens[mine], 1)  # the relay's tokenizer may count differently
    prefix, system = (np.floor(column[mine] * factor).astype(np.int64) for column in (requests.prefix_tokens, requests.system_tokens))
    before = _before(mine, log.arrival_ps, requests.session_id)
    peers = _before(mine, log.arrival_ps, requests.class_id.astype(np.int64))
    of_session = np.where(before >= 0, np.minimum(prefix, log.input_tokens[np.maximum(before, 0)]), 0)
    found = np.maximum(of_session, np.where(peers >= 0, system, 0))
    least = max(relay.cache_min_prefix, 1)
    cached[mine] = np.where(found >= least, found // GRAIN * GRAIN, 0)
    written[mine] = np.where(inputs >= least, inputs - cached[mine], 0)
    return cached, written


def _before(mine: Int64s, arrival_ps: Int64s, group: Int64s) -> Int64s:
    """For each of `mine` the request before it in its group, if it came within the lifetime; else -1. Group -1 has no members."""
    order = np.lexsort((arrival_ps[mine], group[mine]))
    rows = mine[order]
    near = (group[rows[1:]] == group[rows[:-1]]) & (group[rows[1:]] >= 0)
    near &= arrival_ps[rows[1:]] - arrival_ps[rows[:-1]] <= LIFETIME_S * PS_PER_S
    found = np.full(len(mine), -1, np.int64)
    found[order[1:]] = np.where(near, rows[:-1], -1)
    return found
