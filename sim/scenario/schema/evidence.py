"""Keys of the evidence for a contracted price: a document and the days on which it holds."""

from __future__ import annotations

from datetime import date
from pathlib import Path
from typing import Annotated, Any, TypeVar

from pydantic import AfterValidator

from sim.catalog.contract import Contract
from sim.catalog.facts import Source
from sim.catalog.price_terms import TOKEN_PRICES
from sim.errors import InputError
from sim.named_files import sha256_of
from sim.scenario.schema.fields import FileName, Keys, wrong, wrong_alone
from sim.scenario.schema.relay import said


def _day(text: str) -> str:
    try:
        date.fromisoformat(text)
    except ValueError:
        wrong("is not a day; write 2027-06-30")
    if len(text) != 10:
        wrong("is not a day; write 2027-06-30")
    return text


PRICES = (  # keys of an entry that are prices: a contract states those that stand next to it, and no other
    "usd_per_hour",
    *TOKEN_PRICES,
    "long_prompts",
    "off_peak",
)
Entry = TypeVar("Entry", bound=Keys)
Day = Annotated[str, AfterValidator(_day)]


class ContractSpec(Keys):
    """A contract or written quote behind the prices of an entry. Its hash goes into the price book."""

    document: FileName = said("the file, relative to the scenario")
    valid_from: Day | None = said("first day of its prices", "YYYY-MM-DD", default=None)
    valid_until: Day | None = said("last day of its prices", "YYYY-MM-DD", default=None)


def _ordered(spec: ContractSpec) -> ContractSpec:
    if spec.valid_from and spec.valid_until and spec.valid_until < spec.valid_from:
        wrong_alone(f"valid_until {spec.valid_until} is before valid_from {spec.valid_from}")
    return spec


ContractOf = Annotated[ContractSpec, AfterValidator(_ordered)]


def priced(entry: Entry) -> Entry:
    """The entry; a contract needs at least one price next to it, or it would not be clear which prices it states."""
    if getattr(entry, "contract", None) is not None and all(getattr(entry, key, None) is None for key in PRICES):
        keys = [key for key in PRICES[:3] if key in type(entry).model_fields]
        wrong_alone(f"has a contract and no price; add the prices that it states, such as {' and '.join(keys)}")
    return entry


def with_contract(given: dict[str, Any], spec: ContractSpec | None, file: Path, row: Source | None) -> dict[str, Any]:
    """`given` with the record of the contract, grade `contract` unless it has one, and the document as source of the prices.

    It covers the prices that `given` has, and no other of the row. The document is found from the folder of the scenario `file`;
    `row` is the source of the catalogue row that the prices replace.
    """
    if spec is None:
        return given
    path = file.parent / spec.document
    try:
        digest = sha256_of(path, "a contract document")
    except InputError as error:
        raise InputError(f'{file}: contract document "{spec.document}": cannot be read: {error}') from None
    covers = tuple(key for key in PRICES if key in given)
    contract = Contract(spec.document, digest, spec.valid_from or "", spec.valid_until or "", covers)
    note = f"overrides {row.title} ({row.date})" if row else ""
    source = Source(f"{spec.document}, named in {file.name}", contract.valid_from, note)
    return {"grade": "contract", **given, "contract": contract, "source": source}
