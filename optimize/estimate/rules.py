"""Rules of thumb as they are quoted, and what arithmetic gives; docs/explanation/rules-of-thumb.md tells the story of each."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from optimize.estimate.flops import attention_flops, serving_flops_per_token, training_flops
from optimize.estimate.serving_point import largest_safe_batch
from optimize.estimate.subjects import model_of_size
from optimize.estimate.training_memory import STATE_BYTES, WEIGHT_BYTES, Activations, States
from sim.catalog.facts import Catalog, Gpu, Model
from sim.engine.deployment import BLOCK_TOKENS, Deployment
from sim.engine.memory import kv_bytes_of, weight_bytes
from sim.engine.physics import shape_of

GB = 1e9
CARD_BYTES = 80 * GB  # "an 80 GB card", as the rules count
QUOTED_EXTRA = (20 * GB, 40 * GB)
WEEK_H = 168
QUOTED_BATCH = 32  # the cap of the quoted rule of a safe batch


@dataclass(frozen=True)
class Rule:
    """A quoted rule applied to a case: its figure (low, high) and ours, in `unit` (bytes, FLOP, CNY, requests); why they differ."""

    name: str
    case: str
    quoted: tuple[float, float]
    exact: tuple[float, float]
    unit: str
    why: str


def one(value: float) -> tuple[float, float]:
    """A figure without a band."""
    return value, value


def four_times_bytes(parameters: float) -> tuple[float, float]:
    """The quoted "parameters x bytes x 4 + 20 to 40 GB" at 2 bytes.

    >>> [f"{value / 1e9:.0f}" for value in four_times_bytes(7e9)]
    ['76', '96']
    """
    return parameters * WEIGHT_BYTES * 4 + QUOTED_EXTRA[0], parameters * WEIGHT_BYTES * 4 + QUOTED_EXTRA[1]


def times_one_point_two(model: Model, bytes_per_weight: float) -> float:
    """The quoted "parameters x bytes x 1.2" of serving memory."""
    return model.parameters * bytes_per_weight * 1.2


def free_over_model(memory_bytes: float, model_bytes: float) -> float:
    """The quoted batch "0.8 x free memory / (1.5 x model size), at most 32", whole requests.

    >>> free_over_model(48e9, 16e9), free_over_model(141e9, 1e9)
    (1.0, 32.0)
    """
    return float(min(QUOTED_BATCH, max(0, math.floor(0.8 * (memory_bytes - model_bytes) / (1.5 * model_bytes)))))


def training_rules(
    model: Model, tokens: float, states: States, activations: Activations, gpu: Gpu, context: int, full: bool
) -> tuple[Rule, ...]:
    """What is quoted for full training, applied to this run."""
    six_nd = training_flops(model, tokens)
    attention = attention_flops(model.layers, model.heads * model.head_dim, context, tokens)
    if not full:
        exact = training_flops(model, tokens, 0.0) + attention
        return (
            Rule("6 x N x D", "adapters on a frozen model", one(six_nd), one(exact), "FLOP", "frozen weights take no gradient: 4 x N x D"),
        )
    need = states.total + activations.checkpointed
    kept = (need, states.total + activations.kept)
    case = f"{model.id}, all GPUs together"
    ratio = attention / six_nd
    return (
        Rule(
            "6 x N x D",
            f"{tokens:.3g} tokens",
            one(six_nd),
            one(six_nd + attention),
            "FLOP",
            f"leaves attention out: {ratio:.1%} more at {context:,} tokens",
        ),
        Rule(
            "8 bytes per parameter",
            case,
            one(8 * model.parameters),
            kept,
            "bytes",
            "Adam in mixed precision keeps 16, and activations come on top",
        ),
        Rule(
            "ten times the weights",
            case,
            one(10 * WEIGHT_BYTES * model.parameters),
            kept,
            "bytes",
            "contradicts the rule above by 2.5 times",
        ),
        Rule(
            "parameters x bytes x 4 + 20 to 40 GB",
            case,
            four_times_bytes(model.parameters),
            kept,
            "bytes",
            f"8 bytes per parameter again; one {gpu.id} has {gpu.memory_bytes / GB:.0f} GB",
        ),
    )


def serving_rules(deployment: Deployment, context: int, requests: int) -> tuple[Rule, ...]:
    """What is quoted for serving, applied to this deployment with `requests` requests of `context` tokens."""
    model, size = deployment.model, deployment.tensor_parallel
    weights = weight_bytes(model, deployment.weights)
    blocks = math.ceil(context / BLOCK_TOKENS) * BLOCK_TOKENS
    per_request = kv_bytes_of(model, blocks, deployment.kv_bytes_per_number)
    kv = requests * per_request
    memory = deployment.gpu.memory_bytes * size
    batch = float(largest_safe_batch(deployment, context))
    flops = serving_flops_per_token(shape_of(deployment), context)
    where = f"{size} x {deployment.gpu.id}" if size > 1 else deployment.gpu.id
    return (
        Rule(
            "parameters x bytes x 1.2",
            f"{requests} x {context:,} tokens",
            one(times_one_point_two(model, deployment.weights.bytes_per_weight)),
            one(weights + kv),
            "bytes",
            f"knows no requests: their KV alone is {kv / GB:.1f} GB",
        ),
        Rule(
            "0.8 x free memory / (1.5 x model size), at most 32",
            f"{where}, {context:,} tokens",
            one(free_over_model(memory, weights)),
            one(batch),
            "requests",
            f"a request takes its KV, {per_request / GB:.2f} GB, and not a model",
        ),
        Rule(
            "2 x N per token",
            f"after {context:,} tokens",
            one(2 * model.active_parameters),
            one(flops),
            "FLOP",
            "counts the embedding, which is looked up, and leaves attention out",
        ),
    )


def worked_rules(catalog: Catalog) -> tuple[Rule, ...]:
    """The contradictions that circulate, each with both figures; the quoted results are as quoted, the rest is computed here."""
    return (*_training_contradictions(), *_serving_contradictions(catalog), _eight_cards_for_a_week())


def _training_contradictions() -> Sequence[Rule]:
    seven = model_of_size(7e9)
    sizes = (
        (7e9, 1, "the one 80 GB card that it recommends"),
        (13e9, 1, "one 80 GB card"),
        (70e9, 8, "the eight 80 GB cards that it recommends"),
    )
    memory = []
    for parameters, cards, recommended in sizes:
        quoted, exact, have = four_times_bytes(parameters), STATE_BYTES * parameters, cards * CARD_BYTES
        own = "exceeds" if quoted[0] > have else "may exceed" if quoted[1] > have else "fits"
        why = f"its own figure {own} {recommended} ({have / GB:.0f} GB); 16 bytes per parameter before activations do not fit"
        memory.append(Rule("parameters x bytes x 4 + 20 to 40 GB", f"train {parameters / 1e9:.0f}B", quoted, one(exact), "bytes", why))
    return (
        Rule(
            "6 x N x D",
            "7e9 parameters, 1e11 tokens",
            one(2e21),
            one(training_flops(seven, 1e11)),
            "FLOP",
            "the product was never worked out",
        ),
        *memory,
        Rule(
            "8 bytes per parameter", "train 7B", one(8 * 7e9), one(STATE_BYTES * 7e9), "bytes", "half of what Adam in mixed precision keeps"
        ),
        Rule(
            "ten times the weights",
            "train 7B",
            one(10 * WEIGHT_BYTES * 7e9),
            one(STATE_BYTES * 7e9),
            "bytes",
            "140 GB where the rule above says 56",
        ),
    )


def _serving_contradictions(catalog: Catalog) -> Sequence[Rule]:
    small, l40s, a100 = catalog.models["llama-3.1-8b"], catalog.gpus["l40s"], catalog.gpus["a100-80"]
    bf16 = catalog.weight_formats["bf16"]
    ignores, batch, _ = serving_rules(Deployment(small, bf16, a100), 8192, 64)
    _, batch, _ = serving_rules(Deployment(small, bf16, l40s), 2048, 64)
    weights = weight_bytes(catalog.models["llama-3.1-70b"], bf16)
    return (
        ignores,
        batch,
        Rule(
            "one 80 GB card",
            "serve Llama-3.1-70B in FP16",
            one(CARD_BYTES),
            one(weights),
            "bytes",
            "weights alone: 2 bytes x 70.6e9, before any KV",
        ),
    )


def _eight_cards_for_a_week() -> Rule:
    card_hours = 8 * WEEK_H
    exact = (card_hours * 20.0, card_hours * 40.0)
    return Rule(
        "eight A100s for a week",
        "at 20 to 40 yuan per card-hour",
        (70e3, 80e3),
        exact,
        "CNY",
        f"8 x {WEEK_H} h = {card_hours:,} card-hours",
    )
