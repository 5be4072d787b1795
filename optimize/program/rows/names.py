"""Names of variables and rows that people can read: kind(pool,class,hour), in letters that every reader of LP files knows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache

from optimize.program.routes import PoolRoute
from optimize.records import ProgramInput

LONGEST = 28  # characters of one part: CBC reads names of up to 100, and the longest have four parts
KEPT = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.")


@dataclass(frozen=True)
class Names:
    """What an index is called, by what it counts: pool, relay, class_, promise, hour. Whatever else there is goes by its number."""

    labels: Mapping[str, Mapping[int | str, str]]

    def of(self, kind: str, index: Mapping[str, int | str]) -> str:
        """The name of a variable or row, such as `capacity(l4_llama_3.1_8b_chat,weekday_11)`."""
        if not index:
            return kind
        known = self.labels
        return f"{kind}({','.join([known[what][k] if what in known else readable(str(k)) for what, k in index.items()])})"


def names_of(problem: ProgramInput, routes: tuple[PoolRoute, ...], slices: Iterable[int]) -> Names:
    """Names for the program over some hours; of those that would read the same, the later get their number."""
    classes, demand = problem.class_names, problem.demand
    promises = [f"{classes[row.class_index]}.{row.metric}.p{100 * row.quantile:g}" for row in problem.slos]
    return Names(
        {
            "pool": distinct([route.index for route in routes], [route.terms.option.id for route in routes]),
            "relay": distinct(range(len(problem.relays)), [terms.relay.id for terms in problem.relays]),
            "class_": distinct(range(len(classes)), classes),
            "promise": distinct(range(len(promises)), promises),
            "hour": distinct(slices, [demand.slices[t] for t in slices]),
        }
    )


def distinct(indices: Iterable[int], texts: Sequence[str]) -> dict[int | str, str]:
    """Index -> readable text, no two alike.

    >>> distinct([3, 4, 7], ["a b", "a-b", "c"])
    {3: 'a_b', 4: 'a_b~4', 7: 'c'}
    """
    seen: Counter[str] = Counter()
    found: dict[int | str, str] = {}
    for k, text in zip(indices, texts, strict=True):
        label = readable(text)
        found[k] = f"{label}~{k}" if seen[label] else label
        seen[label] += 1
    return found


@lru_cache(maxsize=4096)
def readable(text: str) -> str:
    """Letters, digits, points and underscores; long texts keep their beginning and their end.

    >>> readable("verda.h100x2/llama-3.3-70b/fp8/tp2:chat+private")
    'verda.h100x2_ll~chat_private'
    """
    plain = "".join([c if c in KEPT else "_" for c in text])
    return plain if len(plain) <= LONGEST else f"{plain[: LONGEST - 13]}~{plain[-12:]}"
