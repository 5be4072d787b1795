"""Independent questions about a plan, answered side by side: each on a copy of what is known, so that processes change nothing."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Generic, TypeVar

from optimize.market.operating_point import OperatingPoint
from optimize.search.known_market import Market, Tell
from optimize.search.processes import processes

LARGE = 200  # pools x hours: programs below are solved before another process has started
T = TypeVar("T")
Points = dict[tuple[int, tuple[float, ...]], OperatingPoint]


@dataclass(frozen=True)
class Answered(Generic[T]):
    """The answer to question `index`; what was measured for it, by state of the market; what it had to say."""

    index: int
    answer: T
    points: dict[int, Points]
    said: tuple[str, ...]


def side_by_side(market: Market, questions: Sequence[Callable[[Market], T]]) -> list[T]:
    """The answers in the order of the questions; where the program is large, in up to `market.jobs` processes.

    No question sees what another one measured; afterwards `market` knows all of it, what an earlier question found first.
    """
    large = len(market.states) * len(market.demand.slices) >= LARGE
    many = large and min(market.jobs, len(questions)) > 1
    found = sorted(_in_processes(market, questions) if many else _here(market, questions), key=lambda each: each.index)
    for each in found:
        for k, points in each.points.items():
            for key, point in points.items():
                market.states[k].points.setdefault(key, point)
    return [each.answer for each in found]


def _here(market: Market, questions: Sequence[Callable[[Market], T]]) -> list[Answered[T]]:
    return [ask(k, question, fork(market, market.tell), market) for k, question in enumerate(questions)]


def _in_processes(market: Market, questions: Sequence[Callable[[Market], T]]) -> Iterator[Answered[T]]:
    """In the order in which they are finished; each says then what it had to say."""
    from joblib import delayed

    alone = replace(market, jobs=1, tell=_nobody)
    parallel = processes(min(market.jobs, len(questions)), return_as="generator_unordered", pre_dispatch="n_jobs", batch_size=1)
    for each in parallel(delayed(_ask_quietly)(k, question, alone) for k, question in enumerate(questions)):
        for line in each.said:
            market.tell(line)
        yield each


def _nobody(line: str) -> None:
    """Progress that is not printed: it returns with the answer."""


def _ask_quietly(index: int, question: Callable[[Market], T], market: Market) -> Answered[T]:
    said: list[str] = []
    answered = ask(index, question, fork(market, said.append), market)
    return replace(answered, said=tuple(said))


def ask(index: int, question: Callable[[Market], T], own: Market, before: Market) -> Answered[T]:
    """The question put to `own`, with the points that `before` does not have; pools that a question adds come last and stay its own."""
    answer = question(own)
    points = {
        k: fresh
        for k, (state, known) in enumerate(zip(own.states, before.states, strict=False))
        if (fresh := {key: point for key, point in state.points.items() if key not in known.points})
    }
    return Answered(index, answer, points, ())


def fork(market: Market, tell: Tell) -> Market:
    """A copy that learns for itself; the store of measurements is the same."""
    return replace(
        market, states=[replace(state, points=dict(state.points)) for state in market.states], relays=list(market.relays), tell=tell
    )
