"""A scenario as the rest of the program sees it: checked, resolved against the catalogue, frozen."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from sim.catalog.facts import Catalog, Offer, Relay
from sim.scenario.routing.routing_rules import Classifier, Routing
from sim.scenario.written_text import Origin, WrittenText

BATCHED_TOKENS = (512, 1024, 2048, 4096, 8192)  # engine limits that a plan may choose from, unless the scenario says otherwise
SEQUENCES = (64, 128, 256, 512, 1024)


@dataclass(frozen=True)
class Tokens:
    """A distribution of token counts as an inverse CDF: `tokens[i]` at probability `quantiles[i]`, linear between.

    A constant is two equal points. `mean` is the exact mean of that piecewise-linear law.
    """

    quantiles: tuple[float, ...]
    tokens: tuple[float, ...]
    mean: float


@dataclass(frozen=True)
class Context:
    """Token budget of a request: prompt + reserve + answer <= `max_tokens`; the prompt leaves `min_output_tokens` for the answer.

    `oldest_first`: a conversation that is too long loses its oldest turns; else it is refused and begun anew.
    """

    max_tokens: int
    reserve_tokens: int
    min_output_tokens: int
    max_output_tokens: int | None
    oldest_first: bool

    @property
    def prompt_tokens(self) -> int:
        """Longest prompt."""
        return self.max_tokens - self.reserve_tokens - self.min_output_tokens


@dataclass(frozen=True)
class Conversation:
    """How the prompt of a class grows: system prompt + history (texts and answers, oldest cut at `history_cap_tokens`) + user text.

    With a `context`, `history_cap_tokens` and the budget both hold, and whole turns are cut.
    """

    system_prompt_tokens: int
    user_tokens: Tokens
    history_cap_tokens: int
    context: Context | None = None


@dataclass(frozen=True)
class Slo:
    """`quantile` of `metric` ("ttft", "tpot", "e2e") over the requests of a class and hour must be <= `limit_s`."""

    metric: str
    quantile: float
    limit_s: float


@dataclass(frozen=True)
class TokenFactor:
    """What the token counts of a class become with one model: its tokenizer makes more or fewer of the same text, it answers longer."""

    model: str
    input: float = 1.0
    output: float = 1.0


@dataclass(frozen=True)
class RequestClass:
    """Exactly one of `input_tokens` and `conversation` is set. `share` is its part of all requests (they sum to 1)."""

    name: str
    share: float
    kind: str
    task: str
    input_tokens: Tokens | None
    conversation: Conversation | None
    output_tokens: Tokens
    models: tuple[str, ...]
    slo: tuple[Slo, ...]
    data_residency: tuple[str, ...] = ()  # empty: anywhere
    self_hosted_only: bool = False
    priority: int = 0  # inside a pool, lower ones first
    context: Context | None = None
    refused_share: float = 0.0  # of the prompts that users write, too long whatever is cut: never sent, and not in the rate
    token_factors: tuple[TokenFactor, ...] = ()  # of models for which the user wrote one, 1 included
    classifier: Classifier | None = None  # decides between tiers at run time; None: nothing to decide, or decided for free

    def factors(self, model: str) -> tuple[float, float]:
        """(input, output) factors of `model`; 1 where none was written."""
        return next(((each.input, each.output) for each in self.token_factors if each.model == model), (1.0, 1.0))

    def before_s(self, metric: str) -> float:
        """Seconds of `metric` that pass before a request reaches a model: the classifier's, in TTFT and E2E."""
        return self.classifier.latency_s if self.classifier is not None and metric in ("ttft", "e2e") else 0.0


@dataclass(frozen=True)
class Loop:
    """A closed loop: `users` in the busiest hour, each of whom sends the next request `think_s` (mean, exponential) after an answer."""

    users: float
    think_s: float


@dataclass(frozen=True)
class Job:
    """Work that is done once: `amount` requests within `deadline_h` hours."""

    amount: float
    deadline_h: float
    every_h: float | None = None  # between the starts of two runs; None: done once

    @property
    def runs(self) -> float:
        """How often it is done in a month of 730 hours."""
        return 1.0 if self.every_h is None else 730.0 / self.every_h


@dataclass(frozen=True)
class Moved:
    """Batch work of class `class_index` that waits for another hour, at most `wait_h` hours: `parts` [48] is the part of its day
    (weekday, then weekend) that is served in each hour; each day's parts sum to 1.
    """

    class_index: int
    parts: tuple[float, ...]
    wait_h: int


@dataclass(frozen=True)
class SyntheticTraffic:
    """A synthetic week. `hour_weights` [24] sum to 1 (weekday); weekend days have `weekend_factor` times the volume.

    `utc_offset_h` is what the clock of these hours is ahead of UTC; None: not known, and no price of an hour is bought.
    """

    daily_active_users: float
    conversations_per_user: float
    turns_per_conversation: float
    hour_weights: tuple[float, ...]
    weekend_factor: float
    peak_minute_factor: float
    minute_noise_cv: float = 0.07
    think_time_median_s: float = 73.7
    think_time_sigma: float = 1.4
    utc_offset_h: float | None = None
    loop: Loop | None = None  # the rates follow from it and from the plan's answers; see `optimize.search.users`
    moved: tuple[Moved, ...] = ()  # decided by the search, never written by users
    counted_in: str = "users"  # or "requests": then daily_active_users x conversations x turns is a volume and no number of people


@dataclass(frozen=True)
class ConstantTraffic:
    """The same rate in every hour; in the `busy_h` hours of a month that a job takes, and none in the rest."""

    rate_rps: float
    peak_minute_factor: float = 1.0
    minute_noise_cv: float = 0.07
    loop: Loop | None = None
    job: Job | None = None
    busy_h: float = 730.0


@dataclass(frozen=True)
class LogTraffic:
    """Replay of a request log; its span is stretched over a month of 730 h; `scale` multiplies the rate."""

    log: Path
    scale: float = 1.0


@dataclass(frozen=True)
class Budget:
    """`per_mtok`: the limit by the million tokens from which `per_month` follows once the demand is known; None: not given."""

    per_month: float
    currency: str
    per_mtok: float | None = None


@dataclass(frozen=True)
class Spot:
    """At most `max_share` of a class in an hour stands on spot hosts, which are counted with `availability` of their capacity."""

    max_share: float = 1.0
    availability: float = 1.0


@dataclass(frozen=True)
class AccountTier:
    """What an account gets that pays at least `from_usd` a month; None: as the relay says."""

    from_usd: float = 0.0
    price_factor: float = 1.0
    rpm: float | None = None
    tpm: float | None = None


@dataclass(frozen=True)
class RelayAccount:
    """The contract with one relay, by its id."""

    relay: str
    committed_usd: float = 0.0
    spend_cap_usd: float | None = None
    tiers: tuple[AccountTier, ...] = ()


@dataclass(frozen=True)
class Policy:
    """What the buyer allows. `limits_negotiable` False takes every relay limit as hard."""

    n_plus_one: bool = False
    max_relay_share: float = 1.0
    allow: tuple[str, ...] = ()
    deny: tuple[str, ...] = ()
    trust_claims: bool = False
    payment: tuple[str, ...] = ()  # ways in which the buyer can pay; empty: any
    limits_negotiable: bool = True
    network_s: float = 0.02
    router: str | None = None  # None: WITH_CACHE of `sim.engine.routers` where a prefix cache is on, else DEFAULT
    relay_failover: str = "none"  # or "relays", "fleet": who takes over a request that a relay failed
    safety: float = 0.03  # capacity is planned at (1 - safety) of what was measured
    vendor_shares: dict[str, float] = field(default_factory=dict)  # vendor of relays ("*": all others) -> largest part of all requests
    relay_outage_reserve: bool = False
    relay_accounts: tuple[RelayAccount, ...] = ()
    provisioned_units: bool = False
    spot: Spot | None = None
    boot_hours_paid: bool = False
    confidence: float | None = None  # least chance that every promise holds; None: the simulator is taken at its word


@dataclass(frozen=True)
class Finance:
    """Money over time. `values` replaces planning figures of finance.yaml by name, `gpu_purchase_usd` its prices of GPUs."""

    start: str | None = None  # YYYY-MM; None: the month of the newest price
    horizon_months: int = 24
    growth_per_month: float = 0.0
    token_growth_per_month: float = 0.0
    gpu_price_drift_per_year: float = 0.0
    api_price_drift_per_year: float = 0.0
    migration_usd: float = 0.0
    training_usd: float = 0.0
    free_credits_usd: float = 0.0
    free_credits_months: int | None = None
    egress_provider: str | None = None
    operations_usd_per_pool_month: float = 0.0
    support_usd_per_month: float = 0.0
    other_usd_per_month: float = 0.0
    items_usd_per_month: dict[str, float] = field(default_factory=dict)
    requests_per_document: float | None = None
    contingency_share: float = 0.0
    tax_share: float = 0.0
    today_usd_per_month: float | None = None  # what the traffic costs before the plan
    values: dict[str, float] = field(default_factory=dict)
    gpu_purchase_usd: dict[str, float] = field(default_factory=dict)


@dataclass(frozen=True)
class Commitment:
    """A first stage: `hold` is (offer id, hosts). `recourse` "any" or "relays". None: as offer or finance say."""

    name: str
    hold: tuple[tuple[str, int], ...] = ()
    recourse: str = "any"
    once_usd: float | None = None
    lead_time_months: float | None = None
    overlap_months: float | None = None


@dataclass(frozen=True)
class Future:
    """One way in which things could turn out; factors on today. `retired`: models that relays no longer sell ("main": the main one)."""

    name: str
    weight: float = 1.0
    users: float = 1.0
    api_price: float = 1.0
    gpu_rent: float = 1.0
    step_time: float = 1.0
    retired: tuple[str, ...] = ()


@dataclass(frozen=True)
class Scenario:
    """`offers` and `relays` hold the resolved candidates; `weights` and `tensor_parallel` the shapes to try on each offer.

    `kv_formats`, `batched_tokens` and `sequences` likewise: formats of the KV cache, and engine limits that a plan may choose from.
    """

    name: str
    description: str
    seed: int
    path: Path
    digest: str
    traffic: SyntheticTraffic | ConstantTraffic | LogTraffic
    request_classes: tuple[RequestClass, ...]
    offers: tuple[Offer, ...]
    relays: tuple[Relay, ...]
    weights: tuple[str, ...]
    tensor_parallel: tuple[int, ...]
    measured_capacity: Path | None
    budget: Budget
    policy: Policy
    catalog: Catalog
    traffic_error: float = 0.0  # standard deviation of the logarithm of what comes over what is written
    requests_per_user_band: tuple[float, float] | None = None  # demand band to report, requests per user-day
    engine: dict[str, float | str] = field(default_factory=dict)  # overrides of EngineLimits for every deployment; `version` of vLLM
    warnings: tuple[str, ...] = ()
    finance: Finance = field(default_factory=Finance)
    commitments: tuple[Commitment, ...] = ()
    futures: tuple[Future, ...] = ()
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict)  # low and high end of uncertain inputs, by key or factor.NAME
    routing: Routing | None = None  # tiers of models, the classifier, evaluations; None: not given
    kv_formats: tuple[str, ...] = ("auto",)
    batched_tokens: tuple[int, ...] = BATCHED_TOKENS
    sequences: tuple[int, ...] = SEQUENCES
    overrides: tuple[str, ...] = ()  # `--set` texts that the scenario was loaded with
    text: WrittenText | None = None  # what it was read from, where that is no file

    @property
    def origin(self) -> Origin:
        """What it can be loaded from again."""
        return self.text or self.path
