"""Conversations under a token budget: history cut as a chat client cuts it, answers kept in the room that is left."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from sim.scenario.scenario import Context

Int64s = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Budgeted:
    """What is sent, by row: history tokens kept, history tokens shared with the turn before, answer; `refused` prompts that were not."""

    kept: Int64s
    shared: Int64s
    answer: Int64s
    refused: int


def within_context(context: Context, system: int, history_cap: int, first: Int64s, turns: Int64s, user: Int64s, answer: Int64s) -> Budgeted:
    """History and answers of conversations whose rows begin at `first` and count `turns`.

    oldest_first: whole turns are dropped, oldest first, until system prompt, history and user text fit; the system prompt is kept.
    none: the prompt is refused, and the user asks the same in a new conversation. Answers end where the budget does. History is
    shared with the turn before while both begin at the same turn.
    """
    rows = len(user)
    kept, shared, answers = np.zeros(rows, np.int64), np.zeros(rows, np.int64), answer.copy()
    spent = np.zeros(rows + 1, np.int64)  # tokens of the conversation before this row
    start, refused = first.copy(), 0
    for turn in range(int(turns.max(initial=0))):
        talk = np.flatnonzero(turns > turn)
        row = first[talk] + turn
        room = np.minimum(context.prompt_tokens - system - user[row], history_cap)
        begin = start[talk]
        over = spent[row] - spent[begin] > room
        if context.oldest_first:
            while over.any():
                begin = begin + over
                over = spent[row] - spent[begin] > room
        else:
            refused += int(np.count_nonzero(over))
            begin = np.where(over, row, begin)
        kept[row] = spent[row] - spent[begin]
        shared[row] = np.where(begin == start[talk], kept[row], 0)
        left = context.max_tokens - context.reserve_tokens - system - kept[row] - user[row]
        answers[row] = np.minimum(answers[row], np.maximum(left, 1))
        start[talk] = begin
        goes_on = turns[talk] > turn + 1
        spent[row[goes_on] + 1] = spent[row[goes_on]] + user[row[goes_on]] + answers[row[goes_on]]
    return Budgeted(kept, shared, answers, refused)


def room_for_answer(context: Context, input_tokens: npt.NDArray[np.int32], output_tokens: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """Answers to single prompts, ended where the budget does.

    >>> room_for_answer(Context(100, 10, 1, None, True), np.array([80], np.int32), np.array([50], np.int32)).tolist()
    [10]
    """
    left = context.max_tokens - context.reserve_tokens - input_tokens
    return np.minimum(output_tokens, np.maximum(left, 1)).astype(np.int32)
