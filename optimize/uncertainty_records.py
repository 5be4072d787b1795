"""How far the answer can be trusted: frozen records that a plan carries and reports print."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class PoolError:
    """One pool of the plan and the error of its step cost on measurements that the fit has not seen.

    load        "low" or "loaded": where the pool works in its busiest hour
    share       of all requests of a month that it serves
    errors      metric -> (median, p90) of |simulated / measured - 1| at that load
    """

    pool: str
    deployment: str
    calibrated: bool
    load: str
    share: float
    errors: dict[str, tuple[float, float]]

    @property
    def step(self) -> tuple[float, float]:
        """Median and p90 error of a step's time: the larger of throughput and TPOT."""
        known = [self.errors[metric] for metric in ("throughput", "tpot") if metric in self.errors]
        return (max((m for m, _ in known), default=0.0), max((p for _, p in known), default=0.0))


@dataclass(frozen=True)
class Band:
    """The binding hours simulated again with each pool's step cost raised by its error. `missed` names promises that then fail."""

    name: str  # "median" or "p90"
    raised: tuple[float, float]  # least and largest error among the pools
    hours: tuple[str, ...]
    missed: tuple[str, ...]

    @property
    def met(self) -> bool:
        """Whether every promise survives."""
        return not self.missed


@dataclass(frozen=True)
class Pilot:
    """The cheapest measurement that would replace the weakest step cost of the plan by the user's own."""

    deployment: str
    offer: str
    hours: float
    usd: float
    commands: tuple[str, ...]


@dataclass(frozen=True)
class Uncertainty:
    """Everything that is said about how far the plan can be trusted. Shares are of all requests of a month.

    safety_usd   what planning at (1 - safety) of measured capacity costs a month, as in `GapParts`; None where that was not computed
    """

    pools: tuple[PoolError, ...]
    uncalibrated_share: float
    relayed_share: float
    bands: tuple[Band, ...]
    pilot: Pilot | None
    safety: float
    safety_usd: float | None
