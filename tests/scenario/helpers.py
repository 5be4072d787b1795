"""A small good scenario to break in one place at a time."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.errors import InputError
from sim.scenario import load_scenario

GOOD = """\
name: small
seed: 7
traffic: {rate_rps: 5}
request_classes:
  - name: chat
    share: 0.6
    input_tokens: 500
    output_tokens: 200
    models: [llama-3.1-8b]
    slo:
      ttft: {p95: 1.0}
  - name: faq
    share: 0.4
    input_tokens: 100
    output_tokens: 50
    models: [llama-3.1-8b]
candidates:
  offers: [aws.g6e.xlarge]
  relays: [deepinfra.llama-3.1-8b]
budget: {per_month: 1000}
"""


def write(folder: Path, text: str | bytes, name: str = "s.yaml") -> Path:
    path = folder / name
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return path


def broken(old: str, new: str) -> str:
    """The good scenario with one text replaced; the text must be there once."""
    assert GOOD.count(old) == 1, old
    return GOOD.replace(old, new)


def problems(path: Path, *overrides: str) -> list[str]:
    """What loading `path` complains of, without the folder."""
    with pytest.raises(InputError) as caught:
        load_scenario(path, overrides)
    return [line.replace(f"{path.parent}/", "") for line in caught.value.problems]
