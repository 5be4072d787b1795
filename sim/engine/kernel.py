"""The compiled scheduler of one pool: the only fast copy of the semantics in docs/explanation/engine.md.

A replica is advanced lazily, from one change of its batch to the next. Between two changes lie k identical decode steps, whose
length has a closed form, so that a jump over them ends on the same picosecond as k single steps. A step costs O(changes):

    decodes     share one counter `count` of steps; each holds `offset = computed - count` and `end_step`, the count at which it ends
    next end    heap of (end_step, row), one entry per decode
    blocks      `histogram[offset mod 16]`: at step `count` the decodes with offset = -count (mod 16) need one block more
    queues      running (order of admission) and waiting are linked lists through the rows

All constants and compiled functions live in this one file, because numba's cache notices changes of one file only.
"""

from __future__ import annotations

import math
from typing import Any

from sim.engine.jit import compiled

# Columns of `table`; behind them stand base_ps[0..max_tokens] and context_ps[0..max_seqs].
KV_BLOCKS, WATERMARK, MAX_SEQS, MAX_TOKENS, SEQUENCE_PS, PAIR_PS, PREFILL_PS, ROUND_ROBIN, NEXT, ERROR, HEADER = range(11)
WAKE, OUTSTANDING = 0, 1  # rows of `front`
IDLE, RUN, STEP = 0, 1, 2  # kinds of segment: nothing, k decode steps (blocks not yet taken), one step (blocks taken)
NEVER = 2**63 - 1
NO_LIMIT = 2**62
REJECTED, FULL = -1, -2  # answers of `offer`
NO_PROGRESS, CLOCK_OVERFLOW = 1, 2  # table[ERROR]
FINISHED_STATUS, REJECTED_STATUS = 0, 1  # sim.fleet_records.Status
ROW_BITS = 31
ROW_MASK = 2**31 - 1
MAX_COUNT = 2**31
LONGEST_RUN_PS = 1e18


@compiled
def _push(w: Any, size: int, key: int) -> None:
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
def _remove(w: Any, size: int, at: int) -> None:
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
def _unlink(q: Any, rows: Any, i: int) -> None:
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
def _admit(q: Any, rows: Any, i: int) -> None:
    """Move row `i`, the head of the queue, to the end of the running list."""
    q.wait_head = rows[i].next
    if q.wait_head < 0:
        q.wait_tail = -1
    q.waiting -= 1
    rows[i].prev, rows[i].next = q.run_tail, -1
    if q.run_tail >= 0:
        rows[q.run_tail].next = i
    else:
        q.run_head = i
    q.run_tail = i
    q.running += 1


@compiled
def _forget_decode(q: Any, w: Any, rows: Any, i: int) -> int:
    """Tokens of KV that decode `i` held; it leaves the sums (the caller takes it out of the heap)."""
    computed = rows[i].offset + q.count
    q.context -= computed
    q.decodes -= 1
    w[rows[i].offset & 15] -= 1
    return computed


@compiled
def _preempt_last(q: Any, w: Any, rows: Any) -> int:
    """The last admitted row, moved to the front of the queue; its blocks are free."""
    i = q.run_tail
    if i == q.partial:
        computed = q.computed
        blocks = (rows[i].input + rows[i].generated + 15) >> 4
        q.partial = -1
    else:
        rows[i].generated = rows[i].output - (rows[i].end_step - q.count)
        key, at = (rows[i].end_step << ROW_BITS) | i, 0
        while w[16 + at] != key:
            at += 1
        _remove(w, q.decodes, at)
        computed = _forget_decode(q, w, rows, i)
        blocks = (computed + 15) >> 4
    q.free += blocks
    q.lost += computed
    _unlink(q, rows, i)
    rows[i].next = q.wait_head
    if q.wait_head < 0:
        q.wait_tail = i
    q.wait_head = i
    q.waiting += 1
    q.waiting_peak = max(q.waiting_peak, q.waiting)
    rows[i].preemptions += 1
    q.preemptions += 1
    return i


@compiled
def _take_scarce_blocks(q: Any, w: Any, rows: Any) -> None:
    """Decodes take their next blocks, oldest first; the last admitted ones are preempted for them."""
    i = q.run_head
    while i >= 0:
        if i != q.partial and ((rows[i].offset + q.count) & 15) == 0:
            while q.free == 0:
                if _preempt_last(q, w, rows) == i:
                    return
            q.free -= 1
        i = rows[i].next


@compiled
def _run_ps(table: Any, decodes: int, context: int, k: int) -> int:
    """Length of k decode steps; `context` is the computed tokens before the first."""
    per_token = table[HEADER + table[MAX_TOKENS] + 1 + decodes]
    first = table[HEADER + decodes] + table[SEQUENCE_PS] * decodes + per_token * (context + decodes)
    return first * k + per_token * decodes * (k * (k - 1) // 2)


@compiled
def _steps_until(table: Any, decodes: int, context: int, k: int, wait_ps: int) -> int:
    """Smallest j in 1..k with `_run_ps(j) >= wait_ps`; a float solution of the quadratic, put right in integers."""
    per_token = table[HEADER + table[MAX_TOKENS] + 1 + decodes]
    first = table[HEADER + decodes] + table[SEQUENCE_PS] * decodes + per_token * (context + decodes)
    if wait_ps <= first or k == 1:
        return 1
    slope = float(per_token * decodes)
    linear = float(first) - slope / 2
    j = int(2.0 * wait_ps / (linear + math.sqrt(linear * linear + 2.0 * slope * wait_ps)))
    j = min(max(j, 1), k)
    while j < k and _run_ps(table, decodes, context, j) < wait_ps:
        j += 1
    while j > 1 and _run_ps(table, decodes, context, j - 1) >= wait_ps:
        j -= 1
    return j


@compiled
def _run_blocks(w: Any, count: int, decodes: int, k: int) -> int:
    """Blocks that `decodes` take in k steps from step `count` on: each one in 16 steps."""
    total = (k >> 4) * decodes
    for i in range(k & 15):
        total += w[-(count + i) & 15]
    return total


@compiled
def _plan_run(front: Any, q: Any, w: Any, table: Any, r: int, k: int) -> None:
    """Plan up to k decode steps, as many as there are blocks for; the first one's are there."""
    decodes, free = q.decodes, q.free
    if decodes * ((k + 15) >> 4) > free:
        rounds = free // decodes
        j, left = rounds << 4, free - rounds * decodes
        while j < k:
            left -= w[-(q.count + j) & 15]
            if left < 0:
                break
            j += 1
        k = min(k, j)
    per_token = table[HEADER + table[MAX_TOKENS] + 1 + decodes]
    first = table[HEADER + decodes] + table[SEQUENCE_PS] * decodes + per_token * (q.context + decodes)
    while k > 1 and k * (float(first) + 0.5 * k * float(per_token) * decodes) > LONGEST_RUN_PS:
        k >>= 1
    _set_segment(front, q, table, r, RUN, k, _run_ps(table, decodes, q.context, k))


@compiled
def _set_segment(front: Any, q: Any, table: Any, r: int, kind: int, k: int, length_ps: int) -> None:
    if length_ps < 0 or length_ps > NEVER - 1 - q.clock or q.count > MAX_COUNT:
        table[ERROR] = CLOCK_OVERFLOW
        length_ps = 0
    q.kind, q.planned = kind, k
    front[WAKE, r] = q.clock + length_ps


@compiled
def _plan(front: Any, q: Any, w: Any, table: Any, rows: Any, r: int) -> None:
    """Build the next step, or run of equal decode steps, at `q.clock`."""
    q.fresh = -1
    if q.running == 0 and q.waiting == 0:
        q.kind, q.planned = IDLE, 0
        front[WAKE, r] = NEVER
        return
    need = w[-q.count & 15]
    if need > q.free:
        _take_scarce_blocks(q, w, rows)
        decodes = q.decodes
        if decodes == 0:
            table[ERROR] = NO_PROGRESS
        q.tokens = decodes
        _set_segment(front, q, table, r, STEP, 1, _run_ps(table, decodes, q.context, 1))
        return
    decodes, sequences, pairs, reads = q.decodes, q.decodes, 0, 0
    free = q.free - need
    budget = table[MAX_TOKENS] - decodes
    if q.partial >= 0 and budget > 0:
        i = q.partial
        left = rows[i].input + rows[i].generated - q.computed
        c = min(left, budget)
        pairs += c * q.computed + c * (c + 1) // 2
        reads += q.computed + c
        budget -= c
        sequences += 1
        q.fresh, q.chunk = i, c
        if c == left:
            q.partial, q.completing = -1, q.computed
    while q.partial < 0 and budget > 0 and q.waiting > 0 and q.running < table[MAX_SEQS]:
        i = q.wait_head
        target = rows[i].input + rows[i].generated
        blocks = (target + 15) >> 4
        if blocks > free - (table[WATERMARK] if q.running > 0 else 0):
            break
        _admit(q, rows, i)
        free -= blocks
        c = min(target, budget)
        pairs += c * (c + 1) // 2
        reads += c
        budget -= c
        sequences += 1
        if q.fresh < 0:
            q.fresh = i
        if c < target:
            q.partial, q.computed, q.chunk = i, 0, c
    if q.fresh < 0:
        if decodes == 0:
            table[ERROR] = NO_PROGRESS
            q.kind, q.planned = IDLE, 0
            front[WAKE, r] = NEVER
            return
        _plan_run(front, q, w, table, r, (w[16] >> ROW_BITS) - q.count)
        return
    q.free = free
    q.tokens = table[MAX_TOKENS] - budget
    length = table[HEADER + q.tokens] + table[SEQUENCE_PS] * sequences + table[PAIR_PS] * pairs + table[PREFILL_PS] * reads
    length += table[HEADER + table[MAX_TOKENS] + 1 + decodes] * (q.context + decodes)
    _set_segment(front, q, table, r, STEP, 1, length)


@compiled
def _account(q: Any, used_first: int, used_last: int, length_ps: int) -> None:
    """Add a stretch of time to the totals; block use grows evenly from the first step of a run to its last (approximation)."""
    q.busy_ps += length_ps
    q.running_ps += float(q.running) * length_ps
    q.used_ps += 0.5 * (used_first + used_last) * length_ps
    q.used_peak = max(q.used_peak, used_last)


@compiled
def _end_prefills(front: Any, q: Any, w: Any, rows: Any, r: int, now: int) -> None:
    """Chunks of the step that ends now: a completed one yields a token and becomes a decode, or finishes."""
    i, q.completing = q.fresh, 0
    while i >= 0:
        after = rows[i].next
        if i == q.partial:
            q.computed += q.chunk
        else:
            target = rows[i].input + rows[i].generated
            rows[i].generated += 1
            if rows[i].first < 0:
                rows[i].first = now
            left = rows[i].output - rows[i].generated
            if left == 0:
                rows[i].finish, rows[i].status = now, FINISHED_STATUS
                q.free += (target + 15) >> 4
                _unlink(q, rows, i)
                front[OUTSTANDING, r] -= 1
            else:
                rows[i].offset, rows[i].end_step = target - q.count, q.count + left
                w[rows[i].offset & 15] += 1
                _push(w, q.decodes, (rows[i].end_step << ROW_BITS) | i)
                q.decodes += 1
                q.context += target
        i = after


@compiled
def _end_segment(front: Any, q: Any, w: Any, table: Any, rows: Any, r: int) -> None:
    """Effects of the segment that ends at its wake time."""
    now, k = front[WAKE, r], q.planned
    if q.kind == RUN:
        used = table[KV_BLOCKS] - q.free
        first = used + w[-q.count & 15]
        q.free -= _run_blocks(w, q.count, q.decodes, k)
        _account(q, first, table[KV_BLOCKS] - q.free, now - q.clock)
        q.computed_tokens += k * q.decodes
    elif q.kind == STEP:
        used = table[KV_BLOCKS] - q.free
        _account(q, used, used, now - q.clock)
        q.computed_tokens += q.tokens
    q.clock = now
    q.steps += k
    q.count += k
    q.context += k * q.decodes
    while q.decodes > 0 and (w[16] >> ROW_BITS) == q.count:
        i = w[16] & ROW_MASK
        _remove(w, q.decodes, 0)
        computed = _forget_decode(q, w, rows, i)
        q.free += (computed + 15) >> 4
        rows[i].finish, rows[i].status, rows[i].generated = now, FINISHED_STATUS, rows[i].output
        _unlink(q, rows, i)
        front[OUTSTANDING, r] -= 1
    if q.kind == STEP:
        _end_prefills(front, q, w, rows, r, now)


@compiled
def _advance(front: Any, replicas: Any, work: Any, table: Any, rows: Any, r: int, t: int) -> None:
    """All step ends of replica r before t have happened; the step that runs at t is planned."""
    q, w = replicas[r], work[r]
    while front[WAKE, r] < t and table[ERROR] == 0:
        _end_segment(front, q, w, table, rows, r)
        _plan(front, q, w, table, rows, r)


@compiled
def _enqueue(front: Any, q: Any, table: Any, rows: Any, r: int, t: int, i: int) -> None:
    """Row i joins the queue of replica r at t; a run of decodes is cut at the first step end from which it could be admitted."""
    rows[i].replica, rows[i].next = r, -1
    if q.wait_tail >= 0:
        rows[q.wait_tail].next = i
    else:
        q.wait_head = i
    q.wait_tail = i
    q.waiting += 1
    q.waiting_peak = max(q.waiting_peak, q.waiting)
    front[OUTSTANDING, r] += 1
    if front[WAKE, r] == NEVER:
        q.clock = t
        front[WAKE, r] = t  # an empty segment: the step starts once time moves on, after all arrivals at t
    elif (
        q.kind == RUN
        and q.waiting == 1
        and q.partial < 0
        and q.running < table[MAX_SEQS]
        and (rows[i].input + 15) >> 4 <= q.free - table[WATERMARK]
    ):
        k = _steps_until(table, q.decodes, q.context, q.planned, t - q.clock)
        if k < q.planned:
            q.planned = k
            front[WAKE, r] = q.clock + _run_ps(table, q.decodes, q.context, k)


@compiled
def offer(front: Any, replicas: Any, work: Any, table: Any, rows: Any, t: int, i: int, limit: int) -> int:
    """Replica that takes row i at time t; REJECTED if it can never fit; FULL if all have `limit` open requests (nothing happens)."""
    size = front.shape[1]
    if table[ROUND_ROBIN] and limit == NO_LIMIT:
        best = table[NEXT]
        _advance(front, replicas, work, table, rows, best, t)
    else:
        best, least = 0, NEVER
        for r in range(size):
            if front[WAKE, r] < t:
                _advance(front, replicas, work, table, rows, r, t)
            if front[OUTSTANDING, r] < least:
                best, least = r, front[OUTSTANDING, r]
        if least >= limit:
            return FULL
        if table[ROUND_ROBIN]:
            best = table[NEXT]
    if table[ROUND_ROBIN]:
        table[NEXT] = 0 if best + 1 == size else best + 1
    if (rows[i].input + rows[i].output + 14) >> 4 > table[KV_BLOCKS] - table[WATERMARK]:
        rows[i].status = REJECTED_STATUS
        return REJECTED
    _enqueue(front, replicas[best], table, rows, best, t, i)
    return int(best)


@compiled
def offer_all(front: Any, replicas: Any, work: Any, table: Any, rows: Any, arrival_ps: Any, chosen: Any) -> None:
    """Rows `chosen`, in this order, arrive at `arrival_ps` (of their index)."""
    for i in chosen:
        offer(front, replicas, work, table, rows, arrival_ps[i], i, NO_LIMIT)


@compiled
def stop(front: Any, replicas: Any, work: Any, table: Any, rows: Any, until: int) -> None:
    """Everything that ends before `until` has happened (NEVER: all work is done); what still runs is accounted up to `until - 1`."""
    for r in range(front.shape[1]):
        _advance(front, replicas, work, table, rows, r, until)
        q, w = replicas[r], work[r]
        if front[WAKE, r] == NEVER or q.kind == IDLE or until == NEVER:
            continue
        if q.kind == RUN:
            k = _steps_until(table, q.decodes, q.context, q.planned, until - q.clock)
            if k > 1:
                q.planned = k - 1
                front[WAKE, r] = q.clock + _run_ps(table, q.decodes, q.context, k - 1)
                _end_segment(front, q, w, table, rows, r)
                q.planned = 1
                front[WAKE, r] = q.clock + _run_ps(table, q.decodes, q.context, 1)
            q.free -= w[-q.count & 15]
            q.kind = STEP
            q.tokens = q.decodes
        used = table[KV_BLOCKS] - q.free
        _account(q, used, used, until - 1 - q.clock)


@compiled
def held_blocks(replicas: Any, rows: Any, r: int) -> int:
    """Blocks that the running sequences of replica r hold after `stop`, counted one by one (for the law, not for speed)."""
    q = replicas[r]
    blocks, prefill, i = 0, False, q.run_head
    while i >= 0:
        prefill = prefill or i == q.fresh or i == q.partial
        if prefill:
            blocks += (rows[i].input + rows[i].generated + 15) >> 4
        else:
            blocks += (rows[i].offset + q.count + 1 + 15) >> 4
        i = rows[i].next
    return blocks
