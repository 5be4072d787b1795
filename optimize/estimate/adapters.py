"""Low-rank adapters (LoRA, Hu et al. 2021; QLoRA, Dettmers et al. 2023): what is trained, and how the frozen model is stored."""

from __future__ import annotations

from sim.catalog.facts import Model, Source, WeightFormat

DEFAULT_RANK = 16
NF4 = WeightFormat(
    id="nf4",
    bytes_per_weight=(4 + 0.127) / 8,  # 4 bits, and 0.127 for constants that are quantised themselves
    compute="bf16",
    needs="bf16",
    source=Source("Dettmers et al. 2023, QLoRA, section 3", "2023-05"),
)


def adapter_parameters(model: Model, rank: int) -> float:
    """Parameters of adapters of that rank on every matrix inside the layers: rank x (inputs + outputs) each.

    Attention has four matrices, a gated feed-forward three. In a mixture the experts stay without (approximation: an adapter
    for each of them would be as many parameters as a small model).

    >>> from sim.catalog.loader import load_catalog
    >>> adapter_parameters(load_catalog().models["llama-3.1-8b"], 16)  # as PEFT prints it for all linear layers
    41943040.0
    """
    hidden, queries, keys = model.hidden_size, model.heads * model.head_dim, model.kv_heads * model.head_dim
    attention = (hidden + queries) + 2 * (hidden + keys) + (queries + hidden)
    feed_forward = 3 * (hidden + model.intermediate_size) if model.experts == 1 else 0
    return float(model.layers * rank * (attention + feed_forward))
