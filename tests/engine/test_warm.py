"""The kernel is compiled once, and says so."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from sim.engine import warm
from sim.engine.warm import warm_up

CODE = "from sim.engine.warm import warm_up; warm_up(print)"
ROOT = Path(__file__).parents[2]


def test_a_kernel_that_is_loaded_is_silent_and_quick() -> None:
    warm_up(lambda text: None)
    told: list[str] = []
    assert warm_up(told.append) < 5 and told == []


@pytest.mark.parametrize(("cached", "told"), [(True, 0), (False, 1)])
def test_a_compilation_that_is_to_come_is_announced(cached: bool, told: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(warm, "is_cached", lambda function: cached)
    said: list[str] = []
    assert warm.announce(said.append) is not cached
    assert len(said) == told


@pytest.mark.slow
def test_a_new_cache_is_announced_filled_and_used(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        subprocess.run([sys.executable, "-c", CODE], check=True, env=environment, cwd=ROOT, capture_output=True, text=True).stdout
        for _ in range(2)
    )
    assert "compiling" in first and second == ""


def test_a_compiled_function_of_another_folder_is_compiled_again_when_its_file_changes(tmp_path: Path) -> None:
    """Numba knows a function by its name and line; what the file says elsewhere counts too."""
    text = "from sim.engine.jit import compiled\n@compiled\ndef double(x):\n    return {} * x\nprint(double(21))\n"
    for factor in (2, 3):
        (tmp_path / "outside.py").write_text(text.format(factor))
        environment = {**os.environ, "PYTHONPATH": str(ROOT), "NUMBA_CACHE_DIR": str(tmp_path / "cache")}
        run = subprocess.run([sys.executable, "outside.py"], check=True, env=environment, cwd=tmp_path, capture_output=True, text=True)
        assert run.stdout.strip() == str(factor * 21)
