"""One training run over all cards of the catalogue: how many of each it takes, how long, and what it costs at the cheapest offer."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from optimize.estimate.amounts import Options
from optimize.estimate.training import Json, Run, TrainingEstimate, read_run, span, training_estimate, training_json
from sim.catalog.facts import Catalog
from sim.catalog.loader import load_catalog

ALL = "all"


@dataclass(frozen=True)
class Card:
    """As few cards of one type as hold the run; `why`: why no number of them does. `usd` (low, high) at `offer`; empty: not sold."""

    gpu: str
    gpus: int | None
    gpu_hours: tuple[float, float]
    days: tuple[float, float]
    offer: str
    usd: tuple[float, float]
    why: str = ""


def over_cards(run: Run, catalog: Catalog) -> tuple[Card, ...]:
    """Every card, cheapest first; cards that hold it but are not sold after those, cards that cannot hold it last."""
    found = [card_of(replace(run, gpu=gpu, gpus=None), catalog) for gpu in catalog.gpus.values() if gpu.flops.get(run.precision, 0) > 0]
    return tuple(sorted(found, key=lambda card: (card.gpus is None, card.usd[1], card.gpu)))


def card_of(run: Run, catalog: Catalog) -> Card:
    """One card."""
    estimate = training_estimate(run, catalog)
    if estimate.gpus_needed is None:
        why = "no number of these cards holds it: what stands on each card alone is too large"
        return Card(run.gpu.id, None, estimate.gpu_hours, (math.inf, math.inf), "", (math.inf, math.inf), why)
    sold = next((each for each in estimate.cost if each.term == "on_demand"), None) or next(iter(estimate.cost), None)
    offer, usd = ("", (math.inf, math.inf)) if sold is None else (sold.offer, sold.by_currency["USD"])
    return Card(run.gpu.id, estimate.gpus, estimate.gpu_hours, estimate.days, offer, usd)


def estimate_over_cards(**given: Any) -> tuple[TrainingEstimate, tuple[Card, ...]]:
    """(the run on the cheapest card that holds it, all cards), from options as typed; InputError with every problem of the command."""
    options, catalog = Options("estimate training"), load_catalog()
    if given["gpus"] is not None:
        options.wrong("--gpus", "with --gpu all as few of each card are taken as hold the run; leave it out")
    any_card = next(gpu.id for gpu in catalog.gpus.values() if gpu.flops.get(given["precision"], 1) > 0)
    run = read_run(options, catalog, **{**given, "gpu": any_card})
    options.check()
    assert run is not None
    cards = over_cards(run, catalog)
    best = next((card for card in cards if card.gpus is not None), cards[0])
    return training_estimate(replace(run, gpu=catalog.gpus[best.gpu], gpus=None), catalog), cards


def cards_json(estimate: TrainingEstimate, cards: tuple[Card, ...]) -> Json:
    """The estimate on the cheapest card with all cards under `cards`; `usd` is null where the catalogue has no offer."""
    rows = [
        {
            "gpu": card.gpu,
            "gpus": card.gpus,
            "gpu_hours": span(card.gpu_hours),
            "days": None if card.gpus is None else span(card.days),
            "offer": card.offer or None,
            "usd": span(card.usd) if card.offer else None,
            "why": card.why,
        }
        for card in cards
    ]
    return {**training_json(estimate), "cards": rows}
