"""What stands behind a price: a document with its hash, and the days on which the price holds."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, timedelta
from pathlib import Path

from sim.catalog.contract import Contract
from sim.catalog.facts import Catalog
from sim.errors import InputError
from sim.named_files import sha256_of


@dataclass(frozen=True)
class Evidence:
    """`sha256` is that of the whole file `document`; days are ISO, both included, empty where not stated."""

    document: str = ""
    sha256: str = ""
    valid_from: str = ""
    valid_until: str = ""


def listed_evidence(catalog: Catalog, file: str, next_price_on: str | None) -> Evidence:
    """Of a catalogue row: the file that holds it; the price holds until the day before an announced one."""
    until = (date.fromisoformat(next_price_on) - timedelta(days=1)).isoformat() if next_price_on else ""
    return Evidence(f"sim/catalog/{file}", catalog.files.get(file, ""), "", until)


def contract_evidence(contract: Contract) -> Evidence:
    return Evidence(contract.document, contract.sha256, contract.valid_from, contract.valid_until)


def written_evidence(scenario_file: Path) -> Evidence:
    """Of a price that the scenario writes and no document stands behind: the scenario itself."""
    try:
        digest = sha256_of(scenario_file, "a scenario")
    except InputError:  # a scenario that was never a file, or is gone
        digest = ""
    return Evidence(scenario_file.name, digest)


def state_of(contract: Contract | None, on: date) -> str:
    """What the days of a contract make of its prices on a day; empty where they hold.

    >>> state_of(Contract("a.pdf", valid_until="2026-06-30"), date(2026, 11, 1)), state_of(Contract("a.pdf"), date(2026, 11, 1))
    ('ended 2026-06-30', '')
    """
    if contract is None:
        return ""
    if contract.valid_until and contract.valid_until < on.isoformat():
        return f"ended {contract.valid_until}"
    return f"begins {contract.valid_from}" if contract.valid_from > on.isoformat() else ""


def covered(contract: Contract | None, key: str) -> bool | None:
    """Whether a contract states the price under a key of the scenario; None without a contract that says which it states."""
    return None if contract is None or contract.covers is None else key in contract.covers


def contract_warnings(name: str, grade: str, contract: Contract | None, used: bool, on: date, last: date) -> list[str]:
    """Contracts whose days are not those of the plan (`on` to `last`), and prices called contracted with nothing to show for it."""
    if contract is None:
        missing = f"{name}: its price is graded contract, and no document is named; write contract: {{document: FILE}}"
        return [missing] if grade == "contract" and used else []
    first, until = contract.valid_from, contract.valid_until
    said = f"{name}: the contract {contract.document}"
    if until and until < on.isoformat():
        return [f"{said} ended on {until}, before the first day ({on}): its prices hold no more"]
    if first and first > last.isoformat():
        return [f"{said} begins on {first}, after the last day ({last})"]
    words = [f"{said} begins on {first}, after the first day ({on})"] if first > on.isoformat() else []
    if used and until and until < last.isoformat():
        words.append(f"{said} ends on {until}, inside the horizon (to {last}): the prices of the months after it are not agreed")
    return words
