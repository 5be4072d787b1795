"""The batch of one replica: the heap of ends, the running list, and preemption.

`q` is the replica's record, `w` its work row (histogram of 16, the heap, the ends of the queue's levels), `rows` the records of all
requests, `links` those of the prefix cache.
"""

from __future__ import annotations

from typing import Any

from sim.engine.jit import compiled
from sim.engine.layout import ENDED, EXTRA, FINISHED_STATUS, LEVELS, OUTSTANDING, ROW_BITS
from sim.engine.prefix import leave, trim
from sim.engine.queue import enqueue_front, take_after


@compiled
def push(w: Any, size: int, key: int) -> None:
    """Add `key` to the heap of `size` entries that starts at w[16]."""
    at = size
    while at > 0:
        parent = (at - 1) >> 1
        if w[16 + parent] <= key:
            break
        w[16 + at] = w[16 + parent]
        at = parent
    w[16 + at] = key


@compiled
def remove(w: Any, size: int, at: int) -> None:
    """Take the entry at index `at` out of the heap of `size` entries."""
    key = w[16 + size - 1]
    size -= 1
    if at == size:
        return
    while at > 0 and w[16 + ((at - 1) >> 1)] > key:
        w[16 + at] = w[16 + ((at - 1) >> 1)]
        at = (at - 1) >> 1
    while True:
        child = 2 * at + 1
        if child >= size:
            break
        if child + 1 < size and w[16 + child + 1] < w[16 + child]:
            child += 1
        if w[16 + child] >= key:
            break
        w[16 + at] = w[16 + child]
        at = child
    w[16 + at] = key


@compiled
def unlink(q: Any, rows: Any, i: int) -> None:
    """Take row `i` out of the running list."""
    before, after = rows[i].prev, rows[i].next
    if before >= 0:
        rows[before].next = after
    else:
        q.run_head = after
    if after >= 0:
        rows[after].prev = before
    else:
        q.run_tail = before
    q.running -= 1


@compiled
def admit(q: Any, w: Any, table: Any, rows: Any, links: Any, before: int) -> None:
    """Move the row behind `before` in the queue (-1: its head) to the end of the running list."""
    i = take_after(q, w, table, rows, links, before)
    rows[i].prev, rows[i].next = q.run_tail, -1
    if q.run_tail >= 0:
        rows[q.run_tail].next = i
    else:
        q.run_head = i
    q.run_tail = i
    q.running += 1


@compiled
def forget_decode(q: Any, w: Any, rows: Any, i: int) -> int:
    """Tokens of KV that decode `i` held; it leaves the sums (the caller takes it out of the heap)."""
    computed = rows[i].offset + q.count
    q.context -= computed
    q.decodes -= 1
    w[rows[i].offset & 15] -= 1
    return int(computed)


@compiled
def _victim(q: Any, table: Any, rows: Any, links: Any) -> int:
    """The row that is preempted next: of the lowest priority, the last admitted."""
    if links is None:
        return int(q.run_tail)
    victim, i = q.run_tail, q.run_tail
    while i >= 0 and rows[victim].level < table[LEVELS] - 1:
        if rows[i].level > rows[victim].level:
            victim = i
        i = rows[i].prev
    return int(victim)


@compiled
def _preempt(q: Any, w: Any, table: Any, rows: Any, links: Any, r: int, i: int, extra: int) -> None:
    """Row i goes to the front of the queue, behind higher priorities; its blocks are available, `extra` taken in this step included."""
    if i == q.partial:
        computed = q.computed
        blocks = (rows[i].input + rows[i].generated + 15) >> 4
        q.partial = -1
    else:
        rows[i].generated = rows[i].output - (rows[i].end_step - q.count)
        key, at = (rows[i].end_step << ROW_BITS) | i, 0
        while w[16 + at] != key:
            at += 1
        remove(w, q.decodes, at)
        computed = forget_decode(q, w, rows, i)
        blocks = ((computed + 15) >> 4) + extra
    q.free += leave(q, table, links, rows, r, i, computed, blocks) + table[EXTRA]
    q.lost += computed
    unlink(q, rows, i)
    enqueue_front(q, w, table, rows, links, i)
    rows[i].preemptions += 1
    q.preemptions += 1


@compiled
def _taken(q: Any, rows: Any, links: Any, i: int, victim: int) -> int:
    """Blocks that `victim` has taken in this step before row i asks: one, if it needs one and stands before i."""
    if links is None:
        return 0
    if victim == q.partial or ((rows[victim].offset + q.count) & 15) != 0:
        return 0
    e = rows[i].prev
    while e >= 0 and e != victim:
        e = rows[e].prev
    return 1 if e >= 0 else 0


@compiled
def take_scarce_blocks(q: Any, w: Any, table: Any, rows: Any, links: Any, r: int) -> None:
    """Decodes take their next blocks, oldest first; others, or the asking one itself, are preempted for them."""
    i = q.run_head
    while i >= 0:
        after = rows[i].next
        if i != q.partial and ((rows[i].offset + q.count) & 15) == 0:
            victim = -1
            while q.free == 0 and victim != i:
                victim = _victim(q, table, rows, links)
                after = rows[i].next
                _preempt(q, w, table, rows, links, r, victim, _taken(q, rows, links, i, victim))
            if victim != i:
                q.free -= 1
                trim(q, links, q.free)
                after = rows[i].next
        i = after


@compiled
def is_partial_left(q: Any, links: Any) -> bool:
    """Whether the partly prefilled row has outlived `take_scarce_blocks`; with one priority it is the first victim."""
    if links is None:
        return False
    return bool(q.partial >= 0)


@compiled
def finish(front: Any, q: Any, table: Any, rows: Any, links: Any, r: int, i: int, now: int, computed: int) -> None:
    """Row i leaves replica r at `now`; its blocks are available, and it heads the list of finished rows."""
    rows[i].finish, rows[i].status = now, FINISHED_STATUS
    q.free += leave(q, table, links, rows, r, i, computed, (computed + 15) >> 4) + table[EXTRA]
    unlink(q, rows, i)
    front[OUTSTANDING, r] -= 1
    rows[i].next = table[ENDED]
    table[ENDED] = i
