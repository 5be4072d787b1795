"""A probe on one screen."""

from __future__ import annotations

from typing import Any

from sim.plural import counted

Json = dict[str, Any]


def render_probe(said: Json) -> str:
    """The probe as text: latencies, how calls ended, limits, spending, warnings."""
    lines = [f"{said['url']}  model {said['model']}  {_stop(said)}", ""]
    lines.append(f"{'':20}{'p50':>12}{'p90':>12}{'p95':>12}{'p99':>12}")
    names = {"ttft_s": "TTFT", "tpot_s": "TPOT", "gap_s": "between pieces", "e2e_s": "E2E", "request_s": "E2E with retries"}
    for key, title in names.items():
        lines.append(f"{title:20}" + "".join(f"{_time(said[key][q]):>12}" for q in ("p50", "p90", "p95", "p99")))
    requests, shares = said["requests"], said["shares"]
    status = ", ".join(f"{name}: {count:,}" for name, count in requests["status"].items())
    lines += [
        "",
        f"requests  {requests['ok']:,} answered, {requests['failed']:,} failed, {requests['retried']:,} retried; {status}",
    ]
    cached = _share(said["tokens"]["cached_share"])
    lines.append(f"shares    429 {shares['throttled']:.1%}, errors {shares['error']:.1%}, cached prompt tokens {cached}")
    limits = said["limits"]
    lines.append(f"limits    {_limit(limits['rpm'])} RPM, {_limit(limits['tpm'])} TPM")
    lines += [f"          {note}" for note in limits["notes"]]
    lines += _levels(said["levels"])
    if said.get("fit"):
        lines += [
            "",
            "fit       " + "; ".join(f"{n.upper()} {f['family']}, KS {f['ks']:.3f} on {f['samples']:,}" for n, f in said["fit"].items()),
        ]
    spent = said["spent"]
    usd = "" if spent["usd"] is None else f", ${spent['usd']:.4f}"
    lines.append(f"spent     {counted(spent['calls'], 'call')}, {spent['tokens']:,} tokens{usd}, {spent['seconds']:.1f} s")
    lines += [f"warning   {text}" for text in said["warnings"]]
    return "\n".join(lines) + "\n"


def _stop(said: Json) -> str:
    return "" if said["stopped"] in ("done", "log") else f"STOPPED: {said['stopped']}"


def _levels(levels: list[Json]) -> list[str]:
    if not levels:
        return []
    lines = ["", f"{'level':20}{'answered':>12}{'requests/s':>12}{'out tok/s':>12}{'TTFT p50':>12}{'TTFT p95':>12}{'TPOT p50':>12}"]
    for row in levels:
        rates = "".join(f"{'-' if row[key] is None else format(row[key], '.2f'):>12}" for key in ("requests_per_s", "output_tokens_per_s"))
        times = "".join(f"{_time(row[key][q]):>12}" for key, q in (("ttft_s", "p50"), ("ttft_s", "p95"), ("tpot_s", "p50")))
        lines.append(f"{row['level']:20}{row['ok']:>6,}/{row['requests']:<5,}{rates}{times}")
    return lines


def _time(value_s: float | None) -> str:
    if value_s is None:
        return "-"
    return f"{value_s * 1000:.1f} ms" if value_s < 1 else f"{value_s:.2f} s"


def _share(value: float | None) -> str:
    return "-" if value is None else f"{value:.1%}"


def _limit(value: float | None) -> str:
    return "unknown" if value is None else f"{value:,.0f}"
