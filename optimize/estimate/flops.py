"""Floating-point operations of training and of serving a token."""

from __future__ import annotations

from sim.catalog.facts import Model
from sim.engine.physics import Shape

FORWARD_PER_PARAMETER = 2.0  # a multiplication and an addition
TRAIN_PER_PARAMETER = 6.0  # forward, and twice that backward (gradients of activations and of weights)
FROZEN_PER_PARAMETER = 4.0  # no gradient of the weights themselves


def attention_flops(layers: float, width: float, context: float, tokens: float) -> float:
    """Operations of causal attention in training: 6 x layers x width x context per token, `width` = query heads x head dimension.

    Forward 4 x width per pair of query and key, half of the pairs under a causal mask, three times that with the backward pass.
    Formulas that count the masked half too (PaLM, appendix B) have twice this.

    >>> round(attention_flops(32, 4096, 4096, 2e12) / (6 * 6.738e9 * 2e12), 3)  # Llama 2 7B, as a share of 6ND
    0.08
    """
    return 6.0 * layers * width * context * tokens


def training_flops(model: Model, tokens: float, adapters: float | None = None) -> float:
    """6ND: operations of all products with weights, forward and backward; N are the parameters that a token touches.

    With `adapters` (their number of parameters) the model is frozen: 4ND + 6 x adapters x D.
    Source: Kaplan et al. 2020, section 2.1.
    """
    if adapters is None:
        return TRAIN_PER_PARAMETER * model.active_parameters * tokens
    return (FROZEN_PER_PARAMETER * model.active_parameters + TRAIN_PER_PARAMETER * adapters) * tokens


def serving_flops_per_token(shape: Shape, context: float) -> float:
    """Operations of one more token after `context` others: products with weights and output head, and attention to all of them.

    The embedding is looked up, not multiplied: 2N counts it and leaves attention out.
    """
    return FORWARD_PER_PARAMETER * float(shape.active + shape.head) + 4.0 * float(shape.heads_dim * shape.layers) * context
