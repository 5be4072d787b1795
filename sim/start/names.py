"""Model names as logs and bills write them -> names of the catalogue."""

from __future__ import annotations

import re

from sim.catalog.facts import Catalog
from sim.errors import InputError
from sim.scenario.read.document import nearest, shown

VENDORS = r"(?:(?:us|eu|apac|jp|global)\.)?(?:meta|mistralai|mistral|qwen|openai|anthropic|google|deepseek|amazon|cohere|xai)\."
HEADS = re.compile(rf"^(?:{VENDORS}|meta-(?=llama)|mistralai-|openai-|anthropic-|google-|qwen-(?=qwen))")
DATE = r"20\d\d-?\d\d-?\d\d|(?:0[1-9]|1[0-2])-[0-3]\d|2[3-9](?:0[1-9]|1[0-2])|(?:0[1-9]|1[0-2])[0-3]\d"
WORDS = "instruct|chat|it|turbo|latest|hf|maas|fp8|bf16|fp16|dynamic|awq|gptq|int4|int8|4bit|w4a16|w8a8|gguf|bnb|nvfp4|mxfp4"
SERVED = "versatile|instant|free"  # words of relays
QUANTIZED = r"quantized\.w\d+a\d+|q\d(?:-[01k])?(?:-[sml])?"  # of Hugging Face, of Ollama
BUILDS = r"-00\d|-v\d+:\d|-\d:\d|-v0\.\d|:(?:free|nitro|floor|online|exacto)"
TAILS = re.compile(rf"(?:[-@](?:{DATE})|-(?:{WORDS}|{SERVED}|{QUANTIZED})|{BUILDS})$")


def known_model(name: str, catalog: Catalog) -> str | None:
    """The model of the catalogue, or of one of its relays, that `name` means; None where none does.

    Family, version and size must be the same, whatever stands between them. Providers and regions before the name, dates, versions of a
    release, weight formats and words such as `instruct` after it do not matter; any other word makes it another model.
    """
    known = {signature(each): each for each in (*(relay.model for relay in catalog.relays.values()), *catalog.models)}
    short = name.strip().lower().replace("_", "-").rsplit("/", 1)[-1]
    while short:
        for form in (short, HEADS.sub("", short)):
            if signature(form) in known:
                return known[signature(form)]
        shorter = TAILS.sub("", short)
        if shorter == short:
            return None
        short = shorter
    return None


def signature(name: str) -> tuple[str, ...]:
    """Words and numbers of a model's name; those of a Claude in one order, because it is written both ways.

    >>> signature("llama-3.1-8b") == signature("llama3-1-8b") == signature("llama-v3p1-8b") == signature("llama3.1:8b")
    True
    >>> signature("gpt-4.1") == signature("gpt-41")
    False
    """
    plain = re.sub(r"(?<=\d)p(?=\d)", ".", name.lower()).replace("llama-v", "llama-")
    parts = tuple(re.findall(r"[a-z]+|\d+", plain))
    if parts[:1] == ("claude",):
        numbers = tuple(part for part in parts if part.isdigit())
        return (*sorted(part for part in parts if not part.isdigit()), *numbers)
    return parts


def named_model(name: str, catalog: Catalog) -> str:
    """As `known_model`; raises InputError with the nearest names where there is none."""
    found = known_model(name, catalog)
    if found is None:
        models = {*catalog.models, *(relay.model for relay in catalog.relays.values())}
        raise InputError(f"--model {shown(name)} is no model of the catalogue, and no relay serves it; {nearest(name, models)}")
    if embeds(found, catalog):
        raise InputError(f"--model {found} makes embeddings, `new` writes classes that answer; start from scenarios/rag_search.yaml")
    return found


def embeds(model: str, catalog: Catalog) -> bool:
    """Whether a model of the catalogue, or of its relays, makes embeddings instead of answers."""
    if model in catalog.models:
        return catalog.models[model].kind == "embedding"
    return any(relay.model == model and relay.kind == "embedding" for relay in catalog.relays.values())


def whole_shares(parts: list[float]) -> list[str]:
    """Parts of a whole as texts that sum to 1 exactly enough for a scenario.

    >>> whole_shares([1, 1, 1])
    ['0.33333333', '0.33333333', '0.33333334']
    """
    total = sum(parts)
    shares = [round(part / total, 8) for part in parts]
    shares[-1] = round(1 - sum(shares[:-1]), 8)
    return [f"{share:.8g}" for share in shares]
