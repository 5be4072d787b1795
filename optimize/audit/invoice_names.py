"""Which seller or line of a plan a row of an invoice is about: by whole names, never by the beginning of a longer one."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]
# What may follow a name: a date or a build, a kind of token, words of a bill. Never a letter, a version or a size of another model.
AFTER = re.compile(
    r"(?:[-_@:;,/ ]+(?:\d{4}-\d{2}-\d{2}|\d{3,8}|v\d+:\d+|latest|instruct|it|hf|input|output|cached|cache|read|write|prompt|completion|"
    r"tokens?|batch|api|usage|host-hour|hours?))*$"
)
BETWEEN = re.compile(r"[^a-z0-9]+|(?<![0-9])\.|\.(?![0-9])")


@dataclass(frozen=True)
class Names:
    """`sellers` name (lower case) -> the offers and relays that it may mean; `lines` the same for lines of the bill -> (seller, line).

    vendors   words that name a seller of somebody: before a model they say whose it is
    """

    sellers: Mapping[str, frozenset[str]]
    lines: Mapping[str, tuple[str, str]]
    vendors: frozenset[str] = field(default_factory=frozenset)


@dataclass(frozen=True)
class Match:
    """`seller` None: not in the plan, or, where `candidates` are given, one of these; `line` where the row names it."""

    seller: str | None
    line: str | None = None
    candidates: tuple[str, ...] = ()


def names_of_plan(plan: Json, vendors: Sequence[str] = ()) -> Names:
    """Names by which an invoice may know what a plan buys: line, offer or relay with and without its provider, model of a relay."""
    sellers: dict[str, set[str]] = {}
    lines: dict[str, tuple[str, str]] = {}

    def add(name: str, seller: str) -> None:
        sellers.setdefault(name.lower(), set()).add(seller)
        provider, dot, rest = name.lower().partition(".")
        if dot and provider == seller.lower().partition(".")[0]:
            sellers.setdefault(rest, set()).add(seller)

    for charge in plan.get("charges", []):
        lines[str(charge["line"]).lower()] = (charge["source"], charge["line"])
        if charge["kind"] != "fixed":
            add(charge["source"], charge["source"])
    for relay in plan["relays"]:
        lines.setdefault(str(relay["relay"]).lower(), (relay["relay"], relay["relay"]))
        add(relay["relay"], relay["relay"])
        sellers.setdefault(str(relay["model"]).lower(), set()).add(relay["relay"])
    for pool in plan["fleet"]:
        lines.setdefault(str(pool["pool"]).lower(), (pool["offer"], pool["pool"]))
        add(pool["offer"], pool["offer"])
    return Names({name: frozenset(found) for name, found in sellers.items()}, lines, frozenset(each.lower() for each in vendors))


def match(texts: Sequence[str], names: Names, model_of: Callable[[str], str | None] = lambda _: None) -> Match:
    """What a row with these texts is about. An exact name first, then the longest name that one of the texts holds as a whole, then the
    model that `model_of` knows an id by, where no other vendor is named with it.
    """
    said = [text.strip().lower() for text in texts if text.strip()]
    for text in said:
        if text in names.lines and names.lines[text][0].lower() != text:
            return Match(*names.lines[text])
    exact = [names.sellers[text] for text in said if text in names.sellers]
    exact += [frozenset({names.lines[text][0]}) for text in said if text in names.lines]
    if exact:
        return _one(frozenset.intersection(*exact) or exact[0], said)
    held = [(len(name), found) for name, found in names.sellers.items() for text in said if holds(text, name, found, names.vendors)]
    if not held:
        return _by_model(said, names, model_of)
    longest = max(length for length, _ in held)
    return _one(frozenset().union(*(found for length, found in held if length == longest)), said)


def _by_model(said: Sequence[str], names: Names, model_of: Callable[[str], str | None]) -> Match:
    """The seller of the model that one of the texts is an id of."""
    for text in said:
        found = names.sellers.get(model_of(text) or "", frozenset())
        mine = frozenset(each for each in found if not (set(BETWEEN.split(text)) & names.vendors) - {each.lower().partition(".")[0]})
        if mine:
            return _one(mine, said)
    return Match(None)


def holds(text: str, name: str, found: frozenset[str], vendors: frozenset[str]) -> bool:
    """Whether `text` is `name` with nothing but a provider before it and a date, build or kind of token after it.

    >>> [holds(text, "gpt-4.1", frozenset({"openai.gpt-4.1"}), frozenset({"openai", "azure"})) for text in
    ...  ("gpt-4.1-2025-04-14", "openai/gpt-4.1, input", "gpt-4.1-mini-2025-04-14", "azure/gpt-4.1", "gpt-4.15")]
    [True, True, False, False, False]
    """
    at = text.find(name)
    while at >= 0:
        before, after = text[:at], text[at + len(name) :]
        owners = {each.lower().partition(".")[0] for each in found}
        others = (set(BETWEEN.split(before)) & vendors) - owners
        if (not before or before[-1] in "/: ") and AFTER.match(after) and not others:
            return True
        at = text.find(name, at + 1)
    return False


def _one(found: frozenset[str], said: Sequence[str]) -> Match:
    """The one seller, or the one of several whose provider the row names; else all of them as candidates."""
    if len(found) > 1:
        named = frozenset(each for each in found if each.lower().partition(".")[0] in said)
        found = named if len(named) == 1 else found
    return Match(next(iter(found))) if len(found) == 1 else Match(None, None, tuple(sorted(found)))
