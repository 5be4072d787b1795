"""The compiled twin of `sim.relay.server`: all calls of one endpoint whose requests meet only each other, without an event for each.

Same gates, same draws in the same order, same ties: SimPy takes what is due first, at one time by priority (an arrival's is its index
among all requests, a relay's 1), then what was scheduled first. A call under way holds a slot, and stands in a heap by (when, sequence).
`work` returns when a stock of draws, the slots or the known outages are used up, with nothing half done; the caller refills and
calls again. tests/relay/test_call_kernel.py compares both.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from sim.engine.jit import compiled
from sim.engine.pool import Status

NEVER = 2**62
DONE, DRAWS, ROOM, OUTAGE = range(4)  # why `work` returned
ATTEMPT, WHOLE, CUT, LATE, GONE, SPENT, ENDED = range(7)  # what happens to a call next; LATE while it streams, GONE while it waits
GOES_ON = -1  # no failure that the client would have to learn of
FINISHED, REJECTED, FAILED, TIMED_OUT = (int(s) for s in (Status.FINISHED, Status.REJECTED, Status.FAILED, Status.TIMED_OUT))

COUNTS = ("attempts", "throttled", "errors", "unreachable", "cut", "billed_input", "billed_output", "lost_input", "lost_output")
LIMITS = ("rpm_unit", "rpm_burst", "rpm_full", "tpm_unit", "tpm_burst", "tpm_full")  # unit 0: no limit
RULES = ("deadline", "network", "refused", "patience", "token_ps", "free_tokens", "most_ps", "max_context", "begin", "outage_end", "stop")
PLACES = ("arrival", "sequence", "announced", "heap", "free", "in_flight", "latency", "error", "wait", "torn")
STATE = np.dtype(
    [(name, np.int64) for name in (*COUNTS, *LIMITS, *RULES, *PLACES)]
    + [(name, np.float64) for name in ("error_share", "torn_share", "budget_share", "budget")]  # budget_share < 0: no budget
)
CALL = np.dtype(
    [(name, np.int64) for name in ("when", "sequence", "arrival", "first")]
    + [(name, np.int32) for name in ("call", "input", "output", "attempts", "next", "kind")]
)
END = np.dtype([("first", np.int64), ("finish", np.int64), ("status", np.int32), ("attempts", np.int32)])


@compiled
def _before(calls: Any, a: int, b: int) -> bool:
    """Whether slot a is due before slot b."""
    if calls[a].when != calls[b].when:
        return bool(calls[a].when < calls[b].when)
    return bool(calls[a].sequence < calls[b].sequence)


@compiled
def _push(s: Any, calls: Any, heap: Any, slot: int) -> None:
    """The slot joins the heap: its `kind` happens at its `when`."""
    calls[slot].sequence = s.sequence
    s.sequence += 1
    at = s.heap
    s.heap += 1
    while at > 0 and _before(calls, slot, heap[(at - 1) >> 1]):
        heap[at] = heap[(at - 1) >> 1]
        at = (at - 1) >> 1
    heap[at] = slot


@compiled
def _pop(s: Any, calls: Any, heap: Any) -> int:
    """The slot that is due first; it leaves the heap."""
    top = heap[0]
    s.heap -= 1
    last, at = heap[s.heap], 0
    while 2 * at + 1 < s.heap:
        child = 2 * at + 1
        if child + 1 < s.heap and _before(calls, heap[child + 1], heap[child]):
            child += 1
        if not _before(calls, heap[child], last):
            break
        heap[at] = heap[child]
        at = child
    heap[at] = last
    return int(top)


@compiled
def _end(s: Any, calls: Any, ends: Any, slot: int, first: int, finish: int, status: int) -> None:
    """The call has ended; its slot is free."""
    k = calls[slot].call
    ends[k].first, ends[k].finish, ends[k].status, ends[k].attempts = first, finish, status, calls[slot].attempts
    calls[slot].kind, calls[slot].next = ENDED, s.free
    s.free = slot


@compiled
def _admitted(s: Any, now: int, tokens: int) -> bool:
    """`RelayServer._admitted`: both limits are charged, or neither."""
    debt = s.rpm_full - now
    if s.rpm_unit > 0 and debt > 0 and debt + s.rpm_unit > s.rpm_burst:
        return False
    if s.tpm_unit > 0:
        debt = s.tpm_full - now
        if debt > 0 and debt + tokens * s.tpm_unit > s.tpm_burst:
            return False
        s.tpm_full = max(s.tpm_full, now) + tokens * s.tpm_unit
    if s.rpm_unit > 0:
        s.rpm_full = max(s.rpm_full, now) + s.rpm_unit
    return True


@compiled
def _retry(s: Any, calls: Any, waits: Any, ceilings: Any, slot: int, now: int, told: int) -> None:
    """`RelayServer._retry`."""
    deadline = max(calls[slot].arrival + s.deadline, now)
    spent = calls[slot].attempts >= len(ceilings)
    if not spent and s.budget_share >= 0.0:
        if s.budget < 1.0 - 1e-9:
            spent = True
        else:
            s.budget -= 1.0
    following = told
    if not spent:
        following += int(waits[s.wait] * ceilings[calls[slot].attempts - 1] * 1e12)
        s.wait += 1
    if following > deadline:
        calls[slot].when, calls[slot].kind = deadline, GONE
    else:
        calls[slot].when, calls[slot].kind = following, SPENT if spent else ATTEMPT


@compiled
def _breaks_off(s: Any, torn: Any, now: int, first: int, finish: int) -> int:
    """`RelayServer._breaks_off`."""
    broken = min(s.begin, finish + 1)
    if s.torn_share > 0.0:
        at = torn[s.torn]
        s.torn += 1
        if at < s.torn_share:
            broken = min(broken, first + np.int64(at / s.torn_share * (finish - first)))
    if s.patience >= 0 and first > now + s.patience:
        broken = min(broken, now + s.patience)
    return int(broken)


@compiled
def _stream(s: Any, calls: Any, torn: Any, slot: int, now: int, first: int, token_ps: int) -> None:
    """`RelayServer._stream` up to its event."""
    c = calls[slot]
    finish = first + min(c.output - 1, 1 + s.most_ps // max(token_ps, 1)) * token_ps
    deadline = max(c.arrival + s.deadline, now)
    broken = _breaks_off(s, torn, now, first, finish)
    end = min(finish, deadline, broken)
    whole = end == finish and broken > finish
    output = c.output
    if not whole:
        output = 0 if first > end else min(1 + (end - first) // max(token_ps, 1), c.output)
    s.billed_input += c.input
    s.billed_output += output
    if not whole:
        s.lost_input += c.input
        s.lost_output += output
    s.in_flight += 1
    c.first = first if output > 0 or whole else -1
    c.when, c.kind = end, WHOLE if whole else LATE if end == deadline else CUT


@compiled
def _attempt(s: Any, calls: Any, latency: Any, errors: Any, torn: Any, load: Any, slot: int, now: int) -> int:
    """`RelayServer._attempt`, while no outage ends before `now`: when the client learns of a failure, or GOES_ON."""
    c = calls[slot]
    s.attempts += 1
    c.attempts += 1
    if now >= s.begin:
        s.unreachable += 1
        return int(now + s.refused)
    if not _admitted(s, now, c.input + c.output):
        s.throttled += 1
        return int(now + s.network)
    ttft, token_ps = latency[s.latency, 0], latency[s.latency, 1]
    s.latency += 1
    if load.shape[1] > 0:
        at = min(s.in_flight + 1, load.shape[1] - 1)
        ttft = np.int64(np.rint(min(ttft * load[0, at], float(s.most_ps))))
        token_ps = np.int64(np.rint(min(token_ps * load[1, at], float(s.most_ps))))
    prompt = min(max(c.input - s.free_tokens, 0), 1 + s.most_ps // max(s.token_ps, 1)) * s.token_ps
    first = now + s.network + ttft + prompt
    if s.error_share > 0.0:
        s.error += 1
        if errors[s.error - 1] < s.error_share:
            s.errors += 1
            return int(first)
    _stream(s, calls, torn, slot, now, first, token_ps)
    return GOES_ON


@compiled
def _settle(s: Any, calls: Any, ends: Any, slot: int, now: int) -> int:
    """What happens to the call in the slot now, other than an attempt; answers like `_attempt`."""
    kind = calls[slot].kind
    if kind in (SPENT, GONE):
        _end(s, calls, ends, slot, -1, now, FAILED if kind == SPENT else TIMED_OUT)
        return GOES_ON
    s.in_flight -= 1
    if kind == CUT:
        s.cut += 1
        return int(now)
    _end(s, calls, ends, slot, calls[slot].first, now, FINISHED if kind == WHOLE else TIMED_OUT)
    return GOES_ON


@compiled
def _enter(s: Any, calls: Any, k: int, now: int, size_in: int, size_out: int) -> int:
    """The slot of the call that comes now."""
    slot = s.free
    s.free = calls[slot].next
    calls[slot].call, calls[slot].arrival, calls[slot].input, calls[slot].output, calls[slot].attempts = k, now, size_in, size_out, 0
    if s.budget_share >= 0.0:
        s.budget += s.budget_share
    return int(slot)


@compiled
def _arrival_is_next(s: Any, calls: Any, heap: Any, when: int, index: int) -> bool:
    """Whether the next arrival, of that index among all requests, comes before what is due first."""
    top = calls[heap[0]]
    if when != top.when:
        return bool(when < top.when)
    return bool(index < 1 or (index == 1 and s.announced < top.sequence))


@compiled
def work(
    state: Any, calls: Any, heap: Any, ends: Any, chosen: Any, arrival_ps: Any, inputs: Any, outputs: Any,
    latency: Any, errors: Any, waits: Any, torn: Any, ceilings: Any, load: Any,
) -> int:  # fmt: skip
    """Works off the rows `chosen` until `stop`; DONE, or what it lacks to go on. `ends` [len(chosen)] of those that have ended."""
    s = state[0]
    while True:
        arrives = s.arrival < len(chosen)
        i = chosen[s.arrival] if arrives else 0
        if arrives and s.heap > 0:
            arrives = _arrival_is_next(s, calls, heap, arrival_ps[i], i)
        elif not arrives and s.heap == 0:
            return DONE
        now = arrival_ps[i] if arrives else calls[heap[0]].when
        if now > s.stop:
            return DONE
        fits = arrives and np.int64(inputs[i]) + np.int64(outputs[i]) <= s.max_context
        if arrives and not fits:
            ends[s.arrival].finish, ends[s.arrival].status = now, REJECTED
            s.arrival += 1
            s.announced = s.sequence
            continue
        if s.latency == len(latency) or s.error == len(errors) or s.wait == len(waits) or s.torn == len(torn):
            return DRAWS
        if arrives and s.free < 0:
            return ROOM
        attempts = arrives or calls[heap[0]].kind == ATTEMPT
        if attempts and now >= s.outage_end:
            return OUTAGE
        slot = _enter(s, calls, s.arrival, now, inputs[i], outputs[i]) if arrives else _pop(s, calls, heap)
        told = _attempt(s, calls, latency, errors, torn, load, slot, now) if attempts else _settle(s, calls, ends, slot, now)
        if told != GOES_ON:
            _retry(s, calls, waits, ceilings, slot, now, told)
        if calls[slot].kind != ENDED:
            _push(s, calls, heap, slot)
        if arrives:
            s.arrival += 1
            s.announced = s.sequence
