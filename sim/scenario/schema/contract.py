"""Keys of `policy` that a buyer's contracts and risks bring: spot, vendors, relay accounts."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated, Any

from pydantic import AfterValidator, Discriminator, Field, Tag

from sim.scenario.schema.fields import Amount, Keys, Name, Positive, Share, wrong_alone


def term(meaning: str, unit: str = "", default: Any = None, **more: Any) -> Any:
    """A field with its meaning and unit for the reference."""
    return Field(default=default, description=meaning, json_schema_extra={"unit": unit}, **more)


VendorShares = Annotated[
    Annotated[Share, Tag("«number»")] | Annotated[dict[str, Share], Tag("«by vendor»")],
    Discriminator(lambda value: "«by vendor»" if isinstance(value, dict) else "«number»"),
]


class SpotSpec(Keys):
    """How far spot hosts are relied on; absent: spot offers are left out, unless `allow` names them."""

    max_share: Share = term("largest part of a class in an hour that is sent to spot hosts", "0..1", 1.0)
    availability: Annotated[float, Field(gt=0, le=1)] = term("part of its capacity that a spot host is counted with", "0..1", 1.0)


class SpendTierSpec(Keys):
    """What an account gets that pays at least so much a month; what is absent is as the relay says."""

    from_usd: Amount = term("least payment of the month, used or not", "USD/month", 0.0)
    price_factor: Annotated[float, Field(gt=0, le=10)] = term("on every list price", "", 1.0)
    rpm: Positive | None = term("account limit", "requests/minute")
    tpm: Positive | None = term("account limit", "tokens/minute")


def _rising(tiers: list[SpendTierSpec]) -> list[SpendTierSpec]:
    amounts = [tier.from_usd for tier in tiers]
    if any(b <= a for a, b in pairwise(amounts)):
        wrong_alone("the tiers are not in rising order of from_usd; write the cheapest first")
    return tiers


class RelayAccountSpec(Keys):
    """The contract with one relay."""

    relay: Name = Field(description="a relay of this scenario", json_schema_extra={"example": "openai.gpt-6.1-sol"})
    committed_usd: Amount = term("paid every month, used or not", "USD/month", 0.0)
    spend_cap_usd: Positive | None = term("most that may be paid", "USD/month")
    tiers: Annotated[list[SpendTierSpec], Field(max_length=8), AfterValidator(_rising)] = Field(
        default_factory=list, description="terms by what is paid; the plan chooses one", json_schema_extra={"unit": ""}
    )


def _accounts(rows: list[RelayAccountSpec]) -> list[RelayAccountSpec]:
    names = [row.relay for row in rows]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        wrong_alone(f"{', '.join(twice)} has two accounts; write one per relay")
    for row in rows:
        least = max(row.committed_usd, row.tiers[0].from_usd if row.tiers else 0.0)
        if row.spend_cap_usd is not None and row.spend_cap_usd < least:
            text = f"{row.relay}: spend_cap_usd {row.spend_cap_usd:g} is below the {least:g} that must be paid; write {least:g} or more"
            wrong_alone(text)
    return rows


RelayAccounts = Annotated[list[RelayAccountSpec], Field(max_length=256), AfterValidator(_accounts)]
