"""One row of a YAML file -> one frozen record; what does not fit is said, never guessed."""

from __future__ import annotations

import dataclasses
import datetime
import math
import re
from collections.abc import Callable, Iterable
from difflib import get_close_matches
from functools import cache
from itertools import pairwise
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints

from sim.catalog.facts import CalibrationRow, Gpu, Model, Offer, Relay, Source, Tokenizer, WeightFormat
from sim.catalog.price_terms import LongPrompt, OffPeak, span_h
from sim.errors import quoted

Say = Callable[[str, str], None]  # (key, what is wrong and what would be right)

DATE = re.compile(r"\d{4}(-(0[1-9]|1[0-2])(-(0[1-9]|[12]\d|3[01]))?)?")
DAYS = ("retires_on", "next_price_on", "valid_from", "valid_until")  # keys that name a whole day
TERMS = ("on_demand", "reserved_1y", "reserved_3y", "spot", "owned")
GRADES = ("quote", "contract", "list", "claimed")
KINDS = ("chat", "embedding")
COMPUTE = ("bf16", "fp16", "fp8", "int8", "fp4")

# Numbers are >= 0 everywhere; here what must be more, or less, than that.
POSITIVE: dict[type, tuple[str, ...]] = {
    Gpu: ("memory_bytes", "bandwidth_bytes_per_s"),
    Model: (
        *("parameters", "active_parameters", "layers", "hidden_size", "heads", "kv_heads", "head_dim"),
        *("intermediate_size", "vocab_size", "max_context", "experts", "experts_per_token"),
    ),
    WeightFormat: ("bytes_per_weight",),
    Offer: ("gpus",),
    Relay: (
        *("ttft_p50_s", "tokens_per_s", "rpm", "tpm", "max_context", "credit_per_unit"),
        *("unit_usd_per_hour", "unit_tokens_per_minute", "unit_output_weight", "unit_minimum", "batch_window_h"),
    ),
    LongPrompt: ("above_tokens",),
    OffPeak: ("factor",),
}
SHARES: dict[type, tuple[str, ...]] = {
    Offer: ("spot_availability",),
    Relay: ("error_share",),
    OffPeak: ("factor",),
}
CHOICES: dict[type, dict[str, tuple[str, ...]]] = {
    Gpu: {"link": ("nvlink", "pcie", "none")},
    Model: {"kind": KINDS},
    WeightFormat: {"compute": COMPUTE, "needs": COMPUTE},
    Offer: {"term": TERMS, "grade": GRADES},
    Relay: {"grade": GRADES, "kind": KINDS, "unit_term": ("", "on_demand", "reserved_1m", "reserved_1y")},
}


def nearest(name: str, names: Iterable[str]) -> list[str]:
    """At most three of `names` that look like `name`, the most alike first; empty when none does.

    >>> nearest("l4s", ["l40s", "l4", "h100"])
    ['l40s', 'l4']
    >>> nearest("gpt-9", ["l40s"])
    []
    """
    return get_close_matches(name.lower(), list(names), n=3, cutoff=0.6)


def instead(name: str, names: Iterable[str]) -> str:
    """The end of a message about an unknown name: what would be right.

    >>> instead("h10", ["h100", "t4"])
    'did you mean h100?'
    >>> instead("zzz", ["h100", "t4"])
    'known: h100, t4'
    """
    known = list(names)
    close = nearest(name, known)
    return f"did you mean {' or '.join(close)}?" if close else "known: " + ", ".join(sorted(known))


@cache
def _types(record: type) -> dict[str, Any]:
    return get_type_hints(record)


@cache
def _required(record: type) -> tuple[str, ...]:
    unset = dataclasses.MISSING
    fields = dataclasses.fields(record)
    return tuple(f.name for f in fields if f.default is unset and f.default_factory is unset)


def record_of(record: type, raw: object, say: Say, prefix: str = "") -> Any:
    """An instance of `record` from the mapping `raw`, or None after at least one call of `say`."""
    if not isinstance(raw, dict):
        say(prefix.rstrip("."), f"{quoted(raw)} is not a mapping; write `key: value` pairs")
        return None
    types, faults = _types(record), 0
    for key in raw:
        if key not in types:
            faults += 1
            say(f"{prefix}{quoted(key).strip(chr(39))}", f"unknown key; {instead(quoted(key), types)}")
    for key in _required(record):
        if key not in raw or (raw[key] is None and NoneType not in get_args(types[key])):
            faults += 1
            say(f"{prefix}{key}", "missing; every row states it")
    values = {}
    for key, value in raw.items():
        if key in types and value is not None:
            values[key] = _value(types[key], value, say, f"{prefix}{key}")
            faults += values[key] is None
        elif key in types:
            values[key] = None
    faults += sum(1 for key in _bounds(record, values, say, prefix) if key)
    return None if faults else record(**{key: values.get(key) for key in _required(record)} | values)


def _value(kind: Any, value: Any, say: Say, key: str) -> Any:
    """`value` as `kind`, or None after `say`."""
    if isinstance(kind, UnionType):
        kind = next(k for k in get_args(kind) if k is not NoneType)
    if dataclasses.is_dataclass(kind):
        return record_of(kind, value, say, key + ".")  # type: ignore[arg-type]
    if get_origin(kind) is dict:
        return _numbers(value, say, key)
    if kind in (int, float):
        return _number(kind, value, say, key)
    if get_origin(kind) is tuple:
        if dataclasses.is_dataclass(get_args(kind)[0]):
            return _records(get_args(kind)[0], value, say, key)
        if isinstance(value, list) and all(isinstance(v, str) for v in value):
            return tuple(value)
        say(key, f"{quoted(value)} is not a list of names; write [us, eu]")
        return None
    if isinstance(value, datetime.date):
        value = value.isoformat()
    if isinstance(value, kind):
        return value
    say(key, f"{quoted(value)} is not {'a text; quote it' if kind is str else 'true or false'}")
    return None


def _records(record: type, value: Any, say: Say, key: str) -> tuple[Any, ...] | None:
    if not isinstance(value, list):
        say(key, f"{quoted(value)} is not a list of mappings")
        return None
    rows = tuple(record_of(record, each, say, f"{key}.{index}.") for index, each in enumerate(value))
    return None if None in rows else rows


def _numbers(value: Any, say: Say, key: str) -> dict[str, float] | None:
    if not isinstance(value, dict):
        say(key, f"{quoted(value)} is not a mapping of names to numbers")
        return None
    numbers = {str(name): _number(float, number, say, f"{key}.{name}") for name, number in value.items()}
    whole = {name: float(number) for name, number in numbers.items() if number is not None}
    return whole if len(whole) == len(numbers) else None


def _number(kind: type, value: Any, say: Say, key: str) -> float | int | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        wrong = "not a number"
    elif not math.isfinite(value):
        wrong = "not finite; write a number"
    elif value < 0:
        wrong = "negative; write 0 or more"
    elif kind is int and value != int(value):
        wrong = "not a whole number"
    else:
        return kind(value)  # type: ignore[no-any-return]
    say(key, f"{quoted(value)} is {wrong}")
    return None


def _bounds(record: type, values: dict[str, Any], say: Say, prefix: str) -> Iterable[str]:
    """Keys of which the value has the right type and a wrong size."""
    for key in POSITIVE.get(record, ()):
        if values.get(key) == 0:
            say(f"{prefix}{key}", "0 is no value; write more than 0")
            yield key
    for key in SHARES.get(record, ()):
        if (values.get(key) or 0.0) > 1:
            say(f"{prefix}{key}", f"{quoted(values[key])} is not a share; write 0 to 1")
            yield key
    for key, choices in CHOICES.get(record, {}).items():
        value = values.get(key)
        if isinstance(value, str) and value not in choices:
            say(f"{prefix}{key}", f"{quoted(value)} is not one of {', '.join(choices)}")
            yield key
    for key, whole in (("date", False), *((key, True) for key in DAYS)):
        value = values.get(key)
        if isinstance(value, str) and not (DATE.fullmatch(value) and (len(value) == 10 or not whole)):
            right = "2026-11-30" if whole else "2026-11"
            say(f"{prefix}{key}", f"{quoted(value)} is not an ISO date; write {right}")
            yield key
    for span in values.get("hours_utc") or () if record is OffPeak else ():
        try:
            span_h(span)
        except ValueError as error:
            say(f"{prefix}hours_utc", str(error))
            yield "hours_utc"
    if record is Relay and any(a.above_tokens >= b.above_tokens for a, b in pairwise(values.get("long_prompts") or ())):
        say(f"{prefix}long_prompts", "above_tokens must rise from tier to tier")
        yield "long_prompts"
    if record is Source and not str(values.get("title") or "x").strip():
        say(f"{prefix}title", "empty; name what a reader can find")
        yield "title"


ROWS: dict[str, type] = {
    "gpus": Gpu,
    "models": Model,
    "weight_formats": WeightFormat,
    "offers": Offer,
    "relays": Relay,
    "tokenizers": Tokenizer,
    "calibration": CalibrationRow,
}
