"""Keys of routing: the table of tasks and tiers, the classifier at run time, evaluations of answers, and floors of a class."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from sim.scenario.schema.fields import Amount, FileName, Keys, Name


def key(meaning: str, unit: str = "", example: Any = None, **more: Any) -> Any:
    """A field whose `meaning`, unit and example feed messages and the reference."""
    extra = {"unit": unit, "example": example}
    return Field(description=meaning, json_schema_extra=extra, **more)


PartShare = Annotated[float, Field(ge=0, le=0.9)]
Delay = Annotated[float, Field(ge=0, le=60)]
AcceptedShare = Annotated[float, Field(gt=0, lt=1)]


class ClassifierSpec(Keys):
    """What decides at run time which model answers. It looks at every request of a class whose models are of several tiers.

    The defaults are assumptions: about 50 requests/s on a GPU of 0.90 USD an hour; 20 ms, as vendors of such routers state; and one
    request in ten sent to a model that is too weak for it. Measure your own.
    """

    usd_per_request: Amount = key("what looking at one request costs", "USD", default=5e-6)
    latency_s: Delay = key("added before the request reaches a model: to TTFT and E2E", "s", default=0.02)
    misroute_share: PartShare = key(
        "of the requests sent to a weaker model: answered again by the class's strongest tier, paid twice", "0..1", default=0.1
    )


class RoutingSpec(Keys):
    """Which model may answer which task, and what it takes to tell at run time."""

    table: FileName = key("`default`, or your own table, relative to the scenario file", "", default="default")
    downgrade: bool = key("tasks that the table marks so may go one step down; false: none may", "", default=True)
    classifier: ClassifierSpec | None = key("absent: requests arrive sorted, routing costs nothing; `{}`: the defaults", "", default=None)
    quality: FileName | None = key(
        "CSV `class,model,accepted,n,evaluator,date`: who accepted which answers", "", "quality.csv", default=None
    )


class QualitySpec(Keys):
    """What an answer must be good for."""

    floor: Name | None = key(
        "lowest tier of the routing table that may answer; absent: that of the class's `task`", "", "medium", default=None
    )
    min_accepted: AcceptedShare | None = key(
        "share of answers that must be accepted: lower end of the 95 % interval in `routing.quality`; models without a row may not answer",
        "0..1",
        0.9,
        default=None,
    )
