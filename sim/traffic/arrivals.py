"""When requests arrive: a Poisson process whose rate is constant in a minute and noisy between minutes."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import numpy.typing as npt

from sim.errors import InputError
from sim.exact import exp, log
from sim.requests import Requests
from sim.streams import standard_exponentials, standard_normals

PS_PER_S = 1e12
MINUTE_S = 60.0
MAX_ARRIVALS = 1e8  # about 13 GB of columns

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int32]


@dataclass(frozen=True)
class Part:
    """Requests of one class before the merge; `arrival_s` ascends; no `session_id`: they stand alone; no `system_tokens`: 0."""

    class_id: int
    arrival_s: Floats
    input_tokens: Ints
    output_tokens: Ints
    prefix_tokens: Ints
    session_id: npt.NDArray[np.int64] | None = None
    system_tokens: Ints | None = None


def minute_edges(*spans_s: float) -> Floats:
    """Edges of the minutes of consecutive spans, in seconds; a span may end with a short minute.

    >>> minute_edges(90.0, 60.0).tolist()
    [0.0, 60.0, 90.0, 150.0]
    """
    edges = [np.zeros(1)]
    start = 0.0
    for span in spans_s:
        if span > 0:
            edges.append(np.append(np.arange(start + MINUTE_S, start + span - 1e-9, MINUTE_S), start + span))
            start += span
    return np.concatenate(edges)


def minute_noise(rng: np.random.Generator, minutes: int, cv: float) -> Floats:
    """Factors on the rate of each minute: independent, log-normal, mean 1, coefficient of variation `cv`."""
    sigma = math.sqrt(log(1.0 + cv * cv))
    return np.asarray(exp(sigma * standard_normals(rng, minutes) - sigma * sigma / 2))


def check_size(requests: float) -> None:
    """InputError where so many requests do not fit into the memory of a computer."""
    if requests > MAX_ARRIVALS:
        raise InputError(
            f"traffic: {requests:.3g} requests are too many for one simulation (at most {MAX_ARRIVALS:,.0f}); write fewer users or a "
            "smaller rate_rps or scale, such as a tenth of the traffic on a tenth of the fleet, the stock and the relays' limits"
        )


def poisson_times(rng: np.random.Generator, edges_s: Floats, rates_rps: Floats) -> Floats:
    """Ascending times of a Poisson process with rate `rates_rps[i]` from `edges_s[i]` to `edges_s[i + 1]`.

    Time change: a unit-rate process is stretched by the inverse of the cumulative rate. The unit-rate process
    depends on `rng` only, so the same seed at another rate gives the same requests, closer together (common
    random numbers). Raises InputError where `check_size` does.
    """
    cumulative = np.concatenate([np.zeros(1), np.cumsum(np.diff(edges_s) * rates_rps)])
    total = float(cumulative[-1])
    if total <= 0.0:
        return np.empty(0)
    check_size(total)
    unit = np.cumsum(standard_exponentials(rng, int(total + 6.0 * np.sqrt(total) + 20.0)))
    while unit[-1] < total:
        more = np.cumsum(standard_exponentials(rng, 1000)) + unit[-1]
        unit = np.concatenate([unit, more])
    unit = unit[: np.searchsorted(unit, total, side="left")]
    return np.interp(unit, cumulative, edges_s)


def session_count(parts: Sequence[Part]) -> int:
    """The first session number that no part uses."""
    return max((int(part.session_id.max(initial=-1)) for part in parts if part.session_id is not None), default=-1) + 1


def merge(parts: Sequence[Part]) -> Requests:
    """All parts as one table sorted by arrival; at equal times the part named first comes first."""
    if not parts:
        empty = np.empty(0, np.int32)
        return Requests(np.empty(0, np.int64), np.empty(0, np.int16), empty, empty, np.empty(0, np.int64), empty)
    columns = [
        Requests(
            arrival_ps=np.rint(p.arrival_s * PS_PER_S).astype(np.int64),
            class_id=np.full(len(p.arrival_s), p.class_id, np.int16),
            input_tokens=p.input_tokens,
            output_tokens=p.output_tokens,
            session_id=np.full(len(p.arrival_s), -1, np.int64) if p.session_id is None else p.session_id,
            prefix_tokens=p.prefix_tokens,
            system_tokens=np.zeros(len(p.arrival_s), np.int32) if p.system_tokens is None else p.system_tokens,
        )
        for p in parts
    ]
    if len(columns) == 1:
        return columns[0]
    joined = {f.name: np.concatenate([getattr(c, f.name) for c in columns]) for f in fields(Requests)}
    order = np.argsort(joined["arrival_ps"], kind="stable")  # merges sorted runs: linear in practice
    return Requests(**{name: column[order] for name, column in joined.items()})
