"""The draft of a scenario that replays a log: arrivals, lengths and sessions are the log's own, the rest is filled."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from sim.catalog.facts import Catalog
from sim.errors import InputError
from sim.scenario.read.document import nearest, shown
from sim.start import parts
from sim.start.answers import Answers
from sim.start.draft import ClassDraft, Draft, Gap, Value
from sim.start.length_laws import log_law
from sim.start.names import known_model, whole_shares
from sim.start.starter import DEFAULT_MODEL, MARKS
from sim.traffic.readers import ReadLog
from sim.traffic.readers.log_rows import MOST_MODELS, class_name

HOUR_S = 3600.0
MONTH_H = 730.0


def log_draft(answers: Answers, log: ReadLog, place: str, catalog: Catalog) -> Draft:
    """A class for each class that the log names, else one; `place` is the log's path as the scenario will write it."""
    gaps: list[Gap] = []
    groups = _groups(log)
    by_model = {} if answers.models else dict(zip(log.model_classes, log.models, strict=False))
    asked = {name: class_models(log, written, rows, catalog) for name, (written, rows) in by_model.items()}
    names, origin = ((), "") if asked else log_models(answers, log, catalog)
    classes = []
    shares = whole_shares([float(rows.sum()) for _, rows in groups])  # rows without a class are dealt out by these shares
    for index, (name, rows) in enumerate(groups):
        mine, said = asked.get(name, (names, origin))
        chosen, more = parts.models(mine, index, catalog, said)
        kind = parts.kind_of(chosen, catalog)
        ttft, tpot, e2e, limits = parts.limits(answers, index, kind)
        gaps += [*more, *limits]
        if not answers.models and not log.models:
            chosen = Value(chosen.text, f"an assumption: {origin}", filled=True)
        classes.append(
            ClassDraft(
                name=name,
                share=Value(shares[index], "part of the log's rows"),
                input_tokens=Value(log_law(log.input_tokens[rows]), f"of the log, mean {log.input_tokens[rows].mean():,.0f} tokens"),
                output_tokens=Value(log_law(log.output_tokens[rows]), f"of the log, mean {log.output_tokens[rows].mean():,.0f} tokens"),
                models=chosen,
                ttft=ttft,
                tpot=tpot,
                e2e=e2e,
                kind=kind,
            )
        )
    offers, relays = parts.candidates({model for each in classes for model in parts.names_of(each.models)}, catalog, answers)
    hours = float(log.arrival_s[-1]) * log.kept / max(1, log.kept - 1) / HOUR_S
    rate = log.kept / max(hours, 1e-9)
    traffic = {
        "log": Value(json.dumps(place), f"{log.format}, {log.kept:,} requests in {hours:,.2f} h"),
        "scale": Value("1.0", f"1.0: the month goes on as the log, {rate * MONTH_H:,.0f} requests"),
    }
    if hours < 24:
        ends = ("0.5", "2.0")
        gaps.append(Gap("traffic.scale", "month's rate / the log's", *ends, "the log does not cover a day: an assumption"))
    return Draft(
        name=answers.name,
        description=f"Replay of {Path(place).name}: what is the cheapest way to serve these requests inside the promises below?",
        traffic=traffic,
        classes=tuple(classes),
        offers=offers,
        relays=relays,
        budget=_budget(answers, log, hours),
        currency=answers.currency,
        per_mtok=parts.per_mtok(answers),
        region=answers.region,
        gaps=tuple(gaps),
        notes=(f"Made by `servemix new {answers.name} --from-log`. {MARKS}", log.summary().partition(": ")[2] + ".", *log.notes),
    )


def log_models(answers: Answers, log: ReadLog, catalog: Catalog) -> tuple[tuple[str, ...], str]:
    """Models that may answer, and who says so: the user, the log's own, or an assumption where it names none."""
    if answers.models:
        return answers.models, parts.YOU
    if len(log.models) > MOST_MODELS:
        raise InputError(f"{log.path}: names {len(log.models)} models; say which may answer with --model")
    if log.models:
        return class_models(log, *log.models[0], catalog)
    return (DEFAULT_MODEL,), "the log names no model"


def class_models(log: ReadLog, written: str, rows: int, catalog: Catalog) -> tuple[tuple[str, ...], str]:
    """The model of the catalogue that the log's `written` means, and who says so. Raises InputError where there is none."""
    found = known_model(written, catalog)
    if found is not None:
        return (found,), f"the log: {written} in {rows / log.kept:.0%} of its rows"
    models = {*catalog.models, *(relay.model for relay in catalog.relays.values())}
    what = f"its model {shown(written)} ({rows / log.kept:.0%} of the rows) is none of the catalogue"
    raise InputError(f"{log.path}: {what}; {nearest(written, models)}; say which may answer with --model")


def _groups(log: ReadLog) -> list[tuple[str, np.typing.NDArray[np.bool_]]]:
    """(class, its rows): the log's own names, which a replay insists on; else one for each model; one class where it has neither."""
    if log.model_classes and log.model_code is not None:
        rows = [(name, log.model_code == code) for code, name in enumerate(log.model_classes)]
        rows[0] = (rows[0][0], rows[0][1] | (log.model_code < 0))
        return rows
    found = [(name, log.class_code == code) for code, name in enumerate(log.class_names)]
    strange = [name for name, _ in found if class_name(name, set()) != name]
    if strange:
        raise InputError([f"{log.path}: class {shown(name)} is not a name; write letters, digits, `_`, `-` or `.`" for name in strange])
    return [(name, rows) for name, rows in found if rows.any()] or [("all", np.ones(log.kept, bool))]


def _budget(answers: Answers, log: ReadLog, hours: float) -> Value:
    if answers.budget is not None:
        return Value(parts.plain(answers.budget), f"{parts.GIVEN}, {answers.currency} a month")
    if log.usd and answers.currency == "USD":
        return Value(parts.plain(log.usd / hours * MONTH_H), "what the log says that its requests cost, over a month of 730 h")
    return Value("0", "not known yet", filled=True)
