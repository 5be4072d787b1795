"""Keys of `candidates`: what may be bought, by catalogue name or written out."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Discriminator, Field, Tag

from sim.scenario.scenario import BATCHED_TOKENS, SEQUENCES
from sim.scenario.schema.evidence import ContractOf, priced
from sim.scenario.schema.fields import (
    Amount,
    Count,
    CurrencyName,
    FileName,
    GpuName,
    Keys,
    Name,
    Positive,
    Share,
    Text,
    WeightsName,
)
from sim.scenario.schema.price import LongPromptsOf, OffPeakSpec
from sim.scenario.schema.relay import LatencySpec, OutageOf, RetrySpec


def fact(meaning: str, unit: str = "", required: bool = False) -> Any:
    """A field of a row; None means: as the catalogue says."""
    return Field(default=None, description=meaning, json_schema_extra={"unit": unit, "new_row": required})


class OfferSpec(Keys):
    """A GPU host at a price. With the name of a catalogue row, only what differs; else a new row."""

    name: Name = Field(description="catalogue row, or a name of your own", json_schema_extra={"example": "aws.g6e.xlarge"})
    gpu: GpuName | None = fact("GPU type of the catalogue; not needed with `measured_capacity`", required=True)
    usd_per_hour: Amount | None = fact("price of the whole host", "USD/h", required=True)
    usd_per_month: Amount | None = fact("instead: price of the whole host for a month of 730 hours", "USD/month")
    usd_per_gpu_hour: Amount | None = fact("instead: price of one GPU of the host", "USD/h")
    gpus: Annotated[int, Field(ge=1, le=64)] | None = fact("GPUs in the host; new row: 1", "GPUs")
    term: Literal["on_demand", "reserved_1y", "reserved_3y", "spot", "owned"] | None = fact("new row: on_demand")
    elastic: bool | None = fact("true: may follow the hour, billed only while it runs; new row: false")
    stock: Annotated[int, Field(ge=0, le=10**6)] | None = fact("most hosts that can be had; new row: no limit", "hosts")
    boot_s: Amount | None = fact("order to first request; new row: 300", "s")
    provider: Text | None = fact("who sells it")
    region: Text | None = fact("where it stands")
    residency: list[Text] | None = fact("regions whose data it may hold")
    grade: Literal["quote", "contract", "list", "claimed"] | None = fact("how firm the price is; with a price of your own: quote")
    contract: ContractOf | None = fact("document behind the price of this entry; with it the grade is contract")
    lead_time_days: Amount | None = fact("order to first use", "days")
    purchase_usd: Amount | None = fact("owned: price of one host; its price by the hour follows. Already paid: 0", "USD")
    life_months: Annotated[int, Field(ge=1, le=240)] | None = fact("owned: months that it serves", "months")
    residual_share: Share | None = fact("owned: worth after that, of the purchase price; absent: 0", "0..1")
    power_w: Amount | None = fact("owned: draw of one host at full load", "W")
    maintenance_usd_per_month: Amount | None = fact("owned: support and spare parts of one host", "USD/month")
    colocation_usd_per_month: Amount | None = fact("owned: space of one host; absent: by the kW that it may draw", "USD/month")
    note: Text | None = fact("for readers")


class RelaySpec(Keys):
    """A remote API endpoint. With the name of a catalogue row, only what differs; else a new row."""

    name: Name = Field(description="catalogue row, or a name of your own", json_schema_extra={"example": "my-relay"})
    model: Name | None = fact("model that it serves", required=True)
    usd_per_mtok_input: Amount | None = fact("price of input tokens", "USD/million tokens", required=True)
    usd_per_mtok_output: Amount | None = fact("price of output tokens", "USD/million tokens", required=True)
    usd_per_mtok_cached: Amount | None = fact("price of cached input tokens; new row: no discount", "USD/million tokens")
    usd_per_mtok_cache_write: Amount | None = fact("price of input that enters the cache; new row: input price", "USD/million tokens")
    usd_per_mtok_batch_input: Amount | None = fact("price of input tokens of a batch; new row: no batch service", "USD/million tokens")
    usd_per_mtok_batch_output: Amount | None = fact("price of output tokens of a batch", "USD/million tokens")
    batch_window_h: Positive | None = fact("within which a batch is answered; new row: 24", "h")
    long_prompts: LongPromptsOf | None = fact("prices of requests with long prompts, rising thresholds")
    off_peak: OffPeakSpec | None = fact("hours of cheaper tokens; needs traffic.utc_offset_h; next to own prices none unless written")
    ttft_p50_s: Annotated[float, Field(gt=0, le=86_400)] | None = fact("median time to first token", "s", required=True)
    ttft_sigma: Annotated[float, Field(ge=0, le=3)] | None = fact("sigma of log(TTFT); new row: 0.38")
    tokens_per_s: Annotated[float, Field(ge=1e-3, le=1e6)] | None = fact("median speed of one answer", "tokens/s", required=True)
    tokens_sigma: Annotated[float, Field(ge=0, le=3)] | None = fact("sigma of log(speed); new row: 0.2")
    vendor: Text | None = fact("who sells it; new row: its name")
    rpm: Positive | None = fact("account limit; new row: none", "requests/minute")
    tpm: Positive | None = fact("account limit; new row: none", "tokens/minute")
    negotiable: bool | None = fact("true: the limits can be raised; the plan says what it needs")
    max_context: Count | None = fact("longest prompt plus answer", "tokens")
    cache_min_prefix: Annotated[int, Field(ge=0, le=10**7)] | None = fact("shortest prefix that is cached", "tokens")
    error_share: Share | None = fact("part of calls that fail", "0..1")
    torn_share: Share | None = fact("part of answers that break off: billed, and asked for again", "0..1")
    profile: FileName | None = fact("file that `probe` wrote, relative to the scenario; its keys hold where the entry has none")
    latency: LatencySpec | None = fact("measured laws, in place of ttft_* and tokens_*; comes with a profile")
    outages: OutageOf | None = fact("when nothing is answered")
    retry: RetrySpec | None = fact("how clients retry; absent: 4 attempts, 0.5 to 8 s apart")
    residency: list[Text] | None = fact("regions whose data it may hold")
    payment: list[Text] | None = fact("ways to pay that it takes, as card or wechat; new row: not stated")
    grade: Literal["quote", "contract", "list", "claimed"] | None = fact("how firm the price is; with a price of your own: quote")
    contract: ContractOf | None = fact("document behind the prices of this entry, and no others; with it their grade is contract")
    billing_currency: CurrencyName | None = fact("currency in which it is paid; new row: USD")
    credit_per_unit: Positive | None = fact("USD of credit that one unit of that currency buys, as the seller says", "USD")
    trust_credit: bool | None = fact("true: prices are what credit at that rate costs; absent: they are taken at face value")
    note: Text | None = fact("for readers")


def _entry(value: Any) -> str:
    return "«name»" if isinstance(value, str) else "«row»"


OfferEntry = Annotated[Annotated[Name, Tag("«name»")] | Annotated[OfferSpec, AfterValidator(priced), Tag("«row»")], Discriminator(_entry)]
RelayEntry = Annotated[Annotated[Name, Tag("«name»")] | Annotated[RelaySpec, AfterValidator(priced), Tag("«row»")], Discriminator(_entry)]
EngineLimit = Annotated[int, Field(ge=1, le=1_000_000)]
TensorParallel = Annotated[int, Field(ge=1, le=64)]


class Candidates(Keys):
    """What may be bought. A list that is absent means every row of the catalogue; an empty list means none."""

    offers: list[OfferEntry] | None = Field(default=None, description="GPU hosts; absent: all of the catalogue")
    relays: list[RelayEntry] | None = Field(
        default=None, description="relays; absent: all of the catalogue (none with `measured_capacity`)"
    )
    weights: Annotated[list[WeightsName], Field(min_length=1)] = Field(
        default=["bf16", "fp8", "int4"], description="weight formats to try on each offer"
    )
    tensor_parallel: Annotated[list[TensorParallel], Field(min_length=1)] = Field(
        default=[1, 2, 4, 8], description="GPUs that share one replica, to try on each offer"
    )
    kv_formats: Annotated[list[Literal["auto", "fp8"]], Field(min_length=1)] = Field(
        default=["auto"],
        description="formats of the KV cache to try: `auto` is 16 bit, `fp8` holds twice as much; test answer quality first",
    )
    max_num_batched_tokens: Annotated[list[EngineLimit], Field(min_length=1)] = Field(
        default=list(BATCHED_TOKENS), description="limits of tokens in one step that a pool may run with; `engine:` fixes one for all pools"
    )
    max_num_seqs: Annotated[list[EngineLimit], Field(min_length=1)] = Field(
        default=list(SEQUENCES), description="limits of sequences in one step that a pool may run with; `engine:` fixes one for all pools"
    )
    measured_capacity: FileName | None = Field(
        default=None,
        description="CSV `offer,class,rate_rps[,pool_size]` of your own, relative to the scenario file; zero: cannot serve",
    )
