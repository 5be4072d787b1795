"""From what a reader understood to what a simulation can replay: bad rows out, sorted, from 0 s, units checked."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from sim.errors import InputError
from sim.plural import plural
from sim.streams import stream
from sim.traffic.readers.log_rows import Floats, Ints, Longs, Raw, ReadLog

MOST_TOKENS = 10_000_000  # above every context window on sale: a damaged cell, not a prompt
UNREADABLE = (
    *("arrival time is not a finite number", "negative arrival time", "token count is not a finite number", "negative token count"),
    *("token count is not whole", "torn row (wrong number of cells)", "torn row (not a JSON object)"),
)
SHORT_S = 600.0  # a log of fewer seconds says nothing of hours
DATED_S = 1e8  # times below that are no dates: a log that counts from its own start
FEW_ROWS, MOST_LOST = 20, 0.5  # in a log of fewer rows, each is looked at anyway
Mask = npt.NDArray[np.bool_]


def clean(path: Path, form: str, raw: Raw, dropped: Mapping[str, int], first_line: Mapping[str, int]) -> ReadLog:
    """`raw` without its bad rows, sorted by arrival; raises InputError when nothing is left or clocks are mixed.

    `dropped` and `first_line` count the rows that fell out before; timestamps in coarse buckets are spread
    over their bucket.
    """
    counts, first = dict(dropped), dict(first_line)
    read = len(raw.lines) + sum(counts.values())
    keep = np.ones(len(raw.lines), bool)
    for reason, bad in faults(raw).items():
        fresh = bad & keep
        if fresh.any():
            counts[reason] = int(fresh.sum())
            first[reason] = int(raw.lines[fresh].min())
            keep &= ~bad
    kept = int(keep.sum())
    if kept == 0:
        reasons = "; ".join(f"{reason}: {rows} (first at line {first[reason]})" for reason, rows in counts.items())
        raise InputError(f"{path}: no usable row of {read} as {form}: {reasons or 'there are none under the header'}")
    notes = list(raw.notes)
    arrival = raw.arrival_s[keep]
    check_readable(path, form, counts, read)
    check_seconds(path, arrival, raw.lines[keep])
    check_one_clock(path, arrival, raw.lines[keep])
    if (np.diff(arrival) < 0).any():
        notes.append("rows were not in order of arrival; sorted")
    first_s = float(arrival.min())
    arrival = arrival - first_s
    bucket = bucket_s(arrival)
    if bucket:
        arrival = arrival + stream(0, "bucketed timestamps").random(kept) * bucket
        notes.append(f"arrival times came in buckets of {bucket:g} s; spread evenly over each bucket")
    order = np.argsort(arrival, kind="stable")
    output = raw.output_tokens[keep]
    if raw.zero_output_means_one and (output == 0).any():
        none = int((output == 0).sum())
        notes.append(f"{none} {plural(none, 'row')} without output tokens {plural(none, 'is', 'are')} kept as 1 token (embeddings)")
    notes += few_words(kept, float(arrival.max()))
    inputs = raw.input_tokens[keep].astype(np.int32)[order]
    outputs = np.maximum(output, 1).astype(np.int32)[order]
    session = np.full(kept, -1, np.int64) if raw.session_id is None else raw.session_id[keep][order]
    codes = np.full(kept, -1, np.int64) if raw.class_code is None else raw.class_code[keep][order]
    models, model_code = _models(raw, keep)
    return ReadLog(
        path=path,
        format=form,
        arrival_s=arrival[order] - arrival[order[0]],
        input_tokens=inputs,
        output_tokens=outputs,
        session_id=session,
        prefix_tokens=session_prefix(session, inputs, outputs)
        if raw.prefix_tokens is None
        else np.minimum(raw.prefix_tokens[keep][order], inputs - 1).astype(np.int32),
        class_code=codes.astype(np.int16),
        class_names=raw.class_names,
        read=read,
        kept=kept,
        dropped=counts,
        first_line=first,
        notes=tuple(notes),
        models=models,
        model_code=None if model_code is None else model_code[order],
        usd=None if raw.usd is None else float(np.nansum(raw.usd[keep])),
        first_s=first_s if first_s >= DATED_S else 0.0,
    )


def _models(raw: Raw, keep: Mask) -> tuple[tuple[tuple[str, int], ...], npt.NDArray[np.int16] | None]:
    """(model, kept rows), most rows first, and which of them each kept row names."""
    if raw.model_code is None or not raw.model_names:
        return (), None
    codes = raw.model_code[keep]
    counts = np.bincount(codes[codes >= 0], minlength=len(raw.model_names)).tolist()
    found = sorted(((name, rows, code) for code, (name, rows) in enumerate(zip(raw.model_names, counts, strict=True)) if rows),
                   key=lambda each: (-each[1], each[0]))  # fmt: skip
    place = np.full(len(raw.model_names) + 1, -1, np.int16)
    place[[code for _, _, code in found]] = np.arange(len(found))
    return tuple((name, rows) for name, rows, _ in found), place[codes]


def faults(raw: Raw) -> dict[str, Mask]:
    """Reason -> rows that cannot be replayed; a row counts for the first reason that fits."""
    inputs, outputs = raw.input_tokens, raw.output_tokens
    with np.errstate(invalid="ignore"):
        return {
            **raw.unwanted,
            "arrival time is not a finite number": ~np.isfinite(raw.arrival_s),
            "negative arrival time": raw.arrival_s < 0,
            "token count is not a finite number": ~np.isfinite(inputs) | ~np.isfinite(outputs),
            "negative token count": (inputs < 0) | (outputs < 0),
            "token count is not whole": (inputs % 1 != 0) | (outputs % 1 != 0),
            f"more than {MOST_TOKENS} tokens": (inputs > MOST_TOKENS) | (outputs > MOST_TOKENS),
            "no input tokens": inputs == 0,
            "no output tokens (failed or cancelled)": (outputs == 0) & (not raw.zero_output_means_one),
        }


def few_words(rows: int, span_s: float) -> list[str]:
    """What a log that is too short to stand for a month means for a replay; empty where it covers a day or more.

    >>> few_words(4, 5.0)
    ['4 requests in 5 s stand for a month: its rates and hours are those 5 s, repeated; bring a day or more, or state the volume']
    """
    if span_s >= SHORT_S and rows >= FEW_ROWS:
        return []
    span = f"{span_s:.3g} s" if span_s < 120 else f"{span_s / 60:.3g} min" if span_s < 7200 else f"{span_s / 3600:.3g} h"
    told = f"{rows:,} {plural(rows, 'request')} in {span} stand for a month"
    return [f"{told}: its rates and hours are those {span}, repeated; bring a day or more, or state the volume"]


def check_readable(path: Path, form: str, dropped: Mapping[str, int], read: int) -> None:
    """Raises InputError where most rows could not be read: what is left is no picture of the log."""
    lost = sum(dropped.get(reason, 0) for reason in UNREADABLE)
    if read >= FEW_ROWS and lost > MOST_LOST * read:
        why = "; ".join(f"{reason}: {dropped[reason]:,}" for reason in UNREADABLE if dropped.get(reason))
        raise InputError(f"{path}: {lost:,} of {read:,} rows cannot be read as {form} ({why}); mend the file or take those rows out")


def check_seconds(path: Path, arrival_s: Floats, lines: Longs) -> None:
    """Raises InputError where times in seconds would lie thousands of years ahead: they are in a finer unit.

    Not where the log begins near 0: it counts from its own start, and its size says nothing about its unit.
    """
    early, median = (float(np.quantile(arrival_s, share, method="lower")) for share in (0.01, 0.5))
    unit = next((name for least, name in ((1e17, "nanoseconds"), (1e14, "microseconds"), (1e11, "milliseconds")) if median > least), "")
    if unit and early > median / 2:
        row = int(np.argmax(arrival_s > median / 2))  # a few rows before it may be of another clock
        what = f"arrival time {arrival_s[row]:.15g} is read as seconds and looks like {unit} since 1970"
        raise InputError(f"{path}:{lines[row]}: {what}; write seconds")


def check_one_clock(path: Path, arrival_s: Floats, lines: Longs) -> None:
    """Raises InputError at the first row whose clock is not that of the rows before (seconds and ms, two epochs).

    Two signs: neighbours in the file whose times differ by 1000, 1e6 or 1e9 again and again; or one gap that
    is more than 100 times all the rest of the log.
    """
    if len(arrival_s) < 10:
        return
    early, late = arrival_s[:-1], arrival_s[1:]
    ratio = np.maximum(early, late) / np.maximum(np.minimum(early, late), 1e-9)
    off = np.min([np.abs(ratio / factor - 1) for factor in (1e3, 1e6, 1e9)], axis=0)
    off[np.minimum(early, late) <= 1] = np.inf
    if (off < 0.05).sum() >= max(1, 0.0005 * len(ratio)):
        row = int(np.argmax(off < 0.2)) + 1  # early rows have large gaps for their time, so the first jump is less exact
        raise InputError(
            f"{path}:{lines[row]}: arrival time {arrival_s[row]:g} after {arrival_s[row - 1]:g}: "
            "units look mixed (seconds, milliseconds ...); write all arrival times in seconds"
        )
    order = np.argsort(arrival_s)
    ordered = arrival_s[order]
    gaps = np.diff(ordered)
    widest = int(np.argmax(gaps))
    rest = ordered[-1] - ordered[0] - gaps[widest]
    if gaps[widest] > 100 * max(float(rest), 60.0):
        far = order[widest + 1 :] if widest + 1 > len(order) // 2 else order[: widest + 1]
        row = int(far.min())
        raise InputError(
            f"{path}:{lines[row]}: arrival time {arrival_s[row]:.10g} is {gaps[widest]:.6g} s away from "
            f"the other rows, which span {rest:.6g} s; write all arrival times in seconds on one clock"
        )


def bucket_s(arrival_s: Floats) -> float:
    """Width of the buckets that times were rounded to, where it is half a second or more; 0 where they were not rounded.

    Times are in buckets when several rows share one and the gaps between distinct times are multiples of one width, to 1 %
    (clocks of logs wander by milliseconds).

    >>> bucket_s(np.array([0.0, 3.0, 3.0, 9.0])), bucket_s(np.array([0.0, 1.5, 1.5, 1.7]))
    (3.0, 0.0)
    """
    distinct = np.unique(arrival_s)
    if len(distinct) == len(arrival_s) or len(distinct) < 2:
        return 0.0  # no two at the same time: nothing was lost
    gaps = np.diff(distinct)
    width = float(gaps[gaps < 1.5 * gaps.min()].mean())
    near = gaps[gaps < 10 * width]
    if width < 0.5 or (np.abs(near / width - np.rint(near / width)) > 0.01).any():
        return 0.0
    return round(width, 2)


def session_prefix(session_id: Longs, inputs: Ints, outputs: Ints) -> Ints:
    """Leading input tokens that the turn before also had, for rows in order of arrival.

    The prompt before plus its answer, where the new prompt is longer than that; else the history was cut and
    nothing is known to be shared: 0, the safe side.
    """
    prefix = np.zeros(len(session_id), np.int32)
    rows = np.flatnonzero(session_id >= 0)
    if len(rows) < 2:
        return prefix
    rows = rows[np.argsort(session_id[rows], kind="stable")]
    early, late = rows[:-1], rows[1:]
    shared = inputs[early].astype(np.int64) + outputs[early]
    grown = (session_id[early] == session_id[late]) & (shared < inputs[late])
    prefix[late[grown]] = shared[grown]
    return prefix
