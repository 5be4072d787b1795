"""The program as plain columns and rows: what a solver reads. PuLP's objects are made only where its text or CBC is asked for."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pulp

Pair = tuple["Column", float]


@dataclass(eq=False, slots=True)
class Column:
    """A variable, with the attributes that PuLP's variables have; `varValue` is None until a solver found one."""

    name: str
    index: int
    lowBound: float
    upBound: float
    integer: bool
    varValue: float | None = None


@dataclass(eq=False, slots=True)
class Row:
    """sum of coefficient x column <= (sense -1), = (0) or >= (1) rhs;  `pi` dual in USD of the objective, None until there is one."""

    terms: Sequence[Pair]
    sense: int
    rhs: float
    pi: float | None = None


@dataclass(eq=False)
class Sheet:
    """Columns in the order of their making, rows by name, and what is to be least.

    Thousands of hours are written and solved for one plan; PuLP's expressions alone took longer than their solutions.
    """

    name: str
    columns: list[Column] = field(default_factory=list)
    rows: dict[str, Row] = field(default_factory=dict)
    objective: dict[Column, float] = field(default_factory=dict)

    def add_variable(self, name: str, low: float, most: float, kind: str = pulp.LpContinuous) -> Column:
        """A new column between bounds."""
        column = Column(name, len(self.columns), low, most, kind == pulp.LpInteger)
        self.columns.append(column)
        return column

    def add_row(self, name: str, terms: Sequence[Pair], sense: int, rhs: float) -> None:
        """A new row; a name stands for one row and a column once in it."""
        assert name not in self.rows, name
        self.rows[name] = Row(terms, sense, rhs)

    def duals(self) -> dict[str, float]:
        """Dual of every row after a solution, 0 where there is none."""
        return {name: row.pi or 0.0 for name, row in self.rows.items()}

    def to_pulp(self) -> tuple[Any, list[Any]]:
        """The same as a PuLP problem, and its variables in the order of the columns."""
        prob = pulp.LpProblem(self.name, pulp.LpMinimize)
        kinds = {True: pulp.LpInteger, False: pulp.LpContinuous}
        variables = [prob.add_variable(each.name, each.lowBound, each.upBound, kinds[each.integer]) for each in self.columns]
        for name, row in self.rows.items():
            terms = [(variables[column.index], value) for column, value in row.terms]
            prob.addConstraint(pulp.LpConstraint(pulp.LpAffineExpression(terms), row.sense, rhs=row.rhs), name)
        prob.setObjective(pulp.LpAffineExpression([(variables[column.index], usd) for column, usd in self.objective.items()]))
        return prob, variables

    def writeLP(self, path: str) -> None:
        """The text of the program in CPLEX's LP format, as PuLP writes it."""
        self.to_pulp()[0].writeLP(path)
