"""The sample scenarios that come with the package, and copies of them for people to change."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from sim.catalog.check import nearest
from sim.errors import InputError
from sim.scenario.json_schema import FILE as SCHEMA_FILE
from sim.scenario.read.yaml_text import read_document
from sim.start.write_scenario import check_target, write_bytes_new

ROOT = Path(__file__).resolve().parents[2]
PLACES = (ROOT / "servemix" / "samples", ROOT / "scenarios")  # of an installed package, of a checkout


def samples_folder() -> Path:
    """Where the samples stand."""
    return next((place for place in PLACES if place.is_dir()), PLACES[-1])


def sample_names() -> list[str]:
    """Names of all samples."""
    return sorted(file.stem for file in samples_folder().glob("*.yaml"))


def copy_sample(sample: str, path: Path, force: bool = False) -> list[Path]:
    """The sample in `path`, and next to it the files that it names; returns all that was written. Raises InputError before it writes."""
    folder = samples_folder()
    if sample not in sample_names():
        hint = ", ".join(nearest(sample, sample_names()) or sample_names())
        raise InputError(f'--from-sample: "{sample}" is no sample; write one of: {hint}')
    text = (folder / f"{sample}.yaml").read_text(encoding="utf-8")
    if path.stem != sample:
        text = re.sub(r"^name: .*$", f"name: {path.stem}", text, count=1, flags=re.M)
    contents = {path: text.encode()}
    for name in (SCHEMA_FILE, *dict.fromkeys(named_files(read_document(folder / f"{sample}.yaml").data, folder))):
        target, content = path.parent / name, (folder / name).read_bytes()
        if not target.is_file() or target.read_bytes() != content:
            contents[target] = content
    for target in contents:
        target.parent.mkdir(exist_ok=True)
        check_target(target, force)
    for target, content in contents.items():
        write_bytes_new(target, content, force)
    return list(contents)


def named_files(value: Any, folder: Path) -> Iterator[str]:
    """Texts in a scenario that name a file below its folder."""
    if isinstance(value, dict | list):
        for each in value.values() if isinstance(value, dict) else value:
            yield from named_files(each, folder)
    elif isinstance(value, str) and "." in value and len(value) < 200 and value.isprintable() and (folder / value).is_file():
        yield value
