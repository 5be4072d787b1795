"""A probe from its first call to its last, whatever ends it: the plan, a cap, the clock, a refusal, Ctrl-C."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable
from dataclasses import replace
from urllib.parse import SplitResult, urlsplit

import numpy as np

from sim.errors import InputError
from sim.interrupts import left_to_asyncio
from sim.plural import counted
from sim.probe import load
from sim.probe.attempts import OK, Measured, Setup
from sim.probe.call import Caller
from sim.probe.caps import Ledger
from sim.probe.find_limits import find_limits
from sim.probe.prompts import prompts
from sim.probe.secret import shown_url
from sim.probe.send import Sender

Tell = Callable[[str], None]
SEARCHES = ("requests", "tokens", "measure")
LAG_TICK_S = 0.05
LAG_WARNING_S = 0.02
PROGRESS_S = 2.0


def probe(setup: Setup, key: str, tell: Tell) -> Measured:
    """What was measured until the plan was done or something stopped it. Raises InputError for a setup that makes no sense."""
    check(setup)
    shown = replace(setup, url=shown_url(setup.url, key))
    _agree(shown, tell)
    with left_to_asyncio():
        return replace(asyncio.run(_probe(setup, key, tell)), setup=shown)


def address(url: str) -> SplitResult | None:
    """The parts of an address; None where it is none, or where its port is no port."""
    try:
        parts = urlsplit(url)
        return None if parts.port == 0 or not url.isprintable() or any(c.isspace() for c in url) else parts
    except ValueError:
        return None


def check(setup: Setup) -> None:
    """Raise unless the setup can be sent, with every problem at once."""
    problems = []
    parts = address(setup.url)
    if parts is None or parts.scheme not in ("http", "https") or not parts.hostname:
        problems.append(f'URL: "{_bare(setup.url)}" is no http(s) address; write https://host/v1')
    elif parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        problems.append("URL: holds a user, password or query, which would end up in logs; give the key with --key-env or --key-file")
    caps = setup.caps
    if caps.requests < 1 or caps.tokens < 1 or not 0 < caps.seconds <= 86400 or (caps.usd is not None and not caps.usd > 0):
        problems.append("caps: --max-requests, --max-tokens, --max-seconds and --max-usd must be above 0")
    money = [caps.usd, *((setup.prices.input, setup.prices.output, setup.prices.cached) if setup.prices else ())]
    if any(value is not None and not 0 <= value < math.inf for value in money):
        problems.append("--max-usd and prices must be finite numbers of 0 or more: nothing else can be a cap")
    if caps.usd is not None and setup.prices is None:
        problems.append("--max-usd: no price is known; give --usd-per-mtok-input and --usd-per-mtok-output, or --relay NAME")
    if not setup.load.rates_rps and not setup.load.concurrency:
        problems.append("load: give --concurrency or --rate")
    if any(not 1 <= users <= 1000 for users in setup.load.concurrency) or any(not 0 < rate <= 1000 for rate in setup.load.rates_rps):
        problems.append("load: --concurrency takes whole numbers from 1 to 1000, --rate numbers above 0 to 1000")
    if setup.shared_prefix_tokens and setup.shared_prefix_tokens >= min(shape.input_tokens for shape in setup.shapes):
        problems.append("--shared-prefix: is not shorter than the shortest prompt of --mix; write less")
    if problems:
        raise InputError(problems)


def _bare(url: str) -> str:
    """The address without what may be secret in it."""
    return url.split("?")[0].rsplit("@", 1)[-1][:80]


def _agree(setup: Setup, tell: Tell) -> None:
    caps = setup.caps
    money = f"${caps.usd:g}" if caps.usd is not None else "no cap on money (no price is known)"
    tell(
        f"probing {setup.url}, model {setup.model}: at most {counted(caps.requests, 'call')}, {caps.tokens:,} tokens, {caps.seconds:g} s, "
        f"{money}; Ctrl-C keeps what was measured"
    )


async def _probe(setup: Setup, key: str, tell: Tell) -> Measured:
    ledger = Ledger(setup.caps, setup.prices)
    caller = Caller(setup, key)
    sender = Sender(caller, ledger, setup.patience, np.random.default_rng([setup.seed, 1]), caller.dialect.learn)
    found: dict[str, float | None] = {"rpm": None, "tpm": None}
    notes: list[str] = []
    lags: list[float] = []
    watchers = [asyncio.create_task(_lag(lags)), asyncio.create_task(_progress(sender, tell))]
    warnings: list[str] = []
    stopped = "done"
    try:
        async with asyncio.timeout(setup.caps.seconds):
            await _levels(sender, setup, tell, warnings)
            if setup.limits in SEARCHES and not sender.stopped:
                found, notes = await find_limits(sender, setup, tell)
    except TimeoutError:
        stopped = f"cap of {setup.caps.seconds:g} seconds"
    except asyncio.CancelledError:
        stopped = "interrupted"
        task = asyncio.current_task()
        if task is not None:
            task.uncancel()
    finally:
        for watcher in watchers:
            watcher.cancel()
        await asyncio.gather(*watchers, return_exceptions=True)
        await caller.close()
    stopped = sender.stopped or stopped
    _told_limits(sender, setup, found, notes)
    warnings += _warnings(sender, lags)
    spent_usd = ledger.usd if setup.prices is not None else None
    attempts, told = tuple(sender.attempts), tuple(notes)
    return Measured(setup, attempts, sender.arrivals, found, told, stopped, sender.now(), ledger.tokens, spent_usd, tuple(warnings))


async def _levels(sender: Sender, setup: Setup, tell: Tell, warnings: list[str]) -> None:
    """The levels of the plan, one after the other."""
    source = prompts(setup, np.random.default_rng([setup.seed, 0]))
    plan, rng = setup.load, np.random.default_rng([setup.seed, 4])
    for rate_rps in plan.rates_rps:
        tell(f"{counted(plan.requests_per_level, 'request')} at {rate_rps:g}/s, Poisson")
        gaps = load.poisson(rate_rps, rng)
        waited = await load.open_arrivals(sender, source, gaps, plan.requests_per_level, f"rate {rate_rps:g}", plan.most_in_flight)
        if waited:
            places = f"one of {plan.most_in_flight} places"
            warnings.append(f"rate {rate_rps:g}: {counted(waited, 'request')} waited for {places}; `request_s` has their wait")
        if sender.stopped:
            return
    for users in () if plan.rates_rps else plan.concurrency:
        tell(f"{counted(max(plan.requests_per_level, users), 'request')}, {users} at a time")
        answered = await load.closed_loop(sender, source, users, max(plan.requests_per_level, users))
        if sender.stopped:
            return
        if answered < load.SATURATED:
            warnings.append(f"concurrency {users}: only {answered:.0%} of the requests were answered; the ramp ends here")
            return


def _told_limits(sender: Sender, setup: Setup, found: dict[str, float | None], notes: list[str]) -> None:
    """Fill in what the endpoint says of its limits where nothing was measured."""
    if setup.limits == "off":
        return
    for name, field in (("rpm", "limit_rpm"), ("tpm", "limit_tpm")):
        told = {value for a in sender.attempts if (value := getattr(a.reply, field)) is not None}
        if told and found[name] is None:
            found[name] = min(told)
            notes.append(f"{name}: {found[name]:,.0f}, as the endpoint says in its headers")


def _warnings(sender: Sender, lags: list[float]) -> list[str]:
    said = []
    if lags and float(np.quantile(lags, 0.99)) > LAG_WARNING_S:
        late_ms = float(np.quantile(lags, 0.99)) * 1000
        said.append(f"this machine was busy: the probe itself woke up {late_ms:.0f} ms late (p99); latencies include that")
    impossible = [a.reply.note for a in sender.attempts if a.reply.note.startswith("impossible count")]
    if impossible:
        said.append(f"{counted(len(impossible), 'answer')} with token counts that cannot be true; ours are used. First: {impossible[0]}")
    silent = sum(a.ok and a.reply.input_tokens is None for a in sender.attempts) - len(impossible)
    if silent > 0:
        said.append(
            f"{counted(silent, 'answer')} without token counts: pieces of text are counted as tokens, and caps are charged at the most"
        )
    return said


async def _lag(lags: list[float]) -> None:
    """How late this process wakes up: what it adds to every latency."""
    clock = asyncio.get_running_loop().time
    while True:
        due = clock() + LAG_TICK_S
        await asyncio.sleep(LAG_TICK_S)
        lags.append(clock() - due)


async def _progress(sender: Sender, tell: Tell) -> None:
    while True:
        await asyncio.sleep(PROGRESS_S)
        done = [a.reply.outcome for a in sender.attempts]
        tell(
            f"{sender.now():.0f} s: {counted(len(done), 'call')}, {done.count(OK)} answered, {sender.ledger.tokens:,} tokens" + _usd(sender)
        )


def _usd(sender: Sender) -> str:
    return f", ${sender.ledger.usd:.4f}" if sender.ledger.prices is not None else ""
