"""Laws that every run obeys, whatever its input; each raises `SimulationError` with both sides."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sim.engine import kernel, layout
from sim.engine.pool import Status
from sim.engine.state import PoolState
from sim.errors import SimulationError
from sim.request_log import RequestLog


def check_log(log: RequestLog, all_ended: bool) -> None:
    """Every request ended in exactly one way, and in the order arrival <= first token <= last token."""
    named = {status.name: int(np.count_nonzero(log.status == status)) for status in Status}
    if sum(named.values()) != len(log) or (all_ended and named[Status.IN_FLIGHT.name]):
        raise SimulationError(f"conservation: {len(log)} arrivals, all work done, and the log says {named}")
    finished = log.status == Status.FINISHED
    wrong = finished & ~((log.arrival_ps <= log.first_ps) & (log.first_ps <= log.finish_ps))
    if wrong.any():
        i = int(np.flatnonzero(wrong)[0])
        times = f"arrives at {log.arrival_ps[i]} ps, first token {log.first_ps[i]}, last token {log.finish_ps[i]}"
        raise SimulationError(f"clock: request {i} {times}")


def check_pool(state: PoolState, log: RequestLog, served: npt.NDArray[np.bool_]) -> None:
    """Requests, blocks and tokens of a stopped pool are conserved, and no replica with work is idle; `served`: its rows of the log."""
    open_rows = int(np.count_nonzero(served & (log.status == Status.IN_FLIGHT)))
    done = served & (log.status == Status.FINISHED)
    tokens = sum(int(column.sum(dtype=np.int64, where=done)) for column in (log.input_tokens, log.output_tokens))
    _check_work(state, open_rows)
    _check_blocks(state)
    _check_tokens(state, needed=tokens - int(np.count_nonzero(done)))  # the last token of an answer is not computed on


def _check_work(state: PoolState, open_rows: int) -> None:
    """No replica with work is idle, and what the pool holds are the requests that are open in the log."""
    q, name = state.replicas, state.pool.name
    held = q["running"] + q["waiting"]
    stuck = (state.front[layout.WAKE] == layout.NEVER) & (held > 0)
    if stuck.any():
        raise SimulationError(f"pool {name}: replica {int(np.flatnonzero(stuck)[0])} has work and is idle")
    outstanding = int(state.front[layout.OUTSTANDING].sum())
    if (held != state.front[layout.OUTSTANDING]).any() or open_rows != outstanding:
        raise SimulationError(f"pool {name}: {held.sum()} running and waiting, {outstanding} outstanding, {open_rows} open in the log")


def _check_blocks(state: PoolState) -> None:
    """Blocks in use + cached + free = all, each kind counted one by one; `available` are the cached and the free ones."""
    whole, name = state.pool.kv_blocks, state.pool.name
    for r, (available, said) in enumerate(zip(state.replicas["free"].tolist(), state.replicas["cached"].tolist(), strict=True)):
        used, cached = kernel.held_blocks(state.replicas, state.table, state.rows, state.links, r)
        free = available - cached
        if free < 0 or cached != said or used + cached + free != whole:
            raise SimulationError(f"pool {name}: replica {r}: {used} used + {cached} cached + {free} free != {whole} blocks")


def _check_tokens(state: PoolState, needed: int) -> None:
    """Tokens computed or found cached = those that finished requests needed + lost by preemption + held by running requests."""
    q = state.replicas
    lost = int(q["lost"].sum())
    held = int(q["context"].sum() + q["computed"][q["partial"] >= 0].sum() + q["completing"].sum())
    computed = int(q["computed_tokens"].sum())
    hits = int(q["hits"].sum())
    if computed + hits != needed + lost + held:
        sides = f"{computed} tokens computed + {hits} cached != {needed} needed + {lost} lost + {held} held"
        raise SimulationError(f"pool {state.pool.name}: {sides}")
