"""Every error that a user can cause.

ServeMixError                 base; the CLI prints it and exits with `exit_code`
+-- InputError (ValueError)   something a user wrote is wrong: all problems of the file at once; exit 2
|   +-- MissingExtra          an optional package is asked for and not installed: one sentence with the line that installs it
+-- SimulationError           the simulator met a state that its laws forbid; exit 1 (a defect of ours)
"""

from __future__ import annotations

import reprlib
from collections.abc import Sequence


class ServeMixError(Exception):
    """Base of all errors that this package raises on purpose."""

    exit_code = 1


class InputError(ServeMixError, ValueError):
    """Problems in what a user wrote; `problems` holds one line each, `file:line:column: path: what, and what would be right`.

    >>> print(InputError(["a.yaml:3:5: budget.per_month: -1 is negative; write 0 or more"]))
    a.yaml:3:5: budget.per_month: -1 is negative; write 0 or more
    """

    exit_code = 2

    def __init__(self, problems: Sequence[str] | str) -> None:
        self.problems = [problems] if isinstance(problems, str) else list(problems)
        super().__init__("\n".join(self.problems))


class MissingExtra(InputError):
    """`what` needs a package that only an extra of this project installs.

    >>> print(MissingExtra("probe", "openai", "probe"))
    probe: the package openai is not installed; run pip install "servemix[probe]"
    """

    def __init__(self, what: str, package: str, extra: str) -> None:
        super().__init__(f'{what}: the package {package} is not installed; run pip install "servemix[{extra}]"')


def quoted(value: object, most: int = 80) -> str:
    """`value` as messages show it: on one line and short, whatever it holds.

    >>> quoted("x"), quoted([[1, [2, [3, [4]]]]]), len(quoted("x" * 1000))
    ("'x'", '[[1, [2, [3, [...]]]]]', 80)
    """
    short = reprlib.Repr()
    short.maxlevel, short.maxstring, short.maxother, short.maxlong = 4, most, most, 40
    try:
        text = short.repr(value)
    except ValueError:  # a number of more digits than Python writes out
        return "a number of very many digits"
    return text if len(text) <= most else text[: most - 3] + "..."


class SimulationError(ServeMixError):
    """A law of the simulator was broken; the message names the law and both sides of it."""
