"""The digest of a catalogue names every byte that a plan rests on."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sim.catalog.loader import FOLDER, load_catalog


@pytest.mark.parametrize("name", ["calibration", "error_law", "fx", "gpus", "models", "offers", "relays", "tokenizers", "weight_formats"])
def test_a_changed_byte_of_any_file_changes_the_digest(name: str, tmp_path: Path) -> None:
    folder = tmp_path / "catalog"
    shutil.copytree(FOLDER, folder)
    before = load_catalog(folder).digest
    changed = tmp_path / "changed"
    shutil.copytree(folder, changed)
    file = changed / f"{name}.yaml"
    file.write_bytes(file.read_bytes() + b"# read again\n")
    assert load_catalog(changed).digest != before
