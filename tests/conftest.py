"""Settings for all tests: Hypothesis draws the same examples in every run, so that a green suite stays green on the same code."""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import settings

os.environ.pop("PYTHONDONTWRITEBYTECODE", None)  # a fresh interpreter would compile a thousand files, and many tests start one
settings.register_profile("same", derandomize=True, deadline=None)
settings.load_profile("same")


@pytest.fixture(scope="session", autouse=True)
def shared_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The cache of this run, for all modules and workers: what one test has measured the others know. The user's own is left alone."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared-cache"
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("SERVEMIX_CACHE_DIR", str(folder))
        yield folder
