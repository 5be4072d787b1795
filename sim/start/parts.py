"""Parts that every new scenario has: lengths, models, limits, candidates; each given, or filled and marked."""

from __future__ import annotations

from collections.abc import Iterable

from sim.catalog.facts import Catalog
from sim.errors import InputError
from sim.start import public
from sim.start.answers import Answers
from sim.start.draft import Gap, Value
from sim.start.names import embeds

GIVEN = "given"
YOU = "you"


def usual(gap: str, path: str, unit: str = "") -> tuple[Value, Gap]:
    """The public value of a gap and the range that the ranking moves it in."""
    row = public.load().gaps[gap]
    ends = (str(row.low), str(row.high))
    text = f"range {row.low} to {row.high}{unit}; {row.source}"
    return Value(str(row.value), text, filled=True), Gap(path, row.label, *ends, row.source)


def context_of(names: Iterable[str], catalog: Catalog) -> int | None:
    """The shortest context of these models: of the weights where they can be had, else the longest that a relay sells."""
    found = []
    for name in names:
        if name in catalog.models:
            found.append(catalog.models[name].max_context)
        elif sold := [relay.max_context for relay in catalog.relays.values() if relay.model == name]:
            found.append(max(sold))
    return min(found, default=None)


def limits(answers: Answers, index: int, kind: str = "chat") -> tuple[Value | None, Value | None, Value | None, list[Gap]]:
    """The promises of a class at p95 (TTFT, TPOT, E2E), and the gaps where they were not given.

    With a promise on the whole answer, those on its parts are not filled. A job has no promise but its deadline, an embedding none on the
    tokens after the first.
    """
    if answers.job is not None:
        return None, None, None, []
    found: list[Value | None] = []
    gaps = []
    whole = None if answers.e2e_s is None else Value(f"{{p95: {answers.e2e_s:g}}}", f"{GIVEN}, seconds for the whole answer")
    for metric, given in (("ttft", answers.ttft_s), ("tpot", answers.tpot_s)):
        if kind == "embedding" and metric == "tpot":
            found.append(None)
            continue
        value, gap = usual(metric, f"request_classes.{index}.slo.{metric}.p95", " s")
        if given is not None:
            found.append(Value(f"{{p95: {given:g}}}", f"{GIVEN}, seconds"))
        elif whole is None:
            gaps.append(gap)
            found.append(Value(f"{{p95: {value.text}}}", value.comment, filled=True))
        else:
            found.append(None)
    return found[0], found[1], whole, gaps


def models(names: tuple[str, ...], index: int, catalog: Catalog, origin: str) -> tuple[Value, list[Gap]]:
    """The models that may answer: those of `origin`, with open weights next to them where nothing of it can be self-hosted."""
    own = list(dict.fromkeys(names))
    if any(name in catalog.models or embeds(name, catalog) for name in own):
        return Value(_list(own), f"from {origin}"), []
    beside = [name for each in own for name in public.stand_ins(each) if name in catalog.models]
    both = list(dict.fromkeys([*own, *beside]))
    open_names = ", ".join(dict.fromkeys(beside))
    words = f"{', '.join(own)} from {origin}; {open_names} has open weights: delete it if its answers are not good enough"
    span = f"{', '.join(own)} only .. with {open_names}"
    gap = Gap(f"request_classes.{index}.models", "models that may answer", _list(own), _list(both), words, span)
    return Value(_list(both), words, filled=True), [gap]


def kind_of(value: Value, catalog: Catalog) -> str:
    """The kind of a class that these models answer: embedding where all of them make embeddings, else chat."""
    return "embedding" if all(embeds(name, catalog) for name in names_of(value)) else "chat"


def names_of(value: Value) -> list[str]:
    """Names in a list as `models` wrote it."""
    return [name.strip() for name in value.text.strip("[]").split(",")]


def candidates(wanted: set[str], catalog: Catalog, answers: Answers) -> tuple[Value, Value]:
    """Offers and relays that serve the wanted models, without prices that are only claimed; the user's own offers instead of the usual
    ones, and hosts that the user has together with them.

    Raises InputError where there are none.
    """
    offers = [name for name in public.load().offers if name in catalog.offers] if wanted & set(catalog.models) else []
    stated = [each.text for each in answers.offers]
    have = [each.text for each in answers.owned]
    relays = [each.id for each in catalog.relays.values() if each.model in wanted and each.grade != "claimed"]
    if not offers and not relays and not stated and not have:
        raise InputError(f"no offer and no relay of the catalogue serves {', '.join(sorted(wanted))}; name another model with --model")
    words = "one hyperscaler and cheaper clouds for each GPU; add what you can get, `servemix catalog offers`"
    hosts = Value(_list([*have, *(stated or offers)]), GIVEN if stated else f"{'yours, then ' if have else ''}{words}", filled=not stated)
    return (
        hosts,
        Value(_list(relays), "list prices of everyone in the catalogue who serves these models; delete whom you may not use", filled=True),
    )


def per_mtok(answers: Answers) -> Value | None:
    """The limit by the million tokens, where one was given."""
    return None if answers.per_mtok is None else Value(plain(answers.per_mtok), f"{GIVEN}, {answers.currency} a million tokens, in and out")


def _list(names: list[str]) -> str:
    return f"[{', '.join(names)}]"


def plain(number: float) -> str:
    """A number as people write it in YAML: grouped, seven digits at most.

    >>> plain(1e6), plain(42_000.123456), plain(0.1442757)
    ('1_000_000', '42_000.12', '0.1442757')
    """
    text = f"{number:.7g}"
    return f"{float(text):_.0f}" if float(text).is_integer() else f"{float(text):_}"
