"""A field of the schema with what messages and the reference say of it."""

from __future__ import annotations

from typing import Any

from pydantic import Field


def key(meaning: str, unit: str = "", example: Any = None, **more: Any) -> Any:
    """A field whose `meaning`, unit and example feed messages and the reference."""
    extra = {"unit": unit, "example": example}
    return Field(description=meaning, json_schema_extra=extra, **more)
