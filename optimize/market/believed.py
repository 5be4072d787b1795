"""A scenario as it is believed with a given chance: every step as long, every relay as slow as it is below with that probability."""

from __future__ import annotations

from dataclasses import replace

from sim.calibration.doubt import SCORES, Spread, doubt_of
from sim.catalog.error_law import ErrorLaw
from sim.catalog.facts import CalibrationRow, Catalog, Relay
from sim.engine.slower_steps import longer_steps
from sim.exact import exp
from sim.relay.slower_relay import slower
from sim.scenario.scenario import Scenario

MARGIN = 0.5  # of `policy.safety` that a step may be longer before the proof's margin of capacity is used up


def believed(scenario: Scenario, probability: float) -> Scenario:
    """`scenario` with steps as long and relays as slow as they are below with this probability; itself without a law of errors.

    The proof plans at (1 - safety) of capacity: that much longer steps are kept anyway, and are not believed twice.
    """
    law = scenario.catalog.error_law
    if law is None:
        return scenario
    credit = MARGIN * scenario.policy.safety

    def row_at(row: CalibrationRow) -> CalibrationRow:
        step, first_s = doubt_of(law, row).slow(probability, scenario.traffic_error)
        return longer_steps(row, float(exp(step - credit)), first_s)

    catalog: Catalog = replace(scenario.catalog, calibration=tuple(row_at(row) for row in scenario.catalog.calibration))
    return replace(scenario, catalog=catalog, relays=tuple(relay_at(law, relay, probability) for relay in scenario.relays))


def relay_doubt(law: ErrorLaw, relay: Relay) -> tuple[Spread, Spread]:
    """The laws of a relay's TTFT and time per token."""
    spread = law.relays
    first, pace = (spread.probed, spread.probed) if relay.latency is not None else (spread.ttft, spread.tpot)
    return Spread(first, SCORES), Spread(pace, SCORES)


def relay_at(law: ErrorLaw, relay: Relay, probability: float) -> Relay:
    """The relay as slow as it is below with this probability."""
    first, pace = relay_doubt(law, relay)
    return slower(relay, float(exp(first.at(probability))), float(exp(pace.at(probability))))
