"""The evidence behind a price that is not a list price. Frozen record; no behaviour."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Contract:
    """A signed contract or a written quote: the file, its hash, and the days (ISO, both included) on which its prices hold."""

    document: str  # file name, as the scenario writes it
    sha256: str = ""  # of the file's bytes
    valid_from: str = ""  # empty: not stated
    valid_until: str = ""  # last day; empty: not stated
    covers: tuple[str, ...] | None = None  # keys of the prices that it states; absent: every price of the row
