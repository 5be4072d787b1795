"""A draft as the text of a scenario file: every key with its unit or reason next to it."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator

from sim.start.draft import ClassDraft, Draft, Value

WIDTH = 118
COMMENT_COLUMN = 34


def scenario_text(draft: Draft) -> str:
    """YAML with comments; values that were not given are marked `# filled: ...` with their source."""
    return "\n".join(_lines(draft)) + "\n"


def filled_values(draft: Draft) -> list[str]:
    """Keys that were filled, in the order of the file."""
    named = [(f"traffic.{key}", value) for key, value in draft.traffic.items()]
    for each in draft.classes:
        named += [(f"request_classes.{each.name}.{key}", value) for key, value in _class_values(each)]
    named += [("candidates.offers", draft.offers), ("candidates.relays", draft.relays)]
    named += [("budget.per_month", draft.budget)] if draft.per_mtok is None or draft.budget.text != "0" else []
    return [key for key, value in named if value.filled]


def _lines(draft: Draft) -> Iterator[str]:
    for note in draft.notes:
        yield from (f"# {line}" for line in textwrap.wrap(note, WIDTH, break_on_hyphens=False))
    yield f"name: {draft.name}"
    yield "description: >-"
    yield from textwrap.wrap(draft.description, WIDTH, initial_indent="  ", subsequent_indent="  ")
    yield "seed: 1"
    yield ""
    yield "traffic:"
    for key, value in draft.traffic.items():
        yield from _entry("  ", key, value)
    yield ""
    yield "request_classes:"
    for each in draft.classes:
        yield from _class_lines(each)
    yield "candidates:"
    yield from _entry("  ", "offers", draft.offers)
    yield from _entry("  ", "relays", draft.relays)
    yield ""
    if draft.region is not None:
        yield "policy:"
        yield from _entry(
            "  ", "data_residency", Value(f"[{draft.region}]", "given: relays and hosts that state another place or none are left out")
        )
        yield ""
    yield "budget:"
    if draft.per_mtok is None or draft.budget.text != "0":
        yield from _entry("  ", "per_month", draft.budget)
    if draft.per_mtok is not None:
        yield from _entry("  ", "per_mtok", draft.per_mtok)
    yield from _entry("  ", "currency", Value(draft.currency))


def _class_values(each: ClassDraft) -> list[tuple[str, Value]]:
    return [
        ("share", each.share),
        ("input_tokens", each.input_tokens),
        ("output_tokens", each.output_tokens),
        ("models", each.models),
        *((f"slo.{metric}", limit) for metric, limit in each.promises),
    ]


def _class_lines(each: ClassDraft) -> Iterator[str]:
    yield f"  - name: {each.name}"
    if each.kind != "chat":
        yield f"    kind: {each.kind}"
    for key, value in _class_values(each)[:4]:
        yield from _entry("    ", key, value)
    if each.promises:
        yield "    slo:"
    for metric, limit in each.promises:
        yield from _entry("      ", metric, limit)
    yield ""


def _entry(indent: str, key: str, value: Value) -> Iterator[str]:
    """`key: value  # remark`, the remark above where the line would be too long."""
    line = f"{indent}{key}: {value.text}"
    if not value.remark:
        yield line
        return
    beside = f"{line:{COMMENT_COLUMN}}  # {value.remark}"
    if len(beside) <= WIDTH + 20 and "\n" not in value.text:
        yield beside
        return
    yield from (f"{indent}# {part}" for part in textwrap.wrap(value.remark, WIDTH - len(indent), break_on_hyphens=False))
    yield line
