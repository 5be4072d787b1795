"""Who shares which prefix with whom, as the records that the kernel's prefix cache and session affinity work on."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sim.engine.deployment import BLOCK_TOKENS
from sim.traffic.columns import Requests

Longs = npt.NDArray[np.int64]

# Of a request: the entry that it left (prev, next, blocks), whether it holds its system prompt (pins), the next older entry of its chain
# on another replica, its session, chain and system prompt by number, how much its next turn carries on, what it found. Of a session (by
# its number): home, the replica of its last turn. Of a chain: head, its newest entry. Of a system prompt: prev, next, blocks, pins.
_CACHE = ("prev", "next", "blocks", "pins", "older", "hit", "head", "home")
_PREFIX = ("session", "chain", "system", "system_blocks", "carried")
LINK = np.dtype([(name, np.int32) for name in (*_CACHE, *_PREFIX)])
_NONE_YET = ("prev", "next", "older", "session", "chain", "system", "hit", "home", "head")


def numbered(values: npt.NDArray[Any]) -> Longs:
    """Each value replaced by its rank among the distinct ones: numbers below their count.

    >>> numbered(np.array([70, 5, 70])).tolist()
    [1, 0, 1]
    """
    return np.unique(values, return_inverse=True)[1].astype(np.int64)


def chains(session_id: Longs, prefix_tokens: npt.NDArray[np.int32]) -> tuple[Longs, Longs]:
    """Number of the chain of each turn, -1 without a session, and the tokens that its next turn on that chain carries on.

    A chain is a run of turns of a session over which the shared prefix does not fall.

    >>> chain, carried = chains(np.array([3, 3, -1, 3]), np.array([0, 50, 9, 20], np.int32))
    >>> chain.tolist(), carried.tolist()
    ([0, 0, -1, 1], [50, 0, 0, 0])
    """
    chain, carried = np.full(len(session_id), -1, np.int64), np.zeros(len(session_id), np.int64)
    rows = np.flatnonzero(session_id >= 0)
    rows = rows[np.argsort(session_id[rows], kind="stable")]
    if len(rows) == 0:
        return chain, carried
    goes_on = (session_id[rows[1:]] == session_id[rows[:-1]]) & (prefix_tokens[rows[1:]] >= prefix_tokens[rows[:-1]])
    chain[rows] = np.concatenate([[0], np.cumsum(~goes_on)])
    carried[rows[:-1][goes_on]] = prefix_tokens[rows[1:]][goes_on]
    return chain, carried


def system_prompts(requests: Requests) -> Longs:
    """Number of the system prompt of each request: one per class and length of at least a block; -1 for none."""
    system = np.full(len(requests), -1, np.int64)
    rows = np.flatnonzero(requests.system_tokens >= BLOCK_TOKENS)
    if len(rows):
        system[rows] = numbered(requests.class_id[rows].astype(np.int64) << 32 | requests.system_tokens[rows])
    return system


def request_links(requests: Requests) -> npt.NDArray[Any]:
    """One LINK per request, nothing cached yet; a template that every pool with a cache copies."""
    links = np.zeros(len(requests), LINK)
    for name in _NONE_YET:
        links[name] = -1
    in_session = requests.session_id >= 0
    links["session"][in_session] = numbered(requests.session_id[in_session])
    links["chain"], links["carried"] = chains(requests.session_id, requests.prefix_tokens)
    links["system"] = system_prompts(requests)
    links["system_blocks"] = np.where(links["system"] >= 0, requests.system_tokens // BLOCK_TOKENS, 0)
    return links


def pool_links(template: npt.NDArray[Any], replicas: int) -> tuple[npt.NDArray[Any], int]:
    """Records of one pool: `template`, then one per replica and system prompt; and how many system prompts there are."""
    systems = int(template["system"].max(initial=-1)) + 1
    prompts = np.zeros(replicas * systems, LINK)
    for name in _NONE_YET:
        prompts[name] = -1
    return np.concatenate([template, prompts]), systems
