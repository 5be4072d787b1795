"""A closed loop: users who wait for their answers. Their rate follows from the fleet, so plan and rate are found in turns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace

import numpy as np

from optimize.records import Floats
from sim.engine.deployment import PS
from sim.fleet.clients import FIRST, Turns, simulate_turns
from sim.fleet.fleet import Fleet, SimulationResult
from sim.requests import Requests
from sim.scenario.scenario import ConstantTraffic, LogTraffic, Loop, Scenario
from sim.scenario.spread_traffic import Traffic
from sim.streams import standard_exponentials, stream
from sim.traffic import at_rates
from sim.traffic.synthetic import HOUR_S, slice_rates_rps

# Of one window. A closed loop has no noise between minutes, so that a part of the hour scatters more than the hour itself: judging the
# part as if it were the hour errs on the safe side. So many hold 20 misses of a p99.9.
MOST_REQUESTS = 20_000
WARMUP_CYCLES, WARMUP_LEAST_S = 10.0, 120.0
WINDOW_CYCLES = 60.0  # at least: the six blocks of a seed, whose scatter closes clear cases, then hardly depend on each other
TAIL_CYCLES, TAIL_S = 20.0, (60.0, 1800.0)
ROOM = 1.5  # requests that wait to be sent, in multiples of those that the planned rate would send
AGREES = 0.02  # planned and played rate


def loop_of(scenario: Scenario) -> Loop | None:
    """The closed loop that the scenario's traffic is; None for users who do not wait."""
    return None if isinstance(scenario.traffic, LogTraffic) else scenario.traffic.loop


def users_in(scenario: Scenario, t: int) -> int:
    """Users of slice `t`: the number given is that of the busiest hour."""
    loop = loop_of(scenario)
    assert loop is not None and not isinstance(scenario.traffic, LogTraffic)
    rates = slice_rates_rps(scenario.traffic)
    return max(1, round(loop.users * float(rates[t] / rates.max())))


def play_users(scenario: Scenario, fleet: Fleet, t: int, seed: int) -> tuple[Requests, SimulationResult, tuple[int, int]]:
    """One seed of the users of slice `t` on `fleet`, and the window whose requests count, in ps.

    Each user sends the next request after the answer to the last one and an exponential pause. The warm-up is ten cycles or more; the
    window an hour, or where an hour would have more the time of MOST_REQUESTS and of 60 cycles. The classes come in their shares.
    """
    loop = loop_of(scenario)
    assert loop is not None and not isinstance(scenario.traffic, LogTraffic)
    users, rate = users_in(scenario, t), float(slice_rates_rps(scenario.traffic)[t])
    cycle_s = users / rate
    warmup_s = max(WARMUP_LEAST_S, WARMUP_CYCLES * cycle_s)
    window_s = min(HOUR_S, max(MOST_REQUESTS / rate, WINDOW_CYCLES * cycle_s))
    tail_s = min(max(TAIL_CYCLES * cycle_s, TAIL_S[0]), TAIL_S[1])
    window_ps = (round(warmup_s * PS), round((warmup_s + window_s) * PS))
    room = ROOM
    while True:
        requests, turns = _waiting(scenario, users, cycle_s, int(room * rate * (warmup_s + window_s)) + 2 * users, loop, seed)
        result = simulate_turns(fleet, requests, turns, seed, end_ps=window_ps[1] + round(tail_s * PS))
        ends = result.log.arrival_ps[-users:]
        if not ((ends > FIRST) & (ends < window_ps[1])).any():
            return requests, result, window_ps
        room *= 2  # someone had nothing left to send: the fleet answers faster than planned


def _waiting(scenario: Scenario, users: int, cycle_s: float, count: int, loop: Loop, seed: int) -> tuple[Requests, Turns]:
    """About `count` requests in the mix of the classes, each but the first of its user behind an earlier one."""
    shares = [each.share for each in scenario.request_classes]
    drawn = at_rates(scenario, shares, seed, duration_s=float(count), noise=False)
    requests = Requests(**{each.name: getattr(drawn, each.name).copy() for each in fields(Requests)})
    first = min(users, len(requests))
    rng = stream(seed, "users")
    requests.arrival_ps[:first] = np.sort(rng.integers(0, max(1, round(min(cycle_s, WARMUP_LEAST_S / 2) * PS)), first))
    think_s = loop.think_s * standard_exponentials(rng, len(requests))
    after = np.maximum(np.arange(len(requests), dtype=np.int64) - users, FIRST)
    return requests, Turns(after, np.rint(think_s * PS).astype(np.int64))


def at_rate(scenario: Scenario, played_rps: Floats) -> Traffic:
    """The traffic planned at the rates of its slices that its fleet was seen to serve; the day keeps its shape, by the busiest hour."""
    traffic = scenario.traffic
    assert not isinstance(traffic, LogTraffic)
    factor = float(played_rps.max() / slice_rates_rps(traffic).max())
    if isinstance(traffic, ConstantTraffic):
        return replace(traffic, rate_rps=traffic.rate_rps * factor)
    return replace(traffic, daily_active_users=traffic.daily_active_users * factor)


def played_rates(scenario: Scenario, fleets: Sequence[tuple[int, Fleet]], seed: int) -> Floats:
    """[slices] requests a second that the users of each slice send to its fleet; as planned where no fleet is given."""
    assert not isinstance(scenario.traffic, LogTraffic)
    found = slice_rates_rps(scenario.traffic).astype(np.float64)
    for t, fleet in fleets:
        _, result, (start, end) = play_users(scenario, fleet, t, seed)
        came = np.count_nonzero((result.log.arrival_ps >= start) & (result.log.arrival_ps < end))
        found[t] = came * PS / (end - start)
    return found


def users_note(scenario: Scenario, played_rps: float) -> str:
    """What the plan of a closed loop rests on, for its assumptions."""
    loop = loop_of(scenario)
    assert loop is not None and not isinstance(scenario.traffic, LogTraffic)
    planned = float(slice_rates_rps(scenario.traffic).max())
    pause = f", who pause {loop.think_s:g} s on average after an answer" if loop.think_s else " who send the next request at once"
    return (
        f"Closed loop of {loop.users:g} concurrent users{pause}: on the plan's fleet they send {played_rps:.4g} requests/s in the busiest "
        f"hour (planned and billed at {planned:.4g}). The proof plays them as they wait; capacities are measured under arrivals that do "
        "not wait, which needs no fewer hosts."
    )
