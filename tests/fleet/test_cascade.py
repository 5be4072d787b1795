"""Answers in vain: who answers again, when, and what is counted."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from sim.engine.pool import Status
from sim.errors import InputError
from sim.fleet.fleet import Cascade, FailOver, Fleet
from sim.fleet.run import Run
from sim.fleet.simulate import simulate
from sim.request_log import RequestLog
from tests.samples import make_cost, make_pool, make_requests, random_requests

WEAK = replace(make_pool(make_cost(base_ps=100), replicas=4), name="weak")
STRONG = replace(make_pool(make_cost(base_ps=300), replicas=4), name="strong")
FLEET = Fleet((WEAK, STRONG), np.array([[1.0, 0.0], [0.0, 1.0]]))
SOME = random_requests(1, 4000, 1000.0, classes=2)


def cascade(share: float, before_ps: int = 0) -> Cascade:
    """Of class 0, `share` of what the weak pool answers goes to the strong one."""
    return Cascade(np.array([before_ps, 0]), np.array([[share, 0.0], [0.0, 0.0]]), np.array([[0.0, 1.0], [0.0, 0.0]]))


def same(a: RequestLog, b: RequestLog) -> bool:
    return all(np.array_equal(getattr(a, name), getattr(b, name)) for name in RequestLog.__dataclass_fields__)


def test_a_cascade_that_sends_nothing_again_changes_no_byte() -> None:
    assert same(simulate(FLEET, SOME, seed=1).log, simulate(replace(FLEET, cascade=cascade(0.0)), SOME, seed=1).log)


def test_the_share_that_is_misrouted_is_answered_by_the_stronger_pool_too_and_both_answers_are_in_the_totals() -> None:
    result = simulate(replace(FLEET, cascade=cascade(0.25)), SOME, seed=1)
    own = int((SOME.class_id == 0).sum())
    again = int(((SOME.class_id == 0) & (result.log.target == 1)).sum())
    assert abs(again - own / 4) < 4 * np.sqrt(own * 0.25 * 0.75)
    assert [total.requests for total in result.targets] == [own, len(SOME) - own + again]
    assert (result.log.status == Status.FINISHED).all()


def test_an_answer_in_vain_is_whole_before_the_stronger_model_starts() -> None:
    one = make_requests([(0, 10, 5)], class_id=[0])
    always = replace(FLEET, cascade=Cascade(np.zeros(2, np.int64), np.array([[1 - 1e-12, 0.0], [0, 0]]), np.array([[0, 1.0], [0, 0]])))
    alone = simulate(FLEET, one, seed=1).log
    strong = simulate(replace(FLEET, shares=FLEET.shares[::-1]), one, seed=1).log
    log = simulate(always, one, seed=1).log
    assert log.first_ps[0] == alone.finish_ps[0] + strong.first_ps[0]
    assert log.finish_ps[0] == alone.finish_ps[0] + strong.finish_ps[0]


def test_the_classifier_delays_every_token_of_its_classes_and_of_no_other() -> None:
    log = simulate(replace(FLEET, cascade=cascade(0.0, before_ps=777)), SOME, seed=1).log
    plain = simulate(FLEET, SOME, seed=1).log
    expected = np.where(SOME.class_id == 0, 777, 0)
    assert np.array_equal(log.first_ps - plain.first_ps, expected) and np.array_equal(log.finish_ps - plain.finish_ps, expected)


def test_events_and_the_kernel_tell_the_same_story() -> None:
    fleet = replace(FLEET, cascade=cascade(0.3), priorities=(1, 0), token_factors=np.array([[[1, 2], [2, 1]], [[1, 1], [1, 1.5]]]))
    slow, fast = (simulate(fleet, SOME, seed=2, event_per_arrival=each).log for each in (True, False))
    assert same(slow, fast)


def test_what_is_sent_nowhere_stays_rejected() -> None:
    fleet = replace(FLEET, shares=np.array([[0.5, 0.0], [0.0, 1.0]]), cascade=cascade(0.3))
    log = simulate(fleet, SOME, seed=1).log
    lost = log.status == Status.REJECTED
    assert (log.target[lost] == -1).all() and 0.4 < lost[SOME.class_id == 0].mean() < 0.6


def test_requests_that_are_open_at_the_end_are_not_answered_again() -> None:
    late = make_requests([(0, 10, 500), (10, 10, 5)], class_id=[0, 0])
    always = replace(FLEET, cascade=cascade(1 - 1e-12))
    log = simulate(always, late, seed=1, end_ps=2000).log
    assert log.status.tolist() == [Status.IN_FLIGHT, Status.IN_FLIGHT] or log.target.tolist()[1] == 1
    assert log.target[0] == 0


def test_same_seed_same_bytes_and_another_seed_other_requests() -> None:
    fleet = replace(FLEET, cascade=cascade(0.3))
    first, again, other = (simulate(fleet, SOME, seed=seed).log for seed in (3, 3, 4))
    assert same(first, again) and not np.array_equal(first.target, other.target)


@pytest.mark.parametrize(
    ("changed", "word"),
    [
        ({"cascade": Cascade(np.zeros(2), np.array([[0.1, 0.1], [0, 0]]), np.array([[0.5, 0.5], [0, 0]]))}, "come back"),
        ({"cascade": Cascade(np.zeros(2), np.array([[0.1, 0], [0, 0]]), np.zeros((2, 2)))}, "must go somewhere"),
        ({"cascade": Cascade(np.zeros(1), np.zeros((1, 2)), np.zeros((1, 2)))}, "one row per class"),
        ({"cascade": cascade(-0.1)}, "0 or more"),
    ],
)
def test_a_cascade_that_makes_no_sense_is_refused(changed: dict[str, Cascade], word: str) -> None:
    with pytest.raises(InputError, match=word):
        simulate(replace(FLEET, **changed), SOME, seed=1)


def test_what_a_cascade_is_not_simulated_with_is_refused_and_not_forgotten() -> None:
    with pytest.raises(InputError, match="not simulated with"):
        Run(replace(FLEET, cascade=cascade(0.1)), SOME, seed=1)
    relay_like = replace(FLEET, cascade=cascade(0.1), failover=(FailOver(0, 0, (1,)),))
    with pytest.raises(InputError):
        simulate(relay_like, SOME, seed=1)
