"""Which tier a model is of, what a classifier costs, and what evaluations said: resolved and frozen."""

from __future__ import annotations

from dataclasses import dataclass

from sim.latency import wilson_ci


@dataclass(frozen=True)
class Classifier:
    """What decides at run time which model answers a request.

    usd_per_request  of every request of a class that it looks at;  latency_s  before such a request reaches a model
    misroute_share   of the requests that it sends to a weaker model than the class's strongest tier: their first answer is not accepted,
                     and the strongest tier answers them again
    """

    usd_per_request: float
    latency_s: float
    misroute_share: float


@dataclass(frozen=True)
class QualityRow:
    """`accepted_share` of `n` answers of `model` to requests of a class were accepted by `evaluator` on `date` (YYYY-MM-DD)."""

    class_name: str
    model: str
    accepted_share: float
    n: int
    evaluator: str
    date: str

    @property
    def least_accepted(self) -> float:
        """Lower end of the 95 % Wilson interval of the accepted share.

        >>> round(QualityRow("faq", "llama-3.1-8b", 0.95, 400, "team", "2026-11-01").least_accepted, 4)
        0.924
        """

        return wilson_ci(self.accepted_share, self.n)[0]


@dataclass(frozen=True)
class Routing:
    """`tiers` weakest first; `ranks` (model, index of its tier) of the table, which is named `table`."""

    table: str
    tiers: tuple[str, ...]
    ranks: tuple[tuple[str, int], ...]
    classifier: Classifier | None = None
    quality: tuple[QualityRow, ...] = ()
    narrowed: tuple[str, ...] = ()  # classes that a plan keeps on their strongest tier, of several that were allowed

    def rank(self, model: str) -> int | None:
        """Index of the tier of `model`; None for a model that the table lacks."""
        return dict(self.ranks).get(model)

    def strongest(self, models: tuple[str, ...]) -> tuple[str, ...]:
        """Those of `models` that are of the highest tier among them; all where the table knows none.

        >>> Routing("t", ("small", "strong"), (("a", 0), ("b", 1), ("c", 1))).strongest(("a", "b", "c"))
        ('b', 'c')
        """
        known = {model: rank for model in models if (rank := self.rank(model)) is not None}
        return tuple(model for model in models if known.get(model) == max(known.values())) if known else models

    def evaluated(self, class_name: str, model: str) -> QualityRow | None:
        """What evaluations say of a model's answers to a class; None where not evaluated."""
        return next((row for row in self.quality if (row.class_name, row.model) == (class_name, model)), None)
