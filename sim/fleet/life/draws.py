"""Where changes of a fleet come from: the hours of a plan, or rates of failure."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from sim.engine.deployment import PS
from sim.fleet.life.life_terms import Change
from sim.streams import standard_exponentials, stream

HOUR_PS = 3600 * PS


def hourly_changes(pool: int, replicas: Sequence[int], boot_ps: int, from_ps: int = 0) -> tuple[Change, ...]:
    """Changes that give `pool` `replicas[h]` replicas in hour h; hour 0 begins at `from_ps`, with `PoolRules.start` of `replicas[0]`.

    What is to be added is started one boot before its hour, so that it is there at the full hour; what is over drains from there on.

    >>> [(change.at_ps // PS, change.replicas) for change in hourly_changes(0, [2, 3, 3, 1], boot_ps=300 * PS)]
    [(3300, 3), (10800, 1)]
    """
    changes = []
    for hour in range(1, len(replicas)):
        before, wanted = replicas[hour - 1], replicas[hour]
        if wanted != before:
            at_ps = from_ps + hour * HOUR_PS - (boot_ps if wanted > before else 0)
            changes.append(Change(max(at_ps, 0), pool, "scale", wanted))
    return tuple(changes)


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
