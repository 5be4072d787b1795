"""Which deployments fit on which offer and may serve which class; a reason for each that does not, relays included."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from optimize.market.context_fit import KnownLengths, context_of
from optimize.market.engine_settings import engine_limits, release_of
from optimize.market.permits import matching, model_reason, policy_reason
from optimize.market.relay_terms import relay_drops
from optimize.market.token_factors import class_factors
from optimize.money.amounts import replica_hour_usd
from optimize.records import Dropped, PoolOption
from sim.catalog.facts import Gpu, Model, Offer, WeightFormat
from sim.engine.deployment import KV_BYTES, Deployment
from sim.engine.memory import kv_blocks, kv_memory_bytes, weight_bytes
from sim.plural import counted
from sim.requests import Demand
from sim.scenario.scenario import RequestClass, Scenario

USUAL_SIZES = (1, 2, 4, 8)  # the default of `candidates.tensor_parallel`; one that is of no use needs no reason
GB = 1e9


@dataclass(frozen=True)
class Shape:
    """One way to run a model on an offer; `name` reads offer/model/weights[/tpN][/kv-fp8]."""

    offer: Offer
    deployment: Deployment

    @property
    def name(self) -> str:
        return f"{self.offer.id}/{self.deployment.model.id}/{self.deployment.weights.id}{self.deployment.tail}"

    @property
    def replicas_per_host(self) -> int:
        return self.offer.gpus // self.deployment.tensor_parallel

    @property
    def usd_per_replica_hour(self) -> float:
        return replica_hour_usd(self.offer, self.replicas_per_host)


def candidates(scenario: Scenario, demand: Demand) -> tuple[tuple[PoolOption, ...], tuple[Dropped, ...]]:
    """All pools that the program may choose from, and what was left out and why.

    Each deployment that fits gives a pool of its own to every class that it may serve, and one that all of them share.
    Classes without demand are left out. The order is that of the scenario: offers, models, weights, tensor parallel; then relays.
    """
    dropped: list[Dropped] = []
    lengths = KnownLengths(scenario)
    wanted = [c for c in range(len(scenario.request_classes)) if demand.mean_rps[c].any()]
    shapes: list[tuple[Shape, tuple[int, ...]]] = []
    dropped += useless_sizes(scenario)
    for offer in scenario.offers:
        reason = offer_reason(offer, scenario) or size_reason(offer, scenario)
        if reason:
            dropped.append(Dropped(offer.id, reason))
            continue
        for model in models_of(scenario, wanted):
            reason = model_reason(model.id, scenario.policy)
            if reason:
                dropped.append(Dropped(f"{offer.id}/{model.id}", reason))
                continue
            for weights in scenario.weights:
                found, lost = shapes_of(offer, model, scenario.catalog.weight_formats[weights], scenario)
                dropped += lost
                for shape in found:
                    classes, lost = classes_of(shape, lengths, wanted)
                    dropped += lost
                    if classes:
                        shapes.append((shape, classes))
    kept, lost = without_dearer(shapes)
    dropped += [*lost, *relay_drops(scenario, wanted)]
    return tuple(option for shape, classes in kept for option in pools_of(shape, classes, scenario)), tuple(dropped)


def pools_of(shape: Shape, classes: tuple[int, ...], scenario: Scenario) -> list[PoolOption]:
    """A dedicated pool per class, then the shared one: loads of classes do not add, so the program needs both to choose from."""
    sets = [(c,) for c in classes] + ([classes] if len(classes) > 1 else [])
    names = [each.name for each in scenario.request_classes]
    factors = class_factors(scenario.request_classes, shape.deployment.model.id)
    return [
        PoolOption(
            id=f"{shape.name}:{'+'.join(names[c] for c in group)}",
            offer=shape.offer,
            deployment=shape.deployment,
            replicas_per_host=shape.replicas_per_host,
            classes=group,
            token_factors=factors,
        )
        for group in sets
    ]


def offer_drops(scenario: Scenario) -> list[Dropped]:
    """Offers that policy or the offer itself rules out, each with the reason."""
    reasons = [(offer.id, offer_reason(offer, scenario)) for offer in scenario.offers]
    return [Dropped(name, reason) for name, reason in reasons if reason]


def offer_reason(offer: Offer, scenario: Scenario) -> str:
    """Why policy or the offer itself rules it out; empty if nothing does."""
    names = (offer.id, offer.provider, offer.gpu)
    reason = policy_reason(names, offer.grade, scenario.policy)
    if reason:
        return reason
    if offer.stock == 0:
        return "stock is 0"
    if offer.term == "spot" and scenario.policy.spot is None and not matching(scenario.policy.allow, names):
        return "spot: losing hosts is not simulated; write policy.spot, or name it in policy.allow, to use it all the same"
    return ""


def fits(size: int, offer: Offer) -> bool:
    """Whether groups of `size` GPUs use a host of the offer to the full."""
    return size <= offer.gpus and offer.gpus % size == 0


def useless_sizes(scenario: Scenario) -> list[Dropped]:
    """The tensor-parallel degrees that somebody wrote and that no allowed offer can use."""
    offers = [offer for offer in scenario.offers if not offer_reason(offer, scenario)]
    if not offers or set(scenario.tensor_parallel) == set(USUAL_SIZES):
        return []
    hosts = " or ".join(map(str, sorted({offer.gpus for offer in offers})))
    return [
        Dropped(f"tensor_parallel {size}", f"no offer can be split into groups of {size} GPUs; a host has {hosts}")
        for size in scenario.tensor_parallel
        if not any(fits(size, offer) for offer in offers)
    ]


def size_reason(offer: Offer, scenario: Scenario) -> str:
    """Why no degree of the scenario goes with the offer; empty if one does."""
    if any(fits(size, offer) for size in scenario.tensor_parallel):
        return ""
    written = ", ".join(map(str, scenario.tensor_parallel))
    return f"tensor_parallel [{written}] does not divide {counted(offer.gpus, 'GPU')}"


def no_own_hosts(scenario: Scenario, demand: Demand, dropped: Iterable[Dropped]) -> list[str]:
    """The warning of a scenario without a single pool, although somebody wanted hosts: the first reason, and what to do.

    None was dropped where policy names the offers out, and where the file has no list and no class accepts a model with known weights.
    """
    policy, ids = scenario.policy, {offer.id for offer in scenario.offers}
    offers = [o for o in scenario.offers if not policy_reason((o.id, o.provider, o.gpu), "list", policy)]
    models = models_of(scenario, np.flatnonzero(demand.mean_rps.any(axis=1)).tolist())
    if not offers or (not models and scenario.offers == tuple(scenario.catalog.offers.values())):
        return []
    head = f"no own GPU is a candidate, although {counted(len(offers), 'offer is', 'offers are')} given"
    if not models:
        return [f"{head}: no request class accepts a model whose weights can be had"]
    first = next((each for each in dropped if each.name.partition("/")[0] in ids or each.name.startswith("tensor_parallel ")), None)
    return [f"{head}: {first.name}: {first.reason} (all reasons: `dropped` in plan.json)" if first else head]


def models_of(scenario: Scenario, wanted: Iterable[int]) -> list[Model]:
    """Models with known shape that some class accepts, in the order of the file. Others are only sold by relays."""
    names = dict.fromkeys(name for c in wanted for name in scenario.request_classes[c].models)
    return [scenario.catalog.models[name] for name in names if name in scenario.catalog.models]


def shapes_of(offer: Offer, model: Model, weights: WeightFormat, scenario: Scenario) -> tuple[list[Shape], list[Dropped]]:
    """The tensor-parallel degrees and KV formats at which the model fits: a wide group costs more and is the fastest."""
    gpu = scenario.catalog.gpus[offer.gpu]
    limits = engine_limits(scenario, gpu)
    prefix = f"{offer.id}/{model.id}/{weights.id}"
    if gpu.flops.get(weights.needs, 0) <= 0:
        return [], [Dropped(prefix, f"{gpu.id} has no {weights.needs} arithmetic; try {formats_for(gpu, scenario)}")]
    found: list[Shape] = []
    dropped: list[Dropped] = []
    for size, kv in product(sorted(scenario.tensor_parallel), scenario.kv_formats):
        if not fits(size, offer):
            continue  # not a choice on this host: no reason is needed
        shape = Shape(offer, Deployment(model, weights, gpu, size, limits, KV_BYTES[kv], engine=release_of(scenario)))
        if kv == "fp8" and gpu.flops.get("fp8", 0) <= 0:
            dropped.append(Dropped(shape.name, f"{gpu.id} has no fp8 arithmetic, which an fp8 KV cache is read with"))
        elif model.heads % size:
            dropped.append(Dropped(shape.name, f"{model.heads} attention heads do not split over {size} GPUs"))
        elif kv_blocks(shape.deployment) <= 0:
            dropped.append(Dropped(shape.name, memory_reason(shape.deployment, scenario)))
        else:
            found.append(shape)
    return found, dropped


def formats_for(gpu: Gpu, scenario: Scenario) -> str:
    """Weight formats that the card can run, in words."""
    usable = [name for name, row in scenario.catalog.weight_formats.items() if gpu.flops.get(row.needs, 0) > 0]
    return " or ".join(usable) if usable else "another GPU"


def memory_reason(deployment: Deployment, scenario: Scenario) -> str:
    """What does not fit, in GB, and the smallest shapes that would."""
    size = deployment.tensor_parallel
    need = weight_bytes(deployment.model, deployment.weights)
    usable = kv_memory_bytes(deployment) * size + need
    return f"weights {need / GB:.0f} GB > {usable / GB:.1f} GB usable{shapes_that_fit(deployment, scenario)}"


def shapes_that_fit(deployment: Deployment, scenario: Scenario) -> str:
    """`; try tensor_parallel 8, or int4 on 2`: per format the smallest group of this GPU that holds the model; empty if none does."""
    tips = []
    for name, weights in scenario.catalog.weight_formats.items():
        if name not in (deployment.weights.id, "fp8", "int4") or deployment.gpu.flops.get(weights.needs, 0) <= 0:
            continue
        for size in (1, 2, 4, 8):
            trial = replace(deployment, weights=weights, tensor_parallel=size)
            if deployment.model.heads % size == 0 and kv_blocks(trial) > 0:
                same = name == deployment.weights.id
                tips.append((not same, f"tensor_parallel {size}" if same else f"{name} on {size}"))
                break
    return "; try " + ", or ".join(text for _, text in sorted(tips)) if tips else ""


def classes_of(shape: Shape, lengths: KnownLengths, wanted: Iterable[int]) -> tuple[tuple[int, ...], list[Dropped]]:
    """Classes that the shape may serve, with a reason for each that accepts the model and still may not be served."""
    kept, dropped = [], []
    for c in wanted:
        request_class = lengths.scenario.request_classes[c]
        if shape.deployment.model.id not in request_class.models:
            continue
        reason = class_reason(shape, request_class) or lengths.reason(c, shape.deployment.model.id, context_of(shape.deployment))
        if reason:
            dropped.append(Dropped(f"{shape.name}:{request_class.name}", reason))
        else:
            kept.append(c)
    return tuple(kept), dropped


def class_reason(shape: Shape, request_class: RequestClass) -> str:
    """Why the shape may not serve the class; empty if it may."""
    needed, offered = request_class.data_residency, shape.offer.residency
    if needed and not set(needed) & set(offered):
        return f"data must stay in {' or '.join(needed)}; the offer states {', '.join(offered) or 'no place'}"
    return ""


def without_dearer(
    shapes: list[tuple[Shape, tuple[int, ...]]],
) -> tuple[list[tuple[Shape, tuple[int, ...]]], list[Dropped]]:
    """Drops a shape when the same deployment is sold cheaper on terms that are nowhere worse; of equals the first stays."""
    kept: list[tuple[Shape, tuple[int, ...]]] = []
    dropped: list[Dropped] = []
    for k, (shape, classes) in enumerate(shapes):
        better = next((o for i, (o, served) in enumerate(shapes) if i != k and no_worse(o, served, shape, classes, i < k)), None)
        if better is None:
            kept.append((shape, classes))
        else:
            dropped.append(
                Dropped(
                    shape.name,
                    f"${shape.usd_per_replica_hour:.3f} per replica-hour; the same replica costs "
                    f"${better.usd_per_replica_hour:.3f} at {better.offer.id}",
                )
            )
    return kept, dropped


def no_worse(one: Shape, served: tuple[int, ...], other: Shape, classes: tuple[int, ...], earlier: bool) -> bool:
    """Whether `one` replaces `other` in any plan: same replica and term, no dearer, no coarser, no scarcer, as elastic, as many classes."""
    a, b = one.offer, other.offer
    if one.deployment.id != other.deployment.id or a.term != b.term or a.stock is not None or not set(classes) <= set(served):
        return False
    if a.elastic < b.elastic or a.boot_s > b.boot_s or one.replicas_per_host > other.replicas_per_host:
        return False
    if other.replicas_per_host % one.replicas_per_host:
        return False
    price, dear = one.usd_per_replica_hour, other.usd_per_replica_hour
    return price < dear or (price == dear and earlier)
