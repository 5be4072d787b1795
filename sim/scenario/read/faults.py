"""What the schema refuses, said in the user's words: what is wrong with which value, and what would be right."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any, get_args

from pydantic import BaseModel, Tag, ValidationError
from pydantic.fields import FieldInfo

from sim.scenario.read.document import Path, Problems, nearest, shown

SCALE = {
    "ms": 1e-3,
    "us": 1e-6,
    "s": 1.0,
    "sec": 1.0,
    "min": 60.0,
    "h": 3600.0,
    "%": 0.01,
    "k": 1e3,
    "m": 1e6,
    "g": 1e9,
    "b": 1e9,
}
NUMBER = re.compile(r"[$€£]?\s*([+-]?\d[\d_, ]*(?:\.\d+)?(?:e[+-]?\d+)?)\s*([a-z%]*)(?:\s*/\s*[a-z]+)?", re.IGNORECASE)
KINDS = {
    "bool": "true or false",
    "string": "text",
    "list": "a list",
    "dict": "a mapping",
    "model": "a mapping",
}


def add_faults(problems: Problems, error: ValidationError, schema: type[BaseModel]) -> None:
    """Each fault of `error` becomes one problem with its place and path."""
    for fault in error.errors(include_url=False):
        location = [part for part in fault["loc"]]
        of_key = location[-1:] == ["[key]"]
        if of_key:
            location.pop()
        path: Path = tuple(part for part in location if not _is_tag(part))
        kind, value, context = fault["type"], fault["input"], fault.get("ctx", {})
        if kind == "extra_forbidden":
            known = list(_model_at(schema, location[:-1]).model_fields)
            problems.add(path, f"is not a key here; {nearest(str(path[-1]), known)}", of_key=True)
        elif kind == "missing":
            field = _model_at(schema, location[:-1]).model_fields[str(location[-1])]
            problems.add(path, f"is missing; {_example(str(path[-1]), field)}")
        elif kind == "alone":
            problems.add(path, context["text"], of_key)
        else:
            if kind == "form":
                context = {"text": fault["msg"]}
            problems.add(path, f"{shown(value)} {_sentence(kind, value, context, path)}", of_key)


def _is_tag(part: str | int) -> bool:
    return isinstance(part, str) and part.startswith("«")


def _sentence(kind: str, value: Any, context: Mapping[str, Any], path: Path) -> str:
    """The rest of a sentence that begins with the value."""
    if kind in ("said", "form"):
        return str(context["text"])
    if kind in ("float_type", "int_type", "int_from_float", "finite_number"):
        return _not_a_number(kind, value, path)
    if kind in ("greater_than", "greater_than_equal"):
        bound = context["gt"] if kind == "greater_than" else context["ge"]
        more = "a number above" if kind == "greater_than" else "at least"
        negative = "is negative" if value < 0 else "is too small"
        return f"{negative}; write {more} {bound:g}"
    if kind in ("less_than", "less_than_equal"):
        return f"is too large; write at most {context.get('le', context.get('lt')):g}"
    if kind == "literal_error":
        return f"is none of the choices; write {context['expected'].replace(chr(39), '')}"
    if kind in ("too_short", "too_long"):
        few, bound = ("few", context["min_length"]) if kind == "too_short" else ("many", context["max_length"])
        return f"has too {few} entries ({context['actual_length']}); write {'at least' if few == 'few' else 'at most'} {bound}"
    wanted = KINDS.get(kind.removesuffix("_type").removesuffix("_attributes"))
    if wanted == "text" and isinstance(value, int | float) and not isinstance(value, bool):
        return f'is a number, not text; write "{value}" in quotes'
    return f"is not {wanted}; write {wanted}" if wanted else f"is not accepted ({kind})"


def _not_a_number(kind: str, value: Any, path: Path) -> str:
    whole = kind in ("int_type", "int_from_float")
    noun = ("a whole number" if whole else "a number") + _of_unit(path)
    if isinstance(value, float) and kind == "finite_number":
        return f"is not {noun}; write a finite one"
    if isinstance(value, float) and whole and abs(value) < 1e15:
        return f"is not {noun}; write {round(value)}"
    meant = meant_number(value) if isinstance(value, str) else None
    return f"is not {noun}; write {meant:g}" if meant is not None else f"is not {noun}; write digits only"


def meant_number(text: str) -> float | None:
    """The bare number, in base units, that a text with a unit means; None when it means none.

    >>> meant_number("200ms"), meant_number("$60k"), meant_number("5 %"), meant_number("soon")
    (0.2, 60000.0, 0.05, None)
    """
    match = NUMBER.fullmatch(text.strip()[:80])
    if match is None:
        return None
    digits = re.sub(r"[_, ]", "", match[1])
    factor = SCALE.get(match[2].lower(), 1.0 if not match[2] or len(match[2]) > 2 else None)
    return None if factor is None else round(float(digits) * factor, 12)


def _of_unit(path: Path) -> str:
    last = str(path[-1]) if path else ""
    if "slo" in path or last.endswith("_s"):
        return " of seconds"
    if last.endswith("_tokens"):
        return " of tokens"
    if last in ("per_month", "usd_per_hour") or last.startswith("usd_"):
        return " of money"
    return ""


def _example(key: str, field: FieldInfo) -> str:
    extra = field.json_schema_extra
    example = extra.get("example") if isinstance(extra, dict) else None
    meaning = f" ({field.description})" if field.description else ""
    if example in (None, []):
        return f"write `{key}`{meaning}"
    return f"write `{key}: {_flow(example)}`, for example{meaning}"


def _flow(value: Any) -> str:
    """`value` as YAML on one line."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{name}: {_flow(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ", ".join(map(_flow, value)) + "]"
    return str(value)


def _model_at(schema: type[BaseModel], location: list[str | int]) -> type[BaseModel]:
    """The model that validates the mapping at `location`; tags in it choose among the members of a union."""
    here: Any = schema
    for part in location:
        if isinstance(part, int):
            continue
        if _is_tag(part):
            here = _tagged(here, part) or here
            continue
        fields = [model.model_fields[part] for model in _models_in(here) if part in model.model_fields]
        here = fields[0].annotation if fields else here
    return _models_in(here)[0]


def _tagged(annotation: Any, tag: str) -> Any:
    """The member of a union that carries `tag`, however deep in lists and options."""
    if any(isinstance(mark, Tag) and mark.tag == tag for mark in getattr(annotation, "__metadata__", ())):
        return annotation
    return next((found for part in get_args(annotation) if (found := _tagged(part, tag))), None)


def _models_in(annotation: Any) -> list[type[BaseModel]]:
    """Every model class inside a type expression."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for part in get_args(annotation) for model in _models_in(part)]
