"""`servemix new`: a scenario from what people have."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
import typer.core

from optimize.commands.common import AsJson, command, emit_json, program, tell

if TYPE_CHECKING:
    from sim.catalog.facts import Catalog


@command("new my_bill --from-bill 42000 --model gpt-4.1 --users 1e6", "new")
def new(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="Name of the scenario; with --from-sample that of the sample.")] = None,
    out: Annotated[Path | None, typer.Option("--out", metavar="FILE", help="Where to write it; default: NAME.yaml.")] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace a file that exists.")] = False,
    from_sample: Annotated[str | None, typer.Option("--from-sample", metavar="SAMPLE", help="Copy a sample: million_dau ...")] = None,
    from_bill: Annotated[str | None, typer.Option("--from-bill", metavar="AMOUNT", help="Today's monthly bill, or its CSV.")] = None,
    from_log: Annotated[Path | None, typer.Option("--from-log", metavar="FILE", help="A request log or usage export.")] = None,
    model: Annotated[list[str] | None, typer.Option("--model", help="Model that may answer; may be repeated.")] = None,
    users: Annotated[str | None, typer.Option("--users", help="Users on a weekday: 1e6, 1M.")] = None,
    requests_per_user: Annotated[str | None, typer.Option("--requests-per-user", help="A day.")] = None,
    budget: Annotated[str | None, typer.Option("--budget", help="A month.")] = None,
    currency: Annotated[str, typer.Option("--currency", help="Of bill and budget.")] = "USD",
    mix: Annotated[str | None, typer.Option("--mix", help="Public traffic that fills and spreads lengths: chat, code, reasoning.")] = None,
    input_tokens: Annotated[str | None, typer.Option("--input-tokens", help="Prompt: 1024, or mean=1024,p50=900,p99=4000.")] = None,
    output_tokens: Annotated[str | None, typer.Option("--output-tokens", help="Answer, likewise.")] = None,
    ttft: Annotated[str | None, typer.Option("--ttft", help="Promise: seconds to the first token, p95.")] = None,
    tpot: Annotated[str | None, typer.Option("--tpot", help="Promise: seconds per token after it, p95.")] = None,
    e2e: Annotated[str | None, typer.Option("--e2e", help="Promise: seconds to the whole answer, p95.")] = None,
    rate: Annotated[str | None, typer.Option("--rate", help="Requests a second, the same in every hour.")] = None,
    requests_per_month: Annotated[str | None, typer.Option("--requests-per-month", help="8M.")] = None,
    concurrent: Annotated[str | None, typer.Option("--concurrent", help="Users or requests at once: a closed loop.")] = None,
    think_time: Annotated[str | None, typer.Option("--think-time", help="Their pause after an answer: 8, 2min.")] = None,
    every: Annotated[str | None, typer.Option("--every", help="Or: each sends a request every so many seconds. Of a job: day.")] = None,
    job: Annotated[str | None, typer.Option("--job", help="Requests of a job that is done once; needs --deadline.")] = None,
    deadline: Annotated[str | None, typer.Option("--deadline", help="By when: '3 days', 72h.")] = None,
    total_tokens: Annotated[str | None, typer.Option("--total-tokens", help="Mean of prompt and answer together.")] = None,
    per_mtok: Annotated[str | None, typer.Option("--per-mtok", help="Budget by the million tokens, in and out.")] = None,
    offer: Annotated[list[str] | None, typer.Option("--offer", help="8xh200=16600/month, l40s=1.2/h, or a name; may be repeated.")] = None,
    own: Annotated[list[str] | None, typer.Option("--own", help="A host that you have: 2xa100-80; may be repeated.")] = None,
    day_shape: Annotated[str | None, typer.Option("--day-shape", help="office, consumer_chat, flat.")] = None,
    region: Annotated[str | None, typer.Option("--region", help="Where data must stay: eu, uk, in, cn, us.")] = None,
    as_json: AsJson = False,
) -> None:
    """Write a commented scenario from what you have: a sample, answers, a bill, a log or a usage export; say what is worth finding out."""
    from sim.errors import InputError

    if from_sample is not None:
        _copy(from_sample, out or Path(f"{name or from_sample}.yaml"), force, as_json)
        return
    if name is None:
        raise InputError("NAME: is missing; write the name of the new scenario, or --from-sample SAMPLE")
    from optimize.estimate.new_scenario import new_scenario
    from optimize.report.terminal.render_new_scenario import new_json, render_new
    from sim.catalog.loader import load_catalog
    from sim.start.answers import Answers, amount, place, span
    from sim.start.lengths import stated_length
    from sim.start.own_offer import own_offer, owned_offers

    catalog = load_catalog()
    bill, paid, bill_notes = _bill(from_bill, tuple(model or ()), currency.upper(), catalog)
    asked, answer = stated_length("--input-tokens", input_tokens), stated_length("--output-tokens", output_tokens)
    answers = Answers(
        name,
        models=paid,
        mix=mix,
        region=place(region),
        owned=owned_offers(own or (), catalog),
        day_shape=day_shape,
        offers=tuple(own_offer(each, catalog) for each in offer or ()),
        budget=amount("--budget", budget),
        per_mtok=amount("--per-mtok", per_mtok),
        currency=currency.upper(),
        bill=amount("--from-bill", bill),
        users=amount("--users", users),
        requests_per_user=amount("--requests-per-user", requests_per_user),
        requests_per_month=amount("--requests-per-month", requests_per_month),
        rate_rps=amount("--rate", rate),
        concurrent=amount("--concurrent", concurrent),
        think_time_s=span("--think-time", think_time),
        every_s=span("--every", every),
        job=amount("--job", job),
        deadline_s=span("--deadline", deadline),
        input_tokens=asked[0],
        input_law=asked[1],
        output_tokens=answer[0],
        output_law=answer[1],
        total_tokens=amount("--total-tokens", total_tokens, 4e5),
        ttft_s=amount("--ttft", ttft, 86400),
        tpot_s=amount("--tpot", tpot, 86400),
        e2e_s=amount("--e2e", e2e, 86400),
    )
    made = new_scenario(answers, out or Path(f"{name}.yaml"), catalog, from_log, force, tell, bill_notes)
    if as_json:
        emit_json(new_json(made))
    else:
        print(render_new(made, program()), end="")


def _copy(sample: str, path: Path, force: bool, as_json: bool) -> None:
    """Copies a sample scenario and says so."""
    from sim.start.samples import copy_sample

    written = [str(each) for each in copy_sample(sample, path, force)]
    if as_json:
        emit_json({"scenario": str(path), "written": written})
    else:
        print(f"wrote {', '.join(written)}\n\nNext: {program()} optimize {path}")


def _bill(
    written: str | None, models: tuple[str, ...], currency: str, catalog: Catalog
) -> tuple[str | None, tuple[str, ...], tuple[str, ...]]:
    """(amount, models, notes) of a bill that was written as an amount or as the file that holds it."""
    from optimize.audit.bill_total import bill_total
    from sim.start.names import named_model

    if written is None or not (Path(written).is_file() or Path(written).suffix.lower() in (".csv", ".gz", ".json")):
        return written, models, ()
    chosen = named_model(models[0], catalog) if len(models) == 1 else None
    total = bill_total(Path(written), currency, chosen, catalog)
    return f"{total.amount:.2f}", (total.model,), total.notes
