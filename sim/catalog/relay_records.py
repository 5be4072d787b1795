"""How a relay behaves, beyond its price row: measured latency laws, load, outages, retries. Frozen; no behaviour."""

from __future__ import annotations

from dataclasses import dataclass

FAMILIES = {"lognormal": 2, "shifted_lognormal": 3, "loglogistic": 2, "lognormal_pareto": 4, "empirical": 0}  # name -> parameters


@dataclass(frozen=True)
class Law:
    """A distribution of seconds as an inverse CDF; parameters by family:

    lognormal          median, sigma of the log
    shifted_lognormal  shift, median above it, sigma
    loglogistic        median, scale of the log (its tail is a power 1/scale)
    lognormal_pareto   median, sigma; above quantile q a Pareto tail of exponent alpha
    empirical          none: `points` (quantile, seconds), linear in log seconds between them, flat outside

    ks    Kolmogorov-Smirnov distance to the `samples` values that it was fitted to; 0 for empirical
    """

    family: str
    parameters: tuple[float, ...] = ()
    points: tuple[tuple[float, float], ...] = ()
    ks: float = 0.0
    samples: int = 0


@dataclass(frozen=True)
class LoadPoint:
    """With `in_flight` calls open, latencies are these multiples of the law's."""

    in_flight: float
    ttft: float
    tpot: float


@dataclass(frozen=True)
class RelayLatency:
    """Measured latency of one endpoint: TTFT = draw x load + input tokens x `ttft_s_per_input_token`; TPOT = draw x load, one
    draw for each answer. Load between the points is linear, flat outside them (optimistic above the highest that was measured).
    """

    ttft: Law
    tpot: Law
    ttft_s_per_input_token: float = 0.0
    load: tuple[LoadPoint, ...] = ()


@dataclass(frozen=True)
class Outages:
    """When nothing is answered. Either a window (`at_s`, since the start of the run, for `minutes`), or a process: exponential
    times between outages of mean `every_h` hours, each of exponential length of mean `minutes`. `hangs` False: calls are refused
    at once (HTTP 503); True: they wait for the connect time-out. Answers that were under way when an outage begins are cut off.
    """

    minutes: float
    every_h: float | None = None
    at_s: float | None = None
    hangs: bool = False


@dataclass(frozen=True)
class RetryPolicy:
    """Exponential back-off with full jitter: wait uniform(0, min(max_wait, base * 2**attempt)).

    timeout_s          patience of the user, from arrival over all attempts
    first_token_s      an attempt without a token after this time is given up; what was computed until then is billed
    connect_s          how long a call to an endpoint that hangs takes to fail
    budget_share       retries that may be sent for each first attempt, with 10 to begin with; None: as many as `attempts` says
    """

    attempts: int = 4
    base_s: float = 0.5
    max_wait_s: float = 8.0
    timeout_s: float = 600.0
    first_token_s: float | None = None
    connect_s: float = 10.0
    budget_share: float | None = None
