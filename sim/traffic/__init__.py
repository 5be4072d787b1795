"""Traffic: demand by hour, and requests as numpy columns. Everything that other rooms call is named here."""

from sim.requests import Demand, Requests
from sim.traffic.demand import demand
from sim.traffic.hour_slices import at_rates, hour, slice_length_s, stretch

__all__ = ["Demand", "Requests", "at_rates", "demand", "hour", "slice_length_s", "stretch"]
