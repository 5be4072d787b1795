"""The list of which row is priced by which entry: ours, or one that the user wrote."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from sim.errors import InputError, quoted
from sim.guarded_yaml import load_plain
from sim.named_files import read_text

MOST_BYTES = 1_000_000
FILE = Path(__file__).with_name("mapping.yaml")


def load_mapping(package: str, file: Path | None = None, packages: Collection[str] = ()) -> dict[str, str]:
    """Relay id -> key of the package's entry. Raises InputError with every problem of the file; `packages` are the keys it may have.

    >>> load_mapping("genai-prices", packages=("litellm",))["openai.gpt-4.1"]
    'openai/gpt-4.1'
    """
    path = file or FILE
    raw = load_plain(read_text(path, "a mapping file", MOST_BYTES), str(path), aliases=False)
    if not isinstance(raw, dict):
        raise InputError(f"{path}:1: a mapping file has a list per package; write `{package}:` and below it `relay.id: entry`")
    unknown = [key for key in raw if key != package and key not in packages]
    if unknown or package not in raw:
        known = ", ".join(sorted({package, *packages}))
        told = f"unknown key {unknown[0]!s:.80}" if unknown else f"no list for {package}"
        raise InputError(f"{path}: {told}; a mapping file has a list per package ({known}) of `relay.id: entry`")
    rows = raw[package] or {}
    if not isinstance(rows, dict):
        raise InputError(f"{path}: {package}: write `relay.id: entry` pairs")
    wrong = {relay: entry for relay, entry in rows.items() if not isinstance(entry, str)}
    if wrong:
        said = (f"{quoted(relay)}: {quoted(entry)}" for relay, entry in wrong.items())
        raise InputError([f"{path}: {package}.{each} is not the name of an entry" for each in said])
    return {str(relay): entry for relay, entry in rows.items()}
