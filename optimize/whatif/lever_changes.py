"""What can be done to a scenario to make it cheaper, each as a change of its records; and what each asks in return."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace

import numpy as np

from optimize.market.engine_settings import shares_prefixes
from optimize.whatif.factors import input_tokens
from sim.catalog.facts import Model, Offer
from sim.engine.routers import DEFAULT, ROUTERS, WITH_CACHE
from sim.scenario.scenario import RequestClass, Scenario, SyntheticTraffic

TRIM = 0.8  # prompts of 80 % of their length
SMALL_SHARE = 0.3  # of a class that a smaller model answers
WAIT_SHARE = 0.2  # of requests that can wait: batch API, off-peak
NIGHT_HOURS = 8
SEQUENCES = (16, 32, 64, 128, 512, 1024)
CHUNKS = (512, 1024, 4096, 8192)


@dataclass(frozen=True)
class Lever:
    """`price` says what it asks in return; `scenario` None: it cannot be pulled here, `price` says why.

    `extra_usd` is paid next to the plan.
    """

    name: str
    price: str
    scenario: Scenario | None
    extra_usd: float = 0.0


def levers_of(scenario: Scenario) -> Iterator[Lever]:
    """Every lever, in the order of the kinds: engine, traffic, market."""
    for family in (weight_levers, engine_levers, cache_levers, traffic_levers, market_levers):
        yield from family(scenario)


def weight_levers(scenario: Scenario) -> Iterator[Lever]:
    """One weight format for all own GPUs, and a KV cache of 8 bits."""
    for name in ("bf16", "fp8", "int8", "int4"):
        if name in scenario.catalog.weight_formats and scenario.weights != (name,):
            asks = "none: full precision" if name == "bf16" else "answers must be checked for quality"
            yield Lever(f"{name} weights only", asks, replace(scenario, weights=(name,)))
    yield Lever("fp8 KV cache", "answers must be checked for quality; cost of conversion not simulated", with_fp8_kv(scenario))


def with_fp8_kv(scenario: Scenario) -> Scenario:
    """Half the bytes of KV cache per token in memory and in every read; attention arithmetic as before.

    Twice the heads of half the size have the same arithmetic and, with as many KV heads, half the cache.
    """

    def halved(model: Model) -> Model:
        elements = None if model.kv_elements_per_layer is None else model.kv_elements_per_layer // 2
        return replace(model, heads=2 * model.heads, head_dim=model.head_dim // 2, kv_elements_per_layer=elements)

    models = {name: halved(model) for name, model in scenario.catalog.models.items()}
    return replace(scenario, catalog=replace(scenario.catalog, models=models))


def engine_levers(scenario: Scenario) -> Iterator[Lever]:
    """Batch limits and chunk sizes of every replica."""
    today = int(scenario.engine.get("max_num_seqs", 256)), int(scenario.engine.get("max_num_batched_tokens", 2048))
    for limit in SEQUENCES:
        if limit != today[0] and limit <= today[1]:
            engine = {**scenario.engine, "max_num_seqs": limit}
            yield Lever(f"at most {limit} sequences in a batch", "an engine flag", replace(scenario, engine=engine))
    for chunk in CHUNKS:
        if chunk != today[1] and chunk >= today[0]:
            asks = "an engine flag; larger chunks delay the tokens of others"
            yield Lever(f"chunks of {chunk} tokens", asks, replace(scenario, engine={**scenario.engine, "max_num_batched_tokens": chunk}))


def cache_levers(scenario: Scenario) -> Iterator[Lever]:
    """Prefix cache on own GPUs, and who finds it again."""
    if not shares_prefixes(scenario):
        yield Lever("prefix caching", "no two prompts of this scenario begin alike", None)
        return
    caching = bool(scenario.engine.get("prefix_caching", True))
    name = "prefix caching off" if caching else "prefix caching on"
    yield Lever(name, "an engine flag", replace(scenario, engine={**scenario.engine, "prefix_caching": not caching}))
    for router in ROUTERS:
        if router != (scenario.policy.router or (WITH_CACHE if caching else DEFAULT)):
            asks = "a setting of the load balancer"
            yield Lever(f"router {router}", asks, replace(scenario, policy=replace(scenario.policy, router=router)))


def traffic_levers(scenario: Scenario) -> Iterator[Lever]:
    """Shorter prompts, a smaller model for a part, and requests that wait for the night."""
    yield Lever(f"prompts {1 - TRIM:.0%} shorter", "editing of prompts and history", trimmed(scenario))
    yield smaller_model(scenario)
    yield off_peak(scenario)


def trimmed(scenario: Scenario) -> Scenario:
    """Every part of the prompt at TRIM of its length, the cap on history too."""
    shorter = input_tokens(scenario, TRIM)

    def cut(each: RequestClass) -> RequestClass:
        talk = each.conversation
        return each if talk is None else replace(each, conversation=replace(talk, history_cap_tokens=round(talk.history_cap_tokens * TRIM)))

    return replace(shorter, request_classes=tuple(cut(each) for each in shorter.request_classes))


def smaller_model(scenario: Scenario) -> Lever:
    """A share of the largest class goes to the largest model that is at most half as large as the smallest that may answer it."""
    c = max(range(len(scenario.request_classes)), key=lambda k: scenario.request_classes[k].share)
    big = scenario.request_classes[c]
    sizes = [scenario.catalog.models[name] for name in big.models if name in scenario.catalog.models]
    name = f"a smaller model for {SMALL_SHARE:.0%} of {big.name}"
    if not sizes:
        return Lever(name, f"no model of {big.name} has a known size", None)
    family = sizes[0].id.split("-")[0]
    limit = min(model.parameters for model in sizes) / 2
    known = [m for m in scenario.catalog.models.values() if m.kind == "chat" and m.parameters <= limit and m.id.split("-")[0] == family]
    if not known:
        return Lever(name, f"the catalogue has no smaller model of the family {family}", None)
    small = max(known, key=lambda model: (model.parameters, model.id))
    part = replace(big, name=f"{big.name}-small"[:80], share=big.share * SMALL_SHARE, models=(small.id,), token_factors=())
    rest = replace(big, share=big.share * (1 - SMALL_SHARE))
    classes = (*scenario.request_classes[:c], rest, part, *scenario.request_classes[c + 1 :])
    sellers = scenario.catalog.relays.values() if scenario.relays else ()  # a scenario without relays gets none
    relays = tuple(row for row in sellers if row.model == small.id and row.grade != "claimed")
    more = tuple(row for row in relays if row.id not in {each.id for each in scenario.relays})
    asks = f"{small.id} must answer that part well enough (distillation, a classifier in front)"
    return Lever(name, asks, replace(scenario, request_classes=classes, relays=(*scenario.relays, *more)))


def off_peak(scenario: Scenario) -> Lever:
    """A share of every hour's requests waits for the quietest hours of the day."""
    name = f"{WAIT_SHARE:.0%} of requests wait for the night"
    traffic = scenario.traffic
    if not isinstance(traffic, SyntheticTraffic):
        return Lever(name, "needs a daily shape: traffic written as users", None)
    weights = np.array(traffic.hour_weights)
    night = np.zeros_like(weights)
    night[np.argsort(weights, kind="stable")[:NIGHT_HOURS]] = 1 / NIGHT_HOURS
    moved = (1 - WAIT_SHARE) * weights + WAIT_SHARE * weights.sum() * night
    return Lever(name, "that part waits for hours", replace(scenario, traffic=replace(traffic, hour_weights=tuple(moved.tolist()))))


def market_levers(scenario: Scenario) -> Iterator[Lever]:
    """Other sellers and regions, terms, hosts that follow the hour."""
    gpus = {offer.gpu for offer in scenario.offers}
    own = {offer.id for offer in scenario.offers}
    if not gpus:
        yield Lever("other sellers, regions and terms", "the scenario has no own GPUs", None)
        return

    def sold(fits: Callable[[Offer], bool]) -> tuple[Offer, ...]:
        rows = scenario.catalog.offers.values()
        return tuple(row for row in rows if row.gpu in gpus and row.id not in own and row.grade != "claimed" and fits(row))

    elsewhere, reserved = sold(lambda row: row.term == "on_demand"), sold(lambda row: row.term.startswith("reserved"))
    found = ", ".join(sorted({row.region or row.provider for row in elsewhere}))
    if elsewhere:
        asks = f"another seller, region or network path ({found})"[:120]
        yield Lever("the same GPUs anywhere on demand", asks, replace(scenario, offers=(*scenario.offers, *elsewhere)))
    if reserved:
        yield Lever("reserved terms too", "a commitment of one year or more", replace(scenario, offers=(*scenario.offers, *reserved)))
    fixed = tuple(replace(row, elastic=False) for row in scenario.offers)
    following = tuple(replace(row, elastic=row.elastic or row.term == "on_demand") for row in scenario.offers)
    if fixed != scenario.offers:
        yield Lever(
            "fixed fleet, no hosts by the hour", "nothing: what autoscaling saves is the loss here", replace(scenario, offers=fixed)
        )
    if following != scenario.offers:
        yield Lever(
            "every on-demand host follows the hour", "autoscaling; boot times as the offers state", replace(scenario, offers=following)
        )
