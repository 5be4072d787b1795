"""Frozen records of the facts in the YAML files beside this one. No behaviour, no defaults for facts."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Source:
    """Where a row comes from: a title that a reader can find, and the date (ISO) on which it was read or published."""

    title: str
    date: str
    note: str = ""


@dataclass(frozen=True)
class Gpu:
    """One accelerator. Rates are data-sheet peaks: bytes/s, dense FLOP/s (never "with sparsity"); 0 means not supported in hardware."""

    id: str
    memory_bytes: float
    bandwidth_bytes_per_s: float
    flops: dict[str, float]  # "bf16", "fp16", "fp8", "int8", "fp4" -> dense FLOP/s (OP/s for int8)
    link: str  # "nvlink", "pcie" or "none": what joins GPUs inside one host
    link_bytes_per_s: float  # per direction and GPU
    tdp_w: float
    source: Source
    caveat: str = ""


@dataclass(frozen=True)
class Model:
    """One decoder-only transformer. `active_parameters` are those that one token touches (equal to `parameters` unless MoE)."""

    id: str
    parameters: float
    active_parameters: float
    layers: int
    hidden_size: int
    heads: int
    kv_heads: int
    head_dim: int
    intermediate_size: int  # of one expert, for a mixture of experts
    vocab_size: int
    max_context: int
    source: Source
    experts: int = 1
    experts_per_token: int = 1
    kv_elements_per_layer: int | None = None  # numbers cached per token and layer where it is not 2*kv_heads*head_dim (MLA)
    kind: str = "chat"  # or "embedding"
    licence: str = ""


@dataclass(frozen=True)
class WeightFormat:
    """How weights are stored and multiplied. `bytes_per_weight` includes scales; `compute` names the key of Gpu.flops that GEMMs run in."""

    id: str  # bf16, fp8, int8 (w8a8), int4 (w4a16) ...
    bytes_per_weight: float
    compute: str
    needs: str  # key of Gpu.flops that must be > 0, else the GPU cannot run it
    source: Source
    note: str = ""


@dataclass(frozen=True)
class Offer:
    """A GPU host that money buys at one price and term. A host is also a failure domain."""

    id: str  # e.g. aws.g6e.xlarge
    provider: str
    gpu: str
    gpus: int  # per host
    usd_per_hour: float  # for the whole host
    term: str  # on_demand, reserved_1y, reserved_3y, spot, owned
    source: Source
    region: str = ""
    elastic: bool = False  # may follow the hour: billed only for hours in which it runs
    stock: int | None = None  # hosts; None means no limit known
    boot_s: float = 300.0
    residency: tuple[str, ...] = ()
    note: str = ""


@dataclass(frozen=True)
class Relay:
    """A remote API endpoint that sells tokens of one model. Prices in USD per million tokens; limits per account."""

    id: str  # e.g. deepinfra.llama-3.1-70b
    vendor: str
    model: str
    usd_per_mtok_input: float
    usd_per_mtok_output: float
    usd_per_mtok_cached: float | None  # price of a cached input token; None: no discount
    ttft_p50_s: float
    ttft_sigma: float  # of the log-normal body
    tokens_per_s: float  # of one stream, median
    tokens_sigma: float
    source: Source
    latency_source: Source
    rpm: float | None = None
    tpm: float | None = None
    negotiable: bool = False
    max_context: int = 131072
    cache_min_prefix: int = 1024
    error_share: float = 0.0
    residency: tuple[str, ...] = ()
    retires_on: str | None = None
    successor: str | None = None
    grade: str = "list"  # quote > contract > list > claimed
    note: str = ""


@dataclass(frozen=True)
class CalibrationRow:
    """Coefficients of the step cost for one GPU x engine generation x weight format; meanings in sim/engine/step_cost.py."""

    gpu: str  # Gpu.id or "*" (data sheet fallback)
    engine: str  # e.g. vllm-v1
    weights: str  # WeightFormat.id or "*"
    coefficients: dict[str, float]
    points: int  # measured points used; 0 means not calibrated
    error: dict[str, float]  # cross-validated median and p90 absolute relative error by metric
    source: Source


@dataclass(frozen=True)
class Catalog:
    """All rows by id. `date` is that of the newest price row; `digest` is a hash of the files' content."""

    gpus: dict[str, Gpu]
    models: dict[str, Model]
    weight_formats: dict[str, WeightFormat]
    offers: dict[str, Offer]
    relays: dict[str, Relay]
    calibration: tuple[CalibrationRow, ...]
    date: str
    digest: str
    fx_usd: dict[str, float] = field(default_factory=dict)  # currency -> USD per unit
