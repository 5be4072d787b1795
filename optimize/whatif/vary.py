"""`--vary KEY=VALUES` -> Axis. VALUES: a list `50k,100k,200k`, a range `lo:hi:lin5` or `lo:hi:log5`, or changes of a list `+NAME,-NAME`."""

from __future__ import annotations

import math
import re
from collections.abc import Sequence

from optimize.whatif.factors import FACTORS
from optimize.whatif.study import AS_IS, Axis, Edit, Level, Span
from sim.errors import InputError
from sim.scenario.read.document import nearest, printable
from sim.scenario.read.yaml_text import parse_value

NUMBER = re.compile(r"[+-]?(\d[\d_]*\.?\d*|\.\d+)([eE][+-]?\d+)?[kMB]?")
SUFFIXES = {"k": 1e3, "M": 1e6, "B": 1e9}
SPACING = re.compile(r"(lin|log)(\d*)")
MOST_LEVELS = 1000
PREFIX = "factor."
EXAMPLE = "write for example --vary budget.per_month=50k,100k or --vary traffic.daily_active_users=1e5:3e6:log10"


def parse_axes(texts: Sequence[str], sampled: bool = False) -> tuple[Axis, ...]:
    """The axes of all `--vary` texts; every problem in one InputError. With `sampled`, a range needs no number of values."""
    problems: list[str] = []
    axes: list[Axis] = []
    for text in texts:
        try:
            axis = parse_axis(text, sampled)
            taken = [each.key for each in axes if not (_edits(each) and _edits(axis))]
            if axis.key in taken:
                raise InputError(f"--vary {printable(text, 100)}: {axis.key} is varied twice; write all its values in one --vary")
            axes.append(axis)
        except InputError as error:
            problems += error.problems
    if problems:
        raise InputError(problems)
    return tuple(axes)


def parse_axis(text: str, sampled: bool = False) -> Axis:
    """One axis.

    >>> [level.label for level in parse_axis("budget.per_month=50k,0.1M").levels]
    [50000.0, 100000.0]
    >>> [level.label for level in parse_axis("traffic.daily_active_users=1e5:1e7:log3").levels]
    [100000.0, 1000000.0, 10000000.0]
    >>> [level.label for level in parse_axis("candidates.offers=+aws.p5.48xlarge").levels]
    ['as is', '+aws.p5.48xlarge']
    """
    origin = f"--vary {printable(text, 100)}"
    key, equals, written = text.partition("=")
    key, written = key.strip(), written.strip()
    if not equals or not written or not all(key.split(".")):
        raise InputError(f"{origin}: is not KEY.PATH=VALUES; {EXAMPLE}")
    _check_factor(key, origin)
    if ":" in written and not written.startswith(("{", "[", "+", "-{", '"', "'")):
        return _range(key, written, origin, sampled)
    parts = split(written)
    if not all(parts):
        raise InputError(f"{origin}: has an empty value; {EXAMPLE}")
    changes = [part for part in parts if part[0] in "+-" and not NUMBER.fullmatch(part)]
    if changes and len(changes) != len(parts):
        raise InputError(f"{origin}: mixes changes of a list (+NAME, -NAME) with values; write one kind")
    made = _change if changes else _value
    levels = [*([Level(AS_IS)] if changes else []), *(made(key, part, origin) for part in parts)]
    labels = [level.label for level in levels]
    twice = next((label for k, label in enumerate(labels) if label in labels[:k]), None)
    if twice is not None:
        raise InputError(f"{origin}: {shown(twice)} is written twice; keep one")
    return Axis(key, tuple(levels))


def number(text: str) -> float | None:
    """The number that `text` writes, with suffix k, M or B; None where it is none.

    >>> number("50k"), number("1.5M"), number("2e3"), number("fp8")
    (50000.0, 1500000.0, 2000.0, None)
    """
    if not NUMBER.fullmatch(text):
        return None
    factor = SUFFIXES.get(text[-1], 1.0)
    return float(text.rstrip("kMB").replace("_", "")) * factor


def split(text: str) -> list[str]:
    """Parts between commas that stand outside brackets and quotes.

    >>> split("[fp8, int4],bf16, {name: a, b: 'x,y'}")
    ['[fp8, int4]', 'bf16', "{name: a, b: 'x,y'}"]
    """
    parts, depth, quote = [""], 0, ""
    for c in text:
        if quote:
            quote = "" if c == quote else quote
        elif c in "'\"":
            quote = c
        elif c in "[{":
            depth += 1
        elif c in "]}":
            depth -= 1
        elif c == "," and depth == 0:
            parts.append("")
            continue
        parts[-1] += c
    return [part.strip() for part in parts]


def plain(value: float) -> str:
    """A number as YAML text: whole numbers without a point.

    >>> plain(50000.0), plain(0.05)
    ('50000', '0.05')
    """
    return str(int(value)) if value == int(value) and abs(value) < 1e15 else repr(value)


def shown(label: str | float) -> str:
    """A label as the user may have written it."""
    return label if isinstance(label, str) else plain(label)


def level_of(key: str, value: float) -> Level:
    """The level at which `key` has this number."""
    if key.startswith(PREFIX):
        return Level(value, factors=((key.removeprefix(PREFIX), value),))
    return Level(value, settings=(f"{key}={plain(value)}",))


def _edits(axis: Axis) -> bool:
    return any(level.edits for level in axis.levels)


def _check_factor(key: str, origin: str) -> None:
    name = key.removeprefix(PREFIX)
    if key.startswith(PREFIX) and name not in FACTORS:
        raise InputError(f'{origin}: there is no factor "{printable(name)}"; {nearest(name, FACTORS)}')


def _value(key: str, part: str, origin: str) -> Level:
    found = number(part)
    if found is not None:
        if key.startswith(PREFIX) and not 0.01 <= found <= 100:
            raise InputError(f"{origin}: {part} is not a factor; write 0.01 to 100")
        return level_of(key, found)
    if key.startswith(PREFIX):
        raise InputError(f'{origin}: "{printable(part)}" is not a number; write for example --vary {key}=0.8,1,1.25')
    parse_value(part, origin)
    return Level(part, settings=(f"{key}={part}",))


def _change(key: str, part: str, origin: str) -> Level:
    if key.startswith(PREFIX) or len(part) < 2:
        raise InputError(f'{origin}: "{printable(part)}" changes no list; write +NAME or -NAME for a list such as candidates.offers')
    entry, _ = parse_value(part[1:], origin)
    return Level(part, edits=(Edit(key, part[0] == "+", entry),))


def _range(key: str, written: str, origin: str, sampled: bool) -> Axis:
    pieces = [piece.strip() for piece in written.split(":")]
    form = "write LOW:HIGH:linN or LOW:HIGH:logN, such as 1e5:3e6:log10"
    spacing = SPACING.fullmatch(pieces[2]) if len(pieces) == 3 else None
    if len(pieces) not in (2, 3) or (len(pieces) == 3 and spacing is None):
        raise InputError(f'{origin}: "{printable(written)}" is not a range; {form}')
    low, high = number(pieces[0]), number(pieces[1])
    if low is None or high is None:
        wrong = pieces[0] if low is None else pieces[1]
        raise InputError(f'{origin}: "{printable(wrong)}" is not a number; {form}')
    if not (math.isfinite(low) and math.isfinite(high) and low < high):
        raise InputError(f"{origin}: {pieces[0]} is not below {pieces[1]}; {form}")
    log = spacing is not None and spacing[1] == "log"
    if log and low <= 0:
        raise InputError(f"{origin}: a logarithmic range cannot begin at {pieces[0]}; write a low end above 0, or linN")
    if key.startswith(PREFIX) and not 0.01 <= low < high <= 100:
        raise InputError(f"{origin}: factors lie between 0.01 and 100")
    count = int(spacing[2]) if spacing is not None and spacing[2] else None
    if count is None and not sampled:
        raise InputError(f"{origin}: says no number of values; {form}; or draw from the range with --samples N")
    if count is not None and not 2 <= count <= MOST_LEVELS:
        raise InputError(f"{origin}: {count} values is not 2 to {MOST_LEVELS}")
    span = Span(low, high, log)
    values = [whole(span, span.at(k / (count - 1))) for k in range(count)] if count is not None else []
    return Axis(key, tuple(level_of(key, value) for value in dict.fromkeys(values)), span)


def whole(span: Span, value: float) -> float:
    """`value`, rounded where both ends of the range are whole numbers of at least 10: so that ranges of counts work.

    >>> whole(Span(16, 512, log=True), 50.8), whole(Span(0, 1, log=False), 0.5)
    (51.0, 0.5)
    """
    counts = span.low >= 10 and span.low == int(span.low) and span.high == int(span.high)
    return float(round(value)) if counts else value
