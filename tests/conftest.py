"""Settings for all tests: Hypothesis draws the same examples in every run, so that a green suite stays green on the same code."""

from __future__ import annotations

from hypothesis import settings

settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")
