"""Who shares which prefix with whom, as the records that the kernel's prefix cache and session affinity work on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from sim.engine.deployment import BLOCK_TOKENS
from sim.engine.groups import first_rows, number_groups
from sim.engine.jit import compiled
from sim.requests import Requests

# Of a request: the entry that it left (prev, next, blocks), whether it holds its system prompt (pins), the next older entry of its chain
# on another replica, its session, chain and system prompt by number, how much its next turn carries on, what it found. Of a session (by
# its number): home, the replica of its last turn. Of a chain: head, its newest entry. Of a system prompt: prev, next, blocks, pins.
_CACHE = ("prev", "next", "blocks", "pins", "older", "hit", "head", "home")
_PREFIX = ("session", "chain", "system", "system_blocks", "carried")
LINK = np.dtype([(name, np.int32) for name in (*_CACHE, *_PREFIX)])
LAST, BEGIN, CHAIN, OTHER = range(4)  # columns of `told`


@dataclass(frozen=True)
class PoolLinks:
    """The LINKs of one pool: one per request, perhaps shared with other pools, and from `prompts` on one per replica and system prompt."""

    records: npt.NDArray[Any]
    prompts: int
    systems: int


@compiled
def _clear(links: Any, first: int) -> None:
    """Records of nothing from index `first` on."""
    for i in range(first, len(links)):
        e = links[i]
        e.prev, e.next, e.older, e.hit, e.head, e.home, e.session, e.chain, e.system = -1, -1, -1, -1, -1, -1, -1, -1, -1
        e.blocks, e.pins, e.system_blocks, e.carried = 0, 0, 0, 0


@compiled
def _link_turns(links: Any, first: Any, prefix: Any, target: Any, told: Any) -> None:
    """Session and chain of each turn, and what its next one carries on; `first` is the first turn of the session, -1 without one.

    A chain is a run of turns of a session over which the shared prefix does not fall. Sessions and chains go by their first row, and
    those at different targets by different ones. `told` is scratch, all -1: of a session LAST turn and BEGIN of its chain; of a session
    at one target its CHAIN and the first turn at yet an OTHER one.
    """
    for i in range(len(first)):
        s = t = first[i]
        if s < 0:
            continue
        last = told[s, LAST]
        if last >= 0 and prefix[i] >= prefix[last]:
            links[last].carried = prefix[i]
        else:
            told[s, BEGIN] = i
        told[s, LAST] = i
        while target[t] != target[i] and told[t, OTHER] >= 0:
            t = told[t, OTHER]
        if target[t] != target[i]:
            told[t, OTHER] = i
            t = i
        if told[t, CHAIN] < told[s, BEGIN]:
            told[t, CHAIN] = i
        links[i].session, links[i].chain = t, told[t, CHAIN]


@compiled
def _link_prompts(links: Any, number: Any, tokens: Any) -> None:
    """The system prompt of each request and its whole blocks."""
    for i in range(len(number)):
        if number[i] >= 0:
            links[i].system, links[i].system_blocks = number[i], tokens[i] // BLOCK_TOKENS


def system_prompts(requests: Requests) -> tuple[npt.NDArray[np.int32], int]:
    """Number of the system prompt of each request: one per class and length of at least a block, -1 for none; and how many there are."""
    tokens = requests.system_tokens.astype(np.int64)
    keys = requests.class_id * (int(tokens.max(initial=0)) + 1) + tokens
    keys[tokens < BLOCK_TOKENS] = -1
    return number_groups(first_rows(keys))


def request_links(requests: Requests, targets: npt.NDArray[np.int16], replicas: int) -> tuple[npt.NDArray[Any], int]:
    """One LINK per request, nothing cached yet, then one per replica and system prompt; and how many system prompts there are."""
    size, (number, systems) = len(requests), system_prompts(requests)
    links = np.empty(size + replicas * systems, LINK)
    _clear(links, 0)
    _link_prompts(links, number, requests.system_tokens)
    _link_turns(links, first_rows(requests.session_id), requests.prefix_tokens, targets, np.full((size, 4), -1, np.int32))
    return links, systems


def pool_links(requests: Requests, targets: npt.NDArray[np.int16], replicas: Sequence[int], moving: bool) -> list[PoolLinks]:
    """What each pool of so many replicas gets: all share the records of requests, unless requests may be `moving` from one to another."""
    size = len(requests)
    if moving:
        everywhere = np.zeros(size, np.int16)
        return [PoolLinks(records, size, systems) for records, systems in (request_links(requests, everywhere, n) for n in replicas)]
    records, systems = request_links(requests, targets, sum(replicas))
    return [PoolLinks(records, size + sum(replicas[:i]) * systems, systems) for i in range(len(replicas))]
