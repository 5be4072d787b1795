"""Whatever bytes a scenario holds, the answer is a Scenario or an InputError with printable lines."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sim.errors import InputError
from sim.scenario import load_scenario
from sim.scenario.scenario import Scenario

from .helpers import GOOD, write

QUIET = settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
SCRAPS = st.sampled_from(
    ["{", "}", "[", "]", ": ", "- ", "&a ", "*a", "!!int ", "!!python/name:x ", '"', "'", "|\n", ">\n", "\t", "\n", "#", "<<: ", "? ",
     "%YAML 1.1\n", "---\n", "~", ".nan", ".inf", "-1", "0", "1e999", "0x1F", "1_0", "9" * 40, "true", "null",
     "\ufeff", "\x07", "é", "\\uD800",
     '"\\UFFFFFFFF"', "200ms", "2001-01-01", "=", "@", "`"]
)  # fmt: skip
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8) | SCRAPS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)
PATHS = st.sampled_from(
    ["name", "seed", "traffic", "traffic.rate_rps", "traffic.log", "traffic.day_shape", "request_classes", "request_classes.0",
     "request_classes.0.input_tokens", "request_classes.0.output_tokens.quantiles", "request_classes.0.output_tokens.lognormal",
     "request_classes.0.slo", "request_classes.0.slo.ttft.p95", "request_classes.0.models", "request_classes.0.conversation",
     "candidates", "candidates.offers", "candidates.relays", "candidates.measured_capacity", "candidates.weights", "budget",
     "budget.currency", "policy", "policy.requests_per_user_band", "policy.allow", "engine", "engine.max_num_seqs"]
)  # fmt: skip


def answers(path: Path, overrides: list[str]) -> None:
    try:
        scenario = load_scenario(path, overrides)
    except InputError as error:
        assert error.problems
        for line in error.problems:
            assert line.isprintable() and line.encode() and len(line) < 2000, line
    else:
        assert isinstance(scenario, Scenario)


@QUIET
@given(content=st.binary(max_size=200))
def test_any_bytes_get_an_answer(content: bytes, tmp_path: Path) -> None:
    answers(write(tmp_path, content), [])


@QUIET
@given(place=st.integers(0, len(GOOD)), cut=st.integers(0, 20), scraps=st.lists(SCRAPS, max_size=4))
def test_a_good_file_with_scraps_in_it_gets_an_answer(place: int, cut: int, scraps: list[str], tmp_path: Path) -> None:
    answers(write(tmp_path, GOOD[:place] + "".join(scraps) + GOOD[place + cut :]), [])


def flow(value: Any) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {flow(each)}" for key, each in value.items()) + "}"
    return "[" + ", ".join(map(flow, value)) + "]" if isinstance(value, list) else str(value)


@QUIET
@given(path=PATHS, value=VALUES)
def test_any_override_gets_an_answer(path: str, value: Any, tmp_path: Path) -> None:
    answers(write(tmp_path, GOOD), [f"{path}={flow(value)}"])


@QUIET
@given(text=st.text(max_size=30))
def test_any_override_text_gets_an_answer(text: str, tmp_path: Path) -> None:
    answers(write(tmp_path, GOOD), [text])
