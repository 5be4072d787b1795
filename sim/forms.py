"""The form of a file that a program wrote and a person may have changed: where its values differ from what is read of them."""

from __future__ import annotations

from typing import Any

from sim.errors import quoted

NUMBER = (int, float)
MAYBE_NUMBER = (int, float, type(None))
MAYBE_TEXT = (str, type(None))
NAMED = {str: "text", int: "a whole number", dict: "a mapping", list: "a list", bool: "true or false", NUMBER: "a number"}
NAMED |= {(int, type(None)): "a whole number or null", MAYBE_NUMBER: "a number or null", MAYBE_TEXT: "text or null"}


def unlike(value: Any, form: Any, key: str = "", whole: bool = True) -> list[str]:
    """Where `value` differs from `form`, `key: what is wrong`; keys that the form does not name may be anything.

    A form is a type (or several), a mapping of keys, or a list of one form; {"*": form} is that of every value of a mapping. Keys of the
    form may be absent unless `whole`.

    >>> unlike({"a": [1, "x"], "b": 2}, {"a": [int], "c": str})
    ["a.1: 'x' is not a whole number", 'c: is missing']
    >>> unlike({"b": {"x": 1.5, "y": None}}, {"a": str, "b": {"*": NUMBER}}, whole=False)
    ['b.y: None is not a number']
    """
    if isinstance(form, dict):
        if not isinstance(value, dict):
            return [f"{key}: {quoted(value)} is not a mapping"]
        forms = {name: form["*"] for name in value} if "*" in form else form
        missing = [_at(key, name) + ": is missing" for name in forms if whole and name not in value]
        there = [line for name in forms if name in value for line in unlike(value[name], forms[name], _at(key, name), whole)]
        return there + missing
    if isinstance(form, list):
        if not isinstance(value, list):
            return [f"{key}: {quoted(value)} is not a list"]
        return [line for index, each in enumerate(value) for line in unlike(each, form[0], _at(key, index), whole)]
    if not isinstance(value, form) or (isinstance(value, bool) and form is not bool):
        return [f"{key}: {quoted(value)} is not {NAMED[form]}"]
    return []


def _at(key: str, name: object) -> str:
    return f"{key}.{name}".strip(".")
