"""Where changes of a fleet come from: the timetable of a plan, or rates of failure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim.engine.deployment import PS
from sim.fleet.life.life_terms import Change
from sim.streams import standard_exponentials, stream

HOUR_PS = 3600 * PS


def timetable(
    pool: int, hosts: Sequence[int], begins_ps: Sequence[int], replicas_per_host: int, boot_ps: int, lead_ps: int = 0, linger_ps: int = 0
) -> tuple[int, tuple[Change, ...]]:
    """Replicas that serve at 0, and the changes that give `pool` `hosts[h]` hosts from `begins_ps[h]` to the next hour.

    Hosts that are to be added are ordered one boot and `lead_ps` before their hour. Those that are over drain from the full hour on; with
    `linger_ps` one after the other, evenly spread over that time. A host that is needed again before it has gone stays.

    >>> start, changes = timetable(0, [2, 3, 3, 1], [0, 3600 * PS, 7200 * PS, 10800 * PS], 1, boot_ps=300 * PS)
    >>> start, [(change.at_ps // PS, change.replicas) for change in changes]
    (2, [(3300, 3), (10800, 1)])
    """
    steps: dict[int, int] = {}
    for place in range(1, max(hosts, default=0) + 1):
        for from_ps, to_ps in _service_of(place, hosts, begins_ps, boot_ps + lead_ps, linger_ps):
            steps[from_ps] = steps.get(from_ps, 0) + 1
            if to_ps is not None:
                steps[to_ps] = steps.get(to_ps, 0) - 1
    count, start, changes = 0, 0, []
    for at_ps in sorted(steps):
        count += steps[at_ps]
        if at_ps == 0:
            start = count
        elif steps[at_ps]:
            changes.append(Change(at_ps, pool, "scale", count * replicas_per_host))
    return start * replicas_per_host, tuple(changes)


def _service_of(place: int, hosts: Sequence[int], begins_ps: Sequence[int], early_ps: int, linger_ps: int) -> list[tuple[int, int | None]]:
    """From when to when the host at `place` (1: the last to go) is ordered or serves; None: until the end."""
    spans: list[tuple[int, int | None]] = []
    for h, count in enumerate(hosts):
        if count < place:
            continue
        from_ps = 0 if h == 0 else max(0, begins_ps[h] - early_ps)
        to_ps = None
        if h + 1 < len(hosts):
            after = hosts[h + 1]
            to_ps = begins_ps[h + 1] + (0 if after >= place else linger_ps * (count - place + 1) // (count - after))
        if spans and (last := spans[-1][1]) is not None and last >= from_ps:
            from_ps = spans.pop()[0]
        spans.append((from_ps, to_ps))
    return spans


def drawn_losses(
    pool: int, hosts: int, replicas_per_host: int, mean_hours: float, span_ps: int, seed: int, kind: str = "fail"
) -> tuple[Change, ...]:
    """Losses of the hosts of `pool` within `span_ps`: each host's come at exponential times of mean `mean_hours`, sorted.

    The stream is the host's own, so that a host more, or another rate of another pool, moves nothing else. A loss that meets
    a host which is down has no effect: the mean time between losses of a host that is repaired is `mean_hours` plus the repair.
    """
    changes = []
    for host in range(hosts):
        rng, at_ps = stream(seed, "fleet life", kind, pool, host), 0.0
        while (at_ps := at_ps + mean_hours * float(standard_exponentials(rng, 1)[0]) * HOUR_PS) < span_ps:
            changes.append(Change(int(at_ps), pool, kind, replicas_per_host, host * replicas_per_host))
    return tuple(changes[k] for k in np.argsort([change.at_ps for change in changes], kind="stable"))
