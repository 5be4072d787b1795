"""`relays: [{profile: my_relay.yaml}]`: what `probe` measured, merged into the entry before it is checked."""

from __future__ import annotations

from pathlib import Path as FilePath
from typing import Any

from sim.errors import InputError
from sim.scenario.read.document import Document, Path, Problems, printable
from sim.scenario.read.yaml_text import read_document

VERSION_KEY = "servemix_relay_profile"
VERSION = 1
NOT_MERGED = {VERSION_KEY, "measured"}
LATENCY = {"ttft_p50_s", "ttft_sigma", "tokens_per_s", "tokens_sigma"}


def merge_profiles(document: Document, folder: FilePath) -> list[str]:
    """Fill in the keys that relay entries take from their profiles; the problems of profiles that are none are returned.

    What the entry writes wins. Marks of merged values point into the profile, so that a fault is told with the profile's line.
    """
    candidates = document.data.get("candidates")
    relays = candidates.get("relays") if isinstance(candidates, dict) else None
    problems: list[str] = []
    for index, entry in enumerate(relays if isinstance(relays, list) else []):
        if isinstance(entry, dict) and isinstance(entry.get("profile"), str):
            try:
                _merge(document, ("candidates", "relays", index), entry, folder / entry["profile"])
            except InputError as error:
                problems += error.problems
    return problems


def _merge(document: Document, place: Path, entry: dict[str, Any], file: FilePath) -> None:
    profile = read_document(file, "relay profile")
    if profile.data.get(VERSION_KEY) != VERSION:
        problems = Problems(profile)
        problems.add((), f"is no relay profile: `{VERSION_KEY}: {VERSION}` is missing; write a file that `servemix probe` made")
        raise InputError(problems.lines())
    own_latency = bool(LATENCY & set(entry))
    for key, value in profile.data.items():
        if key in NOT_MERGED or key in entry or (key == "latency" and own_latency):
            continue
        entry[printable(key)] = value
        for table, marks in ((document.marks, profile.marks), (document.key_marks, profile.key_marks)):
            table.update({(*place, *path): mark for path, mark in marks.items() if path and path[0] == key})
