"""Five questions, answered from the first screen alone of each sample: what to buy, cost, promise, next best, what would change it."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.outputs import OUTPUT

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs/tutorial/first-screens.md"
BLOCKS = {
    name: text for _, name, _, text in re.findall(r"(<!-- output: (\w+)( [^>]*)? -->)\n```text\n(.*?)```", PAGE.read_text("utf-8"), re.S)
}
MONEY = r"(?:CN¥|JP¥|[$€£]|[A-Z]{3} )[\d,.]+"
QUESTIONS = {
    "what to buy": r"\b(?:rent|reserve|run|buy) .* (?:from|at|of your own|by the hour)\b|there is nothing to buy",
    "what it costs": rf"{MONEY} a month",
    "is the promise kept, and how surely": (
        r"every promise held in [\d,]+ simulated requests.* at most [\d.]+ % chance|(?:is|are) missed in simulation|not surely in a fresh|"
        r"nothing was simulated|too few requests|unserved|not every request can be served"
    ),
    "what is the next best": rf"instead .*(?:{MONEY}|infeasible|no plan)",
    "what would change it": r"what would change this: \S+|the smallest budget|at any (?:price|budget)",
}


def answers(text: str) -> dict[str, bool]:
    """Question -> whether the screen answers it, read as one line without case."""
    flat = " ".join(text.split())
    return {question: re.search(pattern, flat, re.I) is not None for question, pattern in QUESTIONS.items()}


def test_every_sample_scenario_has_its_screen() -> None:
    assert set(BLOCKS) == {path.stem for path in (ROOT / "scenarios").glob("*.yaml")}
    assert len(OUTPUT.findall(PAGE.read_text("utf-8"))) == len(BLOCKS)


@pytest.mark.parametrize("name", BLOCKS)
def test_the_first_screen_alone_answers_five_questions_in_forty_lines(name: str) -> None:
    text = BLOCKS[name]
    if text.startswith("not yet written"):
        pytest.skip(f"run: python -m benchmarks.outputs {name}")
    assert [question for question, answered in answers(text).items() if not answered] == []
    assert len(text.splitlines()) <= 40 and max(map(len, text.splitlines())) <= 100


def test_a_screen_that_leaves_a_question_open_is_found() -> None:
    text = "MET. Buy all chat requests from DeepInfra. $3 a month. Every promise held in 9 simulated requests; at most 1.0 % chance."
    assert [question for question, answered in answers(text).items() if not answered] == ["what is the next best", "what would change it"]
