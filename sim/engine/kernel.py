"""The compiled scheduler of one pool: the only fast copy of the semantics in docs/explanation/engine.md.

A replica is advanced lazily, from one change of its batch to the next. Between two changes lie k identical decode steps, whose
length has a closed form, so that a jump over them ends on the same picosecond as k single steps. A step costs O(changes):

    decodes     share one counter `count` of steps; each holds `offset = computed - count` and `end_step`, the count at which it ends
    next end    heap of (end_step, row), one entry per decode
    blocks      `histogram[offset mod 16]`: at step `count` the decodes with offset = -count (mod 16) need one block more
    queues      running (order of admission) and waiting (by priority) are linked lists through the rows

The parts: `layout` (indices of the arrays), `queue`, `batch` (running, heap, preemption), `prefix` (what stays cached), `step` (plan and
end of a step), `choose_replica`, and here time.
"""

from __future__ import annotations

from typing import Any

from sim.engine.choose_replica import choose, remember, settle_session
from sim.engine.jit import compiled
from sim.engine.layout import (
    AHEAD,
    CONTEXT,
    ENDED,
    ERROR,
    EXTRA,
    IDLE,
    KV_BLOCKS,
    MAX_SEQS,
    NEVER,
    NO_LIMIT,
    OUTSTANDING,
    REJECTED_STATUS,
    ROUTER,
    RUN,
    STEP,
    WAKE,
    WATERMARK,
)
from sim.engine.prefix import blocks_wanted, counted_blocks, shared_blocks, trim
from sim.engine.queue import enqueue
from sim.engine.routers import ROUND_ROBIN
from sim.engine.step import account, end_segment, plan, run_ps, steps_until

REJECTED, FULL = -1, -2  # answers of `offer`


@compiled
def _advance(front: Any, replicas: Any, work: Any, table: Any, rows: Any, links: Any, r: int, t: int) -> None:
    """All step ends of replica r before t have happened; the step that runs at t is planned."""
    q, w = replicas[r], work[r]
    while front[WAKE, r] < t and table[ERROR] == 0:
        end_segment(front, q, w, table, rows, links, r)
        plan(front, q, w, table, rows, links, r)


@compiled
def _accept(front: Any, q: Any, w: Any, table: Any, rows: Any, links: Any, r: int, t: int, i: int) -> None:
    """Row i joins the queue of replica r at t; a run of decodes is cut at the first step end from which it could be admitted.

    An engine that decides ahead has decided on the next step already: the row waits for the end of that one too.
    """
    rows[i].replica, rows[i].end_step = r, 0
    enqueue(q, w, table, rows, links, i)
    front[OUTSTANDING, r] += 1
    if front[WAKE, r] == NEVER:
        q.clock = t
        front[WAKE, r] = t  # an empty segment: the step starts once time moves on, after all arrivals at t
        return
    ahead = table[AHEAD] if q.kind != IDLE else 0
    cut = (
        q.kind == RUN
        and q.wait_head == i
        and q.partial < 0
        and q.running < table[MAX_SEQS]
        and blocks_wanted(table, links, rows, r, i) <= q.free - table[WATERMARK]
    )
    steps = 1
    if q.kind == RUN and (cut or ahead > 0):
        steps = steps_until(table, q.decodes, q.context, q.planned, t - q.clock)
    if ahead > 0:
        steps += 1
        rows[i].end_step = q.count + steps
    if cut and steps < q.planned:
        q.planned = steps
        front[WAKE, r] = q.clock + run_ps(table, q.decodes, q.context, steps)


@compiled
def offer(front: Any, replicas: Any, work: Any, table: Any, rows: Any, links: Any, t: int, i: int, limit: int) -> int:
    """Replica that takes row i at time t; REJECTED if it can never fit; FULL if all have `limit` open requests (nothing happens)."""
    if table[ROUTER] == ROUND_ROBIN and limit == NO_LIMIT:  # the loads of the others do not matter
        best = choose(front, table, links, i, int(limit), 0, 0)
        _advance(front, replicas, work, table, rows, links, best, t)
    else:
        best, least = 0, NEVER
        for r in range(front.shape[1]):
            if front[WAKE, r] < t:
                _advance(front, replicas, work, table, rows, links, r, t)
            if front[OUTSTANDING, r] < least:
                best, least = r, front[OUTSTANDING, r]
        if least >= limit:
            return FULL
        best = choose(front, table, links, i, int(limit), int(best), int(least))
    remember(front, table, int(best))
    tokens = rows[i].input + rows[i].output
    if (tokens + 14) >> 4 > table[KV_BLOCKS] - table[WATERMARK] - table[EXTRA] or tokens > table[CONTEXT]:
        rows[i].status = REJECTED_STATUS
        return REJECTED
    settle_session(table, links, i, int(best))
    _accept(front, replicas[best], work[best], table, rows, links, best, t, i)
    return int(best)


@compiled
def offer_all(front: Any, replicas: Any, work: Any, table: Any, rows: Any, links: Any, arrival_ps: Any, chosen: Any) -> None:
    """Rows `chosen`, in this order, arrive at `arrival_ps` (of their index)."""
    for i in chosen:
        offer(front, replicas, work, table, rows, links, arrival_ps[i], i, int(NO_LIMIT))


@compiled
def next_wake(front: Any) -> int:
    """When the next segment of a replica of the pool ends; NEVER if all are idle."""
    earliest = NEVER
    for r in range(front.shape[1]):
        earliest = min(earliest, front[WAKE, r])
    return int(earliest)


@compiled
def offer_watched(front: Any, replicas: Any, work: Any, table: Any, rows: Any, links: Any, t: int, i: int, limit: int) -> int:
    """`offer`, for callers that follow every change: the pool's next wake where the row was taken, else REJECTED or FULL."""
    answer = offer(front, replicas, work, table, rows, links, t, i, limit)
    return answer if answer < 0 else next_wake(front)


@compiled
def settle(front: Any, replicas: Any, work: Any, table: Any, rows: Any, links: Any, t: int, ended: Any) -> tuple[int, int]:
    """All that ends at t or before has happened; `ended` begins with the rows that finished since the last call, in the order of
    replicas. Their number, and the pool's next wake.
    """
    for r in range(front.shape[1]):
        if front[WAKE, r] <= t:
            _advance(front, replicas, work, table, rows, links, r, t + 1)
    count, i = 0, table[ENDED]
    while i >= 0 and count < len(ended):
        ended[count] = i
        count += 1
        i = rows[i].next
    table[ENDED] = i
    for at in range(count // 2):
        ended[at], ended[count - 1 - at] = ended[count - 1 - at], ended[at]
    return count, next_wake(front)


@compiled
def stop(front: Any, replicas: Any, work: Any, table: Any, rows: Any, links: Any, until: int) -> None:
    """Everything that ends before `until` has happened (NEVER: all work is done); what still runs is accounted up to `until - 1`."""
    for r in range(front.shape[1]):
        _advance(front, replicas, work, table, rows, links, r, until)
        q, w = replicas[r], work[r]
        if front[WAKE, r] == NEVER or q.kind == IDLE or until == NEVER:
            continue
        if q.kind == RUN:
            k = steps_until(table, q.decodes, q.context, q.planned, until - q.clock)
            if k > 1:
                q.planned = k - 1
                front[WAKE, r] = q.clock + run_ps(table, q.decodes, q.context, k - 1)
                end_segment(front, q, w, table, rows, links, r)
                q.planned = 1
                front[WAKE, r] = q.clock + run_ps(table, q.decodes, q.context, 1)
            q.free -= w[-q.count & 15]
            trim(q, links, q.free)
            q.kind = STEP
            q.tokens = q.decodes
        used = table[KV_BLOCKS] - q.free
        account(q, used, used, until - 1 - q.clock)


@compiled
def held_blocks(replicas: Any, table: Any, rows: Any, links: Any, r: int) -> tuple[int, int]:
    """Blocks of replica r in use and cached after `stop`, counted one by one (for the law, not for speed)."""
    q = replicas[r]
    held, cached = counted_blocks(q, table, links, r)
    prefill, i = False, q.run_head
    while i >= 0:
        prefill = prefill or i == q.fresh or i == q.partial
        if prefill:
            held += (rows[i].input + rows[i].generated + 15) >> 4
        else:
            held += (rows[i].offset + q.count + 1 + 15) >> 4
        held += table[EXTRA] - shared_blocks(links, i)
        i = rows[i].next
    return held, cached
