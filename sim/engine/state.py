"""The arrays that the kernel works on: one `PoolState` per pool."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from sim.engine import kernel, layout
from sim.engine.deployment import BLOCK_TOKENS
from sim.engine.links import PoolLinks
from sim.engine.pool import Pool, TargetStats
from sim.engine.routers import DEFAULT, ROUTERS
from sim.errors import SimulationError

_CLOCK = ("clock", "kind", "planned", "count")
_DECODES = ("context", "decodes", "running", "waiting", "free")
_PREFILL = ("partial", "computed", "chunk", "completing", "fresh", "tokens")
_LISTS = ("run_head", "run_tail", "wait_head", "wait_tail")
_TOTALS = ("steps", "busy_ps", "used_peak", "waiting_peak", "preemptions", "computed_tokens", "lost", "hits")
_CACHE = ("oldest", "newest", "cached")
_INTEGERS = (*_CLOCK, *_DECODES, *_PREFILL, *_LISTS, *_TOTALS, *_CACHE)
REPLICA = np.dtype([*((name, np.int64) for name in _INTEGERS), ("running_ps", np.float64), ("used_ps", np.float64)])

_LAW = {
    layout.NO_PROGRESS: "a step of a replica with work computes at least one token",
    layout.CLOCK_OVERFLOW: "simulated time stays below 106 days and 2**31 steps per replica",
}


class PoolState:
    """A pool in the kernel's form. Its clock is that of the clients' arrivals: tokenising and the network delay every request of
    the pool by the same `shift_ps`, which is added to its first and last token afterwards. `links` are needed for a prefix cache,
    for session affinity and for several priorities; `levels` is the number of priorities in `rows`."""

    def __init__(
        self,
        pool: Pool,
        rows: npt.NDArray[Any],
        router: str = DEFAULT,
        links: PoolLinks | None = None,
        affinity_slack: int = 0,
        levels: int = 1,
    ) -> None:
        limits, cost = pool.limits, pool.cost
        self.pool, self.rows = pool, rows
        self.shift_ps = cost.request_ps + pool.network_ps
        size, tokens, seqs = pool.replicas, limits.max_num_batched_tokens, limits.max_num_seqs
        self.front = np.zeros((2, size), np.int64)
        self.front[layout.WAKE] = layout.NEVER
        self.replicas = np.zeros(size, REPLICA)
        self.replicas["free"] = pool.kv_blocks
        for name in ("partial", "fresh", *_LISTS, "oldest", "newest"):
            self.replicas[name] = -1
        self.work = np.zeros((size, BLOCK_TOKENS + seqs + levels), np.int64)
        self.work[:, BLOCK_TOKENS + seqs :] = -1
        self.watermark = int(limits.watermark * pool.kv_blocks)
        self.table = np.zeros(layout.HEADER + tokens + seqs + 2, np.int64)
        self.links = None if links is None else links.records
        prompts, systems = (0, 0) if links is None else (links.prompts, links.systems)
        self.table[: layout.HEADER] = (
            pool.kv_blocks, self.watermark, seqs, tokens, cost.sequence_ps, cost.pair_ps, cost.prefill_context_ps,
            ROUTERS[router].code, 0, 0, -1, limits.prefix_caching, prompts, systems, affinity_slack, levels, pool.context_tokens,
            limits.async_scheduling, cost.sequence_blocks,
        )  # fmt: skip
        self.table[layout.HEADER :] = np.concatenate([cost.base_ps[: tokens + 1], cost.context_ps[: seqs + 1]])
        self.arrays = (self.front, self.replicas, self.work, self.table, self.rows, self.links)

    def stop(self, end_ps: int | None) -> None:
        """Run to `end_ps` of the pool's clock inclusive, or until all work is done."""
        kernel.stop(*self.arrays, layout.NEVER if end_ps is None else end_ps + 1)
        if self.table[layout.ERROR]:
            raise SimulationError(f"pool {self.pool.name}: law broken: {_LAW[int(self.table[layout.ERROR])]}")

    def stats(self, requests: int, end_ps: int) -> TargetStats:
        """Totals; `end_ps` is the length of the run on the pool's clock."""
        q, blocks = self.replicas, self.pool.kv_blocks
        if len(q) == 0:
            return TargetStats(self.pool.name, requests)
        span_ps = max(end_ps, 1) * len(q)
        return TargetStats(
            name=self.pool.name,
            requests=requests,
            steps=int(q["steps"].sum()),
            busy_share=int(q["busy_ps"].sum(dtype=object)) / span_ps,
            kv_mean_share=float(q["used_ps"].sum()) / span_ps / blocks,
            kv_peak_share=float(q["used_peak"].max()) / blocks,
            running_mean=float(q["running_ps"].sum()) / span_ps,
            waiting_peak=int(q["waiting_peak"].max()),
            preemptions=int(q["preemptions"].sum()),
            computed_tokens=int(q["computed_tokens"].sum()),
            cached_tokens=int(q["hits"].sum()),
        )
