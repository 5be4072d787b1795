"""What a scenario leaves unsaid, and is therefore assumed: every default that holds because the file says nothing."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

EMPTY: tuple[Any, ...] = (None, "", [], {})


@dataclass(frozen=True)
class Assumed:
    """A key that was not written, the value that holds, its unit and meaning."""

    key: str
    value: Any
    unit: str
    meaning: str


def assumed(spec: BaseModel, path: str = "") -> Iterator[Assumed]:
    """Defaults that hold in `spec`, in the order of the schema; those that stand for nothing (no list, no limit) are left out."""
    for name, field in type(spec).model_fields.items():
        value, key = getattr(spec, name), f"{path}.{name}" if path else name
        if isinstance(value, BaseModel):
            yield from assumed(value, key)
        elif isinstance(value, list) and any(isinstance(each, BaseModel) for each in value):
            for index, each in enumerate(value):
                if isinstance(each, BaseModel):
                    yield from assumed(each, f"{key}.{getattr(each, 'name', index)}")
        elif name not in spec.model_fields_set and not any(value is empty or value == empty for empty in EMPTY):
            extra = field.json_schema_extra if isinstance(field.json_schema_extra, dict) else {}
            yield Assumed(key, value, str(extra.get("unit") or ""), field.description or "")
