"""The list of which row is priced by which entry: ours, or one that the user wrote."""

from __future__ import annotations

from collections.abc import Collection
from pathlib import Path

from sim.errors import InputError

FILE = Path(__file__).with_name("mapping.yaml")


def load_mapping(package: str, file: Path | None = None, packages: Collection[str] = ()) -> dict[str, str]:
    """Relay id -> key of the package's entry. Raises InputError with every problem of the file; `packages` are the keys it may have.

    >>> load_mapping("genai-prices", packages=("litellm",))["openai.gpt-4.1"]
    'openai/gpt-4.1'
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError

    path = file or FILE
    try:
        raw = YAML(typ="safe").load(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror}") from None
    except (MarkedYAMLError, UnicodeDecodeError) as error:
        mark = getattr(error, "problem_mark", None)
        raise InputError(f"{path}:{mark.line + 1 if mark else 1}: not YAML: {getattr(error, 'problem', error)}") from None
    if not isinstance(raw, dict):
        raise InputError(f"{path}:1: a mapping file has a list per package; write `{package}:` and below it `relay.id: entry`")
    unknown = [key for key in raw if key != package and key not in packages]
    if unknown or package not in raw:
        known = ", ".join(sorted({package, *packages}))
        told = f"unknown key {unknown[0]}" if unknown else f"no list for {package}"
        raise InputError(f"{path}: {told}; a mapping file has a list per package ({known}) of `relay.id: entry`")
    rows = raw[package] or {}
    if not isinstance(rows, dict):
        raise InputError(f"{path}: {package}: write `relay.id: entry` pairs")
    wrong = {relay: entry for relay, entry in rows.items() if not isinstance(entry, str)}
    if wrong:
        raise InputError([f"{path}: {package}.{relay}: {entry!r} is not the name of an entry" for relay, entry in wrong.items()])
    return {str(relay): entry for relay, entry in rows.items()}
