"""Usage exports: sums over hours or days. They say what was bought, not how single requests look or when each came."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from sim.errors import InputError
from sim.plural import plural
from sim.traffic.readers.log_rows import Floats, Longs
from sim.traffic.readers.table import Layout, Table

LACKS = "single arrivals, lengths of single requests, sessions and latency"


@dataclass
class Sums:
    """Rows of an export as a format understood them; NaN where a cell could not be read, None where there is no such column.

    start_s   start of the row's bucket, seconds on any clock; width_s its length, None: told from the gaps
    """

    start_s: Floats
    requests: Floats | None
    input_tokens: Floats | None
    output_tokens: Floats | None
    lines: Longs
    width_s: Floats | None = None
    cached_tokens: Floats | None = None
    usd: Floats | None = None
    model_code: Longs | None = None
    model_names: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class ModelUsage:
    """Totals of one model over the whole export; None where the export does not say."""

    model: str
    requests: float | None
    input_tokens: float | None
    cached_tokens: float | None
    output_tokens: float | None


@dataclass(frozen=True)
class Usage:
    """An aggregate export. Not a log: a replay is impossible, `servemix new --from-log` starts from it.

    start_s [buckets] ascending, from 0; width_s of a bucket; requests [buckets] of all models (NaN: not said)
    """

    path: Path
    format: str
    start_s: Floats
    width_s: float
    span_s: float
    requests: Floats
    models: tuple[ModelUsage, ...]
    usd: float | None
    read: int
    kept: int
    dropped: dict[str, int]
    first_line: dict[str, int]
    notes: tuple[str, ...]
    first_start_s: float = 0.0

    def summary(self) -> str:
        """One line: format, rows read, kept and dropped by reason."""
        dropped = "; ".join(f"{rows} dropped: {reason} (first at line {self.first_line[reason]})" for reason, rows in self.dropped.items())
        rows = f"{self.read} {plural(self.read, 'row')} read, {self.kept} kept"
        head = f"{self.path}: {self.format}: {rows}, summed in {len(self.start_s)} {plural(len(self.start_s), 'bucket')}"
        return f"{head} of {self.width_s:g} s" + (f"; {dropped}" if dropped else "")

    def total(self, name: str) -> float | None:
        """Sum of a column of `models`; None where some model does not say."""
        values = [getattr(each, name) for each in self.models]
        return None if any(value is None for value in values) else float(sum(values))


@dataclass(frozen=True, kw_only=True)
class UsageFormat(Layout):
    """A format with a row for each bucket, and model or key; `sums` says what the columns mean."""

    sums: Callable[[Table], Sums]


def summed(path: Path, form: str, rows: Sums, dropped: Mapping[str, int], first_line: Mapping[str, int]) -> Usage:
    """Rows of the same bucket and model added up; bad rows out with a reason. Raises InputError when nothing is left."""
    counts, first = dict(dropped), dict(first_line)
    read = len(rows.lines) + sum(counts.values())
    keep = np.ones(len(rows.lines), bool)
    for reason, bad in _faults(rows).items():
        fresh = bad & keep
        if fresh.any():
            counts[reason] = int(fresh.sum())
            first[reason] = int(rows.lines[fresh].min())
            keep &= ~bad
    if not keep.any():
        reasons = "; ".join(f"{reason}: {n} (first at line {first[reason]})" for reason, n in counts.items())
        raise InputError(f"{path}: no usable row of {read} as {form}: {reasons or 'there are none under the header'}")
    start, bucket = np.unique(rows.start_s[keep], return_inverse=True)
    width = _width_s(start, None if rows.width_s is None else rows.width_s[keep])
    requests: Floats = np.full(len(start), np.nan)
    if rows.requests is not None:
        requests = np.bincount(bucket, rows.requests[keep], len(start)).astype(np.float64)
    return Usage(
        path=path,
        format=form,
        start_s=start - start[0],
        width_s=width,
        span_s=float(start[-1] - start[0]) + width,
        requests=requests,
        models=_by_model(rows, keep),
        usd=None if rows.usd is None else float(np.nansum(rows.usd[keep])),
        read=read,
        kept=int(keep.sum()),
        dropped=counts,
        first_line=first,
        notes=tuple(rows.notes),
        first_start_s=float(start[0]),
    )


def _faults(rows: Sums) -> dict[str, np.typing.NDArray[np.bool_]]:
    """Reason -> rows that cannot be summed."""
    told = [each for each in (rows.requests, rows.input_tokens, rows.output_tokens) if each is not None]
    damaged, negative = np.zeros(len(rows.lines), bool), np.zeros(len(rows.lines), bool)
    for column in told:
        damaged |= ~np.isfinite(column)
        negative |= np.nan_to_num(column) < 0
    return {
        "start time is not a finite number": ~np.isfinite(rows.start_s),
        "request or token count is not a finite number": damaged,
        "negative count": negative,
    }


def _width_s(start: Floats, widths: Floats | None) -> float:
    """Length of a bucket: as written, else the smallest gap between starts, else a day."""
    if widths is not None and np.isfinite(widths).any() and float(np.nanmedian(widths)) > 0:
        return float(np.nanmedian(widths))
    return float(np.diff(start).min()) if len(start) > 1 else 86_400.0


def _by_model(rows: Sums, keep: np.typing.NDArray[np.bool_]) -> tuple[ModelUsage, ...]:
    """Totals by model, most requests first; one nameless entry where the export is not split by model."""
    codes = np.full(len(keep), -1, np.int64) if rows.model_code is None else rows.model_code
    found = []
    for code in np.unique(codes[keep]):
        mine = keep & (codes == code)
        name = rows.model_names[code] if code >= 0 else ""
        columns = (rows.requests, rows.input_tokens, rows.cached_tokens, rows.output_tokens)
        found.append(ModelUsage(name, *(None if column is None else float(np.nansum(column[mine])) for column in columns)))
    return tuple(sorted(found, key=lambda each: (-(each.requests or 0.0), each.model)))
