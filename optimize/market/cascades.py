"""Which targets of a fleet answer first and which answer again: flows of the program as the simulator wants them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import numpy.typing as npt

from optimize.records import Floats
from sim.engine.deployment import PS
from sim.fleet.fleet import Cascade
from sim.scenario.scenario import Scenario

DUST = 1e-9
Bools = npt.NDArray[np.bool_]


def classifier_prices(scenario: Scenario) -> Floats | None:
    """[classes] USD per request of the classifier; None where there is none."""
    usd = np.array([0.0 if each.classifier is None else each.classifier.usd_per_request for each in scenario.request_classes])
    return usd if usd.any() else None


def with_classified(scenario: Scenario, names: Sequence[str] | None) -> Scenario:
    """The scenario in which only the classes `names` have a classifier; None: as it is written."""
    if names is None:
        return scenario
    classes = tuple(each if each.name in names else replace(each, classifier=None) for each in scenario.request_classes)
    return replace(scenario, request_classes=classes)


def cascade_of(scenario: Scenario, models: Sequence[str | None], sent: Floats, first_only: bool = False) -> tuple[Floats, Cascade | None]:
    """(shares of first answers, cascade) of targets that run `models`; None where no class has a classifier.

    `sent` [classes, targets] is the share of a class's requests that each target gets, second answers included (`first_only`: without
    them). The strongest tier among the targets that a class may use answers again what weaker ones answered in vain, in proportion to
    what its targets are sent.
    """
    classes = scenario.request_classes
    if scenario.routing is None or all(each.classifier is None for each in classes):
        return sent, None
    shares, again, to = sent.copy(), np.zeros_like(sent), np.zeros_like(sent)
    for c, each in enumerate(classes):
        weak, strong = tiers_of(scenario, models, sent[c] > DUST)
        if each.classifier is None or not weak.any() or each.classifier.misroute_share <= 0:
            continue
        again[c, weak] = each.classifier.misroute_share
        to[c, strong] = sent[c, strong] / sent[c, strong].sum()
        if not first_only:
            second = each.classifier.misroute_share * sent[c, weak].sum()
            shares[c, strong] *= max(0.0, 1.0 - second / sent[c, strong].sum())
    before = [round(each.before_s("ttft") * PS) for each in classes]
    return shares, Cascade(np.array(before, np.int64), again, to)


def tiers_of(scenario: Scenario, models: Sequence[str | None], used: Bools) -> tuple[Bools, Bools]:
    """(weaker, strongest) bool [targets] among the `used` ones; targets whose model has no tier are neither."""
    assert scenario.routing is not None
    ranks = [scenario.routing.rank(model) if model is not None and here else None for model, here in zip(models, used, strict=True)]
    known = np.array([-1 if rank is None else rank for rank in ranks])
    top = int(known.max(initial=-1))
    return (known >= 0) & (known < top), (known >= 0) & (known == top)
