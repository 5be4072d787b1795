"""One table of routers: the schema, the command line, the Python interface and the kernel read it."""

from __future__ import annotations

from typing import get_args

import numpy as np
import pytest

from sim.engine import routers
from sim.engine.pool import Status
from sim.engine.routers import ROUTERS
from sim.fleet.fleet import Fleet
from sim.fleet.simulate import simulate
from sim.scenario.schema.scenario import PolicySpec
from tests.samples import make_pool, random_requests


def test_every_reader_knows_the_routers_of_the_table() -> None:
    assert get_args(routers.RouterName) == tuple(ROUTERS)
    for name in ROUTERS:
        assert PolicySpec.model_validate({"router": name}).router == name
    assert {routers.DEFAULT, routers.WITH_CACHE} <= set(ROUTERS)
    assert len({router.code for router in ROUTERS.values()}) == len(ROUTERS)


@pytest.mark.parametrize("name", ROUTERS)
def test_every_router_serves_every_request_once(name: str) -> None:
    fleet = Fleet((make_pool(replicas=3),), np.ones((1, 1)), name)
    result = simulate(fleet, random_requests(1, 200, 2000.0), seed=1)
    assert (result.log.status == Status.FINISHED).sum() == 200
