"""Keys of `finance`: money over time, and what owning costs."""

from __future__ import annotations

import re
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from sim.scenario.schema.fields import Amount, GpuName, Keys, Share, wrong


def key(meaning: str, unit: str = "", example: Any = None, **more: Any) -> Any:
    """A field whose `meaning`, unit and example feed messages and the reference."""
    extra = {"unit": unit, "example": example}
    return Field(description=meaning, json_schema_extra=extra, **more)


def _month(text: str) -> str:
    if not re.fullmatch(r"20\d\d-(0[1-9]|1[0-2])", text):
        wrong("is not a month from 2000-01 to 2099-12; write for example 2026-12")
    return text


Growth = Annotated[float, Field(gt=-1, le=1)]  # doubling every month is 4,096-fold in a year
Drift = Annotated[float, Field(gt=-1, le=10)]
Ratio = Annotated[float, Field(ge=1, le=10)]
PerDocument = Annotated[float, Field(gt=0, le=1e6)]
Months = Annotated[int, Field(ge=1, le=120)]
Month = Annotated[str, AfterValidator(_month)]


class FinanceSpec(Keys):
    """Money over time, and what owning costs. What is absent comes from the catalogue's planning figures; a figure without a source that
    could be cited (staff, maintenance, cost of capital) stays open, and the report says what it may cost at most."""

    start: Month | None = key("first month; absent: that of the newest price", "YYYY-MM", "2026-12", default=None)
    horizon_months: Months = key("months that the report looks ahead", "months", default=24)
    growth_per_month: Growth = key("growth of requests", "1/month", 0.03, default=0.0)
    token_growth_per_month: Growth = key("growth of the tokens of a request", "1/month", default=0.0)
    gpu_price_drift_per_year: Drift = key("change of the price of GPU hours, either way", "1/year", -0.1, default=0.0)
    api_price_drift_per_year: Drift = key("change of token prices, either way", "1/year", -0.3, default=0.0)
    migration_usd: Amount = key("one-off cost of the change", "USD", default=0.0)
    training_usd: Amount = key("one-off cost of fine-tuning or training", "USD", default=0.0)
    free_credits_usd: Amount = key("credits that pay the first bills", "USD", default=0.0)
    free_credits_months: Months | None = key("months until they expire; absent: never", "months", default=None)
    egress_provider: Literal["aws", "azure", "gcp", "oci"] | None = key(
        "whose egress prices hold for own GPUs; absent: none", "", default=None
    )
    cost_of_capital: Drift | None = key("what the money would earn or costs elsewhere; absent: open", "1/year", 0.1, default=None)
    maintenance_share: Share | None = key(
        "support and spare parts a year, of the purchase price; absent: open", "0..1/year", 0.05, default=None
    )
    staff_usd_per_month: Amount | None = key("people who run own and rented GPUs; all-in; absent: open", "USD/month", default=None)
    operations_usd_per_pool_month: Amount = key("monitoring, on-call and upkeep of each pool; all-in", "USD/month", default=0.0)
    support_usd_per_month: Amount = key("support plan of a fleet with GPUs; all-in", "USD/month", default=0.0)
    other_usd_per_month: Amount = key("around the model, in one sum; all-in", "USD/month", default=0.0)
    items_usd_per_month: dict[str, Amount] = key(
        "around the model, each by its name; all-in", "USD/month", {"vector database": 300, "gateway": 90}, default_factory=dict
    )
    requests_per_document: PerDocument | None = key("requests that one document takes; absent: no cost per document", "", 3, default=None)
    contingency_share: Share = key("reserve on bill and operations; all-in", "0..1", default=0.0)
    tax_share: Share = key("tax on all of it; all-in", "0..1", 0.19, default=0.0)
    today_usd_per_month: Amount | None = key(
        "what this traffic costs today; the report shows the saving against it; absent: not stated", "USD/month", 60000.0, default=None
    )
    lead_time_months: Amount | None = key("order to first request of own hosts, rent goes on; absent: open", "months", default=None)
    overlap_months: Amount | None = key("months in which own and rented hosts both run; absent: open", "months", default=None)
    egress_bytes_per_output_token: Amount | None = key("bytes sent for each output token; absent: open", "bytes", default=None)
    electricity_usd_per_kwh: Amount | None = key("price of electricity", "USD/kWh", default=None)
    pue: Ratio | None = key("power of the site / power of the hosts", "", default=None)
    colocation_usd_per_kw_month: Amount | None = key("space and reserved power", "USD/kW-month", default=None)
    host_share: Amount | None = key("chassis, CPUs, memory, disks: part of the GPUs' price", "", default=None)
    network_share: Amount | None = key("switches and cables: part of the hosts' price", "", default=None)
    host_power_factor: Ratio | None = key("power of a host / power of its GPUs", "", default=None)
    idle_share: Share | None = key("draw of an idle GPU, of its full draw", "0..1", default=None)
    life_months: Months | None = key("months that own hardware serves (economic view)", "months", default=None)
    book_life_months: Months | None = key("months of straight-line depreciation (book view)", "months", default=None)
    residual_share_36m: Share | None = key("worth after 36 months, of the purchase price", "0..1", default=None)
    failures_per_gpu_year: Amount | None = key("GPUs replaced at the owner's cost", "1/year", default=None)
    gpu_purchase_usd: dict[GpuName, Amount] = key("price of one GPU, by type", "USD", {"h100": 27_500}, default_factory=dict)
