"""The `whatif` command: which kind of question is asked, and its answer."""

from __future__ import annotations

from collections.abc import Sequence

from optimize.whatif import levers as lever_verb
from optimize.whatif import risk, tornado
from optimize.whatif.ask import Question, vary
from optimize.whatif.run_jobs import Where
from optimize.whatif.study import Answer
from sim.errors import InputError

DRAWS = 50  # of --uncertain without --samples


def what_if(
    question: Question,
    texts: Sequence[str],
    where: Where,
    samples: int | None = None,
    one_at_a_time: bool = False,
    uncertain: bool = False,
    levers: bool = False,
) -> Answer:
    """The answer of the one kind that is asked. InputError where several are, or none."""
    asked = [name for name, on in (("--one-at-a-time", one_at_a_time), ("--uncertain", uncertain), ("--levers", levers)) if on]
    if len(asked) > 1:
        raise InputError(f"{' and '.join(asked)}: are different questions; ask one at a time")
    if samples is not None and (one_at_a_time or levers):
        raise InputError(f"--samples: draws nothing with {asked[0]}; leave it out, or ask with --vary or --uncertain")
    if one_at_a_time:
        return tornado.one_at_a_time(question, texts, where)
    if uncertain:
        return risk.uncertain(question, texts, samples or DRAWS, where)
    if levers:
        return lever_verb.levers(question, where)
    return vary(question, texts, samples, where)


def exit_code(answer: Answer) -> int:
    """130: interrupted; 1: every point failed; else 0."""
    if answer.unfinished:
        return 130
    rows = len(answer.tables[0].rows)
    return 1 if answer.kind in ("grid", "samples") and rows and answer.failed == rows else 0
