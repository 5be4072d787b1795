"""A replica is lost: what it held is taken back, and nothing stays on it, cached prefixes included.

Not part of `kernel`, because runs in which nothing breaks never compile it. To keep new requests away from a replica no code is needed
in the hot path: `MASK` on top of its open requests puts it behind every other and above every limit of `kernel.offer`.
"""

from __future__ import annotations

from typing import Any

from sim.engine.jit import compiled
from sim.engine.layout import ERROR, IDLE, KV_BLOCKS, LEVELS, NEVER, OUTSTANDING, PROMPTS, RUN, STEP, SYSTEMS, WAKE
from sim.engine.step import account, end_segment, plan, run_ps, steps_until

MASK = 2**40  # added to front[OUTSTANDING, r] of a replica that takes nothing new; `offer` is then called with at most this as limit


@compiled
def _stop_at(front: Any, q: Any, w: Any, table: Any, rows: Any, links: Any, r: int, t: int) -> None:
    """Steps that end at t or before have happened; the one that runs at t is lost, the time in it was busy."""
    while front[WAKE, r] <= t and table[ERROR] == 0:
        end_segment(front, q, w, table, rows, links, r)
        plan(front, q, w, table, rows, links, r)
    if front[WAKE, r] == NEVER:
        return
    if q.kind == RUN:
        k = steps_until(table, q.decodes, q.context, q.planned, t + 1 - q.clock)
        if k > 1:
            q.planned = k - 1
            front[WAKE, r] = q.clock + run_ps(table, q.decodes, q.context, k - 1)
            end_segment(front, q, w, table, rows, links, r)
        used = table[KV_BLOCKS] - q.free + w[-q.count & 15]
        account(q, used, used, t - q.clock)
    elif q.kind == STEP:
        used = table[KV_BLOCKS] - q.free
        account(q, used, used, t - q.clock)


@compiled
def _take(rows: Any, links: Any, i: int) -> None:
    """Row i is as it was before it came, but for its preemptions."""
    rows[i].generated, rows[i].first = 0, -1
    rows[i].replica, rows[i].next, rows[i].prev = -1, -1, -1
    if links is None:
        return
    links[i].pins, links[i].hit = 0, -1
    chain = links[i].chain
    if chain < 0:
        return
    before, e = -1, links[chain].head
    while e >= 0 and e != i:
        before, e = e, links[e].older
    if e >= 0 and before >= 0:
        links[before].older = links[i].older
    elif e >= 0:
        links[chain].head = links[i].older
    links[i].older = -1


@compiled
def _forget_cache(q: Any, table: Any, links: Any, r: int) -> None:
    """No entry and no system prompt is on replica r."""
    if links is None:
        return
    e = q.oldest
    while e >= 0:
        after = links[e].next
        links[e].blocks, links[e].prev, links[e].next = 0, -1, -1
        e = after
    for c in range(table[PROMPTS] + r * table[SYSTEMS], table[PROMPTS] + (r + 1) * table[SYSTEMS]):
        links[c].blocks, links[c].pins = 0, 0


@compiled
def _empty(front: Any, q: Any, w: Any, table: Any, r: int) -> None:
    """Replica r as it was before its first request, but for its totals and its clock; what it held is lost."""
    q.lost += q.context + q.completing
    if q.partial >= 0:
        q.lost += q.computed
    q.free, q.cached, q.oldest, q.newest = table[KV_BLOCKS], 0, -1, -1
    q.running, q.waiting, q.decodes, q.context, q.completing = 0, 0, 0, 0, 0
    q.run_head, q.run_tail, q.wait_head, q.wait_tail, q.partial, q.fresh = -1, -1, -1, -1, -1, -1
    q.kind, q.planned = IDLE, 0
    front[WAKE, r] = NEVER
    for at in range(16):
        w[at] = 0
    for at in range(len(w) - table[LEVELS], len(w)):
        w[at] = -1


@compiled
def evict(front: Any, replicas: Any, work: Any, table: Any, rows: Any, links: Any, r: int, t: int, taken: Any) -> int:
    """Number of requests that replica r held at t; `taken` begins with them, running ones in order of admission, then its queue.

    What ended at t or before is finished. The others are open and nowhere: whoever calls gives them a new place. `taken` needs room
    for all open requests of r.
    """
    q, w = replicas[r], work[r]
    _stop_at(front, q, w, table, rows, links, r, t)
    count = 0
    for head in (q.run_head, q.wait_head):
        i = head
        while i >= 0:
            after = rows[i].next
            _take(rows, links, i)
            taken[count] = i
            count += 1
            i = after
    _forget_cache(q, table, links, r)
    _empty(front, q, w, table, r)
    front[OUTSTANDING, r] -= count
    return count
