"""How long prompts and answers are: draws from an inverse CDF, and prompts that grow turn by turn."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from sim.scenario.scenario import Context, Conversation, RequestClass, Scenario, SyntheticTraffic, Tokens
from sim.streams import stream
from sim.traffic.context import room_for_answer, within_context

DEFAULT_TURNS = 2.5  # turns per conversation where the traffic does not say, as in a synthetic week
TABLE_TURNS = 500_000  # rows of a turn table: means are then within 0.2 % of the law's
TABLE_SEED = 2026  # fixed: the means that are billed must not depend on the scenario's seed
MEAN_POINTS = 1 << 18

Ints = npt.NDArray[np.int32]
Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Turns:
    """Turns of many conversations, one row per request, sorted by conversation and turn.

    conversation, turn   row's conversation (0..n-1) and turn number in it (0 is the first)
    input_tokens, output_tokens, prefix_tokens   as in sim.requests.Requests
    """

    conversation: npt.NDArray[np.int64]
    turn: npt.NDArray[np.int64]
    input_tokens: Ints
    output_tokens: Ints
    prefix_tokens: Ints
    refused: int = 0  # prompts next to these rows that a token budget has refused

    def __len__(self) -> int:
        return len(self.turn)


def turns_mean(scenario: Scenario) -> float:
    """Mean turns of a conversation; 2.5 for traffic that does not say."""
    traffic = scenario.traffic
    return traffic.turns_per_conversation if isinstance(traffic, SyntheticTraffic) else DEFAULT_TURNS


def sample_tokens(tokens: Tokens, uniform: Floats) -> Ints:
    """Whole token counts, at least 1, at the given probabilities: the inverse CDF, linear between its points.

    >>> sample_tokens(Tokens((0.0, 1.0), (10.0, 20.0), 15.0), np.array([0.0, 0.5, 1.0])).tolist()
    [10, 15, 20]
    """
    values = np.interp(uniform, tokens.quantiles, tokens.tokens)
    np.rint(values, out=values)
    np.maximum(values, 1.0, out=values)
    return values.astype(np.int32)


@lru_cache(maxsize=256)
def mean_tokens(tokens: Tokens) -> float:
    """Mean of what `sample_tokens` draws, rounding and the floor of 1 token included, to about 1e-5.

    It differs from `tokens.mean` only where the law reaches below 1 token.

    >>> round(mean_tokens(Tokens((0.0, 1.0), (10.0, 20.0), 15.0)), 3)
    15.0
    """
    midpoints = (np.arange(MEAN_POINTS) + 0.5) / MEAN_POINTS
    return float(sample_tokens(tokens, midpoints).mean())


def simulate_turns(conversation: Conversation, output: Tokens, turns_mean: float, conversations: int, rng: np.random.Generator) -> Turns:
    """Turns of independent conversations whose number of turns is geometric with mean `turns_mean`.

    P(n turns) = (1 - 1/mean)^(n-1) / mean: after every answer the user goes on with the same probability.
    Prompt = system prompt + min(history, cap) + user text; history = user texts and answers of the earlier turns.
    prefix_tokens = system prompt + history while the history is whole; once its oldest part is cut the prompt shares only
    the system prompt with the turn before (token positions moved), so that is also the prefix of a first
    turn.
    """
    turns = rng.geometric(1.0 / max(turns_mean, 1.0), conversations).astype(np.int64)
    rows = int(turns.sum())
    first = np.cumsum(turns) - turns
    owner = np.repeat(np.arange(conversations), turns)
    turn = np.arange(rows) - first[owner]
    user = sample_tokens(conversation.user_tokens, rng.random(rows)).astype(np.int64)
    answer = sample_tokens(output, rng.random(rows)).astype(np.int64)
    if conversation.context is not None:
        cut = within_context(
            conversation.context, conversation.system_prompt_tokens, conversation.history_cap_tokens, first, turns, user, answer
        )
        prompt, shared = conversation.system_prompt_tokens + cut.kept + user, conversation.system_prompt_tokens + cut.shared
        return Turns(owner, turn, prompt.astype(np.int32), cut.answer.astype(np.int32), shared.astype(np.int32), cut.refused)
    spent = np.cumsum(user + answer) - (user + answer)  # exclusive running sum over all rows
    history = spent - spent[first][owner]
    whole = history <= conversation.history_cap_tokens
    kept = np.minimum(history, conversation.history_cap_tokens)
    system = conversation.system_prompt_tokens
    return Turns(
        conversation=owner,
        turn=turn,
        input_tokens=(system + kept + user).astype(np.int32),
        output_tokens=answer.astype(np.int32),
        prefix_tokens=(system + np.where(whole, kept, 0)).astype(np.int32),
    )


@lru_cache(maxsize=64)
def turn_table(conversation: Conversation, output: Tokens, turns_mean: float) -> Turns:
    """About 500,000 turns from a fixed stream: the joint law of turn, prompt and answer that hours draw from.

    A uniformly drawn row is a request of a steady state: conversations weigh by their number of turns.
    """
    conversations = max(1000, int(TABLE_TURNS / max(turns_mean, 1.0)))
    return simulate_turns(conversation, output, turns_mean, conversations, stream(TABLE_SEED, "turn table"))


def draw_lengths(request_class: RequestClass, turns_mean: float, n: int, rng: np.random.Generator) -> tuple[Ints, Ints, Ints]:
    """Input, output and prefix tokens of `n` independent requests of a class.

    Conversations: independent rows of the turn table; for turns that follow each other, with the same law of
    each request, see `sim.traffic.conversations`. Request i depends only on the i-th draw of `rng`, so that a longer run starts
    with the same requests.
    """
    if request_class.conversation is not None:
        table = turn_table(request_class.conversation, request_class.output_tokens, turns_mean)
        row = (rng.random(n) * len(table)).astype(np.int64)
        return table.input_tokens[row], table.output_tokens[row], table.prefix_tokens[row]
    assert request_class.input_tokens is not None
    inputs, outputs = rng.spawn(2)
    lengths_in = sample_tokens(request_class.input_tokens, inputs.random(n))
    lengths_out = sample_tokens(request_class.output_tokens, outputs.random(n))
    if request_class.context is not None:
        lengths_out = room_for_answer(request_class.context, lengths_in, lengths_out)
    return lengths_in, lengths_out, np.zeros(n, np.int32)


def system_tokens(request_class: RequestClass, n: int) -> Ints:
    """Tokens of the system prompt that each of `n` requests of a class begins with; 0 for a class without conversations."""
    talk = request_class.conversation
    return np.full(n, 0 if talk is None else talk.system_prompt_tokens, np.int32)


def mean_lengths(request_class: RequestClass, turns_mean: float) -> tuple[float, float, float]:
    """Mean input, output and prefix tokens per request: the exact means of what `draw_lengths` draws."""
    if request_class.conversation is not None:
        table = turn_table(request_class.conversation, request_class.output_tokens, turns_mean)
        return (
            float(table.input_tokens.mean()),
            float(table.output_tokens.mean()),
            float(table.prefix_tokens.mean()),
        )
    assert request_class.input_tokens is not None
    if request_class.context is not None:
        return mean_tokens(request_class.input_tokens), _mean_within(request_class, request_class.context), 0.0
    return mean_tokens(request_class.input_tokens), mean_tokens(request_class.output_tokens), 0.0


@lru_cache(maxsize=64)
def _mean_within(request_class: RequestClass, context: Context) -> float:
    """Mean answer of single prompts under a token budget, on a grid of both laws."""
    assert request_class.input_tokens is not None
    grid = (np.arange(1024) + 0.5) / 1024
    inputs, outputs = sample_tokens(request_class.input_tokens, grid), sample_tokens(request_class.output_tokens, grid)
    return float(room_for_answer(context, inputs[:, None], outputs[None, :]).mean())
