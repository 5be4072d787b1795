"""What a reader returns: the requests of a log, and an account of every row."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sim.plural import plural

MOST_MODELS = 12
Floats = npt.NDArray[np.float64]
Longs = npt.NDArray[np.int64]
Ints = npt.NDArray[np.int32]


def class_name(text: str, taken: set[str]) -> str:
    """`text` as a name that a scenario accepts and that is not taken yet.

    >>> class_name("gpt 4.1 (mini)", {"gpt-4.1-mini"})
    'gpt-4.1-mini-2'
    """
    base = re.sub(r"[^A-Za-z0-9_.-]+", "-", text).strip("-._")[:60] or "all"
    name, number = base, 1
    while name in taken:
        number += 1
        name = f"{base}-{number}"
    return name


@dataclass
class Raw:
    """A log as a format's reader understood it, before bad rows are taken out; NaN marks what could not be read.

    arrival_s       seconds on any clock; tokens as float so that NaN, fractions and huge values survive until
    they are judged
    session_id      -1: stands alone; class_code indexes `class_names`, -1: not given
    prefix_tokens   None: to be derived from sessions
    model_code      index into `model_names`, -1: not given; usd: what each request was billed
    unwanted        reason -> rows that the format itself rules out
    lines           line of each row in the file (1 is the header's)
    """

    arrival_s: Floats
    input_tokens: Floats
    output_tokens: Floats
    lines: Longs
    session_id: Longs | None = None
    prefix_tokens: Floats | None = None
    class_code: Longs | None = None
    class_names: tuple[str, ...] = ()
    zero_output_means_one: bool = False
    model_code: Longs | None = None
    model_names: tuple[str, ...] = ()
    usd: Floats | None = None
    unwanted: dict[str, npt.NDArray[np.bool_]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ReadLog:
    """Requests of a log sorted by arrival, the first at 0 s; rows read = kept + dropped, each drop with its reason.

    arrival_s       float64, ascending
    class_code      int16, index into `class_names`; -1 where the log does not say
    dropped         reason -> rows; `first_line` has the line of the first row dropped for that reason
    model_code      int16, index into `models`; -1 where the row names none
    first_s         when the first request came, seconds since 1970; 0 where the log counts from its own start
    notes           what was changed or assumed, one sentence each
    models          (model, kept rows) by falling rows, where the log names models; usd: what the log says they cost
    """

    path: Path
    format: str
    arrival_s: Floats
    input_tokens: Ints
    output_tokens: Ints
    session_id: Longs
    prefix_tokens: Ints
    class_code: npt.NDArray[np.int16]
    class_names: tuple[str, ...]
    read: int
    kept: int
    dropped: dict[str, int]
    first_line: dict[str, int]
    notes: tuple[str, ...]
    models: tuple[tuple[str, int], ...] = ()
    usd: float | None = None
    first_s: float = 0.0
    model_code: npt.NDArray[np.int16] | None = None

    @property
    def model_classes(self) -> tuple[str, ...]:
        """A class name for each of `models`, as a scenario accepts it.

        () where the log has classes of its own, fewer than two models, or more than a scenario should have classes.
        """
        if self.class_names or not 2 <= len(self.models) <= MOST_MODELS or self.model_code is None:
            return ()
        names: list[str] = []
        for name, _ in self.models:
            names.append(class_name(name, set(names)))
        return tuple(names)

    def summary(self) -> str:
        """One line: format, rows read, kept and dropped by reason."""
        dropped = "; ".join(f"{rows} dropped: {reason} (first at line {self.first_line[reason]})" for reason, rows in self.dropped.items())
        rows = f"{self.read} {plural(self.read, 'row')} read, {self.kept} kept"
        return f"{self.path}: {self.format}: {rows}" + (f"; {dropped}" if dropped else "")
