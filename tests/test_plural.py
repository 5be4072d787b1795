"""One of a thing is called one."""

from __future__ import annotations

import pytest

from sim.plural import counted


@pytest.mark.parametrize(("count", "words"), [(0, "0 pools"), (1, "1 pool"), (2, "2 pools"), (12_345, "12,345 pools")])
def test_only_exactly_one_is_singular(count: int, words: str) -> None:
    assert counted(count, "pool") == words
