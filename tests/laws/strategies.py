"""Pools and traffic for property tests: everything that a small replica can meet."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st

from sim.engine.deployment import EngineLimits
from sim.engine.pool import Pool
from sim.requests import Requests
from tests.samples import make_cost, make_pool, make_requests

# The same examples on every run: a red test in CI is red at the desk too. The fuzz against the oracle looks further.
QUICK = settings(max_examples=80, deadline=None, derandomize=True, database=None)


@st.composite
def pools(draw: st.DrawFn, most_replicas: int = 4) -> Pool:
    seqs = draw(st.integers(1, 8))
    limits = EngineLimits(seqs, seqs + draw(st.integers(0, 64)), watermark=draw(st.sampled_from([0.0, 0.0, 0.2])))
    base_ps, token_ps, context_ps, sequence_ps, pair_ps, read_ps = (draw(st.integers(0, 1000)) for _ in range(6))
    cost = make_cost(1 + base_ps, token_ps, context_ps, sequence_ps, pair_ps, read_ps, draw(st.integers(0, 50)), limits)
    replicas = draw(st.integers(1, most_replicas))
    return make_pool(cost, draw(st.integers(2, 40)), limits, replicas, network_ps=draw(st.integers(0, 100)))


@st.composite
def traffic(draw: st.DrawFn, most: int = 40) -> Requests:
    """Sorted arrivals, many of them tied; lengths around the size of a block and far above."""
    row = st.tuples(st.integers(0, 50), st.integers(1, 120), st.integers(1, 60))
    scale = draw(st.sampled_from([0, 1, 1000, 50_000]))
    rows = sorted(draw(st.lists(row, min_size=1, max_size=most)))
    return make_requests([(at * scale, prompt, output) for at, prompt, output in rows])


@st.composite
def conversations(draw: st.DrawFn, most: int = 40) -> Requests:
    """The same with sessions and system prompts; what a request says of its prefix is consistent, its history anything."""
    requests = draw(traffic(most))
    size = len(requests)
    session = draw(st.lists(st.integers(-1, 4), min_size=size, max_size=size))
    shares = draw(st.lists(st.tuples(st.floats(0, 1), st.sampled_from([0.0, 0.3, 1.0])), min_size=size, max_size=size))
    prefix = [int(tokens * share) for tokens, (share, _) in zip(requests.input_tokens.tolist(), shares, strict=True)]
    system = [int(tokens * share) // 16 * 16 for tokens, (_, share) in zip(prefix, shares, strict=True)]
    return replace(
        requests, session_id=np.array(session, np.int64), prefix_tokens=np.array(prefix, np.int32), system_tokens=np.array(system, np.int32)
    )
