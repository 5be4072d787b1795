"""Whether links keep up when a model is sharded: what ZeRO stage 3 sends per step against what the step computes."""

from __future__ import annotations

from dataclasses import dataclass

from optimize.estimate.flops import FROZEN_PER_PARAMETER, TRAIN_PER_PARAMETER
from optimize.estimate.training_memory import WEIGHT_BYTES
from sim.catalog.facts import Gpu, Model

FULL_PASSES = 3  # weights gathered forward and backward, gradients scattered: Rajbhandari et al. 2020 (ZeRO), section 7
FROZEN_PASSES = 2  # no gradients of frozen weights
IN_HOST = 8  # GPUs of the largest hosts in the catalogue


@dataclass(frozen=True)
class Interconnect:
    """Bytes that each GPU sends per micro-batch, the rate at which they hide behind its computation, and the rate of its link."""

    bytes_per_step: float
    compute_s: float  # of a micro-batch, at the best utilisation asked for
    needed_bytes_per_s: float
    link_bytes_per_s: float  # inside one host
    link: str
    hidden: bool  # inside one host
    note: str


def interconnect(
    model: Model, gpu: Gpu, gpus: int, tokens: int, mfu: tuple[float, float], peak: float, adapters: float | None
) -> Interconnect:
    """The traffic of `gpus` GPUs that each compute `tokens` tokens per micro-batch.

    Adapters' own traffic is left out. Between hosts the catalogue has no facts: the needed rate is what to ask for.
    """
    passes, per_parameter = (FULL_PASSES, TRAIN_PER_PARAMETER) if adapters is None else (FROZEN_PASSES, FROZEN_PER_PARAMETER)
    sent = passes * WEIGHT_BYTES * model.parameters * (gpus - 1) / gpus
    compute_s = per_parameter * model.active_parameters * tokens / (peak * mfu[1])
    needed = sent / compute_s
    hidden = needed <= gpu.link_bytes_per_s
    words = f"{sent / 1e9:.0f} GB per micro-batch and GPU hide behind {compute_s:.2f} s of computing from {needed / 1e9:.0f} GB/s on"
    has = f"{gpu.link} gives {gpu.link_bytes_per_s / 1e9:.0f}"
    note = f"{words}; {has}: {'enough inside a host' if hidden else 'links would set the pace; larger micro-batches help'}"
    if gpus > IN_HOST:
        note += f"; beyond {IN_HOST} GPUs ask for {needed * 8 / 1e9:.0f} Gbit/s per GPU between hosts (no such facts in the catalogue)"
    return Interconnect(sent, compute_s, needed, gpu.link_bytes_per_s, gpu.link, hidden, note)
