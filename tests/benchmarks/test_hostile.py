"""The commands that play hostile inputs know every verb, and count what goes wrong."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from benchmarks.hostile.endpoints import endpoints
from benchmarks.hostile.environments import VERBS, verbs_of_the_program
from benchmarks.hostile.mutate import text_mutation, value_mutation


def test_every_verb_is_played_in_every_environment() -> None:
    assert set(verbs_of_the_program()) == set(VERBS)


def test_there_are_sixty_hostile_endpoints() -> None:
    assert len(endpoints()) == 60


@pytest.mark.parametrize("number", range(50))
def test_a_mutation_is_drawn_by_its_number_alone(number: int, tmp_path: Path) -> None:
    tree = {"a": [1, 2.5, {"b": "x"}], "c": True}
    twice = [(text_mutation("a: 1\nb: [2, 3]\n", random.Random(number)), value_mutation(tree, random.Random(number))) for _ in range(2)]
    assert twice[0] == twice[1]
