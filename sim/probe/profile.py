"""The relay profile: what a scenario reads as `relays: [{profile: FILE}]`."""

from __future__ import annotations

import io
import re
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from sim.catalog.relay_records import Law, RelayLatency
from sim.probe.attempts import CONNECTION, OK, SERVER, TIMEOUT, TORN, Attempt, Prices

NO_OUTPUT_TOKENS_PER_S = 1e6  # of embeddings, whose answers have no tokens after the first


def profile_of(
    attempts: Sequence[Attempt],
    latency: RelayLatency,
    limits: dict[str, float | None],
    prices: Prices | None,
    name: str,
    model: str,
    vendor: str,
    measured: dict[str, Any],
) -> dict[str, Any]:
    """The keys of a relay entry, from what was measured. Without prices the scenario must write them."""
    seen = [a for a in attempts if not a.level.startswith("limit of")]
    ends = Counter(a.reply.outcome for a in seen)
    ttft = [a.reply.first_s for a in seen if a.ok and a.reply.first_s is not None]
    tpot = [a.tpot_s for a in seen if a.ok and a.tpot_s]
    speed = 1.0 / np.array(tpot) if tpot else np.array([NO_OUTPUT_TOKENS_PER_S])
    errors = sum(ends[each] for each in (SERVER, CONNECTION, TIMEOUT))
    answered, torn = ends[OK], ends[TORN]
    profile: dict[str, Any] = {"servemix_relay_profile": 1, "name": name, "vendor": vendor, "model": model}
    if prices is not None:
        profile |= {"usd_per_mtok_input": prices.input, "usd_per_mtok_output": prices.output}
        if prices.cached is not None:
            profile["usd_per_mtok_cached"] = prices.cached
    profile |= {key: _digits(value) for key, value in limits.items() if value is not None}
    profile |= {
        "error_share": _digits(errors / max(errors + answered + torn, 1)),
        "torn_share": _digits(torn / max(answered + torn, 1)),
        "ttft_p50_s": _digits(float(np.median(ttft))),
        "ttft_sigma": _digits(min(float(np.std(np.log(ttft))), 3.0)),
        "tokens_per_s": _digits(float(np.median(speed))),
        "tokens_sigma": _digits(min(float(np.std(np.log(speed))), 3.0)),
        "latency": latency_keys(latency),
        "measured": measured,
    }
    return profile


def latency_keys(latency: RelayLatency) -> dict[str, Any]:
    """A latency record as a scenario writes it."""
    keys: dict[str, Any] = {"ttft": _law(latency.ttft), "tpot": _law(latency.tpot)}
    if latency.ttft_s_per_input_token:
        keys["ttft_s_per_input_token"] = _digits(latency.ttft_s_per_input_token)
    if latency.load:
        keys["load"] = [{"in_flight": _digits(p.in_flight), "ttft": _digits(p.ttft), "tpot": _digits(p.tpot)} for p in latency.load]
    return keys


def _law(law: Law) -> dict[str, Any]:
    keys: dict[str, Any] = {"family": law.family}
    if law.parameters:
        keys["parameters"] = [_digits(value) for value in law.parameters]
    if law.points:
        keys["points"] = _rising([[_digits(q), _digits(x)] for q, x in law.points])
    return keys | {"ks": _digits(law.ks), "samples": law.samples}


def _rising(points: list[list[float]]) -> list[list[float]]:
    """Rounding never makes seconds fall."""
    for before, after in zip(points, points[1:], strict=False):  # noqa: RUF007 (changes the list on the way)
        after[1] = max(before[1], after[1])
    return points


def _digits(value: float) -> float:
    """Six significant digits."""
    return float(f"{value:.6g}")


def name_of(text: str) -> str:
    """`text` as a name that scenarios accept.

    >>> name_of("meta-llama/Llama-3.1-8B Instruct")
    'meta-llama-Llama-3.1-8B-Instruct'
    """
    return re.sub(r"[^A-Za-z0-9_.\-]+", "-", text).strip("-.")[:80] or "relay"


def profile_text(profile: dict[str, Any]) -> str:
    """The profile as YAML, with what it is in its first lines."""
    from ruamel.yaml import YAML

    yaml = YAML()
    yaml.default_flow_style = None
    yaml.width = 120
    stream = io.StringIO()
    yaml.dump(profile, stream)
    lacking = "" if "usd_per_mtok_input" in profile else "#   No price was known: add usd_per_mtok_input and usd_per_mtok_output.\n"
    use = "# Measured by `servemix probe`. In a scenario: relays: [{profile: THIS_FILE}]; keys next to `profile` win over keys in here.\n"
    return use + lacking + stream.getvalue()


def write_text(path: Path, text: str) -> Path:
    """Appears under its name only when whole."""
    partial = path.with_name(path.name + ".part")
    partial.write_text(text, encoding="utf-8", newline="")
    partial.replace(path)
    return path
