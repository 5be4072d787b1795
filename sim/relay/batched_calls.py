"""Requests of a relay that nothing delays, computed at once: no limit, no error and no observer, so no event is needed."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from sim.engine import layout
from sim.engine.pool import Status
from sim.relay.server import RelayServer
from sim.requests import Requests

Int64s = npt.NDArray[np.int64]


def submit_all(server: RelayServer, chosen: Int64s, requests: Requests, end_ps: int | None) -> Int64s:
    """Ends [5, n] of the requests `chosen` that end by `end_ps`: request, first_ps, finish_ps, status, attempts.

    What `server.submit` would do at each arrival, to the last byte: the same draws in the same order, the same meter.
    Needs `server.independent`.
    """
    arrival_ps = requests.arrival_ps
    inputs, outputs = (column[chosen].astype(np.int64) for column in (requests.input_tokens, requests.output_tokens))
    fits = inputs + outputs <= server.endpoint.relay.max_context
    ends = np.full((5, len(chosen)), -1, np.int64)
    ends[0] = chosen
    ends[2] = arrival_ps[chosen]
    ends[3], ends[4] = Status.REJECTED, 0
    ends[1:, fits] = server.stream_all(arrival_ps[chosen[fits]], inputs[fits], outputs[fits])
    server.count(len(chosen), {"attempts": int(np.count_nonzero(fits))})
    return ends[:, ends[2] <= (layout.NEVER if end_ps is None else end_ps)]
