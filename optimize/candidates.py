"""Which deployments fit and may serve a class; a reason for each that does not."""

from __future__ import annotations

from fnmatch import fnmatchcase

import numpy as np

from optimize.records import Dropped, PoolOption
from sim.catalog.records import Model, Offer, WeightFormat
from sim.engine.deployment import BLOCK_TOKENS, Deployment, EngineLimits
from sim.engine.memory import kv_blocks, weight_bytes
from sim.scenario.records import RequestClass, Scenario, Tokens
from sim.traffic.columns import Demand


def candidates(scenario: Scenario, demand: Demand) -> tuple[tuple[PoolOption, ...], tuple[Dropped, ...]]:
    """Pools that the program may buy: per deployment one for each class that it may serve, and one for all of them together."""
    dropped: list[Dropped] = []
    options: list[PoolOption] = []
    for offer in scenario.offers:
        reason = offer_reason(offer, scenario)
        if reason:
            dropped.append(Dropped(offer.id, reason))
            continue
        for model_id in sorted({m for c in scenario.request_classes for m in c.models if m in scenario.catalog.models}):
            for weights_id in scenario.weights:
                found = shapes(scenario, offer, scenario.catalog.models[model_id], scenario.catalog.weight_formats[weights_id], dropped)
                for deployment in found:
                    options += pools_of(scenario, offer, deployment, dropped)
    return tuple(options), tuple(dropped)


def offer_reason(offer: Offer, scenario: Scenario) -> str:
    """Why policy keeps this offer out; empty when it does not."""
    policy = scenario.policy
    names = (offer.id, offer.provider, offer.gpu)
    if policy.allow and not any(fnmatchcase(name, pattern) for name in names for pattern in policy.allow):
        return "not in policy.allow"
    for pattern in policy.deny:
        if any(fnmatchcase(name, pattern) for name in names):
            return f'policy.deny "{pattern}"'
    if offer.term == "spot":
        return "spot capacity can be lost at any time; this plan buys none"
    return ""


def shapes(scenario: Scenario, offer: Offer, model: Model, weights: WeightFormat, dropped: list[Dropped]) -> list[Deployment]:
    """The smallest tensor-parallel degree of `model` that fits this host, and the next larger one."""
    name, gpu = f"{offer.id}/{model.id}/{weights.id}", scenario.catalog.gpus[offer.gpu]
    if gpu.flops.get(weights.needs, 0.0) <= 0:
        dropped.append(Dropped(name, f"{gpu.id} has no hardware for {weights.needs}, which {weights.id} weights need"))
        return []
    limits = EngineLimits(**scenario.engine)  # type: ignore[arg-type]
    fitting: list[Deployment] = []
    for degree in sorted(scenario.tensor_parallel):
        if degree > offer.gpus or offer.gpus % degree or model.heads % degree or len(fitting) == 2:
            continue
        deployment = Deployment(model, weights, gpu, degree, limits)
        if kv_blocks(deployment) > 0:
            fitting.append(deployment)
    if not fitting:
        have = offer.gpus * gpu.memory_bytes * limits.gpu_memory_utilization / 1e9
        text = f"weights {weight_bytes(model, weights) / 1e9:.0f} GB do not leave room for KV in {have:.0f} GB ({offer.gpus} x {gpu.id})"
        dropped.append(Dropped(name, f"{text}; a host with more GPUs or smaller weights would fit"))
    return fitting


def pools_of(scenario: Scenario, offer: Offer, deployment: Deployment, dropped: list[Dropped]) -> list[PoolOption]:
    """A dedicated pool per class that this deployment may serve, and a shared one when there are several."""
    tail = f"/tp{deployment.tensor_parallel}" if deployment.tensor_parallel > 1 else ""
    name = f"{offer.id}/{deployment.model.id}/{deployment.weights.id}{tail}"
    room = kv_blocks(deployment) * BLOCK_TOKENS
    chosen: list[int] = []
    for c, request_class in enumerate(scenario.request_classes):
        if deployment.model.id not in request_class.models:
            continue
        reason = class_reason(request_class, offer, deployment, room)
        if reason:
            dropped.append(Dropped(f"{name}:{request_class.name}", reason))
        else:
            chosen.append(c)
    groups = [(c,) for c in chosen] + ([tuple(chosen)] if len(chosen) > 1 else [])
    replicas = offer.gpus // deployment.tensor_parallel
    names = [c.name for c in scenario.request_classes]
    return [PoolOption(f"{name}:{'+'.join(names[c] for c in group)}", offer, deployment, replicas, group) for group in groups]


def class_reason(request_class: RequestClass, offer: Offer, deployment: Deployment, room_tokens: int) -> str:
    """Why this class may not or cannot be served by `deployment` on `offer`; empty when it can."""
    if request_class.data_residency and not set(request_class.data_residency) & set(offer.residency):
        where = ", ".join(offer.residency) or "an unstated region"
        return f"data must stay in {' or '.join(request_class.data_residency)}, the host is in {where}"
    need = large_request_tokens(request_class)
    if need > deployment.model.max_context:
        return f"a large request has {need:,.0f} tokens, the model's context holds {deployment.model.max_context:,}"
    if need > room_tokens:
        return f"a large request has {need:,.0f} tokens, the KV cache holds {room_tokens:,}"
    return ""


def large_request_tokens(request_class: RequestClass) -> float:
    """Tokens of a request with prompt and answer each at its 99th percentile (a conversation: at its history cap)."""
    if request_class.conversation is not None:
        talk = request_class.conversation
        prompt = talk.system_prompt_tokens + talk.history_cap_tokens + at_quantile(talk.user_tokens, 0.99)
    elif request_class.input_tokens is not None:
        prompt = at_quantile(request_class.input_tokens, 0.99)
    else:
        raise ValueError(f"class {request_class.name} has neither input_tokens nor conversation")
    return prompt + at_quantile(request_class.output_tokens, 0.99)


def at_quantile(tokens: Tokens, quantile: float) -> float:
    """Token count at a quantile of the inverse CDF."""
    return float(np.interp(quantile, tokens.quantiles, tokens.tokens))
