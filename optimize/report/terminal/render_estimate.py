"""Estimates of training, and of training against serving, on one screen; the rules that circulate."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from optimize.estimate.cards import Card
from optimize.estimate.rules import Rule
from optimize.estimate.side_by_side import Comparison
from optimize.estimate.training import TrainingEstimate
from optimize.report.terminal.console import bullets, output, screen, section, show, table
from optimize.report.terminal.render_estimate_parts import GB, band, facts, form_of, head, remarks, rules_table
from optimize.tables.plain_numbers import count, duration, percent
from sim.catalog.loader import load_catalog
from sim.errors import InputError

LISTED = 12  # offers on the screen; --json has all


def check_currency(currency: str) -> str:
    """The currency in capitals; InputError when the catalogue has no rate."""
    rates = load_catalog().fx_usd
    if currency.upper() not in rates:
        raise InputError(f'estimate: --currency: "{currency}" has no rate in the catalogue; write {", ".join(sorted(rates))}')
    return currency.upper()


def render_rules(rules: Sequence[Rule]) -> str:
    """The contradictions that circulate, both figures side by side."""
    console = screen()
    head(console, "estimate rules", "quoted and computed")
    rules_table(console, rules, "Both figures side by side")
    return output(console)


def render_training(e: TrainingEstimate, currency: str = "USD", cards: Sequence[Card] = ()) -> str:
    """A training estimate on one screen, 110 columns wide."""
    console, run = screen(), e.run
    what = f"{run.model.id}, {count(run.tokens)} tokens, {run.method}, {run.precision}, on {e.gpus} x {run.gpu.id}"
    head(console, "estimate training", what)
    total = e.states.total + e.activations.checkpointed
    needed = f"{e.gpus_needed} x {run.gpu.id}" if e.gpus_needed else f"no number of {run.gpu.id}: activations and two layers exceed one"
    fit = "fits" if e.fits else "DOES NOT FIT"
    rows = [
        ("work", f"{e.flops:.3g} FLOP in weights, {e.attention_flops:.3g} in attention ({e.attention_flops / e.flops:.1%})"),
        ("hours", f"{band(e.gpu_hours, form_of(e.gpu_hours))} GPU-hours at MFU {band((e.mfu[1], e.mfu[0]), '.2f')}"),
        ("time", f"{band(e.days, ',.1f')} days on {e.gpus} {'GPU' if e.gpus == 1 else 'GPUs'}"),
        ("memory", f"{total / GB:,.1f} GB with checkpointing; smallest that holds it sharded (ZeRO stage 3): {needed}"),
        ("", f"on {e.gpus}: {e.bytes_per_gpu / GB:,.1f} of {run.gpu.memory_bytes / GB:,.1f} GB on each, {fit}"),
        ("energy", f"{band(e.energy_kwh, form_of(e.energy_kwh))} kWh at full board power; hosts and cooling not counted"),
    ]
    if e.interconnect is not None:
        rows.append(("links", e.interconnect.note))
    for term in ("on_demand", "spot"):
        cheapest = next((each for each in e.cost if each.term == term), None)
        if cheapest is not None:
            amounts = cheapest.by_currency[currency]
            money = band(amounts, form_of(amounts), f" {currency}")
            rows.append(("cost" if term == "on_demand" else "", f"{money} at {cheapest.offer} ({term.replace('_', ' ')})"))
    facts(console, rows)
    _memory(console, e)
    _costs(console, e, currency)
    _cards(console, cards)
    rules_table(console, e.rules, "Rules of thumb, and what arithmetic says")
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
        ("activations, all kept", kept.kept, f"{each}; smallest that holds it: {e.gpus_needed_kept or 'no number of'} x {e.run.gpu.id}"),
        ("attention matrices", kept.attention_matrices, f"{each}, on top where the attention kernel stores them"),
    ):
        listing.add_row(name, f"{value / GB:,.2f}", what)
    show(console, listing)


def _cards(console: Console, cards: Sequence[Card]) -> None:
    """As few of each card as hold the run, cheapest first."""
    if not cards:
        return
    section(console, "Every card: as few as hold it, cheapest first")
    listing = table("card", "cards", "GPU-hours", "days", "USD", "cheapest offer", right=(1, 2, 3, 4))
    for card in cards:
        if card.gpus is None:
            listing.add_row(card.gpu, "-", "-", "-", "-", Text(card.why, style="dim"))
            continue
        usd = band(card.usd, form_of(card.usd)) if card.offer else "-"
        hours, days = (band(pair, form_of(pair)) for pair in (card.gpu_hours, card.days))
        listing.add_row(card.gpu, f"{card.gpus:,}", hours, days, usd, card.offer or Text("no offer in the catalogue", style="dim"))
    show(console, listing)


def _costs(console: Console, e: TrainingEstimate, currency: str) -> None:
    section(console, "Cost by offer")
    if not e.cost:
        show(console, Text(f"no offer in the catalogue sells {e.run.gpu.id}; see `catalog offers`"))
        return
    currencies = ["USD"] if currency == "USD" else ["USD", currency]
    listing = table("offer", "term", "hosts", "GPUs", "USD/GPU-hour", *currencies, right=range(2, 5 + len(currencies)))
    for r in e.cost[:LISTED]:
        amounts = [band(r.by_currency[name], form_of(r.by_currency[name])) for name in currencies]
        listing.add_row(r.offer, r.term, f"{r.hosts:,}", f"{r.gpus:,}", f"{r.usd_per_gpu_hour:.2f}", *amounts)
    show(console, listing)
    if len(e.cost) > LISTED:
        show(console, Text(f"and {len(e.cost) - LISTED} dearer offers in --json", style="dim"))


def render_comparison(c: Comparison) -> str:
    """Training against a year of serving on one screen."""
    console, row, first = screen(), c.serving, c.ways[0]
    head(console, "estimate compare", f"{c.model.id}, {c.users:,} daily users, {c.requests_per_user:g} requests each a day")
    busy = percent(min(c.utilisation, 1.0))
    each = f"{c.replicas_per_host} x {row.deployment.id}"
    facts(
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
    listing = table("way", "tokens", "GPU-hours", "training $", "its share", "from users", "or tokens", right=range(1, 7))
    listing.columns[0].min_width = 12  # on a narrow screen the names of the ways are wrapped at words and not cut
    listing.padding = (0, 1, 0, 0)
    for way in c.ways:
        run, gpu_hours = way.training.run, way.training.gpu_hours
        hours, usd = band(gpu_hours, form_of(gpu_hours)), band(way.usd, form_of(way.usd))
        shares = band((way.share[0] * 100, way.share[1] * 100), ".1f", " %")
        tokens = f"{count(way.overtakes_at_tokens[0])} .. {count(way.overtakes_at_tokens[1])}"
        listing.add_row(way.name, count(run.tokens), hours, usd, shares, band(way.overtakes_at_users), tokens)
    show(console, listing)
    words = (
        "from so many daily users on a year of serving costs more than training (1: the first host does), "
        "or from so many served tokens on, if hosts were busy all year"
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
