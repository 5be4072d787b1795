"""Estimates on one screen: the answer first, rules of thumb beside arithmetic last."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich.console import Console
from rich.text import Text

from optimize.estimate.comparison import Comparison
from optimize.estimate.row import UNCALIBRATED, UNSOLD, Refused, Row
from optimize.estimate.rules import Rule
from optimize.estimate.serving import ServingEstimate
from optimize.estimate.training import TrainingEstimate
from optimize.report.terminal import bullets, output, screen, section, show, table
from optimize.report.words import count, duration, percent
from sim.catalog.loader import load_catalog
from sim.catalog.records import Catalog
from sim.errors import InputError

GB = 1e9
LISTED = 12  # offers on the screen; --json has all
Pair = tuple[float, float]


def band(pair: Pair, form: str = ",.0f", unit: str = "") -> str:
    """Low and high, or one figure where they are equal.

    >>> band((1234.5, 2345.6)), band((2.0, 2.0), ".1f", " h")
    ('1,234 .. 2,346', '2.0 h')
    """
    low, high = format(pair[0], form), format(pair[1], form)
    return f"{low}{unit}" if low == high else f"{low} .. {high}{unit}"


def figure(pair: Pair, unit: str) -> str:
    """A figure of a rule in the unit that people say it in.

    >>> figure((7.6e10, 9.6e10), "bytes"), figure((4.2e21, 4.2e21), "FLOP"), figure((1.0, 1.0), "requests")
    ('76.0 .. 96.0 GB', '4.20e+21 FLOP', '1 request')
    """
    if unit == "bytes":
        return band((pair[0] / GB, pair[1] / GB), ",.1f", " GB")
    word = "request" if unit == "requests" and pair == (1.0, 1.0) else unit
    return band(pair, ".2e" if unit == "FLOP" else ",.0f", f" {word}")


def check_currency(currency: str) -> str:
    """The currency in capitals; InputError when the catalogue has no rate."""
    rates = load_catalog().fx_usd
    if currency.upper() not in rates:
        raise InputError(f'estimate: --currency: "{currency}" has no rate in the catalogue; write {", ".join(sorted(rates))}')
    return currency.upper()


def _head(console: Console, title: str, what: str) -> Catalog:
    catalog = load_catalog()
    console.print(Text(title, style="bold") + Text(f"  {what}"))
    console.print(Text(f"catalogue of {catalog.date} ({catalog.digest[:8]})", style="dim"))
    return catalog


def _facts(console: Console, rows: Iterable[tuple[str, str]]) -> None:
    listing = table("", "")
    listing.show_header = False
    for name, value in rows:
        listing.add_row(Text(name, style="dim"), value)
    console.print()
    show(console, listing)


def _rules(console: Console, rules: Sequence[Rule], title: str) -> None:
    section(console, title)
    listing = table("rule, and why", "quoted", "arithmetic", right=(1, 2))
    for rule in rules:
        name = Text(f"{rule.name}, {rule.case}") + Text(f"\n  {rule.why}", style="dim")
        listing.add_row(name, figure(rule.quoted, rule.unit), figure(rule.exact, rule.unit))
    show(console, listing)


def render_rules(rules: Sequence[Rule]) -> str:
    """The contradictions that circulate, both figures side by side."""
    console = screen()
    _head(console, "estimate rules", "quoted beside computed")
    _rules(console, rules, "Both figures side by side")
    return output(console)


def render_training(e: TrainingEstimate, currency: str = "USD") -> str:
    """A training estimate on one screen, 110 columns wide."""
    console, run = screen(), e.run
    what = f"{run.model.id}, {count(run.tokens)} tokens, {run.method}, {run.precision}, on {e.gpus} x {run.gpu.id}"
    _head(console, "estimate training", what)
    total = e.states.total + e.activations.checkpointed
    needed = f"{e.gpus_needed} x {run.gpu.id}" if e.gpus_needed else f"no number of {run.gpu.id}: activations and two layers exceed one"
    fit = "fits" if e.fits else "DOES NOT FIT"
    rows = [
        ("work", f"{e.flops:.3g} FLOP in weights, {e.attention_flops:.3g} in attention ({e.attention_flops / e.flops:.1%})"),
        ("hours", f"{band(e.gpu_hours)} GPU-hours at MFU {band((e.mfu[1], e.mfu[0]), '.2f')}"),
        ("time", f"{band(e.days, ',.1f')} days on {e.gpus} {'GPU' if e.gpus == 1 else 'GPUs'}"),
        ("memory", f"{total / GB:,.1f} GB with checkpointing; smallest that holds it sharded (ZeRO stage 3): {needed}"),
        ("", f"on {e.gpus}: {e.bytes_per_gpu / GB:,.1f} of {run.gpu.memory_bytes / GB:,.1f} GB on each, {fit}"),
        ("energy", f"{band(e.energy_kwh)} kWh at full board power; hosts and cooling not counted"),
    ]
    if e.interconnect is not None:
        rows.append(("links", e.interconnect.note))
    for term in ("on_demand", "spot"):
        cheapest = next((each for each in e.cost if each.term == term), None)
        if cheapest is not None:
            money = band(cheapest.by_currency[currency], ",.0f", f" {currency}")
            rows.append(("cost" if term == "on_demand" else "", f"{money} at {cheapest.offer} ({term.replace('_', ' ')})"))
    _facts(console, rows)
    _memory(console, e)
    _costs(console, e, currency)
    _rules(console, e.rules, "Rules of thumb, and what arithmetic says")
    section(console, "Notes")
    bullets(console, e.notes)
    return output(console)


def _memory(console: Console, e: TrainingEstimate) -> None:
    section(console, "Memory by part, GB")
    listing = table("part", "GB", "", right=(1,))
    states, kept = e.states, e.activations
    whole, each = "whole model, divided over the GPUs", "on each GPU"
    for name, value, what in (
        ("weights", states.weights, whole),
        ("gradients", states.gradients, whole),
        ("Adam moments", states.adam_moments, whole),
        ("master weights", states.master_weights, whole),
        ("activations, checkpointed", kept.checkpointed, f"{each}: {e.run.micro_batch} x {e.run.context:,} tokens"),
        ("activations, all kept", kept.kept, f"{each}; {e.gpus_needed_kept or 'no number of'} GPUs hold it"),
        ("attention matrices", kept.attention_matrices, f"{each}, on top where the attention kernel stores them"),
    ):
        listing.add_row(name, f"{value / GB:,.2f}", what)
    show(console, listing)


def _costs(console: Console, e: TrainingEstimate, currency: str) -> None:
    section(console, "Cost by offer")
    if not e.cost:
        show(console, Text(f"no offer in the catalogue sells {e.run.gpu.id}; see `catalog offers`"))
        return
    currencies = ["USD"] if currency == "USD" else ["USD", currency]
    listing = table("offer", "term", "hosts", "GPUs", "USD/GPU-hour", *currencies, right=range(2, 5 + len(currencies)))
    for r in e.cost[:LISTED]:
        amounts = [band(r.by_currency[name]) for name in currencies]
        listing.add_row(r.offer, r.term, f"{r.hosts:,}", f"{r.gpus:,}", f"{r.usd_per_gpu_hour:.2f}", *amounts)
    show(console, listing)
    if len(e.cost) > LISTED:
        show(console, Text(f"and {len(e.cost) - LISTED} dearer offers in --json", style="dim"))


def render_serving(e: ServingEstimate, all_rows: bool) -> str:
    """A serving estimate on one screen: the best shape of each device, or all of them."""
    console, q = screen(), e.question
    _head(console, "estimate serving", f"{q.model.id}, {count(q.model.parameters)} parameters")
    formats = ", ".join(f"{value / GB:,.1f} GB in {name}" for name, value in e.weight_bytes.items())
    requests = q.concurrency or 64
    kv = e.kv_bytes_per_request
    _facts(
        console,
        [
            ("weights", formats),
            ("KV cache", f"{e.kv_bytes_per_token / 1024:,.1f} KiB per token, {kv / GB:,.2f} GB per request of {q.context:,} tokens"),
            ("", f"{requests} such requests: {requests * kv / GB:,.1f} GB"),
            ("work", f"{e.flops_per_token:.3g} FLOP per token after {q.context:,} others"),
            ("speed", f"for requests of {q.load.prompt_tokens:,} tokens in, {q.load.answer_tokens:,} out; memory holds {q.context:,} each"),
        ],
    )
    rows = list(e.fits) if all_rows else best_of_each(e.fits)
    at = f"at {q.concurrency} open requests" if q.concurrency else "at the knee"
    section(console, f"What fits, cheapest answers {at} first" + ("" if all_rows else "; best shape of each device"))
    if rows:
        _rows(console, rows, q.concurrency)
    else:
        show(console, Text("nothing"))
    section(console, "Remarks")
    bullets(console, [*remarks(rows), *refusals(e.refused)])
    _rules(console, e.rules, "Rules of thumb, and what arithmetic says")
    return output(console)


def best_of_each(rows: Sequence[Row]) -> list[Row]:
    """The first row of every device."""
    found: dict[str, Row] = {}
    for row in rows:
        found.setdefault(row.deployment.gpu.id, row)
    return list(found.values())


def _rows(console: Console, rows: Sequence[Row], concurrency: int | None) -> None:
    load = ("replicas", "$/hour") if concurrency else ()
    columns = ("replica", "holds", "1 alone", "knee", "tok/s", "ms/tok", "$/Mtok", "mWh", *load)
    listing = table(*columns, "offer", right=range(1, len(columns)))
    listing.padding = (0, 1, 0, 0)
    for row in rows:
        d, at = row.deployment, row.judged
        name = f"{d.tensor_parallel} x {d.gpu.id} {d.weights.id}{'' if row.calibrated else ' *'}"
        price = "-" if at.usd_per_mtok is None else f"{at.usd_per_mtok:,.2f}"
        cells = [name, f"{row.largest_batch}", f"{row.single.tokens_per_s:,.0f}", f"{row.knee.batch:.0f}"]
        cells += [f"{row.knee.tokens_per_s:,.0f}", f"{at.tpot_s * 1e3:,.0f}", price, f"{at.energy_wh * 1e3:,.0f}"]
        offer = row.offer
        if row.fleet is not None:
            offer = row.fleet.offer
            cells += [str(row.fleet.replicas), "-" if row.fleet.usd_per_hour is None else f"{row.fleet.usd_per_hour:,.2f}"]
        listing.add_row(*cells, offer or "none")
    show(console, listing)
    words = (
        "* not calibrated. holds: requests at full length without preemption; 1 alone: tokens/s of one request; knee: the last doubling of "
        "the batch that brought a quarter more, and its tokens/s; $/Mtok: answers, prompts included, busy all the time, "
        + ("whole hosts; " if concurrency else "its share of the host; ")
        + "mWh: per answer, GPUs at full board power"
    )
    show(console, Text(words, style="dim"))


def remarks(rows: Sequence[Row]) -> list[str]:
    """Each reason once, with the devices that it is true of."""
    by_reason: dict[str, list[str]] = {}
    for row in rows:
        for reason in (each for each in row.reasons if each not in (UNSOLD, UNCALIBRATED)):  # the table says these
            names = by_reason.setdefault(reason, [])
            if row.deployment.gpu.id not in names:
                names.append(row.deployment.gpu.id)
    return [f"{', '.join(names)}: {reason}" for reason, names in by_reason.items()]


def refusals(refused: Sequence[Refused]) -> list[str]:
    """What does not run where, devices with the same reason together."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for each in refused:
        by_reason.setdefault((each.weights, each.reason), []).append(each.gpu)
    return [f"not {weights} on {', '.join(names)}: {reason}" for (weights, reason), names in by_reason.items()]


def render_comparison(c: Comparison) -> str:
    """Training against a year of serving on one screen."""
    console, row, first = screen(), c.serving, c.ways[0]
    _head(console, "estimate compare", f"{c.model.id}, {c.users:,} daily users, {c.requests_per_user:g} requests each a day")
    busy = percent(min(c.utilisation, 1.0))
    each = f"{c.replicas_per_host} x {row.deployment.id}"
    _facts(
        console,
        [
            ("serving", f"${c.serving_usd_per_year:,.0f} a year: {c.hosts} x {c.offer}, each {each}, busy {busy} of the time"),
            ("", f"a host carries {c.users_per_host:,} daily users at its knee ({duration(row.knee.tpot_s)} per token)"),
            ("volume", f"{count(c.served_tokens_per_year)} tokens a year, prompts and answers; peak minute {c.peak_rps:.2f} requests/s"),
            (
                "FLOPs",
                f"{count(c.flops_overtake_tokens)} served tokens (three times those of training) take as many as training from scratch: "
                f"{c.flops_overtake_days:,.0f} days of this traffic",
            ),
        ],
    )
    section(console, f"First year, training on {first.training.run.gpu.id}")
    listing = table("way", "tokens", "GPU-hours", "training $", "its share", "overtaken at users", "or at tokens", right=range(1, 7))
    listing.padding = (0, 1, 0, 0)
    for way in c.ways:
        run, dear = way.training.run, way.usd[1] >= 100
        hours, usd = band(way.training.gpu_hours, ",.0f" if dear else ",.1f"), band(way.usd, ",.0f" if dear else ",.2f")
        shares = band((way.share[0] * 100, way.share[1] * 100), ".1f", " %")
        tokens = f"{count(way.overtakes_at_tokens[0])} .. {count(way.overtakes_at_tokens[1])}"
        listing.add_row(way.name, count(run.tokens), hours, usd, shares, band(way.overtakes_at_users), tokens)
    show(console, listing)
    words = (
        "overtaken: from so many daily users on a year of serving costs more than training (1: the first host does); "
        "or at so many served tokens, if hosts were busy all year"
    )
    show(console, Text(words, style="dim"))
    section(console, "Notes")
    bullets(console, comparison_notes(c))
    return output(console)


def comparison_notes(c: Comparison) -> list[str]:
    """What the figures leave out."""
    notes = [
        "no promise on latency and no spare replica is in the serving price: `optimize` sizes for promises and hours",
        "failed runs, data, staff and evaluation are not in the training price: it is the last run only",
        "20 tokens per parameter is the least for a model of that size (Hoffmann et al. 2022); open models of 3B saw a hundred times that, "
        "which is what adapters let you skip",
    ]
    return notes + remarks([c.serving])
