"""YAML that a user names is looked through as a flat stream of events first: what nests too deep or is too long never meets recursion.

The fast reader is a C library: on deep nesting its construction of values ends the process. Its stream of events does not.
"""

from __future__ import annotations

from typing import Any

from ruamel.yaml import YAML
from ruamel.yaml.error import MarkedYAMLError, YAMLError
from ruamel.yaml.events import AliasEvent, CollectionEndEvent, CollectionStartEvent

from sim.errors import InputError

MAX_VALUES = 20_000
MAX_DEPTH = 30


def refuse_monsters(text: str, name: str, most_values: int = MAX_VALUES, pure: bool = True, aliases: bool = True) -> None:
    """InputError where `text` nests deeper than MAX_DEPTH, has more than `most_values`, or uses aliases where it may not.

    `name` stands for the file in the message. Raises the errors of the YAML reader for what is no YAML.
    """
    depth = 0
    for count, event in enumerate(YAML(typ="rt" if pure else "safe", pure=pure).parse(text)):
        if isinstance(event, CollectionStartEvent):
            depth += 1
        elif isinstance(event, CollectionEndEvent):
            depth -= 1
        why = ""
        if depth > MAX_DEPTH:
            why = f"nests deeper than {MAX_DEPTH} levels"
        elif count > 2 * most_values:
            why = f"has over {most_values:,} values"
        elif isinstance(event, AliasEvent) and not aliases:
            why = "uses an alias; write the value out"
        if why:
            mark = event.start_mark
            raise InputError(f"{name}:{mark.line + 1}:{mark.column + 1}: {why}" + ("" if "alias" in why else "; no such file needs that"))


def load_plain(text: str, name: str, most_values: int = MAX_VALUES, aliases: bool = True) -> Any:
    """The value in `text`, by the fast reader. Raises InputError with the line for whatever is wrong with it."""
    try:
        refuse_monsters(text, name, most_values, pure=False, aliases=aliases)
        return YAML(typ="safe").load(text)
    except InputError:
        raise
    except MarkedYAMLError as error:
        mark = error.problem_mark
        line = mark.line + 1 if mark is not None else 1
        raise InputError(f"{name}:{line}: not YAML: {error.problem}; look here and one line up") from None
    except (YAMLError, ValueError, TypeError, RecursionError, ArithmeticError, LookupError, AttributeError) as error:
        reason = str(error).splitlines()[0][:100] if str(error) else type(error).__name__
        raise InputError(f"{name}:1: not YAML that can be read ({reason})") from None
