"""Latency distributions: the ladder passes through the verdict, the picture through both, and what never ended is not drawn as a time."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from optimize.records import SloRow
from optimize.report.page.figures import figures
from optimize.report.page.html import DISTRIBUTIONS, html
from optimize.report.page.latency_panels import latency_summary, latency_words
from optimize.result import Plan
from optimize.search.hour_evidence import SHARES, latency_ladder, slo_verdict
from optimize.tables.finance_tables import Money
from optimize.tables.plan_json import NEVER_S, plan_json
from optimize.tables.tables import latency_table
from tests.optimize.report import plan_fixture


@pytest.fixture
def plan() -> Plan:
    return plan_fixture.plan()


def with_distribution(plan: Plan, *points: tuple[float, float]) -> Plan:
    """The plan with other points for its first promise."""
    assert plan.verification is not None
    first, *others = plan.verification.verdicts
    first = replace(first, distribution=points, simulated_s=dict(points)[0.95], met=False)
    return replace(plan, verification=replace(plan.verification, verdicts=(first, *others)))


def test_the_ladder_is_the_empirical_distribution() -> None:
    rng = np.random.default_rng(3)
    seeds = [rng.exponential(size=n).astype(np.float32) for n in (4000, 6000)]
    pooled = np.sort(np.concatenate(seeds).astype(np.float64))
    for share, value_s in latency_ladder(seeds, 0.97):
        assert np.count_nonzero(pooled <= value_s) >= share * len(pooled) > np.count_nonzero(pooled < value_s)
    assert pooled[-1] == latency_ladder(seeds, 0.97)[-1][1]


def test_the_ladder_passes_through_the_verdict() -> None:
    samples = [np.random.default_rng(seed).lognormal(size=777).astype(np.float32) for seed in range(5)]
    for quantile in (0.5, 0.93, 0.999):
        verdict = slo_verdict(SloRow(0, "ttft", quantile, 2.0), "always", samples, bound=1.0)
        assert dict(verdict.distribution)[quantile] == verdict.simulated_s
        assert [share for share, _ in verdict.distribution] == sorted({*SHARES, quantile})


def test_no_request_has_no_distribution() -> None:
    assert latency_ladder([], 0.95) == latency_ladder([np.empty(0, np.float32)], 0.95) == ()


def test_requests_that_never_ended_are_never_in_json_and_infinite_in_the_table(plan: Plan) -> None:
    late = with_distribution(plan, (0.5, 0.4), (0.9, 2.0), (0.95, math.inf), (1.0, math.inf))
    said = plan_json(late)["classes"][0]["slo"][0]["distribution"]
    assert said[1:] == [{"share": 0.9, "latency_s": 2.0}, *({"share": share, "latency_s": NEVER_S} for share in (0.95, 1.0))]
    assert [row[4] for row in latency_table(late).rows[:4]] == [0.4, 2.0, math.inf, math.inf]
    assert "never" in html(late) and "5 of 6" in latency_words(late) and "p95 never against 1.00 s" in latency_words(late)


def test_the_picture_shows_every_limit_and_promised_share(plan: Plan) -> None:
    drawn = {figure.name: figure for figure in figures(plan, Money(plan))}["latency"]
    svg = drawn.svg()
    for text in ("chat: TTFT", "chat: TPOT", "reasoning: E2E", "p95 830 ms, limit 1.00 s", "p99 610 ms, limit 1.00 s"):
        assert text in svg
    assert (
        drawn.data.rows == latency_table(plan).rows
        and "Nearest to its limit: chat TPOT in weekday 14, p95 44.7 ms against 50 ms" in drawn.alt
    )


def test_the_page_has_the_section_with_its_figures_as_text(plan: Plan) -> None:
    page = html(plan)
    assert DISTRIBUTIONS in page
    assert len(latency_summary(plan).rows) == len(plan.program.slos)
    assert "<td>TTFT</td><td>weekday 14</td>" in page


def test_a_plan_without_distributions_has_no_such_section() -> None:
    """Not simulated, or simulated before distributions were kept."""
    for old in (plan_fixture.over_budget(), with_distribution(plan_fixture.plan(), (0.95, 1.0))):
        shown = {figure.name for figure in figures(old, Money(old))}
        assert ("latency" in shown) is (old.verification is not None)
    assert DISTRIBUTIONS not in html(plan_fixture.over_budget())
