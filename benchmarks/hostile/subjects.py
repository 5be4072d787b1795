"""What is made bad, and the commands that read it."""

from __future__ import annotations

import gzip
import json
import random
import shutil
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

from benchmarks.hostile.mutate import WORDS, text_mutation, value_mutation
from benchmarks.hostile.play import Make, called
from sim.scenario.read.yaml_text import read_document

ROOT = Path(__file__).resolve().parents[2]
SAMPLES = ROOT / "scenarios"
Commands = Sequence[Sequence[str]]
LOG = "arrival_s,input_tokens,output_tokens\n" + "".join(f"{k / 3:.3f},{100 + k},{20 + k % 7}\n" for k in range(40))
LITELLM = "".join(
    json.dumps({"startTime": f"2026-11-30T10:00:{k:02d}Z", "endTime": f"2026-11-30T10:01:{k:02d}Z", "model": "gpt-4.1",
                "prompt_tokens": 9 + k, "completion_tokens": 5, "total_tokens": 14 + k, "spend": 0.01}) + "\n"
    for k in range(20)
)  # fmt: skip
RESULT: dict[str, Any] = {
    "completed": 3, "total_input_tokens": 30, "total_output_tokens": 12, "output_throughput": 5.0, "mean_ttft_ms": 30.0,
    "mean_tpot_ms": 9.0, "request_rate": "inf", "max_concurrency": 2, "input_lens": [10, 10, 10], "output_lens": [4, 4, 4],
    "ttfts": [0.1, 0.1, 0.1],
    "itls": [[0.01, 0.01, 0.01]] * 3, "start_times": [0.0, 0.1, 0.2], "errors": ["", "", ""],
}  # fmt: skip
INVOICE = (
    "BilledCost,EffectiveCost,BillingCurrency,ChargePeriodStart,ChargePeriodEnd,ChargeCategory,ServiceName,SkuId,ConsumedQuantity,ConsumedUnit\n"
    + "".join(f"{k}.5,{k}.5,USD,2026-11-{k + 1:02d},2026-11-{k + 2:02d},Usage,aws,g6e.xlarge,24,Hours\n" for k in range(9))
)
MODEL = {
    "architectures": ["LlamaForCausalLM"], "model_type": "llama", "hidden_size": 2048, "intermediate_size": 8192, "num_hidden_layers": 16,
    "num_attention_heads": 32, "num_key_value_heads": 8, "vocab_size": 128256, "max_position_embeddings": 131072, "torch_dtype": "bfloat16",
    "head_dim": 64, "tie_word_embeddings": True,
}  # fmt: skip
FLEET = "aws.g6e.xlarge/llama-3.1-8b/fp8/tp1=2[classes=chat:0.5 max_num_seqs=64 max_num_batched_tokens=512 kv=fp8 overflow=9:#2], nebius.h100/llama-3.1-8b/fp8=1, relay:deepinfra.llama-3.1-8b[share=0.1]"  # noqa: E501


@cache
def small_scenarios() -> tuple[tuple[str, Any], ...]:
    """(text, tree) of the sample scenarios that read no log."""
    paths = [path for path in sorted(SAMPLES.glob("*.yaml")) if path.stat().st_size < 4000]
    return tuple((path.read_text(encoding="utf-8"), json.loads(json.dumps(read_document(path).data, default=str))) for path in paths)


@cache
def a_plan() -> tuple[Any, Any]:
    """(plan.json, manifest.json) of a scenario that needs no simulation."""
    place = Path("a_plan")
    _with_melange(Path())
    code, said = called(["optimize", "melange.yaml", "--jobs", "1", "--out", str(place)])
    assert code == 0, said
    return json.loads((place / "plan.json").read_text()), json.loads((place / "manifest.json").read_text())


def _with_melange(folder: Path) -> None:
    for name in ("melange.yaml", "melange_capacity.csv"):
        if not (folder / name).exists():
            shutil.copy(SAMPLES / name, folder / name)


def either(text: str, tree: Any, rng: random.Random) -> bytes:
    """Half of the mutations are of the text, half of its values."""
    return text_mutation(text, rng) if rng.random() < 0.5 else value_mutation(tree, rng)


def scenarios(rng: random.Random, folder: Path) -> Commands:
    """A sample scenario, checked."""
    for name in ("melange_capacity.csv", "route_by_task_quality.csv", "example_log.csv.gz"):
        if not (folder / name).exists():
            shutil.copy(SAMPLES / name, folder / name)
    (folder / "s.yaml").write_bytes(either(*rng.choice(small_scenarios()), rng))
    return [["check", "s.yaml", *(["--json"] if rng.random() < 0.5 else [])]]


def logs(rng: random.Random, folder: Path) -> Commands:
    """A request log or usage export, plain or packed: checked, then made a scenario."""
    suffix, good = rng.choice(((".csv", LOG), (".jsonl", LITELLM)))
    raw, name = text_mutation(good, rng), f"log{suffix}"
    if rng.random() < 0.1:
        raw, name = gzip.compress(raw, 1), name + ".gz"
        if rng.random() < 0.5:
            raw = raw[: rng.randrange(len(raw))]
    (folder / name).write_bytes(raw)
    use = [["new", "found", "--from-log", name, "--out", "found.yaml", "--force"], ["check", "found.yaml"]]
    return [["check", name, "--kind", "log"], *(use if rng.random() < 0.1 else [])]


def benchmarks(rng: random.Random, folder: Path) -> Commands:
    """A benchmark result, or measured points: checked."""
    points = (SAMPLES / "measured" / "l4_qwen2.5-7b.csv").read_text(encoding="utf-8")
    if rng.random() < 0.3:
        (folder / "r.csv").write_bytes(text_mutation(points, rng))
        return [["check", "r.csv", "--kind", "benchmark"]]
    (folder / "r.json").write_bytes(either(json.dumps(RESULT), RESULT, rng))
    use = [["calibrate", "r.json", "--gpu", "l4", "--model", "qwen2.5-7b", "--out", "c.yaml"]] if rng.random() < 0.02 else []
    return [["check", "r.json", "--kind", "benchmark"], *use]


def plans(rng: random.Random, folder: Path) -> Commands:
    """A saved plan: compared, deployed, simulated."""
    plan = a_plan()[0]
    _with_melange(folder)
    (folder / "good.json").write_text(json.dumps(plan))
    (folder / "p.json").write_bytes(either(json.dumps(plan), plan, rng))
    asked = ["explain", "p.json", "--why-not", "A10G", "--why-class", "small-short", "--why-hour", "weekday 11"]
    return [["compare", "good.json", "p.json"], asked, ["deploy", "p.json", "--out", "d"], ["simulate", "melange.yaml", "--plan", "p.json"]]


def invoices(rng: random.Random, folder: Path) -> Commands:
    """An invoice against a plan."""
    (folder / "good.json").write_text(json.dumps(a_plan()[0]))
    (folder / "i.csv").write_bytes(text_mutation(INVOICE, rng))
    return [["compare", "good.json", "--actual", "i.csv"]]


def manifests(rng: random.Random, folder: Path) -> Commands:
    """A results folder whose manifest or plan was changed, made again."""
    _with_melange(folder)
    plan, manifest = a_plan()
    (folder / "r").mkdir(exist_ok=True)
    (folder / "r" / "plan.json").write_text(json.dumps(plan))
    (folder / "r" / "manifest.json").write_bytes(either(json.dumps(manifest), manifest, rng))
    return [["rerun", "r", "--jobs", "1"]]


def calls(rng: random.Random, folder: Path) -> Commands:
    """A gateway's call log, from which a profile is read."""
    head = "".join((SAMPLES / "gateway_calls.csv").read_text(encoding="utf-8").splitlines(keepends=True)[:30])
    (folder / "calls.csv").write_bytes(text_mutation(head, rng))
    return [["probe", "--from-log", "calls.csv", "--out", "profile"]]


def models(rng: random.Random, folder: Path) -> Commands:
    """The config.json of a model."""
    (folder / "config.json").write_bytes(either(json.dumps(MODEL), MODEL, rng))
    return [["estimate", "serving", "--model", "config.json", "--gpu", "l4"]]


def prices(rng: random.Random, folder: Path) -> Commands:
    """A file of relay prices, brought up to date."""
    text = (ROOT / "sim" / "catalog" / "relays.yaml").read_text(encoding="utf-8")
    (folder / "relays.yaml").write_bytes(text_mutation(text, rng))
    return [["catalog", "refresh", "--file", "relays.yaml", "--write"]]


def words(rng: random.Random, folder: Path) -> Commands:
    """Values of options: fleets, overrides, ranges, names."""
    shutil.copy(SAMPLES / "two_offers.yaml", folder / "two_offers.yaml")
    bad = text_mutation(FLEET, rng).decode("utf-8", "replace").replace("\0", "")
    word = rng.choice(WORDS).replace("\0", "").encode("utf-8", "replace").decode()
    key = rng.choice(("budget.per_month", "traffic", "a.b.9", "request_classes.0", ""))
    cases = (
        ["simulate", "two_offers.yaml", "--hour", "weekday 99", "--fleet", bad],  # the fleet is read first, the hour ends the run
        ["check", "two_offers.yaml", "--set", f"{key}={word}"],
        ["new", word, "--out", "n.yaml", "--force", "--model", rng.choice((word, "llama-3.1-8b")), "--users", rng.choice((word, "1k"))],
        ["new", "--from-sample", word, "--out", "n.yaml", "--force"],
        ["estimate", "training", "--params", rng.choice((word, "7B")), "--tokens", rng.choice((word, "1e11"))],
        ["estimate", "serving", "--model", "llama-3.1-8b", "--context", word, "--gpu", "l4"],
        ["catalog", rng.choice(("gpus", "offers", "relays")), word],
        ["optimize", "two_offers.yaml", "--show", f"{word}x"],
        ["whatif", "two_offers.yaml", "--vary", f"traffic.rate_rps={word}:x"],
        ["deploy", word, "--out", "d"],
        ["compare", word, word],
    )
    return [rng.choice(cases)]


KINDS: dict[str, tuple[Make, int]] = {
    "scenarios": (scenarios, 20_000),
    "logs": (logs, 10_000),
    "benchmarks": (benchmarks, 5_000),
    "plans": (plans, 2_000),
    "invoices": (invoices, 2_000),
    "manifests": (manifests, 1_000),
    "calls": (calls, 2_000),
    "models": (models, 1_000),
    "prices": (prices, 300),
    "words": (words, 5_000),
}
