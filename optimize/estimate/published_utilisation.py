"""Which share of a card's peak a whole training run gets: what published runs got, not a wish."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from optimize.estimate.flops import TRAIN_PER_PARAMETER, attention_flops
from sim.catalog.check import record_of
from sim.catalog.facts import Gpu, Source
from sim.engine.physics import peak_flops
from sim.errors import InputError

FILE = Path(__file__).with_name("published_runs.yaml")
HOUR_S = 3600.0
STEP = 0.05  # the band is rounded outwards to this: runs scatter more than they agree


@dataclass(frozen=True)
class PublishedRun:
    """One training run whose GPU-hours are public; `width` is query heads x head dimension."""

    name: str
    gpu: str
    active_parameters: float
    layers: int
    width: int
    context: int
    tokens: float
    hours: float
    source: Source

    @property
    def flops(self) -> float:
        """6ND and causal attention."""
        weights = TRAIN_PER_PARAMETER * self.active_parameters * self.tokens
        return weights + attention_flops(self.layers, self.width, self.context, self.tokens)


@cache
def published_runs() -> tuple[PublishedRun, ...]:
    """All rows of the file, checked; InputError with every problem."""
    from ruamel.yaml import YAML

    problems: list[str] = []
    raw = YAML(typ="safe", pure=True).load(FILE.read_text(encoding="utf-8"))
    rows = []
    for index, item in enumerate(raw["runs"]):
        rows.append(record_of(PublishedRun, item, lambda key, what, i=index: problems.append(f"{FILE}: runs.{i}.{key}: {what}")))  # type: ignore[misc]
    if problems:
        raise InputError(problems)
    return tuple(rows)


def whole_run_mfu(run: PublishedRun, gpu: Gpu) -> float:
    """Model FLOPs over what the cards could have done in the published hours, in 16 bit.

    Model FLOPs utilisation (MFU): recomputed activations do not count, failures and restarts do.
    """
    return run.flops / (run.hours * HOUR_S * peak_flops(gpu, "bf16"))


@dataclass(frozen=True)
class MfuBand:
    """Low and high share of the peak, and the runs that it rests on (those of this card, or all when there is none)."""

    low: float
    high: float
    runs: tuple[str, ...]
    same_gpu: bool


def mfu_band(gpu: Gpu, gpus: dict[str, Gpu], runs: tuple[PublishedRun, ...] | None = None) -> MfuBand:
    """The range of whole-run MFU that was published for this card, rounded outwards to 0.05; of all runs where none was."""
    runs = published_runs() if runs is None else runs
    family = gpu.id.split("-")[0]
    mine = [run for run in runs if run.gpu.split("-")[0] == family]
    used = mine or list(runs)
    shares = [whole_run_mfu(run, gpus[run.gpu]) for run in used]
    low = math.floor(min(shares) / STEP + 1e-9) * STEP
    high = math.ceil(max(shares) / STEP - 1e-9) * STEP
    return MfuBand(round(low, 2), round(high, 2), tuple(run.name for run in used), bool(mine))
