"""Rows of tables say each value by the name of its column, so that a column more changes no reader."""

from __future__ import annotations

import pytest

from optimize.report.terminal.render_plan import render
from optimize.tables import columns, tables
from optimize.tables.columns import Column, table_of
from optimize.tables.plan_json import plan_json
from tests.optimize.report.plan_fixture import plan as make_plan


def test_a_column_that_is_not_given_or_not_declared_is_named() -> None:
    declared = (Column("a", "int", "", ""), Column("b", "int", "", ""))
    with pytest.raises(AssertionError, match=r"table t: columns \['b', 'c'\]"):
        table_of("t", "T", declared, [{"a": 1, "c": 2}])


def test_a_column_in_front_of_the_others_changes_nothing_that_is_read_from_the_tables(monkeypatch: pytest.MonkeyPatch) -> None:
    plan = make_plan()
    before, screen, real = plan_json(plan), render(plan), tables.table_of

    def with_one_more(name: str, title: str, declared: tuple[Column, ...], rows: object) -> columns.Table:
        more = [{"added": "?", **row} for row in rows]  # type: ignore[attr-defined]
        return real(name, title, (Column("added", "str", "", "a new one"), *declared), more)

    monkeypatch.setattr(tables, "table_of", with_one_more)
    after = plan_json(plan)
    assert after["relays"] == before["relays"] and after["classes"] == before["classes"]
    assert render(plan) == screen
