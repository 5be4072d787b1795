"""A relay that was probed at two loads is simulated at a third as a second probe finds it there."""

from __future__ import annotations

import math

import pytest

from benchmarks.relay_profile import compare

SIZE = 80
CRITICAL_1_PERCENT = 1.63  # Kolmogorov-Smirnov, times sqrt(1/n + 1/m)


def test_the_simulated_relay_is_as_near_to_a_second_probe_as_two_probes_are_to_each_other() -> None:
    """The profile rests on SIZE answers a level, so two samples of SIZE are the fair comparison, however many are simulated."""
    for _ in range(2):
        rows = compare(SIZE, levels=(4, 16), scale=0.5)
        if all(row.ks < CRITICAL_1_PERCENT * math.sqrt(2 / SIZE) for row in rows):
            return
        assert rows[0].busy, rows  # only a probe that says that it had no time may be off
    pytest.skip(f"this machine had no time to measure milliseconds: {rows}")
