"""The prefix cache of one replica: entries in the order of their age, found and given up in O(1); see docs/explanation/prefix-cache.md.

`links` has a record per request (the entry that it left, and what it says of its prefix) and, behind them, one per replica and
system prompt. `q.free` counts what is available, cached blocks included; `q.cached` how many of it are cached. So blocks are
taken as if there was no cache, and `trim` then gives up what is too much: the same blocks as one by one.

Without a cache, session affinity and priorities `links` is None: numba then compiles the kernel a second time, without anything of those.
"""

from __future__ import annotations

from typing import Any

from sim.engine.jit import compiled
from sim.engine.layout import CACHING, EXTRA, PROMPTS, SYSTEMS


@compiled
def _unlink(q: Any, links: Any, e: int) -> None:
    before, after = links[e].prev, links[e].next
    if before >= 0:
        links[before].next = after
    else:
        q.oldest = after
    if after >= 0:
        links[after].prev = before
    else:
        q.newest = before


@compiled
def _append(q: Any, links: Any, e: int) -> None:
    links[e].prev, links[e].next = q.newest, -1
    if q.newest >= 0:
        links[q.newest].next = e
    else:
        q.oldest = e
    q.newest = e


@compiled
def trim(q: Any, links: Any, free: int) -> None:
    """Give up cached blocks, the tail of the oldest entry first, until no more than `free` are left."""
    if links is None:
        return
    while q.cached > free:
        e = q.oldest
        n = min(links[e].blocks, q.cached - free)
        links[e].blocks -= n
        q.cached -= n
        if links[e].blocks == 0:
            _unlink(q, links, e)


@compiled
def prompt_of(table: Any, links: Any, r: int, i: int) -> int:
    """Record of the system prompt of row i on replica r; -1 if it has none."""
    if links[i].system < 0:
        return -1
    return int(table[PROMPTS] + r * table[SYSTEMS] + links[i].system)


@compiled
def blocks_wanted(table: Any, links: Any, rows: Any, r: int, i: int) -> int:
    """Blocks that must be available on replica r to admit row i."""
    blocks = ((rows[i].input + rows[i].generated + 15) >> 4) + table[EXTRA]
    if links is None:
        return int(blocks)
    if table[CACHING]:
        c = prompt_of(table, links, r, i)
        if c >= 0 and links[c].pins > 0:
            blocks -= links[i].system_blocks
    return int(blocks)


@compiled
def _use_prompt(q: Any, table: Any, links: Any, r: int, i: int) -> tuple[int, bool]:
    """Blocks of its system prompt that row i finds, and whether it is whole (row i then holds it)."""
    c = prompt_of(table, links, r, i)
    if c < 0:
        return 0, True
    found, k = links[c].blocks, links[i].system_blocks
    if links[c].pins == 0 and found > 0:
        _unlink(q, links, c)
        q.cached -= found
    if found == k:
        links[c].pins += 1
        links[i].pins = 1
        return int(k), True
    links[c].blocks = 0
    return int(found), False


@compiled
def _use_entry(q: Any, links: Any, rows: Any, r: int, i: int, most: int) -> int:
    """Blocks of the entry that continues the system prompt which row i takes over, at most `most`."""
    chain, before, e = links[i].chain, -1, i
    if chain >= 0:
        e = links[chain].head
        while e >= 0 and rows[e].replica != r:
            before, e = e, links[e].older
    if e < 0 or links[e].system != links[i].system:
        return 0
    usable = min(links[e].blocks, most)
    if e != i:
        usable = min(usable, (links[e].carried >> 4) - links[i].system_blocks)
    if usable <= 0:
        return 0
    links[e].blocks -= usable
    q.cached -= usable
    if links[e].blocks == 0:
        _unlink(q, links, e)
    if before >= 0:
        links[before].older = links[e].older
    elif chain >= 0:
        links[chain].head = links[e].older
    return int(usable)


@compiled
def reuse(q: Any, table: Any, links: Any, rows: Any, r: int, i: int) -> int:
    """Tokens of row i, admitted to replica r, that count as computed; what was found of them is no longer cached."""
    if links is None:
        return 0
    if not table[CACHING]:
        return 0
    most = (rows[i].input + rows[i].generated - 1) >> 4
    found, whole = _use_prompt(q, table, links, r, i)
    if whole:
        found += _use_entry(q, links, rows, r, i, most - links[i].system_blocks)
    hit = min(found, most) << 4
    q.hits += hit
    if links[i].hit < 0:
        links[i].hit = hit
    return int(hit)


@compiled
def share_prompt(q: Any, table: Any, links: Any, r: int, i: int) -> None:
    """Row i has ended its prefill: its own copy becomes the system prompt if that is not whole."""
    if links is None:
        return
    c = prompt_of(table, links, r, i)
    if not table[CACHING] or c < 0 or links[i].pins > 0 or links[c].blocks == links[i].system_blocks:
        return
    if links[c].blocks > 0:
        _unlink(q, links, c)
        q.cached -= links[c].blocks
    links[c].blocks = links[i].system_blocks
    links[c].pins = links[i].pins = 1


@compiled
def _leave_prompt(q: Any, table: Any, links: Any, r: int, i: int, whole: int) -> tuple[int, int]:
    """Record of the system prompt if no request holds it now, else -1; and how many of the blocks of row i stay in use with others."""
    c, k = prompt_of(table, links, r, i), links[i].system_blocks
    if c < 0:
        return -1, 0
    if links[i].pins > 0:
        links[i].pins = 0
        links[c].pins -= 1
        if links[c].pins > 0:
            return -1, int(k)
        q.cached += k
        return c, 0
    if links[c].pins > 0:
        return -1, 0
    if links[c].blocks > 0:
        _unlink(q, links, c)
    mine = min(whole, k)
    if links[c].blocks < mine:
        q.cached += mine - links[c].blocks
        links[c].blocks = mine
    return c, 0


@compiled
def _leave_entry(q: Any, links: Any, rows: Any, r: int, i: int, blocks: int) -> None:
    """Row i leaves `blocks` as the newest entry, the last of its chain on replica r; what it had left before is free."""
    if links[i].blocks > 0:
        _unlink(q, links, i)
        q.cached -= links[i].blocks
    links[i].blocks = blocks
    q.cached += blocks
    _append(q, links, i)
    chain = links[i].chain
    if chain < 0:
        return
    before, e = -1, links[chain].head
    while e >= 0 and rows[e].replica != r:
        before, e = e, links[e].older
    if e >= 0 and before >= 0:
        links[before].older = links[e].older
    elif e >= 0:
        links[chain].head = links[e].older
    links[i].older = links[chain].head
    links[chain].head = i


@compiled
def leave(q: Any, table: Any, links: Any, rows: Any, r: int, i: int, computed: int, blocks: int) -> int:
    """How many of its `blocks` become available when row i stops running with `computed` tokens; the whole ones stay cached."""
    if links is None:
        return blocks
    if not table[CACHING]:
        return blocks
    whole = computed >> 4
    c, kept = _leave_prompt(q, table, links, r, i, whole)
    if whole > links[i].system_blocks:
        _leave_entry(q, links, rows, r, i, whole - links[i].system_blocks)
    if c >= 0 and links[c].blocks > 0:
        _append(q, links, c)
    return int(blocks - kept)


@compiled
def counted_blocks(q: Any, table: Any, links: Any, r: int) -> tuple[int, int]:
    """Blocks of replica r in system prompts that are held, and in entries, counted one by one (for the law, not for speed)."""
    held, cached = 0, 0
    if links is None:
        return held, cached
    for c in range(table[PROMPTS] + r * table[SYSTEMS], table[PROMPTS] + (r + 1) * table[SYSTEMS]):
        if links[c].pins > 0:
            held += links[c].blocks
    e = q.oldest
    while e >= 0:
        cached += links[e].blocks
        e = links[e].next
    return held, cached


@compiled
def shared_blocks(links: Any, i: int) -> int:
    """Blocks of row i that belong to the system prompt which it holds."""
    if links is None:
        return 0
    return int(links[i].system_blocks) if links[i].pins > 0 else 0
