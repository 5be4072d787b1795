"""From the words of the command line to a probe, and from a probe to its files."""

from __future__ import annotations

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sim.catalog.check import nearest
from sim.catalog.loader import load_catalog
from sim.errors import InputError, MissingExtra
from sim.probe.attempts import Caps, Load, Measured, Patience, Prices, Setup
from sim.probe.call_log import measured_calls, read_calls
from sim.probe.fit_latency import fit_latency
from sim.probe.profile import name_of, profile_of
from sim.probe.prompts import parse_mix
from sim.probe.run_load import SEARCHES, Tell, probe
from sim.probe.summary import summary
from sim.probe.write_results import OwnServer, write_all

DEFAULT_USD = 1.0
LIMITS = ("off", "headers", *SEARCHES)


def server_of(gpu: str | None, weights: str | None, model: str, tensor_parallel: int, engine: str, version: str) -> OwnServer | None:
    """What options say of a server of the user's own; None where they say nothing. Raises InputError."""
    if gpu is None and weights is None:
        return None
    if gpu is None or weights is None:
        raise InputError("--gpu and --weights: give both, e.g. --gpu l40s --weights fp8; they name the rows of the measurement table")
    return OwnServer(gpu, weights, model, tensor_parallel, engine, version)


@dataclass(frozen=True)
class Asked:
    """Options that are no part of the probe itself."""

    out: Path | None = None
    as_model: str | None = None
    as_name: str | None = None
    server: OwnServer | None = None


def numbers(text: str, option: str, whole: bool) -> tuple[float, ...]:
    """The numbers of "1,2,4". Raises InputError.

    >>> numbers("0.5, 2", "--rate", whole=False)
    (0.5, 2.0)
    """
    try:
        found = tuple((int if whole else float)(part) for part in text.split(",") if part.strip())
    except ValueError:
        found = ()
    if not found:
        raise InputError(f'{option}: "{text[:60]}" is no list of {"whole " if whole else ""}numbers; write e.g. 1,4,16')
    return found


def prices_of(relay: str | None, usd_input: float | None, usd_output: float | None, usd_cached: float | None) -> Prices | None:
    """Prices of a catalogue row, overridden by options; None where neither says. Raises InputError."""
    row = None
    if relay is not None:
        relays = load_catalog().relays
        if relay not in relays:
            near = " or ".join(nearest(relay, list(relays)))
            hint = f"did you mean {near}?" if near else "see `servemix catalog relays`"
            raise InputError(f'--relay: "{relay}" is no relay of the catalogue; {hint}')
        row = relays[relay]
    into = usd_input if usd_input is not None else row.usd_per_mtok_input if row else None
    out = usd_output if usd_output is not None else row.usd_per_mtok_output if row else None
    cached = usd_cached if usd_cached is not None else row.usd_per_mtok_cached if row else None
    if into is None and out is None:
        return None
    if into is None or out is None:
        raise InputError("--usd-per-mtok-input and --usd-per-mtok-output: give both, or a catalogue row with --relay")
    return Prices(into, out, cached)


def setup_of(
    url: str, model: str, kind: str, mix: str, concurrency: str, rate: str | None, requests: int, limits: str, caps: Caps,
    patience: Patience, prices: Prices | None, shared_prefix: int, ignore_eos: bool, seed: int,
) -> Setup:  # fmt: skip
    """A probe as options say it. Raises InputError."""
    if kind not in ("chat", "embedding"):
        raise InputError(f'--kind: "{kind}" is unknown; write chat or embedding')
    if limits not in LIMITS:
        raise InputError(f'--limits: "{limits}" is unknown; write {", ".join(LIMITS)}')
    rates = () if rate is None else numbers(rate, "--rate", whole=False)
    levels = tuple(int(users) for users in numbers(concurrency, "--concurrency", whole=True))
    if prices is not None and caps.usd is None:
        caps = replace(caps, usd=DEFAULT_USD)
    load = Load(levels, rates, requests)
    return Setup(url.rstrip("/"), model, kind, parse_mix(mix), load, caps, patience, prices, limits, shared_prefix, ignore_eos, seed)


def given(value: str | None, option: str) -> str:
    """The value of an option that a live probe needs. Raises InputError."""
    if not value:
        raise InputError(f"{option}: is missing; write `servemix probe https://host/v1 --model NAME`, or --from-log FILE")
    return value


def exit_code(said: dict[str, Any]) -> int:
    """130 after Ctrl-C, 2 when nothing was answered, else 0."""
    return 130 if said["stopped"] == "interrupted" else 0 if said["requests"]["ok"] else 2


def probe_and_write(setup: Setup, key: str, asked: Asked, tell: Tell) -> dict[str, Any]:
    """Probe, write its files, and say what was found. MissingExtra before anything is sent where there is no client."""
    if find_spec("openai") is None:
        raise MissingExtra("probe", "openai", "probe")
    return report(probe(setup, key, tell), asked, tell)


def log_and_write(path: Path, model: str | None, asked: Asked, tell: Tell) -> dict[str, Any]:
    """The same of a gateway's log."""

    return report(measured_calls(read_calls(path, model)), asked, tell)


def report(measured: Measured, asked: Asked, tell: Tell) -> dict[str, Any]:
    """The JSON object, with the fitted laws; files go to `asked.out`."""
    said = summary(measured)
    profile = _profile(measured, asked)
    said["fit"] = None if profile is None else {name: _fit(profile["latency"][name]) for name in ("ttft", "tpot")}
    if asked.out is not None:
        for path in write_all(asked.out, measured, said, profile, asked.server):
            tell(f"wrote {path}")
    return said


def _fit(law: dict[str, Any]) -> dict[str, Any]:
    return {name: law[name] for name in ("family", "ks", "samples")}


def _profile(measured: Measured, asked: Asked) -> dict[str, Any] | None:
    latency = fit_latency(measured.attempts)
    if latency is None:
        return None
    setup = measured.setup
    host = urlsplit(setup.url).hostname or "log"
    model = asked.as_model or name_of(setup.model.rsplit("/", 1)[-1].lower())
    facts = {
        "on": datetime.now(UTC).date().isoformat(),
        "at": host,
        "model": setup.model,
        "answers": sum(a.ok for a in measured.attempts if not a.level.startswith("limit of")),
        "prompts": ", ".join(f"{shape.input_tokens}/{shape.output_tokens}" for shape in setup.shapes)
        if setup.url != "log"
        else "of the log",
        "levels": list(dict.fromkeys(a.level for a in measured.attempts)),
        "limits": list(measured.limit_notes),
    }
    name = asked.as_name or name_of(f"{host}-{model}")
    return profile_of(measured.attempts, latency, measured.limits, setup.prices, name, name_of(model), host, facts)
