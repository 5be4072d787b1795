"""Keys of `commitments` and `futures`: what could be signed today, and how things could then turn out."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, Field

from sim.scenario.schema.fields import Amount, Keys, Positive, Text, wrong_alone

Factor = Annotated[float, Field(gt=0, le=1000)]
Hosts = Annotated[int, Field(ge=1, le=10**6)]


def term(meaning: str, unit: str = "", default: Any = None, **more: Any) -> Any:
    """A field with its meaning and unit for the reference."""
    return Field(default=default, description=meaning, json_schema_extra={"unit": unit}, **more)


class CommitmentSpec(Keys):
    """A first stage: hosts that are held whatever comes. What else is needed is bought as the future shows (recourse)."""

    name: Text = Field(description="what it is called in the answer", json_schema_extra={"example": "buy 16 H100"})
    hold: dict[Text, Hosts] = Field(
        default_factory=dict,
        description="offer (of the scenario or the catalogue) -> hosts; empty: nothing",
        json_schema_extra={"unit": "hosts", "example": {"owned.h100x8": 2}},
    )
    recourse: Literal["any", "relays"] = term(
        "what may be added later: any candidate, or relays only (own hosts just where no relay may serve)", default="any"
    )
    once_usd: Amount | None = term("one-off cost; absent: `finance.migration_usd`, or 0 if it holds nothing and stays on relays", "USD")
    lead_time_months: Amount | None = term("order to first request; absent: as the offer says, else `finance.lead_time_months`", "months")
    overlap_months: Amount | None = term("months in which the old fleet runs as well; absent: `finance.overlap_months`", "months")


class FutureSpec(Keys):
    """One way in which things could turn out, as factors on today."""

    name: Text = Field(description="what it is called in the answer", json_schema_extra={"example": "users x2"})
    weight: Positive = term("how likely, relative to the others", "", 1.0)
    users: Factor = term("requests", "x today", 1.0)
    api_price: Factor = term("prices of relays", "x today", 1.0)
    gpu_rent: Factor = term("rents of hosts that are not owned or reserved", "x today", 1.0)
    step_time: Factor = term("time of an engine step: what a request occupies on own hosts", "x simulated", 1.0)
    retired: list[Text] = Field(
        default_factory=list,
        description="models that relays stop to sell (own hosts keep them); `main`: the one that most requests accept first",
        json_schema_extra={"unit": "", "example": ["main"]},
    )


def unlike(items: list[Any]) -> list[Any]:
    """The entries, if no two have one name."""
    names = [item.name for item in items]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        wrong_alone(f"{', '.join(twice)} is there twice; give each entry a name of its own")
    return items


Commitments = Annotated[list[CommitmentSpec], Field(max_length=64), AfterValidator(unlike)]
Futures = Annotated[list[FutureSpec], Field(max_length=256), AfterValidator(unlike)]
