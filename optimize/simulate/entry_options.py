"""What an entry of --fleet says in brackets: classes, engine limits, KV format, overflow."""

from __future__ import annotations

from dataclasses import dataclass, field

from sim.catalog.check import nearest
from sim.engine.deployment import ENGINE_LIMITS, KV_BYTES
from sim.scenario.scenario import Scenario

POOL_KEYS = ("classes", *ENGINE_LIMITS, "kv", "overflow")


@dataclass(frozen=True)
class EntryOptions:
    """Options of one entry; what is absent is as without brackets.

    classes   class index -> share of it that comes here, None: by capacity; None instead of the dict: every class that may
    limits    engine limits by name;  kv_bytes of a number in the cache
    overflow  open requests per replica beyond which the next request goes to `spill_to`: "relay:NAME", or "#K" for entry K
    """

    classes: dict[int, float | None] | None = None
    limits: dict[str, int] = field(default_factory=dict)
    kv_bytes: int = KV_BYTES["auto"]
    overflow: int | None = None
    spill_to: str = ""


def split_entries(text: str) -> list[str]:
    """The entries of --fleet: commas separate them, but not inside brackets.

    >>> split_entries("a=1[classes=x, kv=fp8], relay:b")
    ['a=1[classes=x, kv=fp8]', 'relay:b']
    """
    entries, depth = [""], 0
    for letter in text:
        depth += (letter == "[") - (letter == "]")
        if letter == "," and depth <= 0:
            entries.append("")
        else:
            entries[-1] += letter
    return [entry.strip() for entry in entries]


def split_options(entry: str) -> tuple[str, str]:
    """The entry without its brackets, and what they hold; ValueError where they do not close.

    >>> split_options("relay:b[classes=x:0.5]"), split_options("relay:b")
    (('relay:b', 'classes=x:0.5'), ('relay:b', ''))
    """
    name, bracket, rest = entry.partition("[")
    if not bracket:
        return name.strip(), ""
    if not rest.endswith("]") or "[" in rest or "]" in rest[:-1]:
        raise ValueError(f'"{entry}": brackets do not close; write e.g. ...=4[classes=chat+faq overflow=112:relay:NAME]')
    return name.strip(), rest[:-1]


def parse_options(text: str, scenario: Scenario, keys: tuple[str, ...] = POOL_KEYS) -> EntryOptions:
    """The options of an entry; ValueError says what is wrong and what would be right."""
    found: dict[str, str] = {}
    for word in text.replace(",", " ").replace(";", " ").split():
        key, separator, value = word.partition("=")
        if key not in keys or not separator or not value or key in found:
            raise ValueError(f'"{word}" is not an option; write each of {", ".join(keys)} once, as KEY=VALUE')
        found[key] = value
    kv = found.get("kv", "auto")
    if kv not in KV_BYTES:
        raise ValueError(f'kv: "{kv}" is unknown; write {" or ".join(KV_BYTES)}')
    overflow, spill_to = _overflow(found["overflow"]) if "overflow" in found else (None, "")
    classes = _classes(found["classes"], scenario) if "classes" in found else None
    limits = {name: _whole(name, found[name]) for name in ENGINE_LIMITS if name in found}
    return EntryOptions(classes, limits, KV_BYTES[kv], overflow, spill_to)


def _whole(name: str, text: str) -> int:
    if not text.isdecimal() or not 1 <= int(text) <= 1_000_000:
        raise ValueError(f'{name}: "{text}" is not a number; write 1 to 1000000')
    return int(text)


def _overflow(text: str) -> tuple[int, str]:
    threshold, separator, target = text.partition(":")
    if not separator or not (target.startswith("relay:") or (target.startswith("#") and target[1:].isdecimal())):
        raise ValueError(f'overflow: "{text}" is not THRESHOLD:TARGET; write e.g. 112:relay:NAME, or 112:#2 for the second entry')
    return _whole("overflow", threshold), target


def _classes(text: str, scenario: Scenario) -> dict[int, float | None]:
    names = [each.name for each in scenario.request_classes]
    chosen: dict[int, float | None] = {}
    for part in text.split("+"):
        name, separator, share = part.rpartition(":") if part not in names and ":" in part else (part, "", "")
        if name not in names:
            near = " or ".join(nearest(name, names)) or ", ".join(names)
            raise ValueError(f'classes: "{name}" is not a class of {scenario.name}; write {near}')
        try:
            value = float(share) if separator else None
        except ValueError:
            value = -1.0
        if value is not None and not 0 < value <= 1:
            raise ValueError(f'classes: "{part}": the share of {name} must be above 0 and at most 1, such as {name}:0.4')
        if names.index(name) in chosen:
            raise ValueError(f'classes: "{name}" is named twice')
        chosen[names.index(name)] = value
    return chosen
