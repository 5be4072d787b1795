"""What the comparison comes to: was the promise kept, what drifted, what most likely did it, and does planning again pay."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from optimize.track.held_against import DEMAND, HITS, LENGTHS, RELAY, STEPS, Kept, Row
from optimize.track.planned import Planned
from sim.plural import counted

AS_PLANNED, BROKEN, DRIFTED = 0, 4, 5  # exit codes
LOAD = (DEMAND, LENGTHS, HITS)  # what changes the work; time per token rises with it
CAUSES = (*LOAD, STEPS, RELAY)
ADVICE = {
    DEMAND: "Plan again with the observed demand (`--replan`).",
    LENGTHS: "Plan again with the observed lengths (`--replan`).",
    HITS: "See whether turns of a conversation still reach the replica that holds their cache, then plan again.",
    STEPS: "Measure an engine with the plan's benchmark, give it to `servemix calibrate`, then plan again.",
    RELAY: "Ask the vendor, or plan again without this relay (`policy.deny`): planning again with the same facts changes nothing.",
}
REPLANNED = (DEMAND, LENGTHS)  # kinds that `--replan` can put into the scenario


@dataclass(frozen=True)
class Findings:
    """One look at a plan: `hours` in words, rows, promises, and what is said of them."""

    scenario: str
    hours: str
    rows: tuple[Row, ...]
    promises: tuple[Kept, ...]
    notes: tuple[str, ...] = ()

    @property
    def drifted(self) -> tuple[Row, ...]:
        return tuple(row for row in self.rows if row.drifted)

    @property
    def broken(self) -> tuple[Kept, ...]:
        return tuple(each for each in self.promises if each.kept is False)

    @property
    def causes(self) -> tuple[Row, ...]:
        """Drifts that can explain a worse service, most likely first.

        Work before step time, because steps take longer with more of it; among equals what has changed by the larger factor.
        """
        found = [row for row in self.rows if row.kind in CAUSES and row.worse]
        order = {RELAY: 0, **dict.fromkeys(LOAD, 1), STEPS: 2} if self._relays_broke else {**dict.fromkeys(LOAD, 0), STEPS: 1, RELAY: 2}
        return tuple(sorted(found, key=lambda row: (order[row.kind], -row.effect)))

    @property
    def _relays_broke(self) -> bool:
        """Whether classes miss promises although every pool keeps its own."""
        return bool(self.broken) and all(each.where.startswith("class ") for each in self.broken)

    @property
    def code(self) -> int:
        """Exit code: 4 where a promise was broken, else 5 where something drifted, else 0."""
        return BROKEN if self.broken else DRIFTED if self.drifted else AS_PLANNED

    def sentences(self) -> list[str]:
        """The answer in words: promises, drifts, cause, planning again."""
        told = [each for each in self.promises if each.kept is not None]
        kept = sum(each.kept is True for each in told)
        words = [f"{kept} of {counted(len(told), 'promise')} kept." if told else "No promise can be judged: too few requests were seen."]
        unclear = len(self.promises) - len(told)
        if unclear and told:
            words[0] += f" {unclear} cannot be told: too few requests, or the limit lies inside a bucket of the histogram."
        words.append(f"Drifted: {', '.join(f'{row.kind} of {row.name}' for row in self.drifted)}." if self.drifted else "Nothing drifted.")
        if self.causes:
            first = self.causes[0]
            words.append(f"Most likely cause: {first.kind} ({first.name}): {shown(first)}.")
            words.append(ADVICE[first.kind])
        elif self.broken:
            words.append("Nothing measured explains the broken promise: look for missing replicas, and at what stands around the engines.")
        elif any(row.kind in REPLANNED for row in self.drifted):
            words.append("Demand or lengths are below the plan: planning again may save money (`--replan`).")
        elif not self.drifted:
            words.append("Planning again would give the same plan.")
        return words

    def as_json(self) -> dict[str, Any]:
        """One object, schema servemix.track/1."""
        keys = ("kind", "name", "unit", "planned", "low", "high", "observed", "drifted")
        rows = [{key: getattr(row, key) for key in keys} for row in self.rows]
        promises = [
            {"where": p.where, "metric": p.metric, "quantile": p.quantile, "limit_s": p.limit_s, "share": [p.low, p.high], "kept": p.kept}
            for p in self.promises
        ]
        return {
            "schema": "servemix.track/1",
            "scenario": self.scenario,
            "hours": self.hours,
            "rows": rows,
            "promises": promises,
            "causes": [{"kind": row.kind, "name": row.name} for row in self.causes],
            "sentences": self.sentences(),
            "notes": list(self.notes),
            "exit_code": self.code,
        }


def shown(row: Row) -> str:
    """Observed against planned, in the row's unit."""
    assert row.observed is not None
    return f"{value(row.observed, row.unit)} where {value(row.planned, row.unit)} were planned"


def value(number: float, unit: str) -> str:
    """A quantity for people.

    >>> value(0.0312, "s/token"), value(0.25, "share"), value(12345.6, "requests")
    ('31.2 ms/token', '25.0 %', '12,346 requests')
    """
    if unit == "s/token":
        return f"{number * 1e3:.1f} ms/token"
    return f"{number:.1%}".replace("%", " %") if unit == "share" else f"{number:,.{0 if number >= 100 else 1}f} {unit}"


def window_words(planned: Planned) -> str:
    """Which hours of the plan the window is."""
    first, last = planned.hours[0], planned.hours[-1]
    span = counted(len(planned.hours), "hour")
    return f"{span}, {first} to {last}; busiest: {planned.hours[planned.busiest]}" if first != last else f"{span}: {first}"
