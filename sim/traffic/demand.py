"""Demand of a scenario by class and hour slice: what the integer program and the bill are computed from."""

from __future__ import annotations

import numpy as np

from sim.requests import Demand
from sim.scenario.scenario import LogTraffic, Scenario
from sim.traffic.lengths import mean_lengths, turns_mean
from sim.traffic.replay import replay_demand
from sim.traffic.synthetic import class_rates_rps, slice_names, slice_weights_h


def demand(scenario: Scenario) -> Demand:
    """Mean rates of every class in every slice, and the mean tokens of its requests; independent of the seed.

    Slices: "weekday 00".."weekend 23" for a synthetic week, "every hour" for constant traffic, the log's own
    hours for a log. Token means are the exact means of what `sim.traffic.hour` draws (of the log's rows, for
    a log).
    """
    if isinstance(scenario.traffic, LogTraffic):
        return replay_demand(scenario)
    traffic = scenario.traffic
    shares = [request_class.share for request_class in scenario.request_classes]
    means = np.array([mean_lengths(each, turns_mean(scenario)) for each in scenario.request_classes])
    return Demand(
        slices=slice_names(traffic),
        weight_h=slice_weights_h(traffic),
        mean_rps=class_rates_rps(traffic, shares),
        peak_factor=traffic.peak_minute_factor,
        input_tokens=means[:, 0],
        output_tokens=means[:, 1],
        prefix_tokens=means[:, 2],
    )
