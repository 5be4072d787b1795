"""Which replica of a pool takes the next request, by the pool's router: one function each, and one branch in `choose`."""

from __future__ import annotations

from typing import Any

from sim.engine.jit import compiled
from sim.engine.layout import NEXT, OUTSTANDING, ROUTER, SLACK
from sim.engine.routers import ROUND_ROBIN, SESSION_AFFINITY


@compiled
def choose(front: Any, table: Any, links: Any, i: int, limit: int, best: int, least: int) -> int:
    """The replica for row i. `best` has the least open requests, `least` of them; of equals it is the first."""
    router = table[ROUTER]
    if router == ROUND_ROBIN:
        return int(table[NEXT])
    if router == SESSION_AFFINITY:
        return _stay(front, table, links, i, limit, best, least)
    return best


@compiled
def remember(front: Any, table: Any, r: int) -> None:
    """Replica r was chosen: whose turn is next."""
    if table[ROUTER] == ROUND_ROBIN:
        table[NEXT] = 0 if r + 1 == front.shape[1] else r + 1


@compiled
def settle_session(table: Any, links: Any, i: int, r: int) -> None:
    """Row i is accepted by replica r, where its session is at home from now on."""
    if links is None:
        return
    if table[ROUTER] == SESSION_AFFINITY and links[i].session >= 0:
        links[links[i].session].home = r


@compiled
def _stay(front: Any, table: Any, links: Any, i: int, limit: int, best: int, least: int) -> int:
    """The replica of the last turn of row i's session, unless it is overloaded or there is none: then `best`."""
    if links is None:
        return best
    session = links[i].session
    if session < 0 or links[session].home < 0:
        return best
    home = links[session].home
    load = front[OUTSTANDING, home]
    overloaded = load >= limit or (load - least > table[SLACK] and 2 * load > 3 * least)
    return best if overloaded else int(home)
