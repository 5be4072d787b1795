"""Conversations grow as stated, and their turns follow each other."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sim.errors import InputError
from sim.scenario.records import LogTraffic
from sim.traffic import demand
from sim.traffic.lengths import simulate_turns
from sim.traffic.sessions import sessions
from tests.traffic.scenarios import chat, constant, request_class, scenario, week

S = 10**12


def test_prompt_is_system_prompt_plus_capped_history_plus_user_text() -> None:
    turns = simulate_turns(chat(500, constant(10), 250), constant(90), 4.0, 2000, np.random.default_rng(1))
    for turn in range(6):
        rows = turns.turn == turn
        assert set(turns.input_tokens[rows].tolist()) == {500 + min(100 * turn, 250) + 10}
        assert set(turns.prefix_tokens[rows].tolist()) == {500 + (100 * turn if turn <= 2 else 0)}


def test_number_of_turns_is_geometric_with_the_stated_mean() -> None:
    n = 100_000
    turns = simulate_turns(chat(), constant(90), 2.5, n, np.random.default_rng(1))
    error = np.sqrt(2.5 * 1.5 / n)
    assert abs(len(turns) / n - 2.5) < 4 * error
    assert abs(np.mean(np.bincount(turns.conversation) == 1) - 1 / 2.5) < 4 * np.sqrt(0.4 * 0.6 / n)


def test_prefix_is_always_shorter_than_the_prompt() -> None:
    turns = simulate_turns(chat(), constant(90), 8.0, 2000, np.random.default_rng(1))
    assert (turns.prefix_tokens < turns.input_tokens).all()


def test_sessions_have_the_rate_and_the_lengths_of_the_hour() -> None:
    it = scenario(week(300_000))
    expected = demand(it)
    rate = np.zeros((10, 2))
    for seed in range(10):
        rows = sessions(it, 14, seed)
        rate[seed] = np.bincount(rows.class_id[rows.arrival_ps >= 600 * S]) / 3600
    assert rate.mean(axis=0) == pytest.approx(expected.mean_rps[:, 14], rel=0.03)
    chats = rows.class_id == 0
    assert rows.input_tokens[chats].mean() == pytest.approx(expected.input_tokens[0], rel=0.02)


def test_next_turn_comes_after_the_last_answer_and_shares_its_text() -> None:
    it = scenario(week(20_000), request_class("chat", 1.0, conversation=chat(cap=10**6)))
    rows = sessions(it, 14, 1, ttft_s=0.5, tpot_s=0.03)
    order = np.argsort(rows.session_id, kind="stable")
    early, late = order[:-1], order[1:]
    same = rows.session_id[early] == rows.session_id[late]
    early, late = early[same], late[same]
    assert len(early) > 1000
    answer_ps = (0.5 + 0.03 * rows.output_tokens[early]) * S
    assert (rows.arrival_ps[late] - rows.arrival_ps[early] >= answer_ps - 2).all()
    assert (rows.prefix_tokens[late] == rows.input_tokens[early] + rows.output_tokens[early]).all()


def test_sessions_of_two_classes_never_share_an_id() -> None:
    it = scenario(week(), request_class("a", 0.5, conversation=chat()), request_class("b", 0.5, conversation=chat()))
    rows = sessions(it, 14, 1)
    assert not set(rows.session_id[rows.class_id == 0].tolist()) & set(rows.session_id[rows.class_id == 1].tolist())


def test_a_log_is_told_to_be_replayed() -> None:
    with pytest.raises(InputError, match="replay"):
        sessions(scenario(LogTraffic(Path("x.csv"))), 0, 1)
