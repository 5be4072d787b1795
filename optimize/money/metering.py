"""What a relay meters of a request, kind of token by kind, and the price of each kind: batches and long prompts have kinds of their own.

A kind reads `input`, `cached`, `written`, `output`; `batch input`, `batch output`; `input above 272,000` and so on.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from optimize.money.units import HOUR_S, MTOK
from optimize.records import Floats
from sim.catalog.facts import Relay
from sim.catalog.price_terms import LongPrompt
from sim.scenario.scenario import RequestClass

ABOVE, BATCH = " above ", "batch "
KINDS = ("input", "cached", "written", "output")  # input: what is neither cached nor written
Meter = dict[str, float]  # kind -> mean tokens per request


@dataclass(frozen=True)
class Metered:
    """Tokens of a sample of requests [requests] by what they are billed as; `prompt` is the whole input."""

    prompt: Floats
    kinds: dict[str, Floats]


def token_price(relay: Relay, kind: str) -> float:
    """USD per million tokens of a kind; what has no price of its own goes at the next plainer one that there is.

    Cached and written tokens without a price cost what input costs, batches of a relay without a batch service what single requests
    cost, prompts above a threshold that the relay does not have the price below it.
    """
    plain, _, above = kind.partition(ABOVE)
    if plain.startswith(BATCH):
        plain = plain.removeprefix(BATCH)
        batch = relay.usd_per_mtok_batch_output if plain == "output" else relay.usd_per_mtok_batch_input
        return token_price(relay, plain) if batch is None else batch
    tier = next((each for each in relay.long_prompts if f"{each.above_tokens:,}" == above), None)
    row: Relay | LongPrompt = relay if tier is None else tier
    if plain == "written" and row.usd_per_mtok_cache_write is not None:
        return row.usd_per_mtok_cache_write
    if plain == "cached" and row.usd_per_mtok_cached is not None:
        return row.usd_per_mtok_cached
    return row.usd_per_mtok_output if plain == "output" else row.usd_per_mtok_input


def metered_usd(relay: Relay, meter: Meter) -> float:
    """Price of a request: the sum over kinds of tokens x price."""
    return sum(tokens * token_price(relay, kind) for kind, tokens in meter.items()) / MTOK


def plain_meter(inputs: float, cached: float, written: float, outputs: float) -> Meter:
    """The four kinds of a request below every threshold; `inputs` is the whole input."""
    return dict(zip(KINDS, (inputs - cached - written, cached, written, outputs), strict=True))


def batch_meter(inputs: float, outputs: float) -> Meter:
    """A request of a batch: all input at the batch price, because no row states what a cache hit costs there."""
    return {f"{BATCH}input": inputs, f"{BATCH}output": outputs}


def tiered(relay: Relay, mean: Meter, sample: Metered) -> Meter:
    """`mean` split over the tiers of prompt length, each request of the sample in its own: the highest threshold that it exceeds.

    The parts of a kind are in the proportions of the sample and sum to its mean. Pricing the mean request instead would bill all
    of them below the threshold, or all above.
    """
    tiers = np.searchsorted([each.above_tokens for each in relay.long_prompts], sample.prompt, side="left")
    meter: Meter = {}
    for kind, tokens in mean.items():
        by_tier = np.bincount(tiers, sample.kinds[kind], minlength=len(relay.long_prompts) + 1)
        share = by_tier / by_tier.sum() if by_tier.sum() > 0 else np.eye(len(by_tier))[0]
        meter[kind] = tokens * float(share[0])
        for tier, part in zip(relay.long_prompts, share[1:], strict=True):
            meter[f"{kind}{ABOVE}{tier.above_tokens:,}"] = tokens * float(part)
    return meter


def without_any_cache(meter: dict[str, Floats]) -> dict[str, Floats]:
    """The same requests where nothing is cached or written: all of it is plain input of its tier. [classes] tokens by kind.

    >>> without_any_cache({"input": np.ones(1), "cached": np.ones(1), "cached above 10": np.ones(1)})
    {'input': array([2.]), 'input above 10': array([1.])}
    """
    bare: dict[str, Floats] = {}
    for kind, tokens in meter.items():
        plain, above, threshold = kind.partition(ABOVE)
        name = f"{'input' if plain in ('cached', 'written') else plain}{above}{threshold}"
        bare[name] = bare[name] + tokens if name in bare else tokens
    return bare


def sold_in_batches(relay: Relay, request_class: RequestClass, longest_prompt: float) -> bool:
    """Whether requests of a class may go to the relay's batch service.

    The class must be of kind `batch`; every promise must leave the vendor its window (an e2e limit of 24 h or more; a promise on tpot,
    or a shorter one, rules it out); no classifier may send an answer round again; and no prompt may be longer than the first
    long-prompt threshold, above which no row states a batch price.
    """
    if request_class.kind != "batch" or request_class.classifier is not None:
        return False
    if relay.usd_per_mtok_batch_input is None or relay.usd_per_mtok_batch_output is None:
        return False
    if relay.long_prompts and longest_prompt > relay.long_prompts[0].above_tokens:
        return False
    return all(slo.metric != "tpot" and slo.limit_s >= relay.batch_window_h * HOUR_S for slo in request_class.slo)
