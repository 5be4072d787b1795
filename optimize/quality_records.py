"""What is known of the quality of a plan's answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class ModelQuality:
    """`share` of a class's answers come from `model`. `accepted` of `n` were accepted, surely `least`; None where nobody looked."""

    model: str
    share: float
    accepted: float | None = None
    least: float | None = None
    n: int = 0


@dataclass(frozen=True)
class ClassQuality:
    """`accepted` is the mean over the answers of all models, None unless each was evaluated; `usd_per_accepted` likewise."""

    name: str
    models: tuple[ModelQuality, ...]
    accepted: float | None
    usd_per_accepted: float | None


@dataclass(frozen=True)
class Quality:
    """`verdict` continues the verdict in words, empty where there is nothing to add; `routing` says what routing saves."""

    classes: tuple[ClassQuality, ...]
    verdict: str
    routing: str
