"""A scenario before it is written: each value with the reason why it stands there."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True)
class Gap:
    """A filled value that could be another: `path` is its key, low and high are YAML texts for an override; `span` shows them."""

    path: str
    label: str
    low: str
    high: str
    source: str
    span: str = ""

    @property
    def ends(self) -> str:
        """The range as people read it."""
        return self.span or f"{self.low} .. {self.high}"


@dataclass(frozen=True)
class Value:
    """`text` as it stands in the file, and the comment next to it. `filled`: taken from public traffic or assumed."""

    text: str
    comment: str = ""
    filled: bool = False

    @property
    def remark(self) -> str:
        """The comment with its mark.

        >>> Value("3.0", "published products", filled=True).remark
        'filled: published products'
        """
        return f"filled: {self.comment}" if self.filled else self.comment


@dataclass(frozen=True)
class ClassDraft:
    name: str
    share: Value
    input_tokens: Value
    output_tokens: Value
    models: Value
    ttft: Value | None
    tpot: Value | None
    kind: str = "chat"
    e2e: Value | None = None

    @property
    def promises(self) -> list[tuple[str, Value]]:
        """(metric, limit) of each promise that it makes."""
        return [(name, value) for name, value in (("ttft", self.ttft), ("tpot", self.tpot), ("e2e", self.e2e)) if value is not None]


@dataclass(frozen=True)
class Draft:
    """`gaps` are the filled values that the ranking moves; `notes` head the file."""

    name: str
    description: str
    traffic: dict[str, Value]
    classes: tuple[ClassDraft, ...]
    offers: Value
    relays: Value
    budget: Value
    currency: str
    per_mtok: Value | None = None
    region: str | None = None
    gaps: tuple[Gap, ...] = ()
    notes: tuple[str, ...] = field(default_factory=tuple)
