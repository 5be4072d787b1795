"""The prefix cache of one replica in the plainest way: lists of entries, blocks counted one by one.

Written from docs/explanation/prefix-cache.md alone, like the engine next to it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from sim.requests import Requests


@dataclass(frozen=True)
class CacheRules:
    """The rules of prefix-cache.md; another value is a deliberate mistake that the comparison with the kernel must notice."""

    evict: str = "oldest"  # or "newest"
    evict_from: str = "tail"  # or "head"
    hit_rounds: str = "down"  # or "up"
    system_prompt_is_released: str = "by its last holder"  # or "by its first"
    system_prompt_leaves: str = "after the request"  # or "before"
    carried: str = "next turn"  # or "everything"


THE_CACHE_RULES = CacheRules()


@dataclass(frozen=True)
class Prefix:
    """What a request says of its prefix. `chain` is None for one without a session."""

    system: tuple[int, int] | None = None
    system_blocks: int = 0
    chain: tuple[int, int] | None = None
    carried: int = 0


NO_PREFIX = Prefix()


def prefixes(requests: Requests) -> list[Prefix]:
    """The prefix of each request."""
    turns: dict[int, list[int]] = {}  # of each session
    chain_of: list[tuple[int, int] | None] = [None] * len(requests)
    carried = [0] * len(requests)
    number = 0
    for i, session in enumerate(requests.session_id.tolist()):
        if session < 0:
            continue
        before = turns.get(session, [])
        if before and requests.prefix_tokens[i] >= requests.prefix_tokens[before[-1]]:
            carried[before[-1]] = int(requests.prefix_tokens[i])
            chain_of[i] = chain_of[before[-1]]
        else:
            chain_of[i] = (session, number)
            number += 1
        turns[session] = [*before, i]
    found = []
    for i in range(len(requests)):
        blocks = int(requests.system_tokens[i]) // 16
        system = (int(requests.class_id[i]), int(requests.system_tokens[i])) if blocks else None
        found.append(Prefix(system, blocks, chain_of[i], carried[i]))
    return found


@dataclass(eq=False)
class Entry:
    """Cached blocks, from the first to the last token; `seq` left them, or they are a system prompt."""

    blocks: list[str]
    seq: Any = None
    system: tuple[int, int] | None = None
    has_lost_its_head: bool = False  # by a wrong rule only


@dataclass
class PrefixCache:
    """Entries, oldest first; who holds which system prompt; the last entry of each chain."""

    rules: CacheRules
    entries: list[Entry] = field(default_factory=list)
    holders: dict[tuple[int, int], list[Any]] = field(default_factory=dict)
    last_of_chain: dict[tuple[int, int], Entry] = field(default_factory=dict)
    hit_tokens: int = 0
    evicted: int = 0
    hits_after_preemption: int = 0
    most_holders: int = 0

    @property
    def cached(self) -> int:
        return sum(len(entry.blocks) for entry in self.entries)

    def held_blocks(self) -> int:
        """Blocks of system prompts in use, each counted once."""
        return sum(holders[0].prefix.system_blocks for holders in self.holders.values() if holders)

    def evict(self) -> None:
        """Give up one block."""
        entry = self.entries[0 if self.rules.evict == "oldest" else -1]
        entry.blocks.pop()
        entry.has_lost_its_head = self.rules.evict_from == "head"
        self.evicted += 1
        self.drop_if_empty(entry)

    def drop_if_empty(self, entry: Entry) -> None:
        if not entry.blocks:
            self.entries.remove(entry)

    def cached_system(self, system: tuple[int, int] | None) -> Entry | None:
        return next((entry for entry in self.entries if system is not None and entry.system == system), None)

    def is_held(self, seq: Any) -> bool:
        return bool(self.holders.get(seq.prefix.system))

    def is_whole(self, seq: Any) -> bool:
        entry = self.cached_system(seq.prefix.system)
        return self.is_held(seq) or (entry is not None and len(entry.blocks) == seq.prefix.system_blocks)

    def reuse(self, seq: Any) -> None:
        """Steps 1 to 3 of an admission: what is found becomes the request's, and counts as computed."""
        found = 0
        whole = seq.prefix.system_blocks == 0 or self.is_whole(seq)
        if seq.prefix.system_blocks:
            entry = self.cached_system(seq.prefix.system)
            if entry is not None:
                found += 0 if entry.has_lost_its_head else len(entry.blocks)
                self.entries.remove(entry)
            if whole:
                found = seq.prefix.system_blocks
                self.hold(seq)
            else:
                seq.blocks += found
        if whole:
            from_entry = self.take_entry(seq)
            found += from_entry
            seq.blocks += from_entry
        most = (seq.target - 1) // 16 if self.rules.hit_rounds == "down" else -(-(seq.target - 1) // 16)
        seq.computed = min(16 * min(found, most), seq.target - 1)
        self.hit_tokens += seq.computed
        self.hits_after_preemption += seq.preemptions > 0 and from_entry_is_own(seq, seq.computed)
        if seq.cached_tokens < 0:
            seq.cached_tokens = seq.computed

    def hold(self, seq: Any) -> None:
        seq.holds = True
        self.holders.setdefault(seq.prefix.system, []).append(seq)
        self.most_holders = max(self.most_holders, len(self.holders[seq.prefix.system]))

    def take_entry(self, seq: Any) -> int:
        """Blocks found in the entry of the chain, or in the request's own one."""
        entry: Entry | None = seq.entry if seq.prefix.chain is None else self.last_of_chain.get(seq.prefix.chain)
        if entry is None or entry.has_lost_its_head or entry.seq.prefix.system != seq.prefix.system:
            return 0
        usable = len(entry.blocks)
        if entry.seq is not seq and self.rules.carried == "next turn":
            usable = min(usable, entry.seq.prefix.carried // 16 - seq.prefix.system_blocks)
        usable = min(usable, (seq.target - 1) // 16 - seq.prefix.system_blocks)
        if usable <= 0:
            return 0
        del entry.blocks[:usable]
        self.drop_if_empty(entry)
        if seq.prefix.chain is None:
            seq.entry = None
        else:
            del self.last_of_chain[seq.prefix.chain]
        return usable

    def end_prefill(self, seq: Any) -> None:
        """The request's own copy becomes the system prompt, if there is none."""
        if seq.prefix.system_blocks and not seq.holds and not self.is_whole(seq):
            entry = self.cached_system(seq.prefix.system)
            if entry is not None:
                self.entries.remove(entry)
            seq.blocks -= seq.prefix.system_blocks
            self.hold(seq)

    def leave(self, seq: Any) -> None:
        """The request has stopped running; what of its blocks stays cached. It owns none afterwards."""
        whole, k = seq.computed // 16, seq.prefix.system_blocks
        if seq.holds:
            seq.holds = False
            holders = self.holders[seq.prefix.system]
            holders.remove(seq)
            if self.rules.system_prompt_is_released == "by its first":
                for other in holders:
                    other.holds, other.blocks = False, other.blocks + k
                holders.clear()
            prompt = Entry(["system"] * k, system=seq.prefix.system) if not holders else None
        else:
            prompt = self.cached_system(seq.prefix.system)
            if prompt is not None:
                self.entries.remove(prompt)
            mine = min(whole, k)
            if k and not self.is_held(seq) and (prompt is None or len(prompt.blocks) < mine):
                prompt = Entry(["system"] * mine, system=seq.prefix.system) if mine else None
        mine_first: list[Callable[[], None]] = [lambda: self.leave_own(seq, whole - k), lambda: self.leave_prompt(prompt)]
        for step in mine_first if self.rules.system_prompt_leaves == "after the request" else reversed(mine_first):
            step()
        seq.blocks = 0

    def leave_own(self, seq: Any, blocks: int) -> None:
        if blocks <= 0:
            return
        if seq.entry in self.entries:
            self.entries.remove(seq.entry)
        entry = Entry(["own"] * blocks, seq=seq)
        self.entries.append(entry)
        seq.entry = entry
        if seq.prefix.chain is not None:
            self.last_of_chain[seq.prefix.chain] = entry

    def leave_prompt(self, prompt: Entry | None) -> None:
        if prompt is not None:
            self.entries.append(prompt)


def from_entry_is_own(seq: Any, hit: int) -> bool:
    """Whether a request that comes back after a preemption found more than its system prompt."""
    return hit > 16 * int(seq.prefix.system_blocks)
