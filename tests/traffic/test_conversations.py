"""Conversations inside an hour: exact rates, turns in order, prompts that carry their history on."""

from __future__ import annotations

import numpy as np
import pytest

from sim.requests import Requests
from sim.traffic import at_rates, demand, hour
from sim.traffic.conversations import Pace, lead, pace
from sim.traffic.lengths import turns_mean
from tests.traffic.scenarios import chat, request_class, scenario, week

PS = 10**12
TALK = request_class("talk", 1.0, conversation=chat(system=500))


def by_session(requests: Requests) -> np.ndarray:
    """Row numbers sorted by session, turns of one in the order of arrival."""
    return np.argsort(requests.session_id, kind="stable")


def test_requests_come_at_the_rate_of_the_hour_with_the_noise_of_its_minutes() -> None:
    it = scenario(week(400_000), TALK)
    counts = []
    for seed in range(8):
        requests = hour(it, 14, seed)
        counts.append(np.bincount(requests.arrival_ps // (60 * PS), minlength=70)[10:70])
    minutes = np.array(counts, float)
    expected = 60 * demand(it).mean_rps[0, 14]
    error = minutes.mean(axis=1).std(ddof=1) / np.sqrt(8)
    assert abs(minutes.mean() - expected) <= 4 * error + 0.002 * expected
    assert minutes.std(axis=1).mean() / expected == pytest.approx(0.07, abs=0.015)


def test_a_conversation_goes_on_with_its_own_history() -> None:
    requests = hour(scenario(week(100_000), TALK), 14, 3)
    rows = by_session(requests)
    same = requests.session_id[rows[1:]] == requests.session_id[rows[:-1]]
    earlier, later = rows[:-1][same], rows[1:][same]
    assert len(later) > 10_000
    assert (requests.arrival_ps[later] >= requests.arrival_ps[earlier]).all()
    whole = requests.prefix_tokens[later] > 500  # where the history was cut only the system prompt is shared
    told = requests.input_tokens[earlier] + requests.output_tokens[earlier]
    assert (requests.prefix_tokens[later][whole] == told[whole]).all()
    assert (requests.system_tokens == 500).all()


def test_users_think_as_long_as_the_scenario_says() -> None:
    it = scenario(week(400_000), TALK)
    requests = hour(it, 14, 3, duration_s=4 * 3600.0)  # long, or long pauses would be missing
    rows = by_session(requests)
    same = requests.session_id[rows[1:]] == requests.session_id[rows[:-1]]
    pause_s = np.diff(requests.arrival_ps[rows])[same] / PS
    answer_s = 0.5 + 0.03 * requests.output_tokens[rows[:-1][same]]
    assert np.median(pause_s - answer_s) == pytest.approx(73.7, rel=0.1)


def test_at_another_rate_the_same_conversations_come_closer_together() -> None:
    it = scenario(week(), TALK)
    slow, fast = (at_rates(it, [rate], 4, duration_s=1800, noise=False) for rate in (5.0, 10.0))
    assert len(fast) == pytest.approx(2 * len(slow), rel=0.05)
    told = {int(tokens) for tokens in fast.input_tokens.astype(np.int64) * 4096 + fast.output_tokens}
    again = [int(tokens) in told for tokens in slow.input_tokens.astype(np.int64) * 4096 + slow.output_tokens]
    strangers = at_rates(it, [10.0], 5, duration_s=1800, noise=False)
    others = {int(tokens) for tokens in strangers.input_tokens.astype(np.int64) * 4096 + strangers.output_tokens}
    chance = [int(tokens) in others for tokens in slow.input_tokens.astype(np.int64) * 4096 + slow.output_tokens]
    assert np.mean(again) > np.mean(chance) + 0.3


def test_the_lead_reaches_back_as_far_as_almost_all_turns_and_makes_up_for_the_rest() -> None:
    it = scenario(week(), TALK)
    assert TALK.conversation is not None
    lead_s, seen = lead(TALK.conversation, TALK.output_tokens, turns_mean(it), pace(it), 3600.0)
    assert lead_s > 600 and 0.99 < seen <= 1.0
    brief, _ = lead(TALK.conversation, TALK.output_tokens, turns_mean(it), Pace(1.0, 0.1), 3600.0)
    assert brief < lead_s
