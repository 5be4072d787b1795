"""Frozen records of the facts in the YAML files of this folder. No behaviour, no defaults for facts."""

from __future__ import annotations

from dataclasses import dataclass, field

from sim.catalog.contract import Contract
from sim.catalog.error_law import ErrorLaw
from sim.catalog.price_terms import LongPrompt, OffPeak
from sim.catalog.relay_records import Outages, RelayLatency, RetryPolicy


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
    caveat: str = ""  # what the data sheet does not say: contested rates, licence, reliability
    memory_type: str = ""  # hbm3, gddr6 ...: bounds the bandwidth
    pcie_bytes_per_s: float | None = None  # per direction, to the host and from there to other hosts


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
    window_layers: int = 0  # of `layers`, those whose attention sees the last `window_tokens` only
    window_tokens: int = 0
    state_layers: int = 0  # of `layers`, those that keep a state of constant size and no keys and values (state space, linear attention)
    state_bytes: float = 0.0  # of all of them together, per sequence
    kind: str = "chat"  # "chat" or "embedding"
    licence: str = ""
    repository: str = ""  # of its weights, by the name that `vllm serve` takes; empty for a model of the user
    tied_embedding: bool = False  # output head and embedding are one matrix
    caveat: str = ""


@dataclass(frozen=True)
class WeightFormat:
    """How weights are stored and multiplied. `bytes_per_weight` includes scales; `compute` names the key of Gpu.flops that GEMMs run in."""

    id: str  # bf16, fp8, int8 (w8a8), int4 (w4a16) ...
    bytes_per_weight: float
    compute: str
    needs: str  # key of Gpu.flops that must be > 0, else the GPU cannot run it
    source: Source
    note: str = ""
    aliases: tuple[str, ...] = ()  # other names of the same format


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
    grade: str = "list"  # quote > contract > list > claimed
    price_low_usd_per_hour: float | None = None  # band in which sources put the price of the whole host
    price_high_usd_per_hour: float | None = None
    lead_time_days: float | None = None  # order to first use; None: minutes, or not stated
    network_bytes_per_s: float | None = None  # per direction and host, to other hosts
    capex_usd: float | None = None  # purchase of one host, for owned ones; `capex_source`
    power_w: float | None = None  # of one host at full load; `capex_source`
    life_months: float | None = None  # of an owned host; this and the next three: as the scenario says, else its `finance`
    residual_share: float | None = None  # worth at the end of its life, of the purchase
    maintenance_usd_per_month: float | None = None  # of one host
    colocation_usd_per_month: float | None = None  # of one host
    capex_source: Source | None = None
    spot_usd_per_hour: dict[str, float] = field(default_factory=dict)  # quantile ("0.5") -> price of the host; {} where not spot
    spot_availability: float | None = None  # share of hours in which the host can be had; None: not published
    contract: Contract | None = None  # document behind a contracted or quoted price


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
    kind: str = "chat"  # "chat" or "embedding"
    weights: str = ""  # format in which it is served, where the host says so
    maker: bool = False  # the vendor made the model: its list is what other sellers are compared with
    next_price_on: str | None = None  # announced change of prices
    next_usd_per_mtok_input: float | None = None
    next_usd_per_mtok_output: float | None = None
    usd_per_mtok_cache_write: float | None = None  # price of an input token that is put into the cache; None: the input price
    usd_per_mtok_batch_input: float | None = None  # answered within `batch_window_h`; None: no such tier listed
    usd_per_mtok_batch_output: float | None = None
    batch_window_h: float = 24.0  # the day in which OpenAI, Anthropic and Google complete a batch
    long_prompts: tuple[LongPrompt, ...] = ()  # rising thresholds; the highest one that a prompt exceeds prices all of its request
    off_peak: OffPeak | None = None  # hours in which tokens are cheaper; None: one price all day
    price_low_usd_per_mtok: float | None = None  # band in which the seller puts the input price
    price_high_usd_per_mtok: float | None = None
    payment: tuple[str, ...] = ()  # ways to pay, where stated
    legal_entity: str = ""  # who signs the contract; empty: not stated
    billing_currency: str = "USD"
    credit_per_unit: float | None = None  # USD of credit that one unit of the billing currency buys, as the seller says
    starting_credit_usd: float | None = None
    credit_applied: bool = False  # the prices above are what credit at that rate costs, because the scenario trusts it
    unit_usd_per_hour: float | None = None  # provisioned throughput: price of one unit; tokens then cost nothing more
    unit_tokens_per_minute: float | None = None  # input tokens that one unit carries
    unit_output_weight: float | None = None  # input tokens that one output token counts as
    unit_minimum: int | None = None  # least units that can be bought
    unit_term: str = ""  # on_demand, reserved_1m, reserved_1y
    latency: RelayLatency | None = None  # measured; in place of ttft_* and tokens_*
    torn_share: float = 0.0  # part of answers that break off in the middle: billed, and asked for again
    outages: Outages | None = None
    retry: RetryPolicy | None = None  # of the clients of this relay; None: the default
    prefill_s_per_token: float = 0.0  # of a prompt beyond the length that TTFT was measured at; assumed from the model's size
    contract: Contract | None = None  # document behind contracted or quoted prices


@dataclass(frozen=True)
class Tokenizer:
    """How many tokens a character of a script becomes, for the models whose names match `models` (shell patterns)."""

    id: str
    models: tuple[str, ...]
    tokens_per_char: dict[str, float]  # script -> mean tokens per character
    source: Source


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
    newest: str = ""  # newest version of the engine that any of the points was measured with; empty: none of this engine


@dataclass(frozen=True)
class Catalog:
    """All rows by id. `date` is that of the newest price row; `digest` is a hash of the files' content, `files` that of each one."""

    gpus: dict[str, Gpu]
    models: dict[str, Model]
    weight_formats: dict[str, WeightFormat]
    offers: dict[str, Offer]
    relays: dict[str, Relay]
    calibration: tuple[CalibrationRow, ...]
    date: str
    digest: str
    fx_usd: dict[str, float] = field(default_factory=dict)  # currency -> USD per unit
    tokenizers: dict[str, Tokenizer] = field(default_factory=dict)
    files: dict[str, str] = field(default_factory=dict)  # name, such as relays.yaml -> SHA-256
    error_law: ErrorLaw | None = None  # how wrong step costs and latencies may be; None: not known
