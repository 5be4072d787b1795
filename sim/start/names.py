"""Model names as logs and bills write them -> names of the catalogue."""

from __future__ import annotations

import re

from sim.catalog.facts import Catalog
from sim.errors import InputError
from sim.scenario.read.document import nearest, shown

TAILS = re.compile(r"(-20\d\d-?\d\d-?\d\d|@\d{8}|-instruct|-chat|-it|-turbo|-latest|:free|:nitro|-hf|-fp8)$")


def known_model(name: str, catalog: Catalog) -> str | None:
    """The model of the catalogue, or of one of its relays, that `name` means; None where none does.

    Providers before the name, dates and words such as `instruct` after it do not matter.
    """
    known = {each.lower(): each for each in (*catalog.models, *(relay.model for relay in catalog.relays.values()))}
    short = name.strip().lower().rsplit("/", 1)[-1]
    while short:
        if short in known:
            return known[short]
        dashed = re.sub(r"^(meta|mistralai|qwen|openai|anthropic|google)[-.]", "", short)
        if dashed in known:
            return known[dashed]
        shorter = TAILS.sub("", short)
        if shorter == short:
            return known.get(short.replace("meta-", ""))
        short = shorter
    return None


def named_model(name: str, catalog: Catalog) -> str:
    """As `known_model`; raises InputError with the nearest names where there is none."""
    found = known_model(name, catalog)
    if found is None:
        models = {*catalog.models, *(relay.model for relay in catalog.relays.values())}
        raise InputError(f"--model {shown(name)} is no model of the catalogue, and no relay serves it; {nearest(name, models)}")
    if (found in catalog.models and catalog.models[found].kind == "embedding") or found in _embeddings(catalog):
        raise InputError(f"--model {found} makes embeddings, `new` writes classes that answer; start from scenarios/rag_search.yaml")
    return found


def _embeddings(catalog: Catalog) -> set[str]:
    """Models that relays sell as embeddings."""
    return {relay.model for relay in catalog.relays.values() if relay.kind == "embedding"}


def class_name(text: str, taken: set[str]) -> str:
    """`text` as a name that a scenario accepts and that is not taken yet.

    >>> class_name("gpt 4.1 (mini)", {"gpt-4.1-mini"})
    'gpt-4.1-mini-2'
    """
    base = re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-._")[:60] or "all"
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}-{number}"
    return name


def whole_shares(parts: list[float]) -> list[str]:
    """Parts of a whole as texts that sum to 1 exactly enough for a scenario.

    >>> whole_shares([1, 1, 1])
    ['0.33333333', '0.33333333', '0.33333334']
    """
    total = sum(parts)
    shares = [round(part / total, 8) for part in parts]
    shares[-1] = round(1 - sum(shares[:-1]), 8)
    return [f"{share:.8g}" for share in shares]
