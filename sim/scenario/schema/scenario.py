"""The keys of a scenario file: type, unit, default and meaning of each, in one place. docs/reference/scenario.md is made from it."""

from __future__ import annotations

import re
from typing import Annotated, Literal

from pydantic import AfterValidator, BeforeValidator, Discriminator, Field, Tag, model_validator

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
    wrong,
    wrong_alone,
)
from sim.scenario.schema.finance import FinanceSpec
from sim.scenario.schema.key import key
from sim.scenario.schema.model import ModelEntry, OwnModel
from sim.scenario.schema.routing import QualitySpec, RoutingSpec
from sim.scenario.schema.traffic import Traffic


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

    per_month: Amount | None = key("limit for GPUs and relays together, a month of 730 hours; or write per_mtok", "currency", 60_000,
        default=None)  # fmt: skip
    per_mtok: Positive | None = key(
        "limit by the million tokens, prompts and answers together", "currency/million tokens", 1.5, default=None
    )
    currency: CurrencyName = key("currency of the limit and of the report", "", default="USD")

    @model_validator(mode="after")
    def _some(self) -> BudgetSpec:
        if self.per_month is None and self.per_mtok is None:
            wrong_alone("has no limit; write per_month: 60000, or per_mtok: 1.5 for a limit by the million tokens")
        return self


def _band(values: list[float]) -> list[float]:
    if len(values) != 2 or values[0] > values[1]:
        wrong("is not a band; write [low, high], such as [3, 20]")
    return values


def _no_confidence(value: str) -> str:
    return value if value == "none" else wrong("is no chance; write a number from 0.5 to 0.99, or none")


Confidence = Annotated[
    Annotated[Literal["none"], BeforeValidator(_no_confidence), Tag("«word»")] | Annotated[float, Field(ge=0.5, le=0.99), Tag("«number»")],
    Discriminator(lambda value: "«word»" if isinstance(value, str) else "«number»"),
]


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
    payment: list[Text] = key(
        "ways in which you can pay, of those that sellers state; a relay that takes none of them is not bought; empty: any way",
        "",
        ["card", "invoice"],
        default_factory=list,
    )
    limits_negotiable: bool = key("false: every relay limit is hard, also those marked negotiable", "", default=True)
    network_s: Annotated[float, Field(ge=0, le=10)] = key("round trip between client and pool", "s", default=0.02)
    router: RouterName | None = key(f"within a pool; absent: {WITH_CACHE} where a prefix cache is on, else {DEFAULT}", "", default=None)
    relay_failover: Literal["none", "relays", "fleet"] = key(
        "what takes over a request that a relay failed: nothing, other relays, or those and then own pools", "", default="none"
    )
    safety: Annotated[float, Field(ge=0, le=0.9)] = key("capacity is planned at (1 - safety) of what was measured", "0..1", default=0.03)
    confidence: Confidence = key(
        "least chance that every promise holds, over what step costs, relays and the forecast may be wrong by; none: not planned for",
        "0.5..0.99 or none", 0.8, default="none",
    )  # fmt: skip
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
