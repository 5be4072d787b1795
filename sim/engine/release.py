"""Engines by the release from which they behave alike: their names, what each inherits, and the scheduler limits that each starts with.

A release inherits the step cost of the one before it where nothing newer was measured. The date says when a version came out.
"""

from __future__ import annotations

import re

from sim.catalog.facts import Gpu
from sim.engine.deployment import EngineLimits

PARENT = {  # release -> the one that it grew from: its measurements stand in where there are none of its own
    "vllm-v0": "",  # 0.6 and 0.7; the first core
    "vllm-0.5": "vllm-v0",
    "vllm-v1": "",  # 0.8 to 0.11; a new core
    "vllm-0.12": "vllm-v1",
    "vllm-0.14": "vllm-0.12",  # schedules one step ahead
    "trt-llm": "",
    "trt-llm-1": "trt-llm",  # PyTorch in place of compiled engines
    "sglang": "",
    "other": "",
}
CURRENT_VERSION = "0.24"  # the newest release of it when these rows were written
AHEAD = ("vllm-0.14",)  # engines that decide on a step while the one before it runs
VLLM_SINCE = ((14, "vllm-0.14"), (12, "vllm-0.12"), (8, "vllm-v1"), (6, "vllm-v0"), (0, "vllm-0.5"))  # minor version, release
VLLM_DATES = (("2026-01-20", 14), ("2025-12-03", 12), ("2025-03-18", 8), ("2024-09-04", 6))  # day of the release on PyPI, minor version
TRT_ONE_DATE = "2025-09-24"
LIMITS = {  # release -> max_num_seqs, max_num_batched_tokens, gpu_memory_utilization
    "vllm-0.5": (256, 4096, 0.90),
    "vllm-v0": (256, 4096, 0.90),
    "vllm-v1": (256, 2048, 0.90),
    "trt-llm": (2048, 8192, 0.98),  # takes a share of what is free after loading: 0.9-0.95 of that
    "sglang": (512, 8192, 0.88),
    "other": (256, 4096, 0.90),
}
LARGE_CARD_BYTES = 70 * 2**30  # vLLM from 0.8: API servers on such cards, A100 apart, start with larger limits
LARGE_CARD_LIMITS = (1024, 8192)
LONG_CONTEXT = 32768  # vLLM 0.5.4 to 0.7: above this model length prefill is chunked by default, 512 tokens a step (2048 from 0.7)


def lineage(release: str) -> tuple[str, ...]:
    """`release` and what it grew from, newest first.

    >>> lineage("vllm-0.14")
    ('vllm-0.14', 'vllm-0.12', 'vllm-v1')
    """
    found = [release]
    while PARENT.get(found[-1]):
        found.append(PARENT[found[-1]])
    return tuple(found)


def engine_release(engine: str, version: str, measured_on: str = "") -> str:
    """The release that `engine` at `version` belongs to; without a version, the newest that was out on the day `measured_on` (ISO).

    >>> engine_release("vllm", "0.7.3"), engine_release("vllm", "0.20.1"), engine_release("tensorrt-llm", "0.17")
    ('vllm-v0', 'vllm-0.14', 'trt-llm')
    >>> engine_release("vllm", "", "2025-10-29"), engine_release("trtllm", "1.0.0rc3")
    ('vllm-v1', 'trt-llm-1')
    """
    if "trt" in engine or "tensorrt" in engine:
        return _trt_release(engine, version, measured_on)
    if engine.startswith("vllm"):
        if version.startswith("2023"):  # before CUDA graphs: another engine in all but name
            return "other"
        found = re.search(r"0\.(\d+)", version)
        minor = int(found.group(1)) if found else _minor_on(measured_on or _named_day(version))
        return next(release for since, release in VLLM_SINCE if minor >= since)
    return "sglang" if engine.startswith("sglang") else "other"


def _trt_release(engine: str, version: str, measured_on: str) -> str:
    if engine.startswith("nim"):  # counts its own versions; 1.0 holds TensorRT-LLM 0.10
        return "trt-llm"
    if version[:1].isdigit():
        return "trt-llm-1" if int(version.split(".")[0]) >= 1 else "trt-llm"
    return "trt-llm-1" if measured_on >= TRT_ONE_DATE else "trt-llm"


def _named_day(version: str) -> str:
    """A day (ISO) in a text such as `v1 (2026-02 build)`: the last one of its month; empty where there is none."""
    found = re.search(r"(20\d\d-\d\d)", version)
    return f"{found.group(1)}-28" if found else ""


def _minor_on(day: str) -> int:
    """Minor version of the newest vLLM on that day; of 0.8 where the day is not known."""
    return next((minor for since, minor in VLLM_DATES if day >= since), 8 if not day else 0)


def default_limits(release: str, gpu: Gpu, version: str = "", max_context: int = 0) -> EngineLimits:
    """The limits that a server of `release` starts with on this card, for a model of `max_context` tokens."""
    seqs, tokens, share = next(LIMITS[name] for name in lineage(release) if name in LIMITS)
    if "vllm-v1" in lineage(release) and gpu.memory_bytes >= LARGE_CARD_BYTES and not gpu.id.startswith("a100"):
        seqs, tokens = LARGE_CARD_LIMITS
    if "vllm-v0" in lineage(release) and max_context > LONG_CONTEXT:  # V0 then chunks prompts on its own accord
        tokens = 2048 if version.startswith("0.7") else 512
    return EngineLimits(seqs, tokens, share, async_scheduling=release in AHEAD)
