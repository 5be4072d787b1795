"""Conversations as texts: ShareGPT (`conversations` of `from`, `value`) and chat datasets (`messages` of `role`, `content`).

They hold no tokens and no times. Each answer is a request whose prompt is all before it; four characters count as a token, and one
request a second is assumed, so that volume and hours are the user's to state. The texts themselves never leave this reader.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from typing import Any

import numpy as np

from sim.traffic.readers.json_rows import BLANK, TORN, Row
from sim.traffic.readers.log_rows import Raw

NAME = "chat texts (ShareGPT or messages)"
CHARACTERS_A_TOKEN = 4.0  # of English prose in the tokenizers of 2023 to 2026, within a fifth; code and other languages take more tokens
ANSWERS = ("gpt", "assistant", "chatgpt", "bing", "bard", "model")
UNANSWERED = "no answer in it"
NOTES = (
    "the file has texts and no times: one request a second is assumed; set traffic.scale, or take its lengths and state the volume",
    f"tokens are estimated from texts, {CHARACTERS_A_TOKEN:g} characters each: within about a fifth for English, more for code",
)


def turns_of(row: dict[str, Any]) -> list[tuple[bool, int]] | None:
    """(is an answer, characters) of each turn; None where the row is no conversation."""
    for key, who, text in (("conversations", "from", "value"), ("messages", "role", "content"), ("conversation", "role", "content")):
        turns = row.get(key)
        if isinstance(turns, list) and all(isinstance(each, dict) and who in each for each in turns):
            return [(str(each[who]).lower() in ANSWERS, _characters(each.get(text))) for each in turns]
    return None


def _characters(text: Any) -> int:
    """Characters of a text, or of the texts in a list of parts."""
    if isinstance(text, list):
        return sum(_characters(each.get("text") if isinstance(each, dict) else each) for each in text)
    return len(text) if isinstance(text, str) else 0


def is_row(row: dict[str, Any]) -> bool:
    """Whether a JSON row is a conversation without token counts."""
    return turns_of(row) is not None and not {"input_length", "prompt_tokens", "tokens_prompt"} & set(row)


def read_rows(objects: Iterator[Row]) -> tuple[Raw, Counter[str], dict[str, int]]:
    """The requests of all conversations, and what was dropped with its first line."""
    rows: list[tuple[float, float, int, int]] = []
    dropped: Counter[str] = Counter()
    first: dict[str, int] = {}
    for number, (line, row) in enumerate(objects):
        turns = turns_of(row) if row else None
        found = list(_requests(turns)) if turns else []
        if not found:
            reason = UNANSWERED if turns is not None else BLANK if row == {} else TORN
            dropped[reason] += 1
            first.setdefault(reason, line)
        rows += [(prompt, answer, number, line) for prompt, answer in found]
    prompt, answer, session, lines = np.array(rows, dtype=np.float64).reshape(-1, 4).T
    raw = Raw(
        arrival_s=np.arange(len(rows), dtype=np.float64),
        input_tokens=prompt,
        output_tokens=answer,
        lines=lines.astype(np.int64),
        session_id=session.astype(np.int64),
        notes=list(NOTES),
    )
    return raw, dropped, first


def _requests(turns: list[tuple[bool, int]]) -> Iterator[tuple[int, int]]:
    """(prompt, answer) tokens of each answer; the prompt is all that was said before."""
    said = 0
    for answer, characters in turns:
        if answer and said and characters:
            yield max(1, math.ceil(said / CHARACTERS_A_TOKEN)), max(1, math.ceil(characters / CHARACTERS_A_TOKEN))
        said += characters
