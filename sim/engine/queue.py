"""The queue of one replica: a linked list through the rows, by priority, and inside a priority as it came.

With several priorities (levels 0, 1, ...; 0 goes first) the work row `w` ends with the last row of each level, -1 where there is none.
Without `links` there is one priority. `end_step` of a row in the queue is the count of steps from which it may be admitted: an engine
that decides ahead learns of an arrival one step later.
"""

from __future__ import annotations

from typing import Any

from sim.engine.jit import compiled
from sim.engine.layout import LEVELS, NO_ROW


@compiled
def _link(q: Any, rows: Any, before: int, i: int) -> None:
    """Row i follows `before` in the queue; it is the head where that is -1."""
    if before >= 0:
        rows[i].next = rows[before].next
        rows[before].next = i
    else:
        rows[i].next = q.wait_head
        q.wait_head = i
    if rows[i].next < 0:
        q.wait_tail = i
    _count(q)


@compiled
def _count(q: Any) -> None:
    q.waiting += 1
    q.waiting_peak = max(q.waiting_peak, q.waiting)


@compiled
def _last_below(w: Any, table: Any, level: int) -> int:
    """The last row in the queue of a level below `level`, -1 if there is none."""
    first = len(w) - table[LEVELS]
    for at in range(first + level - 1, first - 1, -1):
        if w[at] >= 0:
            return int(w[at])
    return -1


@compiled
def enqueue(q: Any, w: Any, table: Any, rows: Any, links: Any, i: int) -> None:
    """Row i joins the queue behind all of its priority."""
    if links is not None:
        _link(q, rows, _last_below(w, table, rows[i].level + 1), i)
        w[len(w) - table[LEVELS] + rows[i].level] = i
        return
    rows[i].next = -1
    if q.wait_tail >= 0:
        rows[q.wait_tail].next = i
    else:
        q.wait_head = i
    q.wait_tail = i
    _count(q)


@compiled
def enqueue_front(q: Any, w: Any, table: Any, rows: Any, links: Any, i: int) -> None:
    """Row i, preempted, joins the queue before all of its priority; it may be admitted at once."""
    rows[i].end_step = 0
    if links is None:
        _link(q, rows, -1, i)
        return
    level = rows[i].level
    _link(q, rows, _last_below(w, table, level), i)
    at = len(w) - table[LEVELS] + level
    if w[at] < 0:
        w[at] = i


@compiled
def before_next(q: Any, w: Any, table: Any, rows: Any, links: Any, count: int) -> int:
    """The row in the queue before the first one that may be admitted at `count`; NO_ROW if there is none, -1 if that one is the head."""
    before, i = -1, q.wait_head
    while i >= 0 and rows[i].end_step > count:
        if links is None:
            return NO_ROW
        before = w[len(w) - table[LEVELS] + rows[i].level]  # those behind it in its priority came later still
        i = rows[before].next
    return NO_ROW if i < 0 else int(before)


@compiled
def take_after(q: Any, w: Any, table: Any, rows: Any, links: Any, before: int) -> int:
    """The row behind `before` (-1: the head) leaves the queue."""
    i = q.wait_head if before < 0 else rows[before].next
    if before < 0:
        q.wait_head = rows[i].next
    else:
        rows[before].next = rows[i].next
    if rows[i].next < 0:
        q.wait_tail = before
    q.waiting -= 1
    if links is not None:
        at = len(w) - table[LEVELS] + rows[i].level
        if w[at] == i:
            w[at] = -1
    return int(i)
