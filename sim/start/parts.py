"""Parts that every new scenario has: lengths, models, limits, candidates; each given, or filled and marked."""

from __future__ import annotations

from sim.catalog.facts import Catalog
from sim.errors import InputError
from sim.scenario import shapes
from sim.start import public
from sim.start.answers import Answers
from sim.start.draft import Gap, Value
from sim.start.length_laws import scaled_law

GIVEN = "given"
YOU = "you"


def usual(gap: str, path: str, unit: str = "") -> tuple[Value, Gap]:
    """The public value of a gap and the range that the ranking moves it in."""
    row = public.load().gaps[gap]
    ends = (str(row.low), str(row.high))
    text = f"range {row.low} to {row.high}{unit}; {row.source}"
    return Value(str(row.value), text, filled=True), Gap(path, row.label, *ends, row.source)


def lengths(answers: Answers, side: str, index: int, mean: float | None, origin: str) -> tuple[Value, list[Gap]]:
    """The token law of one side ("input" or "output"): the named public shape, scaled where the mean is known from `origin`."""
    mix = public.load().mixes[answers.mix]
    shape = getattr(mix, side)
    law = shapes.load().tokens[shape]
    if mean is not None:
        comment = f"mean {mean:,.0f} tokens from {origin}; the shape around it is filled: {shape}, {mix.source}"
        return Value(scaled_law(shape, mean), comment), []
    width = public.load().gaps["length_factor"]
    low, high = (scaled_law(shape, law.mean * factor) for factor in (width.low, width.high))
    span = f"{law.mean * width.low:,.0f} .. {law.mean * width.high:,.0f}"
    gap = Gap(f"request_classes.{index}.{side}_tokens", f"mean {side} tokens", low, high, width.source, span)
    return Value(shape, f"mean {law.mean:,.0f} tokens; {mix.source}", filled=True), [gap]


def limits(answers: Answers, index: int) -> tuple[Value, Value, list[Gap]]:
    """The two latency promises of a class, p95, and the gaps where they were not given."""
    found, gaps = [], []
    for metric, given in (("ttft", answers.ttft_s), ("tpot", answers.tpot_s)):
        value, gap = usual(metric, f"request_classes.{index}.slo.{metric}.p95", " s")
        if given is None:
            gaps.append(gap)
            found.append(Value(f"{{p95: {value.text}}}", value.comment, filled=True))
        else:
            found.append(Value(f"{{p95: {given:g}}}", f"{GIVEN}, seconds"))
    return found[0], found[1], gaps


def models(names: tuple[str, ...], index: int, catalog: Catalog, origin: str) -> tuple[Value, list[Gap]]:
    """The models that may answer: those of `origin`, with open weights next to them where nothing of it can be self-hosted."""
    own = list(dict.fromkeys(names))
    if any(name in catalog.models for name in own):
        return Value(_list(own), f"from {origin}"), []
    beside = [name for each in own for name in public.stand_ins(each) if name in catalog.models]
    both = list(dict.fromkeys([*own, *beside]))
    open_names = ", ".join(dict.fromkeys(beside))
    words = f"{', '.join(own)} from {origin}; {open_names} has open weights: delete it if its answers are not good enough"
    span = f"{', '.join(own)} only .. with {open_names}"
    gap = Gap(f"request_classes.{index}.models", "models that may answer", _list(own), _list(both), words, span)
    return Value(_list(both), words, filled=True), [gap]


def names_of(value: Value) -> list[str]:
    """Names in a list as `models` wrote it."""
    return [name.strip() for name in value.text.strip("[]").split(",")]


def candidates(wanted: set[str], catalog: Catalog) -> tuple[Value, Value]:
    """Offers and relays that serve the wanted models, without prices that are only claimed. Raises InputError where there are none."""
    offers = [name for name in public.load().offers if name in catalog.offers] if wanted & set(catalog.models) else []
    relays = [each.id for each in catalog.relays.values() if each.model in wanted and each.grade != "claimed" and each.kind == "chat"]
    if not offers and not relays:
        raise InputError(f"no offer and no relay of the catalogue serves {', '.join(sorted(wanted))}; name another model with --model")
    return (
        Value(
            _list(offers), "one hyperscaler and cheaper clouds for each GPU; add what you can get, `servemix catalog offers`", filled=True
        ),
        Value(_list(relays), "list prices of everyone in the catalogue who serves these models; delete whom you may not use", filled=True),
    )


def _list(names: list[str]) -> str:
    return f"[{', '.join(names)}]"


def plain(number: float) -> str:
    """A number as people write it in YAML: grouped, seven digits at most.

    >>> plain(1e6), plain(42_000.123456), plain(0.1442757)
    ('1_000_000', '42_000.12', '0.1442757')
    """
    text = f"{number:.7g}"
    return f"{float(text):_.0f}" if float(text).is_integer() else f"{float(text):_}"
