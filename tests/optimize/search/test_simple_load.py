"""A simple fleet whose hosts alone cost too much is refused by arithmetic: its program can take minutes to say so."""

from __future__ import annotations

from pathlib import Path

import pytest

from optimize.search import simple_fleets
from optimize.search.loop import Restriction
from optimize.search.simple_fleets import with_hosts
from optimize.search.simple_load import carrying, least_usd
from tests.optimize.search.test_simple_fleets import market

DAY = "{daily_active_users: 20000, conversations_per_user: 3, turns_per_conversation: 1, day_shape: consumer_chat}"


@pytest.mark.parametrize("elastic", [False, True])
@pytest.mark.parametrize("hosts", [1, 2, 5])
def test_what_the_program_finds_never_costs_less(tmp_path: Path, elastic: bool, hosts: int) -> None:
    offer = f"{{name: host, gpu: l40s, usd_per_hour: 1.0, elastic: {str(elastic).lower()}}}"
    asked = market(tmp_path, offers=offer, traffic=DAY)
    state = asked.states[0]
    fleet, terms = with_hosts(asked, Restriction(), state, hosts), carrying(state, asked.demand, hosts)
    assert fleet is not None and terms is not None
    assert 0 < least_usd(terms, asked.demand) <= fleet.usd + 1e-6
    assert least_usd(terms, asked.demand) == pytest.approx(fleet.usd)  # nothing but hosts is paid here


def test_no_program_is_solved_for_hosts_that_cost_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = market(tmp_path, traffic=DAY)
    state = asked.states[0]
    fleet = with_hosts(asked, Restriction(), state, 5)
    assert fleet is not None

    def never(*_: object, **__: object) -> None:
        raise AssertionError("a program was solved")

    monkeypatch.setattr(simple_fleets, "solve", never)
    assert with_hosts(asked, Restriction(), state, 5, below_usd=fleet.usd * 0.9) is None
    assert with_hosts(asked, Restriction(budget_usd=fleet.usd * 0.9), state, 5) is None
    with pytest.raises(AssertionError, match="a program was solved"):
        with_hosts(asked, Restriction(), state, 5, below_usd=fleet.usd * 1.1)
