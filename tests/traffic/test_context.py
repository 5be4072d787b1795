"""A token budget: what a chat client sends of a conversation that grows too long."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from sim.errors import InputError
from sim.scenario import load_scenario
from sim.scenario.scenario import Context, RequestClass, Scenario
from sim.streams import stream
from sim.traffic import demand, hour
from sim.traffic.context import within_context
from sim.traffic.lengths import draw_lengths, mean_lengths, simulate_turns

ROOT = Path(__file__).resolve().parents[2]
MILLION = ROOT / "scenarios" / "million_dau.yaml"


def scenario(context: str, which: int = 0) -> Scenario:
    return load_scenario(MILLION, [f"request_classes.{which}.context={context}", "request_classes.1.context={max: 100000}"])


def chat(context: str) -> RequestClass:
    return scenario(context).request_classes[0]


def one(
    context: Context, texts: list[int], answers: list[int], system: int = 10, cap: int = 10**6
) -> tuple[list[int], list[int], list[int], int]:
    """(kept, shared, answers, refused) of one conversation."""
    user, answer = np.array(texts, np.int64), np.array(answers, np.int64)
    cut = within_context(context, system, cap, np.array([0]), np.array([len(texts)]), user, answer)
    return cut.kept.tolist(), cut.shared.tolist(), cut.answer.tolist(), cut.refused


def test_whole_turns_go_oldest_first_and_the_prefix_survives_until_the_next_cut() -> None:
    """Window 100, answers of 20 to texts of 10, system 10: four turns fit next to a text (80 of 79 left do not), so three are kept."""
    context = Context(100, 0, 1, None, oldest_first=True)
    kept, shared, answers, refused = one(context, [10] * 5, [20] * 5)
    assert kept == [0, 30, 60, 60, 60]  # 10 + 90 + 10 + 1 is above 100: the oldest turn of 30 goes
    assert shared == [0, 30, 60, 0, 0]  # after a cut the prompt begins alike only in the system prompt
    assert answers == [20] * 5 and refused == 0


def test_the_prompt_leaves_room_for_the_answer_and_the_answer_ends_with_the_window() -> None:
    loose = one(Context(100, 0, 1, None, oldest_first=True), [10, 10, 10], [35, 35, 35])
    assert loose[0] == [0, 45, 45] and loose[2] == [35, 35, 35]
    tight = one(Context(70, 0, 1, None, oldest_first=True), [10, 10], [35, 35])
    assert tight[0] == [0, 45] and tight[2] == [35, 5]  # 10 + 45 + 10 leave 5
    roomy = one(Context(70, 0, 20, None, oldest_first=True), [10, 10], [35, 35])
    assert roomy[0] == [0, 0] and roomy[2] == [35, 35]


def test_without_cutting_a_conversation_that_is_too_long_is_refused_and_begun_anew() -> None:
    kept, shared, _, refused = one(Context(100, 0, 1, None, oldest_first=False), [10] * 6, [20] * 6)
    assert kept == [0, 30, 60, 0, 30, 60]
    assert shared == [0, 30, 60, 0, 30, 60] and refused == 1


@pytest.mark.parametrize("truncate", ["oldest_first", "none"])
def test_nothing_that_is_sent_exceeds_the_budget(truncate: str) -> None:
    each = chat(f"{{max: 2000, reserve: 100, min_output: 200, max_output: 400, truncate: {truncate}}}")
    assert each.conversation is not None and each.context is not None
    turns = simulate_turns(each.conversation, each.output_tokens, 8.0, 5000, stream(1, "t"))
    assert int(turns.input_tokens.max()) <= 2000 - 100 - 200
    assert int((turns.input_tokens + turns.output_tokens).max()) <= 2000 - 100
    assert int(turns.output_tokens.max()) == 400
    assert (turns.prefix_tokens <= turns.input_tokens).all() and (turns.prefix_tokens >= 500).all()
    assert (turns.refused > 0) == (truncate == "none")


def test_a_budget_that_never_binds_changes_nothing_but_whole_turns() -> None:
    free, wide = load_scenario(MILLION).request_classes[0], chat("{max: 1000000}")
    assert mean_lengths(wide, 2.5)[0] == pytest.approx(mean_lengths(free, 2.5)[0], rel=0.005)  # the cap of 8,192 now drops whole turns
    assert mean_lengths(wide, 2.5)[1] == pytest.approx(mean_lengths(free, 2.5)[1], rel=1e-9)


def test_shorter_windows_send_less_and_share_less() -> None:
    means = [mean_lengths(chat(f"{{max: {size}, min_output: 300}}"), 2.5) for size in (16000, 3000, 1500)]
    inputs, _, prefixes = zip(*means, strict=True)
    assert inputs[0] > inputs[1] > inputs[2] and prefixes[0] > prefixes[1] > prefixes[2]


def test_single_prompts_that_are_too_long_are_refused_and_counted() -> None:
    each = scenario("{max: 2500, min_output: 100, max_output: 300}", which=3).request_classes[3]
    free = load_scenario(MILLION).request_classes[3]
    inputs, outputs, _ = draw_lengths(each, 2.5, 50_000, stream(1, "t"))
    long, _, _ = draw_lengths(free, 2.5, 50_000, stream(1, "t"))
    assert inputs.max() <= 2400 and (inputs + outputs).max() <= 2500 and outputs.max() == 300
    assert each.refused_share == pytest.approx(np.mean(long > 2400), abs=4 * 0.5 / np.sqrt(50_000))
    mean_in, mean_out, _ = mean_lengths(each, 2.5)
    assert inputs.mean() == pytest.approx(mean_in, rel=0.02) and outputs.mean() == pytest.approx(mean_out, rel=0.02)


def test_hours_and_demand_agree_under_a_budget() -> None:
    loaded = scenario("{max: 2000, min_output: 200, max_output: 400}")
    requests = hour(loaded, 11, seed=1, duration_s=600.0, warmup_s=0.0, rate_scale=0.2, classes=[0])
    wanted = demand(loaded)
    assert requests.input_tokens.mean() == pytest.approx(wanted.input_tokens[0], rel=0.03)
    assert requests.prefix_tokens.mean() == pytest.approx(wanted.prefix_tokens[0], rel=0.03)


@pytest.mark.parametrize(
    ("context", "said"),
    [
        ("{max: 100, min_output: 200}", "leaves no prompt next to reserve 0 and min_output 200"),
        ("{max: 1000, min_output: 300, max_output: 200}", "max_output 200 is below min_output 300"),
        ("{max: 300}", "no prompt fits"),
        ("{max: 3000, cut: yes}", "cut"),
    ],
)
def test_a_budget_that_makes_no_sense_is_told(context: str, said: str) -> None:
    with pytest.raises(InputError, match=said):
        scenario(context)
