"""The keys of a scenario file: type, unit, default and meaning of each, in one place. docs/reference/scenario.md is made from it."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag

from sim.engine.release import engine_release, lineage
from sim.engine.routers import DEFAULT, WITH_CACHE, RouterName
from sim.scenario.context_budget import ContextOf
from sim.scenario.schema.candidate import Candidates
from sim.scenario.schema.commitment import Commitments, Futures
from sim.scenario.schema.contract import RelayAccounts, SpotSpec, VendorShares
from sim.scenario.schema.fields import (
    Amount,
    Count,
    CurrencyName,
    FileName,
    Keys,
    Name,
    Positive,
    Quantile,
    Share,
    Text,
    TokenCount,
    TokenLaw,
    known_name,
    wrong,
    wrong_alone,
)
from sim.scenario.schema.finance import FinanceSpec
from sim.scenario.schema.model import ModelEntry, OwnModel
from sim.scenario.schema.routing import QualitySpec, RoutingSpec
from sim.scenario.shapes import load as load_shapes


def key(meaning: str, unit: str = "", example: Any = None, **more: Any) -> Any:
    """A field whose `meaning`, unit and example feed messages and the reference."""
    extra = {"unit": unit, "example": example}
    return Field(description=meaning, json_schema_extra=extra, **more)


DayName = Annotated[str, AfterValidator(known_name("day shape", lambda _: load_shapes().days))]


def _weights(values: list[float]) -> list[float]:
    if len(values) != 24 or sum(values) <= 0:
        wrong_alone(f"has {len(values)} hour weights with sum {sum(values):g}; write 24 with a sum above 0")
    return values


HourWeights = Annotated[list[Amount], AfterValidator(_weights)]
DayShape = Annotated[
    Annotated[DayName, Tag("«name»")] | Annotated[HourWeights, Tag("«weights»")],
    Discriminator(lambda value: "«weights»" if isinstance(value, list) else "«name»"),
]
PeakFactor = Annotated[float, Field(ge=1, le=100)]
Noise = Annotated[float, Field(ge=0, le=2)]


class UserTraffic(Keys):
    """A synthetic week, from the number of users."""

    daily_active_users: Positive = key("users on a weekday", "users/day", 1_000_000)
    conversations_per_user: Positive = key("conversations that a user starts a day", "1/day", 3.0)
    turns_per_conversation: PeakFactor = key("mean requests in a conversation", "requests", 2.5)
    day_shape: DayShape = key("name of a shape, or 24 weights", "", "consumer_chat", default="consumer_chat")
    weekend_factor: Annotated[float, Field(ge=0, le=10)] = key("volume of a weekend day / weekday", "", default=1.0)
    peak_minute_factor: PeakFactor = key("busiest minute / mean of the busiest hour; relay limits see it", "", default=1.17)
    minute_noise_cv: Noise = key("coefficient of variation of the rate from minute to minute", "", default=0.07)
    think_time_median_s: Annotated[float, Field(gt=0, le=86_400)] = key("median wait between answer and next turn", "s", default=73.7)
    think_time_sigma: Annotated[float, Field(ge=0, le=5)] = key("sigma of log(think time)", "", default=1.4)
    utc_offset_h: Annotated[float, Field(ge=-12, le=14)] | None = key(
        "clock of the day shape, ahead of UTC (8: Beijing); absent: not known, off-peak prices are not counted on", "h", 8, default=None
    )


class RateTraffic(Keys):
    """The same rate in every hour."""

    rate_rps: Positive = key("requests of all classes together", "requests/s", 5)
    peak_minute_factor: PeakFactor = key("busiest minute / mean; relay limits see it", "", default=1.0)
    minute_noise_cv: Noise = key("coefficient of variation of the rate from minute to minute", "", default=0.07)


class ReplayTraffic(Keys):
    """Replay of a request log."""

    log: FileName = key("request log (log-formats.md), plain or gzip, relative to the scenario file", "", "requests.csv.gz")
    scale: Positive = key("multiplies the rate of the log", "", default=1.0)


def _traffic_form(value: Any) -> str | None:
    if not isinstance(value, dict):
        return None
    return "«log»" if "log" in value else "«rate»" if "rate_rps" in value else "«users»"


Traffic = Annotated[
    Annotated[UserTraffic, Tag("«users»")] | Annotated[RateTraffic, Tag("«rate»")] | Annotated[ReplayTraffic, Tag("«log»")],
    Discriminator(
        _traffic_form,
        custom_error_type="form",
        custom_error_message="is not traffic; write {daily_active_users: ...}, {rate_rps: ...} or {log: FILE}",
    ),
]


class ConversationSpec(Keys):
    """A prompt that grows with the turns of a conversation."""

    system_prompt_tokens: TokenCount = key("sent with every turn, the same for all", "tokens", 500)
    user_tokens: TokenLaw = key("what the user types in one turn", "tokens", 60)
    history_cap_tokens: TokenCount = key("history above this is cut, oldest first", "tokens", 8192)


Limits = Annotated[dict[Quantile, Annotated[float, Field(gt=0, le=86400)]], Field(min_length=1)]


class SloSpec(Keys):
    """Limits by metric and quantile: `ttft: {p95: 1.0}` means that 95 % of requests see the first token within 1 s."""

    ttft: Limits | None = key("arrival to first token at the client", "s", {"p95": 1.0}, default=None)
    tpot: Limits | None = key("time per output token after the first", "s", {"p95": 0.05}, default=None)
    e2e: Limits | None = key("arrival to last token", "s", {"p99": 30}, default=None)


class ClassSpec(Keys):
    """One kind of request."""

    name: Name = key("used in output and overrides", "", "chat")
    share: Annotated[float, Field(gt=0, le=1)] = key("part of all requests; the shares sum to 1", "0..1", 1.0)
    kind: Literal["chat", "embedding", "batch"] = key("kind of request", "", default="chat")
    task: Text = key("what it is for, in your words; or a task of the routing table", "", default="")
    input_tokens: TokenLaw | None = key("prompt length; or write `conversation`", "tokens", 500, default=None)
    conversation: ConversationSpec | None = key("a prompt that grows by turn; or write `input_tokens`", "", default=None)
    output_tokens: TokenLaw = key("answer length", "tokens", 200)
    models: Annotated[list[ModelEntry], Field(min_length=1)] = key(
        "models that may answer: names, or mappings with token factors; absent: by `task` or `quality.floor` and the routing table",
        "",
        ["llama-3.1-8b"],
        default_factory=list,
    )
    quality: QualitySpec | None = key("what an answer must be good for", "", {"floor": "medium"}, default=None)
    context: ContextOf | None = key("token budget that the client keeps", "", {"max": 8192}, default=None)
    slo: SloSpec = key("the latency promise", "", {"ttft": {"p95": 1.0}}, default_factory=SloSpec)
    data_residency: list[Text] = key("regions that may hold the data; empty: anywhere", "", default_factory=list)
    priority: Annotated[int, Field(ge=0, le=7)] = key("inside a pool, lower ones are admitted first and preempted last", "0..7", default=0)
    self_hosted_only: bool = key("true: never sent to a relay", "", default=False)


class BudgetSpec(Keys):
    """What may be spent."""

    per_month: Amount = key("limit for GPUs and relays together, a month of 730 hours", "currency", 60_000)
    currency: CurrencyName = key("currency of the limit and of the report", "", default="USD")


def _band(values: list[float]) -> list[float]:
    if len(values) != 2 or values[0] > values[1]:
        wrong("is not a band; write [low, high], such as [3, 20]")
    return values


class PolicySpec(Keys):
    """What the buyer allows."""

    n_plus_one: bool = key("every pool keeps its promise with one host lost", "", default=False)
    max_relay_share: Share = key("largest part of all requests that relays may serve", "0..1", default=1.0)
    max_vendor_share: VendorShares | None = key(
        'the same for each vendor of relays: one number, or by vendor (`"*"`: all others)', "0..1", default=None
    )
    relay_outage_reserve: bool = key("in every hour the rest can carry what any one relay serves", "", default=False)
    relay_accounts: RelayAccounts = key("contracts with relays: commitments, caps, spend tiers", "", default_factory=list)
    provisioned_units: bool = key("relays that sell provisioned throughput may be bought by the unit too", "", default=False)
    spot: SpotSpec | None = key("how far spot hosts are relied on; absent: not at all", "", default=None)
    boot_hours_paid: bool = key("hosts that start are paid for `boot_s` before they serve", "", default=False)
    allow: list[Text] = key(
        "only these offers, relays, providers or vendors (`*` matches anything); empty: all",
        "",
        default_factory=list,
    )
    deny: list[Text] = key("never these offers, relays, providers or vendors (`*` matches anything)", "", default_factory=list)
    trust_claims: bool = key("use rows whose price is only claimed by the seller", "", default=False)
    limits_negotiable: bool = key("false: every relay limit is hard, also those marked negotiable", "", default=True)
    network_s: Annotated[float, Field(ge=0, le=10)] = key("round trip between client and pool", "s", default=0.02)
    router: RouterName | None = key(f"within a pool; absent: {WITH_CACHE} where a prefix cache is on, else {DEFAULT}", "", default=None)
    relay_failover: Literal["none", "relays", "fleet"] = key(
        "what takes over a request that a relay failed: nothing, other relays, or those and then own pools", "", default="none"
    )
    safety: Annotated[float, Field(ge=0, le=0.9)] = key("capacity is planned at (1 - safety) of what was measured", "0..1", default=0.03)
    data_residency: list[Text] = key("for classes that say nothing of their own", "", default_factory=list)
    requests_per_user_band: Annotated[list[Positive], AfterValidator(_band)] | None = key(
        "demand band to report", "requests/user-day", [3, 20], default=None
    )


def _vllm_version(text: str) -> str:
    plain = text.removeprefix("v")
    if not re.fullmatch(r"\d+\.\d+([.+\w-]*)", plain):
        wrong('is no version of vLLM; write it as in "0.18" or "0.18.1"')
    if "vllm-v1" not in lineage(engine_release("vllm", plain)):
        wrong('is a vLLM that schedules otherwise than the simulator; write "0.8" or later')
    return plain


class EngineSpec(Keys):
    """Engine and scheduler limits of every replica; what is absent keeps the default of vLLM V1."""

    version: Annotated[str, AfterValidator(_vllm_version)] | None = key(
        "version of vLLM, in quotes; without it today's release", "", "0.18", default=None
    )
    max_num_seqs: Count | None = key("sequences in one step", "sequences", default=None)
    max_num_batched_tokens: Count | None = key("tokens in one step", "tokens", default=None)
    gpu_memory_utilization: Annotated[float, Field(gt=0, le=1)] | None = key("part of GPU memory used", "0..1", default=None)
    kv_blocks: Count | None = key("blocks of 16 tokens, in place of what memory gives", "blocks", default=None)
    watermark: Share | None = key("part of blocks that an admission leaves free", "0..1", default=None)
    prefix_caching: bool = key("keep the KV of prompts that begin alike", "", default=True)


class ScenarioSpec(Keys):
    """One scenario file."""

    name: Name = key("short name, used for files of results", "", "my_service")
    description: Text = key("one paragraph for readers", "", default="")
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = key("of all random streams", "", default=1)
    traffic: Traffic = key("how many requests, and when", "", {"rate_rps": 5})
    request_classes: Annotated[list[ClassSpec], Field(min_length=1, max_length=64)] = key("kinds of requests", "", [])
    models: Annotated[list[OwnModel], Field(max_length=64)] = key(
        "models that the catalogue lacks, by their config.json", "", default_factory=list
    )
    candidates: Candidates = key("what may be bought", "", default_factory=Candidates)
    budget: BudgetSpec = key("what may be spent", "", {"per_month": 60000})
    policy: PolicySpec = key("what the buyer allows", "", default_factory=PolicySpec)
    engine: EngineSpec = key("scheduler limits of every replica", "", default_factory=EngineSpec)
    routing: RoutingSpec | None = key("several models per class: who may answer what", "", {"table": "default"}, default=None)
    calibration: FileName | None = key("step costs fitted to own runs by `calibrate`, relative to the scenario file", "", default=None)
    ranges: dict[Text, Annotated[list[Positive], AfterValidator(_band)]] = key(
        "low and high end of uncertain inputs, by key or `factor.NAME`, for `whatif`", "", {"traffic.turns_per_conversation": [1.8, 3.5]},
        default_factory=dict,
    )  # fmt: skip
    finance: FinanceSpec = key("money over time, and what owning costs", "", default_factory=FinanceSpec)
    commitments: Commitments = key("first stages that `decide` compares", "", default_factory=list)
    futures: Futures = key("how things could turn out, for `decide`; absent: nine usual ones", "", default_factory=list)
