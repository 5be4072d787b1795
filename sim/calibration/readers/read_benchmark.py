"""Any benchmark file -> its runs, by what the file holds and not by its name."""

from __future__ import annotations

from pathlib import Path

from sim.calibration.readers.aiperf import is_aiperf, is_csv, is_record, read_csv, read_records, read_summary
from sim.calibration.readers.guidellm import is_guidellm, read_guidellm
from sim.calibration.readers.inferencex import is_inferencex, read_inferencex
from sim.calibration.readers.measurement import Measurement
from sim.calibration.readers.values import parse_json, read_text
from sim.calibration.readers.vllm import is_vllm, read_vllm
from sim.errors import InputError

KNOWN = (
    "vLLM `bench serve --save-result` JSON, GuideLLM benchmarks.json, AIPerf and GenAI-Perf summaries (JSON or CSV), "
    "AIPerf profile_export.jsonl, InferenceX points, or a CSV with the columns of docs/how-to/calibrate.md"
)


def is_points(path: Path) -> bool:
    """Whether `path` is a CSV of measured points with our columns."""
    with_header = read_text(path).lstrip().split("\n", 1)[0]
    return path.suffix.lower() == ".csv" and not is_csv(with_header) and "," in with_header


def read_benchmark(path: Path, in_flight: int | None = None) -> list[Measurement]:
    """The runs of one file; `in_flight` serves files that do not state their load. Raises InputError, also for an unknown format."""
    text = read_text(path)
    where = str(path)
    if is_csv(text):
        return [read_csv(where, text, in_flight)]
    values = parse_json(path, text)
    if all(is_record(value) for value in values):
        return [read_records(where, values, in_flight)]
    found: list[Measurement] = []
    for index, value in enumerate(values):
        here = where if len(values) == 1 else f"{where}:{index + 1}"
        if is_guidellm(value):
            found += read_guidellm(here, value)
        elif is_inferencex(value):
            found.append(read_inferencex(here, value))
        elif is_vllm(value):
            found.append(read_vllm(here, value))
        elif is_aiperf(value):
            found.append(read_summary(here, value, in_flight))
        elif isinstance(value, dict) and "experiments" in value:
            raise InputError(f"{here}: raw GenAI-Perf records have no token counts; give profile_export_genai_perf.json next to it")
        else:
            raise InputError(f"{here}: is no benchmark result that is known; known: {KNOWN}")
    return found
