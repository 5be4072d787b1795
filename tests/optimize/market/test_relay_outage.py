"""A million users, relays with the limits of today, an outage: attempts, 429s and lost money are told, and no request is lost."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from optimize.report.terminal.render_simulate import render_simulation, simulation_json
from optimize.simulate.named_fleet import SimulationRun, simulate_fleet
from sim.engine.pool import Status
from sim.relay.endpoint import RelayEndpoint
from sim.scenario import load_scenario

ROOT = Path(__file__).resolve().parents[3]
CHEAP, DEAR, REASONING = "deepinfra.llama-3.3-70b-turbo", "deepinfra.llama-3.3-70b", "deepseek.deepseek-v4-flash"
DOWN_S = (1800.0, 2400.0)  # the outage, ten minutes of the hour that follows the warm-up


def run(users: int, failover: str) -> SimulationRun:
    """The busiest hour of `users`; limits are 10,000 requests and 10 million tokens a minute for a million of them."""
    rpm, tpm = users / 100, users * 10
    behaviour = f"rpm: {rpm}, tpm: {tpm}, torn_share: 0.01, outages: {{at_min: 30, minutes: 10}}"
    settings = [
        f"traffic.daily_active_users={users}",
        f"candidates.relays.1={{name: {CHEAP}, {behaviour}}}",
        f"candidates.relays.0={{name: {DEAR}, rpm: {rpm}, tpm: {tpm}}}",
        f"policy.relay_failover={failover}",
    ]
    fleet = f"relay:{CHEAP}, relay:{REASONING}" + (f", relay:{DEAR}" if failover == "relays" else "")
    scenario = load_scenario(ROOT / "scenarios" / "million_dau.yaml", settings)
    return simulate_fleet(scenario, fleet=fleet, plan=None, hour=None, router="least_outstanding", overflow=None)


def check(run: SimulationRun) -> None:
    """Conservation: every request ends once, at one target; every call is metered; what is billed is what was streamed."""
    log, targets = run.result.log, run.result.targets
    assert np.bincount(log.status, minlength=5).sum() == len(log) and not (log.status == Status.IN_FLIGHT).any()
    nowhere = int(np.count_nonzero(log.target == -1))
    assert sum(t.requests for t in targets) == len(log) - nowhere + sum(t.failed_over for t in targets)
    assert int(log.attempts.sum()) == sum(t.attempts for t in targets)
    for index, (target, stats) in enumerate(zip(run.fleet.targets, targets, strict=True)):
        assert isinstance(target, RelayEndpoint)
        whole = (log.target == index) & (log.status == Status.FINISHED)
        assert stats.billed_output_tokens - stats.lost_output_tokens == int(log.output_tokens[whole].sum(dtype=np.int64))
        assert stats.billed_input_tokens - stats.lost_input_tokens == int(log.input_tokens[whole].sum(dtype=np.int64))
        assert stats.attempts == int(np.count_nonzero(whole)) + stats.throttled + stats.errors + stats.unreachable + stats.cut + timed_out(
            run, index
        )


def timed_out(run: SimulationRun, index: int) -> int:
    """Requests whose last answer the user's patience ended (those that died between attempts have no open call)."""
    log = run.result.log
    return int(np.count_nonzero((log.target == index) & (log.status == Status.TIMED_OUT) & (log.first_ps >= 0)))


@pytest.mark.parametrize("users", [20_000, pytest.param(1_000_000, marks=pytest.mark.slow)])
def test_an_outage_under_the_limits_of_today_is_told_in_calls_and_money_and_nothing_is_lost(users: int) -> None:
    found = run(users, "none")
    check(found)
    said = simulation_json(found)
    relay = said["targets"][0]
    assert relay["attempts_per_request"] > 1.3
    assert 0.05 < relay["throttled_share"] < 0.6  # a peak hour of 12 million tokens a minute against a limit of 10
    assert relay["unreachable"] > 0 and relay["cut"] > 0
    assert 0.003 * relay["billed_usd"] < relay["lost_usd"] < 0.02 * relay["billed_usd"]  # one answer in a hundred is torn, half-way
    assert said["status"]["failed"] > 0.05 * said["requests"]  # ten minutes of sixty, and what the limits refuse four times
    text = render_simulation(found, colour=False)
    assert "of it lost" in text and "429" in text


def test_a_second_relay_takes_over_what_the_first_has_failed() -> None:
    alone, helped = run(20_000, "none"), run(20_000, "relays")
    check(helped)
    failed = [int(np.count_nonzero(each.result.log.status == Status.FAILED)) for each in (alone, helped)]
    assert failed[1] < 0.05 * failed[0]
    assert helped.result.targets[0].failed_over > 0
    in_outage = (helped.result.log.arrival_ps / 1e12 > DOWN_S[0] + 60) & (helped.result.log.arrival_ps / 1e12 < DOWN_S[1] - 60)
    served = helped.result.log.status[in_outage & (helped.result.log.class_id == 0)]
    assert np.mean(served == Status.FINISHED) > 0.9  # all of them at the second relay, whose limit is as low
