"""--vary: what it means, and one clear message for each mistake."""

from __future__ import annotations

import math
from pathlib import Path

import pytest

from optimize.whatif.ask import Question
from optimize.whatif.sample import grid, sample
from optimize.whatif.scenarios import load_points
from optimize.whatif.study import Point
from optimize.whatif.vary import parse_axes, parse_axis
from sim.errors import InputError

TWO_OFFERS = Path(__file__).resolve().parents[3] / "scenarios" / "two_offers.yaml"


def labels(text: str) -> list[str | float]:
    return [level.label for level in parse_axis(text).levels]


def test_list_range_suffix_and_changes_of_a_list_are_read() -> None:
    assert labels("budget.per_month=50k,0.1M,2e5") == [50_000, 100_000, 200_000]
    assert labels("policy.safety=0:0.1:lin3") == [0, 0.05, 0.1]
    assert labels("engine.max_num_seqs=16:512:log6") == [16, 32, 64, 128, 256, 512]
    assert labels("candidates.weights=[fp8],[bf16, int4]") == ["[fp8]", "[bf16, int4]"]
    assert labels("candidates.offers=+nebius.l40s,-aws.g6e.xlarge") == ["as is", "+nebius.l40s", "-aws.g6e.xlarge"]
    assert labels("policy.n_plus_one=true,false") == ["true", "false"]


def test_whole_numbers_are_written_as_whole_numbers_so_that_counts_load() -> None:
    assert [level.settings for level in parse_axis("engine.max_num_seqs=16:512:log6").levels][1] == ("engine.max_num_seqs=32",)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("budget.per_month", "is not KEY.PATH=VALUES"),
        ("=5", "is not KEY.PATH=VALUES"),
        ("budget.per_month=", "is not KEY.PATH=VALUES"),
        ("budget.per_month=1,,2", "has an empty value"),
        ("traffic.rate_rps=1:2", "says no number of values"),
        ("traffic.rate_rps=1:2:cubic5", "is not a range"),
        ("traffic.rate_rps=5:1:lin3", "5 is not below 1"),
        ("traffic.rate_rps=0:1:log3", "cannot begin at 0"),
        ("traffic.rate_rps=a:1:lin3", '"a" is not a number'),
        ("traffic.rate_rps=1:2:lin1", "1 values is not 2 to"),
        ("traffic.rate_rps=1:2:lin99999", "99999 values is not 2 to"),
        ("traffic.rate_rps=1,1.0", "1 is written twice"),
        ("candidates.offers=+a,b", "mixes changes of a list"),
        ("factor.user=1,2", 'there is no factor "user"; nearest: users'),
        ("factor.users=high,low", "is not a number"),
        ("factor.users=0,1", "is not a factor"),
        ("candidates.weights=[fp8", "is not YAML"),
    ],
)
def test_each_mistake_is_told_in_one_message_that_quotes_it(text: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        parse_axis(text)
    assert len(error.value.problems) == 1
    assert error.value.problems[0].startswith(f"--vary {text}: ")
    assert said in error.value.problems[0]


def test_all_mistakes_are_told_at_once_and_a_key_is_varied_once() -> None:
    with pytest.raises(InputError) as error:
        parse_axes(["budget.per_month=1,2", "budget.per_month=3,4", "x"])
    assert len(error.value.problems) == 2
    assert "varied twice" in error.value.problems[0]


def test_grid_holds_every_combination_and_refuses_monsters() -> None:
    points = grid(parse_axes(["budget.per_month=1,2", "traffic.rate_rps=1:3:lin3"]))
    assert [[level.label for level in point.levels] for point in points] == [[1, 1], [1, 2], [1, 3], [2, 1], [2, 2], [2, 3]]
    with pytest.raises(InputError, match="1000 x 1000 = 1,000,000 points"):
        grid(parse_axes(["budget.per_month=1:2:lin1000", "traffic.rate_rps=1:2:lin1000"]))


def test_samples_fill_every_part_of_a_range_once_and_hang_on_the_seed() -> None:
    axes = parse_axes(["traffic.rate_rps=0.1:10:log", "policy.n_plus_one=true,false"], sampled=True)
    points = sample(axes, 10, seed=1)
    parts = sorted(int(10 * math.log10(float(point.levels[0].label) / 0.1) / 2) for point in points)
    assert parts == list(range(10))
    assert sorted(str(point.levels[1].label) for point in points) == ["false"] * 5 + ["true"] * 5
    assert points == sample(axes, 10, seed=1)
    assert points != sample(axes, 10, seed=2)


def points_of(*texts: str) -> tuple[Point, ...]:
    return grid(parse_axes(texts))


def test_a_wrong_value_is_told_before_anything_runs_and_names_vary() -> None:
    source = Question(TWO_OFFERS).source()
    with pytest.raises(InputError) as error:
        load_points(source, points_of("traffic.rate_rps=5,-1", "budget.per_month=1k,2k"))
    assert error.value.problems[0].startswith("--vary traffic.rate_rps=-1: ")
    assert len(error.value.problems) == 1
    with pytest.raises(InputError, match="no_such_key"):
        load_points(source, points_of("no_such_key=1,2"))


def test_changes_of_a_list_add_up() -> None:
    source = Question(TWO_OFFERS).source()
    loaded = load_points(source, points_of("candidates.offers=+nebius.l40s", "candidates.offers=-aws.g6e.xlarge"))
    offers = [[offer.id for offer in each.offers] for each in loaded]  # type: ignore[union-attr]
    assert offers == [
        ["aws.g6e.xlarge", "nebius.h100"],
        ["nebius.h100"],
        ["aws.g6e.xlarge", "nebius.h100", "nebius.l40s"],
        ["nebius.h100", "nebius.l40s"],
    ]


def test_a_combination_that_does_not_fit_is_a_failed_point_and_the_others_load() -> None:
    source = Question(TWO_OFFERS.with_name("million_dau.yaml")).source()
    loaded = load_points(source, points_of("request_classes.chat.share=0.74,0.7", "request_classes.faq.share=0.16,0.2"))
    assert [getattr(each, "status", "loaded") for each in loaded] == ["loaded", "bad_input", "bad_input", "loaded"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("candidates.offers=+aws.g6e.xlarge", "is in the list already"),
        ("candidates.offers=-nebius.h10", "is not in the list; nearest: nebius.h100"),
        ("budget=+x", "is no list"),
        ("policy.nothing=-x", "is no list; it is absent"),
        ("candidates.offers=+no.such.offer", "no.such.offer"),
    ],
)
def test_a_wrong_change_of_a_list_is_one_clear_message(text: str, said: str) -> None:
    with pytest.raises(InputError) as error:
        load_points(Question(TWO_OFFERS).source(), points_of(text))
    assert len(error.value.problems) == 1
    assert said in error.value.problems[0]
    assert error.value.problems[0].startswith("--vary ")
