"""One step, or a run of k identical decode steps: what it holds, how long it lasts, what its end changes."""

from __future__ import annotations

import math
from typing import Any

from sim.engine.batch import admit, finish, forget_decode, is_partial_left, push, remove, take_scarce_blocks
from sim.engine.jit import compiled
from sim.engine.layout import (
    CLOCK_OVERFLOW,
    ERROR,
    HEADER,
    IDLE,
    KV_BLOCKS,
    LONGEST_RUN_PS,
    MAX_COUNT,
    MAX_SEQS,
    MAX_TOKENS,
    NEVER,
    NO_PROGRESS,
    NO_ROW,
    PAIR_PS,
    PREFILL_PS,
    ROW_BITS,
    ROW_MASK,
    RUN,
    SEQUENCE_PS,
    STEP,
    WAKE,
    WATERMARK,
)
from sim.engine.prefix import blocks_wanted, reuse, share_prompt, trim
from sim.engine.queue import before_next


@compiled
def run_ps(table: Any, decodes: int, context: int, k: int) -> int:
    """Length of k decode steps; `context` is the computed tokens before the first."""
    per_token = table[HEADER + table[MAX_TOKENS] + 1 + decodes]
    first = table[HEADER + decodes] + table[SEQUENCE_PS] * decodes + per_token * (context + decodes)
    return int(first * k + per_token * decodes * (k * (k - 1) // 2))


@compiled
def steps_until(table: Any, decodes: int, context: int, k: int, wait_ps: int) -> int:
    """Smallest j in 1..k with `run_ps(j) >= wait_ps`; a float solution of the quadratic, put right in integers."""
    per_token = table[HEADER + table[MAX_TOKENS] + 1 + decodes]
    first = table[HEADER + decodes] + table[SEQUENCE_PS] * decodes + per_token * (context + decodes)
    if wait_ps <= first or k == 1:
        return 1
    slope = float(per_token * decodes)
    linear = float(first) - slope / 2
    j = int(2.0 * wait_ps / (linear + math.sqrt(linear * linear + 2.0 * slope * wait_ps)))
    j = min(max(j, 1), k)
    while j < k and run_ps(table, decodes, context, j) < wait_ps:
        j += 1
    while j > 1 and run_ps(table, decodes, context, j - 1) >= wait_ps:
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
    _set_segment(front, q, table, r, RUN, k, run_ps(table, decodes, q.context, k))


@compiled
def _set_segment(front: Any, q: Any, table: Any, r: int, kind: int, k: int, length_ps: int) -> None:
    if length_ps < 0 or length_ps > NEVER - 1 - q.clock or q.count > MAX_COUNT:
        table[ERROR] = CLOCK_OVERFLOW
        length_ps = 0
    q.kind, q.planned = kind, k
    front[WAKE, r] = q.clock + length_ps


@compiled
def _rest(front: Any, q: Any, r: int) -> None:
    """Nothing to do until something arrives."""
    q.kind, q.planned = IDLE, 0
    front[WAKE, r] = NEVER


@compiled
def _plan_decodes_alone(front: Any, q: Any, table: Any, r: int) -> None:
    """One decode step without a prompt; without a decode either there is no progress."""
    if q.decodes == 0:
        table[ERROR] = NO_PROGRESS
    q.tokens = q.decodes
    _set_segment(front, q, table, r, STEP, 1, run_ps(table, q.decodes, q.context, 1))


@compiled
def plan(front: Any, q: Any, w: Any, table: Any, rows: Any, links: Any, r: int) -> None:
    """Build the next step, or run of equal decode steps, at `q.clock`."""
    q.fresh = -1
    if q.running == 0 and q.waiting == 0:
        _rest(front, q, r)
        return
    need = w[-q.count & 15]
    if need > q.free:
        take_scarce_blocks(q, w, table, rows, links, r)
        admitting, free = False, q.free
        if not is_partial_left(q, links):
            _plan_decodes_alone(front, q, table, r)
            return
    else:
        admitting, free = True, q.free - need
    decodes, sequences, pairs, reads = q.decodes, q.decodes, 0, 0
    trim(q, links, free)
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
    count = q.count
    if q.waiting > 0 and q.running == 0 and before_next(q, w, table, rows, links, count) == NO_ROW:
        count += 1  # nothing else to do: it looks at what has come
    while admitting and q.partial < 0 and budget > 0 and q.waiting > 0 and q.running < table[MAX_SEQS]:
        before = before_next(q, w, table, rows, links, count)
        if before == NO_ROW:
            break
        i = q.wait_head if before < 0 else rows[before].next
        blocks = blocks_wanted(table, links, rows, r, i)
        if blocks > free - (table[WATERMARK] if q.running > 0 else 0):
            break
        admit(q, w, table, rows, links, before)
        free -= blocks
        hit = reuse(q, table, links, rows, r, i)
        trim(q, links, free)
        left = rows[i].input + rows[i].generated - hit
        c = min(left, budget)
        pairs += c * hit + c * (c + 1) // 2
        reads += hit + c
        budget -= c
        sequences += 1
        if q.fresh < 0:
            q.fresh = i
        if c < left:
            q.partial, q.computed, q.chunk = i, hit, c
        else:
            q.completing += hit
    if q.fresh < 0:
        if decodes == 0:
            table[ERROR] = NO_PROGRESS
            _rest(front, q, r)
            return
        unseen = q.waiting > 0 and rows[q.wait_head].end_step > q.count
        _plan_run(front, q, w, table, r, 1 if unseen else (w[16] >> ROW_BITS) - q.count)
        return
    q.free = free
    q.tokens = table[MAX_TOKENS] - budget
    length = table[HEADER + q.tokens] + table[SEQUENCE_PS] * sequences + table[PAIR_PS] * pairs + table[PREFILL_PS] * reads
    length += table[HEADER + table[MAX_TOKENS] + 1 + decodes] * (q.context + decodes)
    _set_segment(front, q, table, r, STEP, 1, length)


@compiled
def account(q: Any, used_first: int, used_last: int, length_ps: int) -> None:
    """Add a stretch of time to the totals; block use grows evenly from the first step of a run to its last (approximation)."""
    q.busy_ps += length_ps
    q.running_ps += float(q.running) * length_ps
    q.used_ps += 0.5 * (used_first + used_last) * length_ps
    q.used_peak = max(q.used_peak, used_last)


@compiled
def _end_prefills(front: Any, q: Any, w: Any, table: Any, rows: Any, links: Any, r: int, now: int) -> None:
    """Chunks of the step that ends now: a completed one yields a token and becomes a decode, or finishes."""
    i, q.completing = q.fresh, 0
    while i >= 0:
        after = rows[i].next
        if i == q.partial:
            q.computed += q.chunk
        else:
            share_prompt(q, table, links, r, i)
            target = rows[i].input + rows[i].generated
            rows[i].generated += 1
            if rows[i].first < 0:
                rows[i].first = now
            left = rows[i].output - rows[i].generated
            if left == 0:
                finish(front, q, table, rows, links, r, i, now, target)
            else:
                rows[i].offset, rows[i].end_step = target - q.count, q.count + left
                w[rows[i].offset & 15] += 1
                push(w, q.decodes, (rows[i].end_step << ROW_BITS) | i)
                q.decodes += 1
                q.context += target
        i = after


@compiled
def end_segment(front: Any, q: Any, w: Any, table: Any, rows: Any, links: Any, r: int) -> None:
    """Effects of the segment that ends at its wake time."""
    now, k = front[WAKE, r], q.planned
    if q.kind == RUN:
        used = table[KV_BLOCKS] - q.free
        first = used + w[-q.count & 15]
        q.free -= _run_blocks(w, q.count, q.decodes, k)
        trim(q, links, q.free)
        account(q, first, table[KV_BLOCKS] - q.free, now - q.clock)
        q.computed_tokens += k * q.decodes
    elif q.kind == STEP:
        used = table[KV_BLOCKS] - q.free
        account(q, used, used, now - q.clock)
        q.computed_tokens += q.tokens
    q.clock = now
    q.steps += k
    q.count += k
    q.context += k * q.decodes
    while q.decodes > 0 and (w[16] >> ROW_BITS) == q.count:
        i = w[16] & ROW_MASK
        remove(w, q.decodes, 0)
        computed = forget_decode(q, w, rows, i)
        rows[i].generated = rows[i].output
        finish(front, q, table, rows, links, r, i, now, computed)
    if q.kind == STEP:
        _end_prefills(front, q, w, table, rows, links, r, now)
