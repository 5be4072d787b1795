"""Records that pass between the rooms of `optimize`: what the program is given, what it answers, what a plan is."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from sim.catalog.facts import Offer, Relay
from sim.engine.deployment import Deployment
from sim.requests import Demand

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


@dataclass(frozen=True)
class SloRow:
    """One promise: `quantile` of `metric` of class `class_index` within `limit_s`. Rows of all classes form one flat list.

    refused   share of the class's prompts that its token budget refuses: never sent, not in the demand, and a miss of every promise
    """

    class_index: int
    metric: str
    quantile: float
    limit_s: float
    refused: float = 0.0

    @property
    def needed(self) -> float:
        """The share of what is sent that must meet the limit; 1 where more is refused than the promise allows to miss.

        >>> SloRow(0, "ttft", 0.9, 1.0).needed, SloRow(0, "ttft", 0.9, 1.0, refused=0.05).needed
        (0.9, 0.9473684210526316)
        """
        return self.quantile if self.refused == 0.0 else min(self.quantile / (1 - self.refused), 1.0)


@dataclass(frozen=True)
class Spill:
    """When every replica of a pool has `threshold` open requests, its next request goes to `relay` (its id)."""

    threshold: int
    relay: str


@dataclass(frozen=True)
class PoolOption:
    """A deployment on an offer, with the set of classes (indices) that the pool may serve.

    `id` reads offer/model/weights[/tpN][/kv-fp8][/limits][/overflow-N]:class+class.
    """

    id: str
    offer: Offer
    deployment: Deployment | None  # None: the user's own measured capacity
    replicas_per_host: int
    classes: tuple[int, ...]
    token_factors: Floats | None = field(default=None, compare=False)  # [classes, 2] as of RelayTerms, of the pool's model
    escalation: Escalation | None = field(default=None, compare=False)  # None: every answer counts
    overflow: Spill | None = None


@dataclass(frozen=True)
class LoadLevel:
    """One operating point of a pool.

    load    [classes] replicas that one request/s of each class occupies at this level (inf: cannot be served)
    miss    [slo rows] share of the requests of the row's class that miss it at this level (0 for other classes)
    spill   requests that overflow to the pool's relay for each one that the pool itself serves
    """

    load: Floats
    miss: Floats
    spill: float = 0.0


@dataclass(frozen=True)
class PoolTerms:
    """What the program knows of a pool: sum of load * rate over levels and classes <= slope * replicas - intercept * on.

    Each start of a host is paid beyond its hours: it is up `lead_s` before the first one, and goes up to `linger_s` after the last one.
    """

    option: PoolOption
    levels: tuple[LoadLevel, ...]
    slope: float
    intercept: float
    measured: bool
    lead_s: float = 0.0
    linger_s: float = 0.0


@dataclass(frozen=True)
class SpendTier:
    """Terms of an account that pays at least `from_usd` a month: limits (None: those of the relay) and a factor on its list prices."""

    from_usd: float
    price_factor: float = 1.0
    rpm: float | None = None
    tpm: float | None = None


@dataclass(frozen=True)
class UnitTerms:
    """Provisioned throughput: whole units, paid by the month, none or at least `least`; their calls cost nothing more.

    load  [classes] units that one request/s occupies; the peak minute must fit
    """

    usd_per_hour: float
    load: Floats
    least: int = 1
    most: int | None = None


@dataclass(frozen=True)
class RelayTerms:
    """What the program knows of a relay.

    eligible            [classes] bool
    usd_per_request     [classes]
    tokens_per_request  [classes] as counted against TPM
    miss                [slo rows]
    hard_limits         False: rpm/tpm are reported, not enforced (those of spend tiers always are)
    sustained           times its hard limits that calls with retries sustain in the peak minute; None: not known, taken as 1
    tiers               terms by monthly payment, one is chosen; empty: those of the relay at any spend
    committed_usd       paid every month, used or not;  spend_cap_usd  most that may be paid
    units               set: calls run on provisioned units, and `usd_per_request` is 0
    """

    relay: Relay
    eligible: npt.NDArray[np.bool_]
    usd_per_request: Floats
    tokens_per_request: Floats
    miss: Floats
    hard_limits: bool
    tiers: tuple[SpendTier, ...] = ()
    committed_usd: float = 0.0
    spend_cap_usd: float | None = None
    units: UnitTerms | None = None
    token_factors: Floats | None = None  # [classes, 2] input and output tokens of the relay's model per token of the class; None: 1
    cached: Floats | None = None  # [classes] input tokens per request at the cached price; None: as many as price and bill imply
    written: Floats | None = None  # [classes] input tokens per request at the price of cache writes; None: none
    meter: dict[str, Floats] | None = None  # kind of token -> [classes] tokens per request, of `money.metering`; None: plain kinds only
    hour_factors: Floats | None = None  # [classes, slices] on `usd_per_request`, above 0; None: the same price in every hour
    escalation: Escalation | None = None  # None: every answer counts
    sustained: float | None = None

    @property
    def rpm(self) -> float | None:
        """Requests that the relay sustains in the peak minute, retries not counted."""
        return None if self.relay.rpm is None else self.relay.rpm * (self.sustained or 1.0)

    @property
    def tpm(self) -> float | None:
        """Tokens likewise."""
        return None if self.relay.tpm is None else self.relay.tpm * (self.sustained or 1.0)

    def tokens(self, demand: Demand) -> tuple[Floats, Floats]:
        """[classes] mean input and output tokens of a request as the relay counts them."""
        if self.token_factors is None:
            return demand.input_tokens, demand.output_tokens
        return demand.input_tokens * self.token_factors[:, 0], demand.output_tokens * self.token_factors[:, 1]


@dataclass(frozen=True)
class SpotTerms:
    """Spot hosts carry `availability` of their capacity, and at most `max_share` of a class in an hour is sent to them."""

    max_share: float = 1.0
    availability: float = 1.0


@dataclass(frozen=True)
class BootTerms:
    """A host that starts is paid for `boot_s` of its offer before it serves, if `charged`, and for what its pool's terms add.

    previous  [slices] the slice before each;  times  [slices] how often a month each slice begins
    """

    previous: tuple[int, ...]
    times: Floats
    charged: bool = True


@dataclass(frozen=True)
class ProgramInput:
    """Everything the integer program reads. Rates in requests/s, money in USD."""

    demand: Demand
    slos: tuple[SloRow, ...]
    pools: tuple[PoolTerms, ...]
    relays: tuple[RelayTerms, ...]
    budget_usd: float
    max_relay_share: float
    n_plus_one: bool
    class_names: tuple[str, ...]
    unserved_usd_per_request: float = 1.0
    fixed_usd: float = 0.0
    spot: SpotTerms | None = None
    vendor_shares: dict[str, float] = field(default_factory=dict)  # relay vendor ("*": every other) -> largest share of all requests
    relay_outage_reserve: bool = False  # the rest can carry, in every hour, what any one relay serves
    boot: BootTerms | None = None  # None: starts are free
    classifier_usd: Floats | None = None  # [classes] per request; its month is part of `fixed_usd`
    solver: str = "highs"  # that solves the PuLP problems: highs or cbc


@dataclass(frozen=True)
class ProgramSolution:
    """Answer of the program.

    hosts       [pools, slices] hosts that run; billed [pools, slices] hosts that are paid (equal in all slices unless elastic)
    pool_flow   [pools, classes, slices] requests/s;  relay_flow [relays, classes, slices];  unserved [classes, slices]
    cost_usd    per month, without the penalty for unserved demand
    model_bound_usd   proven lower bound on cost of any solution of this program
    status      "optimal", "gap_limit", "node_limit", "time_limit", "infeasible"
    relay_tier  [relays] tier bought (-1: none, or the relay has none);  relay_units [relays] provisioned units;  None: not for sale
    """

    hosts: Ints
    billed: Ints
    pool_flow: Floats
    relay_flow: Floats
    unserved: Floats
    cost_usd: float
    model_bound_usd: float
    status: str
    solver: str
    gap: float
    relay_tier: Ints | None = None
    relay_units: Ints | None = None


@dataclass(frozen=True)
class GapParts:
    """USD a month; the parts and `least_usd`, what is left with every cause removed, sum to the cost of the plan.

    Removed in this order:
    reserve      spare hosts (`policy.n_plus_one`) and room for a relay that is out (`policy.relay_outage_reserve`)
    margin       capacity planned below what was measured (`policy.safety`)
    integrality  whole hosts, and what the solver left open
    pooling      small pools carry less per replica (intercepts)
    """

    reserve_usd: float
    integrality_usd: float
    pooling_usd: float
    margin_usd: float
    least_usd: float

    @property
    def total_usd(self) -> float:
        """The plan's cost."""
        return self.reserve_usd + self.integrality_usd + self.pooling_usd + self.margin_usd + self.least_usd


@dataclass(frozen=True)
class SloVerdict:
    """What the simulation says of one promise in the hour that is worst for it; attainment is pooled over seeds.

    met          a fresh window of the hour keeps the promise, at the stated risk: its attainment is at least `bound`
    unanswered   share of the requests that were refused, failed, or never ended: they miss every promise
    """

    row: SloRow
    hour: str
    simulated_s: float
    ci95_s: tuple[float, float]
    attainment: float
    attainment_ci95: tuple[float, float]
    requests: int
    met: bool
    unanswered: float = 0.0
    bound: float = 0.0
    distribution: tuple[tuple[float, float], ...] = ()  # (cumulative share, latency in s), see `optimize.search.hour_evidence`

    @property
    def kept(self) -> bool:
        """Whether the requests of all seeds together keep the promise; a fresh hour may still miss it."""
        return self.simulated_s <= self.row.limit_s


@dataclass(frozen=True)
class HostMove:
    """Hosts of `pool` (its id) before a full hour and after it; new ones are up `lead_s` earlier, others go within `linger_s`."""

    pool: str
    before: int
    after: int
    lead_s: float = 0.0
    linger_s: float = 0.0


@dataclass(frozen=True)
class PlayedHour:
    """An hour played right after the one before it, on the timetable.

    moves     pools whose hosts change at its beginning; none where the whole day is played and nothing changes
    verdicts  of the requests of the hour;  soon  of those of its first `soon_s` seconds
    """

    before: str
    hour: str
    moves: tuple[HostMove, ...]
    verdicts: tuple[SloVerdict, ...]
    soon: tuple[SloVerdict, ...]
    soon_s: float
    seeds: int
    requests: int
    events: int

    @property
    def met(self) -> bool:
        """Whether every promise is kept in the hour."""
        return all(verdict.met for verdict in self.verdicts)


@dataclass(frozen=True)
class Verification:
    """What all simulated hours say together. `seeds_by_hour`: how many of the seeds it took to settle each hour; empty: all of them.

    One seed of every hour is played event by event, and so is all of `played`: so many `events` of the SimPy clock for so many
    requests (`by_event`).
    """

    seeds: tuple[int, ...]
    hours: tuple[str, ...]
    requests_simulated: int
    verdicts: tuple[SloVerdict, ...]
    met: bool
    seeds_by_hour: tuple[int, ...] = ()
    events: int = 0
    by_event: int = 0
    played: tuple[PlayedHour, ...] = ()  # hours after a change of the timetable, or whole days

    def unanswered(self) -> dict[int, float]:
        """Class -> the largest share of its requests that were refused, failed or never ended, over its promises in their worst hours."""
        worst: dict[int, float] = {}
        for each in self.verdicts:
            worst[each.row.class_index] = max(worst.get(each.row.class_index, 0.0), each.unanswered)
        return worst


@dataclass(frozen=True)
class CostLine:
    """One line of the bill; lines are the only source of every total."""

    name: str
    kind: str  # "gpu", "relay", "fixed"
    per_month_usd: float
    detail: str = ""


@dataclass(frozen=True)
class Alternative:
    """The same question under a restriction. `per_month_usd` is None where no plan exists; `verified` says whether it was simulated."""

    name: str
    status: str
    per_month_usd: float | None
    note: str = ""
    verified: bool = False


@dataclass(frozen=True)
class Flip:
    """An input and the value at which the answer changes kind. `sentence` says it for people."""

    name: str
    today: float
    flips_at: float | None
    sentence: str


@dataclass(frozen=True)
class Dropped:
    """A candidate that was not used, and why."""

    name: str
    reason: str


@dataclass(frozen=True)
class Escalation:
    """What becomes of requests that this target answers in vain.

    share      [classes] part of those sent here that a stronger model answers again; 0 where none is stronger
    strongest  [classes] bool, second answers may come from here
    late       [slo rows] part of what is answered again that misses the promise, first answer and classifier included
    """

    share: Floats
    strongest: npt.NDArray[np.bool_]
    late: Floats
