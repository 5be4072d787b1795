"""The shape of one replica: model x weight format x GPU type x tensor parallel x engine limits."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sim.catalog.facts import Gpu, Model, WeightFormat

BLOCK_TOKENS = 16
PS = 10**12  # picoseconds in a second
KV_BYTES = {"auto": 2, "fp8": 1}  # format of the KV cache, as vLLM names it -> bytes per number
ENGINE_LIMITS = ("max_num_seqs", "max_num_batched_tokens")  # of EngineLimits: those that a plan chooses
CURRENT_RELEASE = "vllm-0.14"  # what plans run unless the scenario names a version; sim/engine/release.py lists them


@dataclass(frozen=True)
class EngineLimits:
    """Scheduler limits, defaults of vLLM V1 serving. `kv_blocks` overrides what memory would give.

    `max_num_batched_tokens >= max_num_seqs` is required. `async_scheduling`: a step is decided on while the one before it runs.
    """

    max_num_seqs: int = 256
    max_num_batched_tokens: int = 2048
    gpu_memory_utilization: float = 0.9
    kv_blocks: int | None = None
    watermark: float = 0.0  # share of blocks that an admission must leave free
    prefix_caching: bool = False
    async_scheduling: bool = False


@dataclass(frozen=True)
class Deployment:
    """What every replica of a pool runs; `id` reads model/weights/gpu[/tpN][/kv-fp8][/variant].

    `variant` names engine limits that a plan chose in place of those that the engine starts with: "512-tokens".
    """

    model: Model
    weights: WeightFormat
    gpu: Gpu
    tensor_parallel: int = 1
    limits: EngineLimits = field(default_factory=EngineLimits)
    kv_bytes_per_number: int = 2  # 2: bf16, 1: fp8
    engine: str = CURRENT_RELEASE  # sim/engine/release.py
    variant: str = ""

    @property
    def id(self) -> str:
        return f"{self.model.id}/{self.weights.id}/{self.gpu.id}{self.tail}"

    @property
    def kv_format(self) -> str:
        """The format of the KV cache, as vLLM names it."""
        return next(name for name, number in KV_BYTES.items() if number == self.kv_bytes_per_number)

    @property
    def tail(self) -> str:
        """What follows model and weights in names: "/tp2/kv-fp8/512-tokens"; empty for one GPU and an engine as it starts."""
        parallel = f"/tp{self.tensor_parallel}" if self.tensor_parallel > 1 else ""
        cache = "/kv-fp8" if self.kv_bytes_per_number == 1 else ""
        return parallel + cache + (f"/{self.variant}" if self.variant else "")


@dataclass(frozen=True)
class StepCost:
    """What one engine step costs, in integer picoseconds, as tables that the kernel reads. The one form that fit and kernel share.

    step_ps = base_ps[T] + sequence_ps * n + context_ps[D] * S + pair_ps * P + prefill_context_ps * C

    T  tokens computed in the step (decodes + prefill chunks), 1..max_num_batched_tokens: linear layers, all-reduce,
       element-wise work, overhead per step
    n  sequences in the step
    D  decodes in the step; S their summed context, current token included: KV reads
    P  sum over prefill chunks of c*s + c*(c+1)/2, c chunk tokens after s computed ones: attention of prefill
    C  sum over prefill chunks of s + c: KV reads of prefill

    For fixed D it is linear in S, so k identical decode steps have a closed form, bit-identical to k single steps.
    """

    base_ps: npt.NDArray[np.int64]  # [max_num_batched_tokens + 1]
    context_ps: npt.NDArray[np.int64]  # [max_num_seqs + 1]
    sequence_ps: int
    pair_ps: int
    prefill_context_ps: int
    request_ps: int  # once per request, before it reaches the queue: tokenise, HTTP
    calibrated: bool
    error: dict[str, float]  # median and p90 relative error by metric, from the calibration row
    sequence_blocks: int = 0  # KV blocks that a sequence holds next to those of its tokens: full windows, states
