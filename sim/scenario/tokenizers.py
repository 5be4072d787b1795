"""Tokens of text by script, without a network, and warnings where one count stands for models that count differently."""

from __future__ import annotations

import math
import unicodedata
from collections.abc import Iterable
from fnmatch import fnmatchcase

from sim.catalog.facts import Catalog, Tokenizer
from sim.scenario.scenario import RequestClass

GENERAL = "general"  # the row that holds where a vendor publishes nothing
WIDE = ("CJK", "HIRAGANA", "KATAKANA", "HANGUL", "IDEOGRAPHIC", "FULLWIDTH", "BOPOMOFO")


def tokenizer_of(model: str, catalog: Catalog) -> Tokenizer | None:
    """The tokenizer that `model` is known to use; None for a model whose tokenizer is not known.

    >>> from sim.catalog.loader import load_catalog
    >>> tokenizer_of("deepseek-v3.2", load_catalog()).id, tokenizer_of("my-model", load_catalog())
    ('deepseek', None)
    """
    for row in catalog.tokenizers.values():
        if row.id != GENERAL and any(fnmatchcase(model, pattern) for pattern in row.models):
            return row
    return None


def estimated_tokens(text: str, model: str, catalog: Catalog) -> int:
    """About how many tokens `model` makes of `text`: characters by script times what the vendor states per character.

    Scripts that are neither Latin nor Chinese, Japanese or Korean are counted like Chinese, which is too many for most. A rule of
    thumb, within about 30 % on prose; code and digits take more. Sources: tokenizers.yaml. At least 1.

    >>> from sim.catalog.loader import load_catalog
    >>> sentence = "我的订单什么时候发货"              # ten characters: len // 4 would say 2
    >>> [estimated_tokens(sentence, model, load_catalog()) for model in ("deepseek-v3.2", "qwen3-32b", "llama-3.1-8b")]
    [6, 10, 10]
    >>> estimated_tokens("When will my order ship?", "llama-3.1-8b", load_catalog())
    6
    """
    general = catalog.tokenizers[GENERAL].tokens_per_char if GENERAL in catalog.tokenizers else {"latin": 0.25, "han": 1.0}
    row = tokenizer_of(model, catalog)
    rates = general | (row.tokens_per_char if row else {})
    latin = sum(1 for character in text if _is_latin(character))
    return max(1, math.ceil(latin * rates["latin"] + (len(text) - latin) * rates["han"] - 1e-9))


def _is_latin(character: str) -> bool:
    if character.isascii():
        return True
    name = unicodedata.name(character, "")
    return not name.startswith(WIDE) and (name.startswith("LATIN") or not character.isalpha())


def tokenizer_warnings(classes: Iterable[RequestClass], catalog: Catalog) -> list[str]:
    """One line per class whose counts are used for models of several tokenizers of which one at least has no factor.

    A factor that is written, 1 included, says that the user has thought of it.
    """
    words = []
    for each in classes:
        written = {factor.model for factor in each.token_factors}
        families: dict[str, list[str]] = {}
        for model in each.models:
            row = tokenizer_of(model, catalog)
            families.setdefault(row.id if row else f"unknown ({model})", []).append(model)
        first = next(iter(families.values()), [])
        silent = [model for models in families.values() for model in models if models is not first and model not in written]
        if silent:
            kinds = "; ".join(f"{name}: {', '.join(models)}" for name, models in families.items())
            words.append(
                f"request class {each.name}: the same token counts are used for models that count differently ({kinds}); write "
                f"{{name: {silent[0]}, input_token_factor: ..., output_token_factor: ...}}, 1 where they are equal"
            )
    return words
