"""The page's script, its own and small, and the policy that lets this text run and nothing else."""

from __future__ import annotations

import base64
import hashlib
from functools import cache
from pathlib import Path

FOLDER = Path(__file__).with_name("script")
FILES = ("formulas.js", "page.js")  # in the order in which they run


@cache
def script() -> str:
    """The text between the script tags."""
    return "\n" + "".join((FOLDER / name).read_text(encoding="utf-8") for name in FILES)


def script_hash() -> str:
    """What a content security policy calls the script: 'sha256-...' in base64."""
    return f"'sha256-{base64.b64encode(hashlib.sha256(script().encode()).digest()).decode()}'"
