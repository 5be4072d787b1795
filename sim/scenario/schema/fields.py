"""Kinds of values that keys hold: numbers with bounds, names that the catalogue knows, token laws."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Annotated, Any, NoReturn

from pydantic import AfterValidator, BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationInfo
from pydantic_core import PydanticCustomError

from sim.catalog.facts import Catalog
from sim.scenario import shapes, tokens
from sim.scenario.read.document import nearest, printable
from sim.scenario.scenario import Tokens

MOST = 1e12  # above any sensible rate, price or count; keeps later integer time from overflowing
MOST_TOKENS = 10_000_000


class Keys(BaseModel):
    """A mapping of a scenario: unknown keys are refused, text is never taken for a number, NaN and infinity never pass."""

    model_config = ConfigDict(extra="forbid", strict=True, allow_inf_nan=False, frozen=True)


@dataclass(frozen=True)
class Known:
    """What validators look names up in. `relay_models`: models that some catalogue relay or written-out relay serves."""

    catalog: Catalog
    relay_models: frozenset[str]
    measured: bool = False  # capacities come from the user's own file: GPUs and models need not be known


def _known(info: ValidationInfo) -> Known:
    assert isinstance(info.context, Known)
    return info.context


def wrong(text: str) -> NoReturn:
    """Refuse the value at hand; `text` continues a sentence that begins with the quoted value."""
    raise PydanticCustomError("said", "{text}", {"text": text})


def wrong_alone(text: str) -> NoReturn:
    """Refuse the value at hand; `text` is a sentence of its own."""
    raise PydanticCustomError("alone", "{text}", {"text": text})


def known_name(kind: str, names: Callable[[Known], Iterable[str]]) -> Callable[[str, ValidationInfo], str]:
    """A validator: the text is one of `names`, else the message says the nearest ones."""

    def check(value: str, info: ValidationInfo) -> str:
        known = set(names(_known(info)))
        if value not in known:
            wrong(f"is no {kind}; {nearest(value, known)}")
        return value

    return check


def _identifier(value: str) -> str:
    if not re.fullmatch(r"[A-Za-z0-9][A-Za-z0-9_.\-]{0,79}", value):
        wrong("is not a name; write letters, digits, `_`, `-` or `.`, at most 80")
    return value


def _text(value: str) -> str:
    if len(value) > 5000 or not all(c.isprintable() or c in "\n\t" for c in value):
        wrong("is not plain text; write printable characters, at most 5,000")
    return value


def _not_empty(value: str) -> str:
    if not value.strip() or not value.isprintable():
        wrong("is not a name; write a file name")
    return value


def _model(value: str, info: ValidationInfo) -> str:
    known = _known(info)
    if known.measured:
        return _identifier(value)
    names = set(known.catalog.models) | known.relay_models
    if value not in names:
        wrong(f"is no model of the catalogue, and no relay serves it; {nearest(value, names)}")
    return value


Amount = Annotated[float, Field(ge=0, le=MOST)]
Positive = Annotated[float, Field(gt=0, le=MOST)]
Share = Annotated[float, Field(ge=0, le=1)]
Count = Annotated[int, Field(ge=1, le=10**9)]
TokenCount = Annotated[int, Field(ge=0, le=MOST_TOKENS)]
SomeTokens = Annotated[float, Field(ge=1, le=MOST_TOKENS)]
Name = Annotated[str, AfterValidator(_identifier)]
Text = Annotated[str, AfterValidator(_text)]
FileName = Annotated[str, AfterValidator(_not_empty)]
GpuName = Annotated[str, AfterValidator(known_name("GPU of the catalogue", lambda known: known.catalog.gpus))]
ModelName = Annotated[str, AfterValidator(_model)]
WeightsName = Annotated[str, AfterValidator(known_name("weight format", lambda known: known.catalog.weight_formats))]
CurrencyName = Annotated[str, AfterValidator(known_name("currency with a rate", lambda known: {"USD", *known.catalog.fx_usd}))]
TokenShape = Annotated[str, AfterValidator(known_name("token shape", lambda known: shapes.load().tokens))]


def quantile_of(text: str) -> float:
    """The quantile that a key such as `p95` or `p99.9` names; it stays text until here so that marks keep working."""
    if not re.fullmatch(r"p\d{1,2}(\.\d{1,4})?", text) or not 0 < float(text[1:]) < 100:
        wrong_alone("is not a quantile; write p50, p90, p95, p99 or p99.9")
    return round(float(text[1:]) / 100, 8)


def _probability(text: str) -> str:
    try:
        inside = 0 <= float(text) <= 1
    except ValueError:
        inside = False
    if not inside:
        wrong_alone("is not a quantile; write a number from 0 to 1, such as 0.95")
    return text


Quantile = Annotated[str, AfterValidator(lambda text: (quantile_of(text), text)[1])]
Probability = Annotated[str, AfterValidator(_probability)]


def _summary_key(text: str) -> str:
    if text != "mean":
        quantile_of(text)
    return text


class _Lognormal(Keys):
    lognormal: Annotated[list[float], Field(min_length=2, max_length=2)]


class _Weibull(Keys):
    weibull: Annotated[list[float], Field(min_length=2, max_length=2)]


Pairs = Annotated[list[Annotated[list[float], Field(min_length=2, max_length=2)]], Field(min_length=1)]
Summary = dict[Annotated[str, AfterValidator(_summary_key)], SomeTokens]


class _QuantileMap(Keys):
    quantiles: Annotated[dict[Probability, SomeTokens], Field(min_length=1)]


class _QuantilePairs(Keys):
    quantiles: Pairs


def _token_form(value: Any) -> str | None:
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float):
        return "«number»"
    if isinstance(value, str):
        return "«shape»"
    if isinstance(value, list):
        return "«pairs»"
    if isinstance(value, dict):
        if "quantiles" in value:
            return "«quantile pairs»" if isinstance(value["quantiles"], list) else "«quantile map»"
        return "«lognormal»" if "lognormal" in value else "«weibull»" if "weibull" in value else "«summary»"
    return None


def _pairs(pairs: list[list[float]]) -> Tokens:
    for q, x in pairs:
        if not (0 <= q <= 1 and 1 <= x <= MOST_TOKENS):
            wrong_alone(f"[{q:g}, {x:g}] is not [quantile, tokens]; write for example [0.95, 1200]")
    return tokens.from_points([(q, x) for q, x in pairs])


def _law(value: Any) -> Tokens:
    """The token law that any of the written forms means."""
    try:
        if isinstance(value, float | int):
            return tokens.constant(value)
        if isinstance(value, str):
            return shapes.load().tokens[value]
        if isinstance(value, list):
            return _pairs(value)
        if isinstance(value, _QuantilePairs):
            return _pairs(value.quantiles)
        if isinstance(value, _QuantileMap):
            return tokens.from_points([(float(q), x) for q, x in value.quantiles.items()])
        if isinstance(value, _Lognormal):
            mu, sigma = value.lognormal
            if not (0 <= mu <= 14 and 0 < sigma <= 4):
                wrong_alone("lognormal needs [mu 0..14, sigma above 0 to 4] of log(tokens); write for example [5.5, 1.0]")
            return tokens.lognormal(mu, sigma)
        if isinstance(value, _Weibull):
            shape, scale = value.weibull
            if not (0.3 <= shape <= 50 and 1 <= scale <= 1e6):
                wrong_alone("weibull needs [shape 0.3..50, scale 1..1e6 tokens]; write for example [1.39, 305]")
            return tokens.weibull(shape, scale)
        given = {quantile_of(key): x for key, x in value.items() if key != "mean"}
        return tokens.summary(given, value.get("mean"))
    except ValueError as error:
        return wrong_alone(printable(str(error), 300))


TokenLaw = Annotated[
    Annotated[SomeTokens, Tag("«number»")]
    | Annotated[TokenShape, Tag("«shape»")]
    | Annotated[Pairs, Tag("«pairs»")]
    | Annotated[_QuantilePairs, Tag("«quantile pairs»")]
    | Annotated[_QuantileMap, Tag("«quantile map»")]
    | Annotated[_Lognormal, Tag("«lognormal»")]
    | Annotated[_Weibull, Tag("«weibull»")]
    | Annotated[Summary, Tag("«summary»")],
    Discriminator(
        _token_form,
        custom_error_type="form",
        custom_error_message="is not a token count; write a number, {mean: 300, p50: 200, p99: 1500}, or a shape's name",
    ),
    AfterValidator(_law),
]
