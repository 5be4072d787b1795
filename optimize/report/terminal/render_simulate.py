"""What a simulated hour felt like: per class latency, per target load."""

from __future__ import annotations

import math
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from rich.text import Text

from optimize.money import relay_request_usd
from optimize.money.metering import KINDS, Metered, metered_usd, plain_meter, tiered
from optimize.report.terminal.console import bullets, output, screen, section, show, table
from optimize.tables.plain_numbers import count, duration, percent, promise
from optimize.tables.plan_json import number, seconds
from sim.catalog.facts import Relay
from sim.engine.deployment import PS
from sim.engine.pool import Pool, Status
from sim.latency import METRICS, attainment, class_metrics, quantile
from sim.relay.endpoint import RelayEndpoint
from sim.relay.prompt_cache import cached_and_written
from sim.traffic.budget_effect import budget_effect, with_refused
from sim.traffic.lengths import turns_mean

if TYPE_CHECKING:
    from optimize.simulate.named_fleet import SimulationRun

QUANTILES = (0.5, 0.9, 0.95, 0.99)
SCHEMA = "servemix.simulation/1"
Json = dict[str, Any]


def simulation_json(run: SimulationRun) -> Json:
    """The run as one JSON object. Latencies are of requests that arrived inside the hour; 1e9 seconds mean never.

    Totals of `targets` cover the whole run, warm-up included; `throughput` covers the hour.
    """
    scenario, log = run.scenario, run.result.log
    inside = (log.arrival_ps >= run.from_ps) & (log.arrival_ps < run.to_ps)
    return {
        "schema": SCHEMA,
        "scenario": scenario.name,
        "seed": scenario.seed,
        "catalog": {"date": scenario.catalog.date, "digest": scenario.catalog.digest},
        "hour": run.hour,
        "calibrated": run.calibrated,
        "requests": int(np.count_nonzero(inside)),
        "status": _statuses(log.status[inside]),
        "throughput": _throughput(run),
        "classes": [_class(run, c) for c in range(len(scenario.request_classes))],
        "targets": [_target(run, index) for index in range(len(run.fleet.targets))],
    }


def _target(run: SimulationRun, index: int) -> Json:
    """Totals of a pool or relay. Money of a relay: every billed token at its price, the prefixes of whole answers as its cache found
    them; `lost_usd` is the part for attempts that did not end in a whole answer, at full price."""
    target, stats = run.fleet.targets[index], run.result.targets[index]
    totals: Json = {
        "name": stats.name,
        "kind": "pool" if isinstance(target, Pool) else "relay",
        "requests": stats.requests,
        "busy_share": number(stats.busy_share),
        "kv_mean_share": number(stats.kv_mean_share),
        "kv_peak_share": number(stats.kv_peak_share),
        "running_mean": number(stats.running_mean),
        "waiting_peak": stats.waiting_peak,
        "preemptions": stats.preemptions,
        "computed_tokens": stats.computed_tokens,
        "attempts": stats.attempts,
        "throttled": stats.throttled,
        "billed_input_tokens": stats.billed_input_tokens,
        "billed_output_tokens": stats.billed_output_tokens,
    }
    if isinstance(target, RelayEndpoint):
        totals |= {
            "attempts_per_request": number(stats.attempts / max(stats.requests, 1)),
            "throttled_share": number(stats.throttled / max(stats.attempts, 1)),
            "errors": stats.errors,
            "unreachable": stats.unreachable,
            "cut": stats.cut,
            "failed_over": stats.failed_over,
            "lost_input_tokens": stats.lost_input_tokens,
            "lost_output_tokens": stats.lost_output_tokens,
            **_cached(run, index, target.relay),
            "lost_usd": number(relay_request_usd(target.relay, stats.lost_input_tokens, 0, stats.lost_output_tokens)),
        }
    return totals


def _cached(run: SimulationRun, index: int, relay: Relay) -> Json:
    """Tokens that the relay's cache has served, and its bill; without a cache where the writes would cost more than it saves.

    Long prompts pay their own prices, in the proportions of the requests answered; never a batch price, nor one of the hour.
    """
    stats, read, written = run.result.targets[index], 0, 0
    billed = (stats.billed_input_tokens, stats.billed_output_tokens)
    each = None
    if run.requests is not None:
        each = cached_and_written(run.requests, run.result.log, index, relay)
        read, written = (int(tokens.sum()) for tokens in each)
    written = written if relay.usd_per_mtok_cache_write is not None else 0
    long = _long_prompts_usd(run, index, relay, billed, each)
    if long is not None:
        return {"cached_input_tokens": read, "written_input_tokens": written, "billed_usd": number(long)}
    usd, plain = relay_request_usd(relay, billed[0], read, billed[1], written), relay_request_usd(relay, billed[0], 0, billed[1])
    if plain < usd:
        usd, read, written = plain, 0, 0
    return {"cached_input_tokens": read, "written_input_tokens": written, "billed_usd": number(usd)}


def _long_prompts_usd(
    run: SimulationRun, index: int, relay: Relay, billed: tuple[int, int], each: tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]] | None
) -> float | None:
    """The bill where an answered prompt is longer than a threshold of the relay; None where none is. `each`: cached, written tokens."""
    log = run.result.log
    mine = (log.target == index) & (log.status == Status.FINISHED)
    prompts, answers = log.input_tokens[mine].astype(np.float64), log.output_tokens[mine].astype(np.float64)
    if not relay.long_prompts or prompts.max(initial=0) <= relay.long_prompts[0].above_tokens:
        return None
    read, new = (np.zeros(len(prompts)),) * 2 if each is None else (tokens[mine].astype(np.float64) for tokens in each)
    sample = Metered(prompts, dict(zip(KINDS, (prompts - read - new, read, new, answers), strict=True)))
    return metered_usd(relay, tiered(relay, plain_meter(billed[0], float(read.sum()), float(new.sum()), billed[1]), sample))


def _statuses(status: npt.NDArray[np.int8]) -> dict[str, int]:
    return {each.name.lower(): int(np.count_nonzero(status == each)) for each in Status}


def _throughput(run: SimulationRun) -> Json:
    """Requests and output tokens of requests that finished inside the hour, per second."""
    log, span_s = run.result.log, (run.to_ps - run.from_ps) / PS
    done = (log.status == Status.FINISHED) & (log.finish_ps >= run.from_ps) & (log.finish_ps < run.to_ps)
    return {
        "requests_per_s": number(np.count_nonzero(done) / span_s),
        "output_tokens_per_s": number(log.output_tokens[done].sum(dtype=np.int64) / span_s),
        "input_tokens_per_s": number(log.input_tokens[done].sum(dtype=np.int64) / span_s),
    }


def _class(run: SimulationRun, c: int) -> Json:
    request_class = run.scenario.request_classes[c]
    effect = budget_effect(request_class, turns_mean(run.scenario))
    samples = class_metrics(run.result.log, c, run.from_ps, run.to_ps)
    size, refused = len(samples["ttft"]), 0.0 if effect is None else effect.refused_share
    judged = {metric: with_refused(samples[metric], refused) for metric in METRICS}
    return {
        "name": request_class.name,
        "requests": size,
        "context": None if effect is None else {name: number(value) for name, value in asdict(effect).items()},
        "latency_s": {
            metric: {f"p{q * 100:g}": seconds(quantile(samples[metric], q)) if size else None for q in QUANTILES} for metric in METRICS
        },
        "slo": [
            {
                "metric": slo.metric,
                "quantile": slo.quantile,
                "limit_s": slo.limit_s,
                "simulated_s": seconds(quantile(judged[slo.metric], slo.quantile)) if size else None,
                "attainment": number(attainment(judged[slo.metric], slo.limit_s)) if size else None,
                "met": bool(quantile(judged[slo.metric], slo.quantile) <= slo.limit_s) if size else None,
            }
            for slo in request_class.slo
        ],
    }


def render_simulation(run: SimulationRun, colour: bool | None = None) -> str:
    """The run on one screen, 110 columns wide."""
    said, console = simulation_json(run), screen(colour)
    console.print(Text(run.scenario.name, style="bold") + Text(f"  simulated hour: {run.hour}"))
    catalog = said["catalog"]
    console.print(Text(f"seed {said['seed']}, catalogue of {catalog['date']} ({catalog['digest'][:8]})", style="dim"))
    section(console, "Latency at the client, by class")
    columns = ("class", "requests", "metric", *(f"p{q * 100:g}" for q in QUANTILES), "promise", "")
    listing = table(*columns, right=(1, 3, 4, 5, 6))
    for row in said["classes"]:
        _latency_rows(listing, row)
    show(console, listing)
    section(console, "Pools and relays")
    _target_rows(console, said["targets"])
    budgets = [(row["name"], row["context"]) for row in said["classes"] if row["context"]]
    if budgets:
        section(console, "Token budgets")
        bullets(console, [_budget(name, effect) for name, effect in budgets])
    section(console, "Throughput")
    rate, status = said["throughput"], said["status"]
    show(
        console,
        Text(
            f"{rate['requests_per_s']:.2f} requests/s, {count(rate['input_tokens_per_s'])} input and "
            f"{count(rate['output_tokens_per_s'])} output tokens/s finished in the hour"
        ),
    )
    ended = ", ".join(f"{n:,} {name.replace('_', ' ')}" for name, n in status.items() if n)
    show(console, Text(f"{said['requests']:,} requests arrived in it: {ended or 'none'}"))
    if not run.calibrated:
        section(console, "Warnings")
        bullets(console, ["a step cost in this fleet comes from data sheets and is not calibrated on measurements"])
    return output(console)


def _latency_rows(listing: Any, row: Json) -> None:
    """Three rows of one class: each metric with its promises; requests that never ended count as infinite."""
    for k, metric in enumerate(METRICS):
        values = [_duration(row["latency_s"][metric][f"p{q * 100:g}"]) for q in QUANTILES]
        promises = [slo for slo in row["slo"] if slo["metric"] == metric]
        words = ", ".join(promise(metric, slo["quantile"], slo["limit_s"]) for slo in promises)
        met = Text(", ".join("-" if slo["met"] is None else "met" if slo["met"] else "MISSED" for slo in promises))
        met.stylize("bold red" if "MISSED" in met.plain else "green")
        name, size = (row["name"], f"{row['requests']:,}") if k == 0 else ("", "")
        listing.add_row(name, size, metric.upper(), *values, words, met)


def _budget(name: str, effect: Json) -> str:
    return (
        f"{name}: prompts of {effect['input_tokens']:,.0f} tokens on average (without the budget {effect['input_tokens_without']:,.0f}), "
        f"{percent(effect['prefix_share'])} of it shared with an earlier one ({percent(effect['prefix_share_without'])}); "
        f"{percent(effect['refused_share'])} of prompts refused as too long: a miss of every promise, "
        "in addition to the requests counted here"
    )


def _target_rows(console: Any, targets: list[Json]) -> None:
    pools = [row for row in targets if row["kind"] == "pool"]
    relays = [row for row in targets if row["kind"] == "relay"]
    if pools:
        listing = table("pool", "requests", "busy", "KV mean", "KV peak", "running", "queue peak", "preempted", right=range(1, 8))
        for row in pools:
            shares = (percent(row[key]) for key in ("busy_share", "kv_mean_share", "kv_peak_share"))
            load = (f"{row['running_mean']:.1f}", f"{row['waiting_peak']:,}", f"{row['preemptions']:,}")
            listing.add_row(row["name"], f"{row['requests']:,}", *shares, *load)
        show(console, listing)
    if relays:
        heads = ("relay", "requests", "calls each", "429", "failed", "cut", "taken over", "billed in / out", "USD", "of it lost")
        listing = table(*heads, right=range(1, 10))
        for row in relays:
            tokens = f"{count(row['billed_input_tokens'])} / {count(row['billed_output_tokens'])}"
            failed = row["errors"] + row["unreachable"]
            counts = (percent(row["throttled_share"]), f"{failed:,}", f"{row['cut']:,}", f"{row['failed_over']:,}")
            usd = (f"{row['billed_usd']:,.2f}", f"{row['lost_usd']:,.2f}")
            listing.add_row(row["name"], f"{row['requests']:,}", f"{row['attempts_per_request']:.3f}", *counts, tokens, *usd)
        show(console, listing)


def _duration(value_s: float | None) -> str:
    return "-" if value_s is None else duration(math.inf if value_s >= 1e9 else value_s)
