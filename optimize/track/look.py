"""One look at a plan in production: what was asked, what came back, what it means."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from typing import Any

from optimize.deploy.deployable import Deployable
from optimize.track.findings import Findings, window_words
from optimize.track.held_against import promises_of, rows_of
from optimize.track.planned import planned_for
from optimize.track.questions import Answers, Question, questions
from sim.errors import InputError
from sim.scenario.scenario import Scenario

MOST_HOURS = 24 * 7
Ask = Callable[[Sequence[Question], int], Answers]  # questions, hours between the end of the busiest hour and that of the window


def track(plan: Deployable, saved: Mapping[str, Any], scenario: Scenario, end: datetime, hours: int, ask: Ask) -> Findings:
    """The `hours` before `end` (in the plan's time zone) held against the plan; `ask` fetches what was measured.

    Raises InputError where nothing of the plan was measured at all.
    """
    if not 1 <= hours <= MOST_HOURS:
        raise InputError(f"--hours: {hours} is no window; write 1 to {MOST_HOURS}")
    try:
        return _looked(plan, saved, scenario, end, hours, ask)
    except InputError:
        raise
    except (KeyError, IndexError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"the plan does not fit scenario {scenario.name}: {error!r}; make it again with `optimize --out DIR`") from None


def _looked(plan: Deployable, saved: Mapping[str, Any], scenario: Scenario, end: datetime, hours: int, ask: Ask) -> Findings:
    planned = planned_for(plan, saved, scenario, end, hours)
    asked = questions(plan)
    seen = ask(asked, hours - 1 - planned.busiest)
    if not any(values for values in seen.values()):
        names = ", ".join([*(pool.name for pool in plan.pools), *plan.promises])
        raise InputError(
            f"no sample of {names} in these hours; are engines and gateway those of `servemix deploy`, and does Prometheus scrape them?"
        )
    rows = rows_of(plan, saved, planned, seen)
    return Findings(
        plan.scenario, window_words(planned), rows, promises_of(plan, seen), _notes(asked, seen, math.fsum(planned.requests.values()))
    )


def _notes(asked: Sequence[Question], seen: Answers, expected: float) -> tuple[str, ...]:
    """What was not measured, and what is only an approximation here."""
    absent = [each.metric for each in asked if not seen[each.key]]
    notes = [f"not seen: {', '.join(dict.fromkeys(absent))}"] if absent else []
    if expected < 1000:
        notes.append("few requests were expected in these hours: a longer window (--hours) says more")
    return tuple(notes)
