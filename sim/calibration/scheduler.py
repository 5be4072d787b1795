"""The scheduler of docs/explanation/engine.md in floating-point seconds, one step at a time and compiled.

Each request holds `q.extra` blocks next to those of its tokens. An engine that decides ahead (`q.ahead`) admits
what had come when the step before this one began: `head` to `known`.

`q` is the engine (ENGINE), `step` what it computes now (STEP), `r` the requests (REQUEST); `running` lists those with memory in the order
of their admission, `back` the preempted ones, a stack: the last one put back is first in the queue. Behind them stand `head` to `seen`.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sim.engine.deployment import BLOCK_TOKENS
from sim.engine.jit import compiled

_COUNTS = ("alive", "backs", "head", "seen", "known", "free", "finished", "preemptions")
_LIMITS = ("max_seqs", "budget", "in_flight", "cached", "counted", "ahead", "extra")  # in_flight 0: open arrivals
_PARTS = ("tokens", "sequences", "decodes", "budget", "older", "partial", "chunk", "last_chunk")
REQUEST = np.dtype(
    [(name, np.int64) for name in ("prompt", "output", "target", "computed", "made", "held")]
    + [(name, np.float64) for name in ("arrival", "first", "last")]
)
ENGINE = np.dtype([(name, np.int64) for name in (*_COUNTS, *_LIMITS)] + [("now", np.float64), ("gap", np.float64)])
STEP = np.dtype([(name, np.int64) for name in _PARTS] + [(name, np.float64) for name in ("context", "pairs", "prefill")])
SIZE = 4096  # steps that there is room for at first


@compiled
def _begin(q: Any, step: Any) -> None:
    """A step that computes nothing yet; `older`: how many run before it admits any."""
    step.tokens, step.sequences, step.decodes, step.budget, step.older = 0, 0, 0, q.budget, q.alive
    step.partial, step.chunk, step.last_chunk = -1, 0, 0
    step.context, step.pairs, step.prefill = 0.0, 0.0, 0.0


@compiled
def _preempt(q: Any, r: Any, running: Any, back: Any) -> int:
    """The last admitted request, which is now the first in the queue and has nothing computed."""
    q.alive -= 1
    victim = running[q.alive]
    q.free += r[victim].held + q.extra
    r[victim].held, r[victim].computed = 0, 0
    r[victim].target = r[victim].prompt + r[victim].made
    back[q.backs] = victim
    q.backs += 1
    q.preemptions += 1
    return int(victim)


@compiled
def _has_block(q: Any, r: Any, running: Any, back: Any, s: int) -> bool:
    """Whether decode s has a block for its next token; False if it was itself preempted for want of one."""
    if r[s].computed % BLOCK_TOKENS != 0 or r[s].held * BLOCK_TOKENS > r[s].computed:
        return True
    while q.free == 0:
        if _preempt(q, r, running, back) == s:
            return False
    q.free -= 1
    r[s].held += 1
    return True


@compiled
def _decode(q: Any, step: Any, r: Any, running: Any, back: Any) -> None:
    """Decodes of the step, oldest first."""
    i = 0
    while i < q.alive:
        s = running[i]
        if r[s].computed >= r[s].target and _has_block(q, r, running, back, s):
            step.decodes += 1
            step.context += r[s].computed + 1
        i += 1
    step.tokens = step.sequences = step.decodes
    step.budget -= step.decodes
    step.older = q.alive


@compiled
def _compute(step: Any, r: Any, s: int) -> int:
    """Tokens of the prompt of s that the step computes."""
    c = min(r[s].target - r[s].computed, step.budget)
    if c > 0:
        step.pairs += c * float(r[s].computed) + c * (c + 1) / 2.0
        step.prefill += r[s].computed + c
        step.tokens += c
        step.sequences += 1
        step.budget -= c
    return int(c)


@compiled
def _go_on(q: Any, step: Any, r: Any, running: Any) -> bool:
    """Whether no request is left partly prefilled, once the step has computed what it can of the one that was."""
    if q.alive == 0:
        return True
    s = running[q.alive - 1]
    left = r[s].target - r[s].computed
    if left <= 0:
        return True
    step.partial, step.chunk = s, _compute(step, r, s)
    return bool(step.chunk == left)


@compiled
def _admit(q: Any, step: Any, r: Any, running: Any, back: Any) -> None:
    """Requests of the queue join, first come first served, while there is room for them."""
    while q.alive < q.max_seqs and step.budget > 0 and (q.backs > 0 or q.head < q.known):
        s = back[q.backs - 1] if q.backs > 0 else q.head
        need = (r[s].target + BLOCK_TOKENS - 1) // BLOCK_TOKENS
        if need + q.extra > q.free:
            break
        if q.backs > 0:
            q.backs -= 1
        else:
            q.head += 1
        q.free -= need + q.extra
        r[s].held, r[s].computed = need, min(q.cached, r[s].target - 1)
        running[q.alive] = s
        q.alive += 1
        step.last_chunk = _compute(step, r, s)
        if r[s].computed + step.last_chunk < r[s].target:
            break


@compiled
def _weight(q: Any, r: Any, rows: Any, count: int, waiting: float, pace: float) -> tuple[float, float]:
    """Plus how many of these requests wait for their first token, and the pace of the others; those before `q.counted` weigh nothing."""
    for j in range(count):
        s = rows[j]
        if s >= q.counted:
            if r[s].first < 0:
                waiting += 1.0
            elif r[s].output > 1:
                pace += 1.0 / (r[s].output - 1)
    return waiting, pace


@compiled
def _weights(q: Any, r: Any, running: Any, back: Any, seconds: float) -> tuple[float, float]:
    """`_weight` of all requests in a step of `seconds` from now; those that come in it wait for a part of it."""
    waiting, pace = _weight(q, r, running, q.alive, 0.0, 0.0)
    waiting, pace = _weight(q, r, back, q.backs, waiting, pace)
    waiting += max(0, q.seen - max(q.head, q.counted))
    end, j = q.now + seconds, q.seen
    while j < len(r) and r[j].arrival < end:
        if j >= q.counted:
            waiting += (end - r[j].arrival) / seconds
        j += 1
    return waiting, pace


@compiled
def _has_token(q: Any, step: Any, r: Any, s: int, j: int) -> bool:
    """Whether s, the j-th of those that run, has one token more at the end of the step; its KV is computed."""
    if j < step.older and s != step.partial:
        r[s].computed += 1
        r[s].target = r[s].computed
        return True
    chunk = r[s].target - r[s].computed
    if j < step.older:
        chunk = step.chunk
    elif j == q.alive - 1:
        chunk = step.last_chunk
    r[s].computed += chunk
    return bool(r[s].computed == r[s].target and chunk > 0)


@compiled
def _end(q: Any, step: Any, r: Any, running: Any) -> None:
    """Effects of the step, which ends now: tokens, and requests that leave; in a closed loop the next one of each comes."""
    kept = 0
    for j in range(q.alive):
        s = running[j]
        if _has_token(q, step, r, s, j):
            r[s].made += 1
            if r[s].first < 0:
                r[s].first = q.now
        if r[s].made >= r[s].output:
            r[s].last = q.now
            q.free += r[s].held + q.extra
            r[s].held = 0
            q.finished += 1
            if q.in_flight > 0 and q.finished + q.in_flight <= len(r):
                r[q.finished + q.in_flight - 1].arrival = q.now + q.gap
        else:
            running[kept] = s
            kept += 1
    q.alive = kept


@compiled
def _note(table: Any, count: int, step: Any, weights: Any, seconds: float, end: float) -> Any:
    """`table`, or one twice as long if it was full, with the step as its row `count`."""
    if count == len(table):
        grown = np.zeros((2 * count, table.shape[1]))
        grown[:count] = table
        table = grown
    row = table[count]
    row[0], row[1], row[2], row[3] = step.tokens, step.sequences, step.decodes, step.context
    row[4], row[5], row[6], row[7] = step.pairs, step.prefill, weights[0], weights[1]
    row[8], row[9] = seconds, end
    return table


@compiled
def run_steps(q: Any, step: Any, r: Any, running: Any, back: Any, base_s: Any, context_s: Any, cost_s: Any) -> Any:
    """A row for each step until all requests have finished: the columns of `Schedule.steps`, and its end; none if nothing can progress.

    `cost_s`: seconds per sequence, pair and token of prefill context.
    """
    table, count = np.zeros((SIZE, 10)), 0
    while q.finished < len(r):
        while q.seen < len(r) and r[q.seen].arrival <= q.now:
            q.seen += 1
        if q.alive == 0 and q.backs == 0 and q.head >= q.seen:
            q.now = r[q.seen].arrival
            continue
        if q.ahead == 0 or (q.alive == 0 and q.backs == 0 and q.head >= q.known):
            q.known = q.seen
        _begin(q, step)
        before = q.preemptions
        _decode(q, step, r, running, back)
        if _go_on(q, step, r, running) and q.preemptions == before:
            _admit(q, step, r, running, back)
        q.known = q.seen
        if step.tokens == 0:
            return table[:0]
        seconds = base_s[step.tokens] + cost_s[0] * step.sequences + context_s[step.decodes] * step.context
        seconds += cost_s[1] * step.pairs + cost_s[2] * step.prefill
        weights = _weights(q, r, running, back, seconds)
        q.now += seconds
        table = _note(table, count, step, weights, seconds, q.now)
        count += 1
        _end(q, step, r, running)
    return table[:count]
