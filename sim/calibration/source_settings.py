"""Engine settings that a source's public launch scripts state and its rows do not.

InferenceX: `benchmarks/*.sh` of github SemiAnalysisAI/InferenceX as of October 2025 to March 2026. All of its servers run
without a prefix cache, and its client sends ten prompts per place in flight.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

ROUNDS = 8  # requests per place in flight, where a closed loop does not state how many it ran


@dataclass(frozen=True)
class Settings:
    """What replaces the defaults of an engine: 0 and None leave them. `kv_bytes_per_number` 1: an fp8 cache."""

    rounds: int = ROUNDS
    kv_bytes_per_number: int | None = None
    async_scheduling: bool | None = None
    max_num_seqs: int | None = None
    max_num_batched_tokens: int | None = None


PLAIN = Settings()


def settings_of(source: str, row: Mapping[str, str], engine: str, gpu: str, in_flight: int | None) -> Settings:
    """The settings of a run of `source` with `engine` (a release) on `gpu`."""
    if not source.startswith("InferenceX"):
        return PLAIN
    mixture = "gpt-oss" in row["model"]
    if engine.startswith("vllm"):
        seqs = 512 if gpu == "b200" else in_flight  # `--max-num-seqs $CONC` on Hopper
        small = mixture and gpu != "b200"  # gpt-oss on Hopper keeps its cache in 16 bit
        return Settings(10, None if small else 1, True, seqs, 8192)
    if engine.startswith("trt"):
        longest = int(float(row["input_tokens_mean"]) + float(row["output_tokens_mean"])) + 200
        return Settings(10, 1, None, 512 if mixture else None, 20000 if mixture else longest)  # `--max_num_tokens $MAX_MODEL_LEN`
    return Settings(10)
