"""A serving estimate on one screen: what fits, cheapest first, remarks, rules of thumb."""

from __future__ import annotations

from collections.abc import Sequence

from rich.console import Console
from rich.text import Text

from optimize.estimate.row import Refused, Row
from optimize.estimate.serving import ServingEstimate
from optimize.report.terminal.console import bullets, output, screen, section, show, table
from optimize.report.terminal.render_estimate_parts import GB, facts, head, remarks, rules_table
from optimize.tables.plain_numbers import count


def render_serving(e: ServingEstimate, all_rows: bool) -> str:
    """A serving estimate on one screen: the best shape of each device, or all of them."""
    console, q = screen(), e.question
    head(console, "estimate serving", f"{q.model.id}, {count(q.model.parameters)} parameters")
    formats = ", ".join(f"{value / GB:,.1f} GB in {name}" for name, value in e.weight_bytes.items())
    requests = q.concurrency or 64
    kv = e.kv_bytes_per_request
    facts(
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
    rules_table(console, e.rules, "Rules of thumb, and what arithmetic says")
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
    words = "" if all(row.calibrated for row in rows) else "* not calibrated. "
    words += (
        "holds: requests at full length without preemption; 1 alone: tokens/s of one request; knee: the last doubling of "
        "the batch that brought a quarter more, and its tokens/s; $/Mtok: answers, prompts included, busy all the time, "
        + ("whole hosts; " if concurrency else "its share of the host; ")
        + "mWh: per answer, GPUs at full board power"
    )
    show(console, Text(words, style="dim"))


def refusals(refused: Sequence[Refused]) -> list[str]:
    """What does not run where, devices with the same reason together."""
    by_reason: dict[tuple[str, str], list[str]] = {}
    for each in refused:
        by_reason.setdefault((each.weights, each.reason), []).append(each.gpu)
    return [f"not {weights} on {', '.join(names)}: {reason}" for (weights, reason), names in by_reason.items()]
