"""One model on every device: does it fit, how many requests at once, how fast, at what price."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any

from optimize.estimate.amounts import Options
from optimize.estimate.flops import serving_flops_per_token
from optimize.estimate.question import KV_BYTES, Question, read_question
from optimize.estimate.row import Refused, Row, evaluate, ranked
from optimize.estimate.rules import Rule, serving_rules
from sim.catalog.facts import Catalog
from sim.catalog.loader import load_catalog
from sim.engine.deployment import BLOCK_TOKENS, Deployment
from sim.engine.memory import kv_bytes_of, kv_bytes_per_token, weight_bytes
from sim.engine.physics import shape_of

SCHEMA = "servemix.estimate.serving/1"
Json = dict[str, Any]


@dataclass(frozen=True)
class ServingEstimate:
    """The answer: rows that fit, best first, and a reason for each shape that does not."""

    question: Question
    kv_bytes_per_token: int
    kv_bytes_per_request: int
    weight_bytes: dict[str, float]  # by format
    flops_per_token: float
    fits: tuple[Row, ...]
    refused: tuple[Refused, ...]
    rules: tuple[Rule, ...]


def estimate_serving(**given: Any) -> ServingEstimate:
    """What serving a model takes, from options as typed (keys: `read_question`); InputError with every problem of the command."""
    options, catalog = Options("estimate serving"), load_catalog()
    question = read_question(options, catalog, **given)
    options.check()
    assert question is not None
    return serving_estimate(question, catalog)


def serving_estimate(question: Question, catalog: Catalog) -> ServingEstimate:
    """The answer to `question`."""
    fits: list[Row] = []
    refused: list[Refused] = []
    for gpu in question.devices:
        for weights in question.weights:
            kept, lost = evaluate(question, gpu, weights, catalog)
            fits += kept
            refused += lost
    per_number, context = KV_BYTES[question.kv], question.context
    per_token = kv_bytes_per_token(question.model, per_number)
    rows = ranked(fits, question.concurrency)
    shown = (
        rows[0].deployment if rows else Deployment(question.model, question.weights[0], question.devices[0], kv_bytes_per_number=per_number)
    )
    return ServingEstimate(
        question=question,
        kv_bytes_per_token=per_token,
        kv_bytes_per_request=round(kv_bytes_of(question.model, math.ceil(context / BLOCK_TOKENS) * BLOCK_TOKENS, per_number)),
        weight_bytes={row.id: weight_bytes(question.model, row) for row in question.weights},
        flops_per_token=serving_flops_per_token(shape_of(shown), context),
        fits=rows,
        refused=tuple(refused),
        rules=serving_rules(shown, context, question.concurrency or 64),
    )


def serving_json(e: ServingEstimate) -> Json:
    """The estimate as one JSON object. `weight_bytes` is of the first format that was asked for (bf16 when none was)."""
    q = e.question
    return {
        "schema": SCHEMA,
        "model": q.model.id,
        "parameters": q.model.parameters,
        "active_parameters": q.model.active_parameters,
        "weights": [row.id for row in q.weights],
        "weight_bytes": e.weight_bytes[q.weights[0].id],
        "weight_bytes_by_format": e.weight_bytes,
        "kv_format": q.kv,
        "kv_bytes_per_token": e.kv_bytes_per_token,
        "context": q.context,
        "kv_bytes_per_request": e.kv_bytes_per_request,
        "prompt_tokens": q.load.prompt_tokens,
        "answer_tokens": q.load.answer_tokens,
        "concurrency": q.concurrency,
        "flops_per_token": e.flops_per_token,
        "fits": [row.as_json() for row in e.fits],
        "does_not_fit": [asdict(row) for row in e.refused],
        "rules": [asdict(rule) for rule in e.rules],
    }
