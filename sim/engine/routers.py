"""The routers that share the requests of a pool among its replicas: one row each. What each does is in `sim.engine.choose_replica`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal


@dataclass(frozen=True)
class Router:
    """A row of the table.

    code             by which the kernel knows it
    keeps_sessions   a turn goes where the last one of its session went: all requests of a session go to one pool, and are remembered
    takes_turns      the next replica follows from the last one alone
    """

    code: int
    keeps_sessions: bool = False
    takes_turns: bool = False


ROUTERS = {
    "least_outstanding": Router(0),
    "round_robin": Router(1, takes_turns=True),
    "session_affinity": Router(2, keeps_sessions=True),
}
DEFAULT, WITH_CACHE = "least_outstanding", "session_affinity"  # without a name: where nothing is cached, where prefixes are
ROUND_ROBIN, SESSION_AFFINITY = ROUTERS["round_robin"].code, ROUTERS["session_affinity"].code

if TYPE_CHECKING:
    RouterName = str
else:
    RouterName = Literal[tuple(ROUTERS)]
