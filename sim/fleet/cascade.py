"""A classifier before the fleet, and requests whose first answer is not accepted: a stronger model answers them again.

Targets stand in levels: nothing goes back to a weaker one. So the weakest targets are simulated first, and what they answered in vain
arrives at the next ones when the first answer is whole. Every target sees all of its requests, in order, on one clock.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from sim.engine.pool import Status, TargetStats
from sim.engine.routers import ROUTERS
from sim.errors import InputError
from sim.fleet.fleet import Cascade, Fleet, SimulationResult
from sim.fleet.shares import targets_of
from sim.request_log import RequestLog
from sim.requests import Requests
from sim.streams import stream

Ints = npt.NDArray[np.int64]
ADD_UP = ("attempts", "preemptions")
Simulate = Callable[[Fleet, Requests], SimulationResult]


def first_targets(fleet: Fleet, requests: Requests, seed: int) -> npt.NDArray[np.int16]:
    """The target that each request is sent to first; -1 for none."""
    return targets_of(requests, fleet.shares, seed, whole_sessions=ROUTERS[fleet.router].keeps_sessions)


def levels_of(cascade: Cascade, problems: list[str]) -> Ints:
    """[targets] how many times a request can have been answered in vain before it comes here; a circle is a problem."""
    sends = [
        (int(a), int(b)) for row, to in zip(cascade.again, cascade.to, strict=True) for a in np.flatnonzero(row) for b in np.flatnonzero(to)
    ]
    level = np.zeros(cascade.again.shape[1], np.int64)
    for _ in range(len(level) + 1):
        before = level.copy()
        for a, b in sends:
            level[b] = max(level[b], level[a] + 1)
        if (level == before).all():
            return level
    problems.append("cascade: requests that are answered again can come back to where they were; send them to stronger targets only")
    return level


def check_cascade(fleet: Fleet, cascade: Cascade) -> Ints:
    """The levels of the targets. Raises InputError for a cascade that makes no sense or meets what it is not simulated with."""
    problems: list[str] = []
    shape = fleet.shares.shape
    if cascade.again.shape != shape or cascade.to.shape != shape or len(cascade.before_ps) != shape[0]:
        raise InputError(f"cascade: shapes {cascade.again.shape} and {cascade.to.shape} beside shares of {shape}; write one row per class")
    if (cascade.again < 0).any() or (cascade.again >= 1).any() or (cascade.to < 0).any() or (cascade.before_ps < 0).any():
        problems.append("cascade: shares must be 0 or more and below 1, times 0 or more")
    lost = [c for c in range(shape[0]) if cascade.again[c].any() and abs(cascade.to[c].sum() - 1) > 1e-6]
    if lost:
        problems.append(f"cascade: classes {lost}: what is answered again must go somewhere; rows of `to` sum to 1")
    if fleet.overflow or fleet.failover:
        problems.append("cascade: requests that are answered again, and overflow or failover, are not simulated together; leave one out")
    levels = levels_of(cascade, problems)
    if problems:
        raise InputError(problems)
    return levels


def simulate_cascade(fleet: Fleet, requests: Requests, seed: int, run: Simulate) -> SimulationResult:
    """Log and totals of `requests`: one row for each, with the answer that counts; TTFT is the first token of that answer.

    `run` simulates a fleet without a cascade. An answer in vain must be whole before the stronger model starts (half of one cannot be
    judged); its attempts count, and its tokens are in the totals of its target. A first answer that never became whole is not asked
    again.
    """
    cascade = fleet.cascade
    assert cascade is not None
    level = check_cascade(fleet, cascade)
    rng = stream(seed, "answered again")
    first = first_targets(fleet, requests, seed).astype(np.int64)
    again = (rng.random(len(requests)) < cascade.again[requests.class_id, first]) & (first >= 0)
    second = np.where(again, _drawn(cascade.to[requests.class_id], rng.random(len(requests))), -1)
    answers = _Answers(requests, first)
    totals: dict[int, TargetStats] = {}
    for step in range(int(level.max(initial=0)) + 1):
        here = np.flatnonzero((level[first] == step) & (first >= 0) | ((first < 0) & (step == 0)))
        due = np.flatnonzero(again & (level[second] == step) & (answers.columns["status"] == Status.FINISHED))
        rows, where = np.concatenate([here, due]), np.concatenate([first[here], second[due]])
        arrival = np.concatenate([requests.arrival_ps[here], answers.columns["finish_ps"][due]])
        order = np.argsort(arrival, kind="stable")
        result = run(_spread(fleet), _sent(requests, rows[order], where[order], arrival[order], len(fleet.targets), len(fleet.shares)))
        answers.take(rows[order], where[order], result.log)
        totals |= {t: result.targets[t] for t in np.flatnonzero(level == step).tolist()}
        answers.end_ps = max(answers.end_ps, result.end_ps)
        answers.events += result.events
    targets = tuple(totals[t] for t in range(len(fleet.targets)))
    return SimulationResult(answers.log(cascade.before_ps), targets, answers.end_ps, answers.events)


def _drawn(to: npt.NDArray[np.float64], draws: npt.NDArray[np.float64]) -> Ints:
    """For each row of `to` the target that its draw hits; the last one with a share for what rounding leaves."""
    if to.shape[1] == 0:
        return np.full(len(to), -1, np.int64)
    last = to.shape[1] - 1 - np.argmax((to > 0)[:, ::-1], axis=1)
    return np.asarray(np.minimum((np.cumsum(to, axis=1) <= draws[:, None]).sum(axis=1), last), np.int64)


def _spread(fleet: Fleet) -> Fleet:
    """The fleet with a class for each pair of class and target, sent there whole, and one per class that is sent nowhere."""
    classes, targets = fleet.shares.shape
    shares = np.concatenate([np.tile(np.eye(targets), (classes, 1)), np.zeros((classes, targets))])
    factors = fleet.token_factors
    rows = [c for c in range(classes) for _ in range(targets)] + list(range(classes))
    return replace(
        fleet,
        shares=shares,
        cascade=None,
        priorities=tuple(fleet.priorities[c] for c in rows) if fleet.priorities else (),
        token_factors=None if factors is None else factors[rows],
    )


def _sent(requests: Requests, rows: Ints, where: Ints, arrival_ps: Ints, targets: int, classes: int) -> Requests:
    """The requests of `rows` as classes of `_spread`."""
    chosen = {field.name: getattr(requests, field.name)[rows] for field in fields(Requests)}
    own = chosen["class_id"].astype(np.int64)
    nowhere = classes * targets + own
    return Requests(**chosen | {"arrival_ps": arrival_ps, "class_id": np.where(where < 0, nowhere, own * targets + where).astype(np.int16)})


class _Answers:
    """The last answer of each request so far."""

    def __init__(self, requests: Requests, first: Ints) -> None:
        self.requests, self.end_ps, self.events = requests, 0, 0
        size = len(requests)
        self.columns: dict[str, npt.NDArray[Any]] = {name: np.full(size, -1, np.int64) for name in RequestLog.__dataclass_fields__}
        self.columns |= {name: np.zeros(size, np.int64) for name in ADD_UP}

    def take(self, rows: Ints, where: Ints, log: RequestLog) -> None:
        """The answers of `log` count now for `rows`; attempts and preemptions add up."""
        for name, column in self.columns.items():
            new = getattr(log, name)
            column[rows] = column[rows] + new if name in ADD_UP else new
        self.columns["target"][rows] = where

    def log(self, before_ps: Ints) -> RequestLog:
        """One row per request, arrival and class its own; tokens come `before_ps` of its class later, the time of the classifier."""
        given: dict[str, npt.NDArray[Any]] = self.columns | {"arrival_ps": self.requests.arrival_ps, "class_id": self.requests.class_id}
        for name in ("first_ps", "finish_ps"):
            given[name] = np.where(given[name] >= 0, given[name] + before_ps[self.requests.class_id], -1)
        narrow: dict[str, Any] = {"class_id": np.int16, "target": np.int16, "status": np.int8}
        wide = ("arrival_ps", "first_ps", "finish_ps")
        return RequestLog(
            **{name: column.astype(np.int64 if name in wide else narrow.get(name, np.int32)) for name, column in given.items()}
        )
