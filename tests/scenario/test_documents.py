"""From text to values with places: what each way to write a value means, and where a fault of it is."""

from __future__ import annotations

import math
from typing import Any

import pytest

from sim.errors import InputError
from sim.scenario.read.document import Document, Mark, Problems, dotted, nearest, printable, shown
from sim.scenario.read.faults import meant_number
from sim.scenario.read.yaml_text import parse_document, parse_value


def value(text: str) -> Any:
    return parse_document(f"v: {text}\n", "a.yaml").data["v"]


def refused(text: str) -> list[str]:
    with pytest.raises(InputError) as caught:
        parse_document(text, "a.yaml")
    return list(caught.value.problems)


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        *(("true", True), ("True", True), ("false", False), ("null", None), ("~", None), ("", None)),
        *(("12", 12), ("-7", -7), ("+3", 3), ("1_000", 1000), ("0x1F", 31), ("1.5", 1.5), ("1e3", 1000.0), ("1_0.5", 10.5)),
        *((".inf", math.inf), ("-.inf", -math.inf), ("'12'", "12"), ('"a b"', "a b"), ("2026-11-30", "2026-11-30")),
        ("!!int soon", "soon"),  # an explicit tag on what is no number is text, and the schema says so
        ("[1, [2, three]]", [1, [2, "three"]]),
        ("{a: {b: 1}}", {"a": {"b": 1}}),
    ],
)
def test_a_value_is_what_yaml_means_by_it(text: str, meant: object) -> None:
    found = value(text)
    assert found == meant and type(found) is type(meant)


def test_an_integer_beyond_any_machine_is_a_number_without_its_last_digits() -> None:
    assert value("9" * 20) == int("9" * 20)
    assert value("9" * 21) == pytest.approx(1e21) and isinstance(value("9" * 21), float)
    assert math.isnan(value(".nan"))


def test_a_folded_text_is_one_line() -> None:
    assert parse_document("v: >\n  one\n  two\n", "a.yaml").data["v"] == "one two\n"


def test_every_value_and_key_knows_its_line_and_column() -> None:
    document = parse_document("name: x\nlist:\n  - a: 1\n    b: [2, 3]\n", "a.yaml")
    assert str(document.mark(("list", 0, "b", 1))) == "a.yaml:4:12"
    assert str(document.mark(("list", 0, "b"), of_key=True)) == "a.yaml:4:5" and str(document.mark(("list", 0, "b"))) == "a.yaml:4:8"
    assert str(document.mark(("list", 0, "none", "deeper"))) == "a.yaml:3:5"  # the nearest parent that is there
    assert str(document.mark((), of_key=True)) == "a.yaml:1:1"
    assert str(Document("b.yaml", None).mark(("x",))) == "b.yaml:1:1"


def test_text_that_is_in_no_file_is_named_without_a_line() -> None:
    assert str(Mark(0, 0, "--set a=1")) == "--set a=1"
    document = parse_document("name: [x]\n", "here", numbered=False)
    assert str(document.mark(("name", 0))) == "here"
    found, marks = parse_value("{a: [1]}", "--set v={a: [1]}")
    assert found == {"a": [1]} and {str(mark) for mark in marks.values()} == {"--set v={a: [1]}"} and ("a", 0) in marks
    assert parse_value("", "--set v=")[0] is None


def test_problems_are_told_once_and_in_the_order_of_the_file() -> None:
    document = parse_document("a: 1\nb: 2\n", "a.yaml")
    problems = Problems(document)
    problems.add(("b",), "second")
    problems.add(("a",), "first")
    problems.add(("b",), "second")
    problems.add((), "whole")
    assert problems.lines() == ["a.yaml:1:1: whole", "a.yaml:1:4: a: first", "a.yaml:2:4: b: second"]


def test_what_is_merged_stands_below_what_is_written() -> None:
    document = parse_document("base: &b {x: 1, y: 2}\nmore: &m {y: 5, z: 6}\nv: {y: 3, <<: [*b, *m]}\n", "a.yaml")
    assert document.data["v"] == {"y": 3, "x": 1, "z": 6}
    assert str(document.mark(("v", "x"))) == "a.yaml:1:14" and str(document.mark(("v", "z"), of_key=True)) == "a.yaml:2:17"


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("v: {<<: 7}\n", "a.yaml:1:4: v: `<<` merges mappings only; write `<<: *name` of a mapping"),
        ("b: &b {<<: {x: 1}}\nv: {<<: *b}\n", "a.yaml:2:4: v: `<<` inside a merged mapping is not followed; write the values out"),
        ("v: {[a]: 1}\n", "a.yaml:1:5: v.?: a key must be a plain word"),
        ("v: !secret x\n", "a.yaml:1:4: v: the tag !secret is not allowed; write a plain value"),
        ("a: 1\nb: 2\na: 3\n", "a.yaml:3:1: a: is written twice, first at line 1; keep one"),
    ],
)
def test_a_form_that_is_not_read_is_named_with_its_place(text: str, said: str) -> None:
    assert refused(text) == [said]


def test_all_faults_of_form_come_together_and_the_third_of_a_key_names_the_second() -> None:
    said = refused("a: 1\na: 2\nb: !x 1\n")
    assert [line.split(": ")[0] for line in said] == ["a.yaml:2:1", "a.yaml:3:4"]


def test_thirty_levels_are_read_and_one_more_is_refused() -> None:
    found, levels = value("[" * 29 + "7" + "]" * 29), 0
    while isinstance(found, list):
        (found,), levels = found, levels + 1
    assert (found, levels) == (7, 29)
    assert "deeper than 30 levels" in refused("v: " + "[" * 30 + "7" + "]" * 30 + "\n")[0]


# --- words of messages


@pytest.mark.parametrize(
    ("text", "number"),
    [
        *(("200ms", 0.2), ("5 us", 5e-6), ("2 s", 2.0), ("1.5sec", 1.5), ("10min", 600.0), ("2h", 7200.0), ("95%", 0.95)),
        *(
            ("40k", 4e4),
            ("2M", 2e6),
            ("3g", 3e9),
            ("4b", 4e9),
            ("€1,234.5", 1234.5),
            ("7 requests", 7.0),
            ("0.5 / s", 0.5),
            ("1e3", 1000.0),
        ),
        *(("+3", 3.0), ("-2%", -0.02), ("9 xy", None), ("soon", None), ("", None), ("1 2 x y", None)),
    ],
)
def test_a_number_with_a_unit_is_understood(text: str, number: float | None) -> None:
    assert meant_number(text) == number


def test_names_in_messages_are_the_nearest_three_or_the_first_eight() -> None:
    assert nearest("relay", []) == "none is known" and nearest("RELAY", ["Relay"]) == "nearest: Relay"
    assert nearest("aaa1", ["aaa2", "aaa3", "aaa4", "aaa5", "zzz"]).count(",") == 2
    many = [f"n{k}" for k in range(9)]
    assert nearest("xyz", many) == "known: " + ", ".join(many[:8]) + ", ..." and nearest("xyz", many[:8]).endswith("n7")


def test_values_in_messages_stay_on_one_short_line() -> None:
    assert printable("a" * 60) == "a" * 60 and printable("a" * 61) == "a" * 57 + "..."
    assert printable("a\nb\x07", 10) == "a\\nb\\x07" and dotted(("a", 3, "b\n")) == "a.3.b\\n"
    assert [shown(each) for each in (True, False, {}, 1.5, 7, "x")] == ["true", "false", "a mapping", "1.5", "7", '"x"']
