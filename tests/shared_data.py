"""Where measured data for tests lives; a test that needs it skips with a message when it is absent."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

DEFAULT = Path(__file__).resolve().parents[2] / "shared" / "data"


def shared_data(relative: str) -> Path:
    """Path of a data file that is not part of this project; skips the calling test when the file is absent."""
    path = Path(os.environ.get("SERVEMIX_SHARED_DATA", DEFAULT)) / relative
    if not path.exists():
        pytest.skip(f"needs the measured data file {relative}, which is not part of the project")
    return path
