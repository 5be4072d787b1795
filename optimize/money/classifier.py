"""What telling requests apart costs, and what an answer that is accepted costs."""

from __future__ import annotations

import math

from optimize.money.tokens import requests_per_month
from optimize.records import Floats
from sim.requests import Demand

CLASSIFIER = "request classifier"  # name of its line


def classified_requests(demand: Demand, usd_per_request: Floats) -> float:
    """Requests a month of the classes that a classifier looks at: those with a price [classes]."""
    return requests_per_month(demand.mean_rps[usd_per_request > 0].sum(axis=0), demand.weight_h)


def classifier_usd(demand: Demand, usd_per_request: Floats | None) -> float:
    """Monthly cost of a classifier that looks at every request of a class once, `usd_per_request` [classes].

    >>> import numpy as np
    >>> day = Demand(("all",), np.array([730.0]), np.array([[2.0], [1.0]]), 1.0, *3 * (np.ones(2),))
    >>> round(classifier_usd(day, np.array([5e-6, 0.0])), 2), classifier_usd(day, None)
    (26.28, 0.0)
    """
    if usd_per_request is None:
        return 0.0
    each = [requests_per_month(rate, demand.weight_h) for rate in demand.mean_rps]
    return float(sum(count * float(usd) for count, usd in zip(each, usd_per_request, strict=True)))


def accepted_usd(usd: float, requests: float, accepted_share: float) -> float:
    """Cost of one answer that is accepted: what all of them cost, over those that were; infinite where none was.

    >>> accepted_usd(90.0, 1000.0, 0.9), accepted_usd(1.0, 10.0, 0.0)
    (0.1, inf)
    """
    accepted = requests * accepted_share
    return usd / accepted if accepted > 0 else math.inf
