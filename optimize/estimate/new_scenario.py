"""Answers, a bill or a log -> the text of a scenario that `optimize` takes as it is, with its cost checked and its gaps ranked."""

from __future__ import annotations

import math
import os
import tempfile
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from optimize.estimate.input_ranking import Effect, cached_effect, effects, ranked
from optimize.estimate.rough_prices import Pricer, Quick, price_row
from optimize.money import to_currency, to_usd
from optimize.money.amounts import scaled_usd, share_of
from optimize.money.owned_price import with_owned_prices
from sim.catalog.facts import Catalog, Relay
from sim.errors import InputError
from sim.scenario import load_scenario
from sim.start.answers import Answers, check
from sim.start.draft import Draft, Value
from sim.start.from_log import log_draft
from sim.start.from_usage import usage_draft
from sim.start.lengths import length_note
from sim.start.names import named_model
from sim.start.parts import plain
from sim.start.starter import starter
from sim.start.text import filled_values, scenario_text
from sim.start.write_scenario import check_target, write_new
from sim.traffic.readers import ReadLog, Usage, read_any

AGREES = 0.02
RELAY_ROOM, OWN_ROOM = 1.2, 2.0
Tell = Callable[[str], None]


@dataclass(frozen=True)
class NewScenario:
    """What was written and what is known of it. Money in USD a month.

    bill_usd, recomputed_usd   the bill as given, and the written scenario's requests at `row`; None without a bill
    """

    path: Path
    text: str
    currency: str
    usd_per_unit: float
    quick: Quick
    filled: tuple[str, ...]
    effects: tuple[Effect, ...]
    notes: tuple[str, ...]
    row: Relay | None = None
    bill_usd: float | None = None
    recomputed_usd: float | None = None


def new_scenario(
    answers: Answers, path: Path, catalog: Catalog, log: Path | None, force: bool, tell: Tell, said: Sequence[str] = ()
) -> NewScenario:
    """Writes a scenario to `path`; nothing is written when anything is wrong. `said` comes first in its notes. Raises InputError."""
    check(answers, {"USD", *catalog.fx_usd})
    check_target(path, force)
    answers = replace(answers, models=tuple(named_model(each, catalog) for each in answers.models))
    rate = catalog.fx_usd.get(answers.currency, 1.0)
    row = _bill_row(answers, catalog, log)
    pricer = Pricer()
    with tempfile.TemporaryDirectory() as folder:
        trial = _Trial(Path(folder) / "trial.yaml", catalog, pricer)
        if log is None:
            draft, absolute, told = _from_answers(answers, catalog, row, trial, rate), None, ""
        else:
            tell(f"reading {log}")
            draft, absolute, told = _from_file(answers, log, path, catalog)
        quick = trial.price(absolute or draft)
        draft = _with_budget(draft, quick, rate)
        text = scenario_text(draft)
        bill_usd = to_usd(answers.bill, rate) if answers.bill is not None else None
        recomputed = quick.at_row(row) if row is not None else None
        if bill_usd is not None and recomputed is not None and not abs(recomputed / bill_usd - 1) <= AGREES:
            raise AssertionError(f"the recomputed bill {recomputed} is not within 2 % of {bill_usd}")
        tell(f"ranking {len(draft.gaps)} filled values")
        moved = effects(draft.gaps, quick, lambda key, value: _held(trial.again([f"{key}={value}"]), row, bill_usd))
        cached = [effect for effect in [cached_effect(quick, row) if row is not None else None] if effect is not None]
    write_new(path, text, force)
    return NewScenario(
        path=path,
        text=text,
        currency=answers.currency,
        usd_per_unit=rate,
        quick=quick,
        filled=tuple(filled_values(draft)),
        effects=ranked([*moved, *cached]),
        notes=tuple(words for words in (*said, told, *_notes(row), length_note(answers)) if words),
        row=row,
        bill_usd=bill_usd,
        recomputed_usd=recomputed,
    )


class _Trial:
    """A draft in a folder of its own, so that it is loaded and priced as the user's file will be."""

    def __init__(self, path: Path, catalog: Catalog, pricer: Pricer) -> None:
        self.path, self.catalog, self.pricer = path, catalog, pricer

    def price(self, draft: Draft) -> Quick:
        self.path.write_text(scenario_text(draft), encoding="utf-8")
        try:
            return self.again([])
        except InputError as error:  # of a file that no one will see: its lines are those of the new scenario
            raise InputError([each.replace(str(self.path), f"{draft.name}.yaml (not written)") for each in error.problems]) from None

    def again(self, overrides: Sequence[str]) -> Quick:
        return self.pricer.quick(with_owned_prices(load_scenario(self.path, overrides, catalog=self.catalog)))


def _bill_row(answers: Answers, catalog: Catalog, log: Path | None) -> Relay | None:
    """The price row that a bill is read with. Raises InputError for a bill without exactly one model, or next to a log."""
    if answers.bill is None:
        return None
    if log is not None:
        raise InputError("--from-bill and --from-log: the log says how many requests there are; leave one out")
    if len(answers.models) != 1:
        raise InputError("--from-bill needs the one model that the bill is for; write for example --model gpt-4.1")
    return price_row(answers.models[0], catalog)


def _from_answers(answers: Answers, catalog: Catalog, row: Relay | None, trial: _Trial, rate: float) -> Draft:
    """A starter; with a bill, the volume is what the bill buys at the row's prices with these lengths."""
    if row is None or answers.bill is None:
        return starter(answers, catalog)
    once = trial.price(starter(answers, catalog, conversations=1.0)).at_row(row)
    if not once > 0:
        raise InputError(f"--from-bill: {row.id} may not serve requests of these lengths, or sells them for nothing; try another --mix")
    return starter(answers, catalog, conversations=to_usd(answers.bill, rate) / once)


def _from_file(answers: Answers, log: Path, path: Path, catalog: Catalog) -> tuple[Draft, Draft | None, str]:
    """The draft of a log or a usage export, for a log also with its absolute path, to be priced from another folder; its rows in words."""
    found: ReadLog | Usage = read_any(log)
    _check_told_once(answers, log, isinstance(found, Usage))
    if isinstance(found, Usage):
        return usage_draft(answers, found, catalog), None, found.summary()
    place = os.path.relpath(log, path.parent)
    draft = log_draft(answers, found, place, catalog)
    return draft, log_draft(answers, found, str(log.resolve()), catalog), found.summary()


def _check_told_once(answers: Answers, log: Path, sums: bool) -> None:
    """Raises InputError for what the user says and the file says too; sums (`sums`) take users and mean lengths from the user."""
    sides = {"--input-tokens": answers.input_tokens, "--output-tokens": answers.output_tokens, "--total-tokens": answers.total_tokens}
    said = [option for option in answers.volumes if not (sums and option == "--users")]
    said += [] if answers.requests_per_user is None else ["--requests-per-user"]
    said += [] if sums else [option for option, value in sides.items() if value is not None]
    if said:
        what = "how many requests come" if sums else "how many requests come and how long they are"
        raise InputError(f"{log}: says {what}; leave out {', '.join(said)}")


def _with_budget(draft: Draft, quick: Quick, rate: float) -> Draft:
    """A budget where none was given: a fifth above what relays would charge, else twice the ideal cost of own GPUs."""
    if draft.budget.text != "0" or draft.per_mtok is not None:
        return draft
    relays, own = scaled_usd(quick.relays_usd, RELAY_ROOM), scaled_usd(quick.own_usd, OWN_ROOM)
    if relays < math.inf:
        usd, words = relays, "not given: a fifth above what the cheapest relays would charge"
    elif own < math.inf:
        usd, words = own, "not given: twice the cost of own GPUs that are always full"
    else:
        raise InputError("no offer and no relay keeps these promises for every class; loosen --ttft and --tpot, or name another --model")
    return replace(draft, budget=Value(plain(float(f"{to_currency(usd, rate):.4g}")), words, filled=True))


def _held(quick: Quick, row: Relay | None, bill_usd: float | None) -> Quick:
    """With a bill, the volume at which the changed scenario costs what was paid; else as it is."""
    if row is None or bill_usd is None:
        return quick
    paid = quick.at_row(row)
    factor = share_of(bill_usd, paid) or 1.0
    relays_usd, own_usd = scaled_usd(quick.relays_usd, factor), scaled_usd(quick.own_usd, factor)
    return replace(quick, relays_usd=relays_usd, own_usd=own_usd, requests=quick.requests * factor)


def _notes(row: Relay | None) -> tuple[str, ...]:
    """What a reader of the bill must know of its price row."""
    if row is None:
        return ()
    prices = f"${row.usd_per_mtok_input:g} in and ${row.usd_per_mtok_output:g} out per million tokens"
    seller = f"{row.id} ({row.grade}, {row.source.title})"
    notes = [f"the bill is read with {seller}: {prices}; with cached input, batch jobs or taxes in it, it buys another volume"]
    if row.retires_on:
        notes.append(f"{row.model} retires on {row.retires_on}" + (f"; its successor is {row.successor}" if row.successor else ""))
    return tuple(notes)
