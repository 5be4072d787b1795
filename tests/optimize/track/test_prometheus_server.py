"""The queries of `track` to a real Prometheus server that holds a day of metrics: `make test-track`."""

from __future__ import annotations

import os
import shutil
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from datetime import UTC
from pathlib import Path

import pytest

from optimize.track.ask_prometheus import ask_prometheus
from optimize.track.findings import AS_PLANNED, DRIFTED, Findings
from optimize.track.look import track
from tests.optimize.track import quiet_day
from tests.optimize.track.quiet_day import END, Series, saved, scaled, scenario
from tests.probe.test_litellm import free_port

PROMETHEUS = shutil.which(os.environ.get("SERVEMIX_PROMETHEUS", "prometheus"))
pytestmark = pytest.mark.skipif(PROMETHEUS is None, reason="Prometheus is not installed; see `make test-track`")
STEP_S, DAY_S, START_S = 300, 86_400, 60.0
END_S = END.replace(tzinfo=UTC).timestamp()


def backfill(series: Series) -> str:
    """OpenMetrics text of a day that ends at END and an hour before it, counters rising evenly."""
    lines = []
    for (metric, labels), value in sorted(series.items(), key=lambda each: each[0][0]):
        inside = ",".join(f'{name}="{held}"' for name, held in sorted(labels))
        for at_s in range(-DAY_S - 3600, STEP_S, STEP_S):
            level = value if metric.endswith("perc") else value * (at_s + DAY_S + 3600) / DAY_S
            lines.append(f"{metric}{{{inside}}} {level!r} {END_S + at_s:.0f}")
    return "\n".join([*lines, "# EOF", ""])


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("prometheus")


def serving(series: Series, place: Path) -> Iterator[str]:
    """A server over these series."""
    assert PROMETHEUS is not None
    place.mkdir()
    (place / "day.om").write_text(backfill(series), encoding="utf-8")
    (place / "prometheus.yml").write_text("global: {scrape_interval: 15s}\n", encoding="utf-8")
    promtool = Path(PROMETHEUS).with_name("promtool")
    made = [str(promtool), "tsdb", "create-blocks-from", "openmetrics", str(place / "day.om"), str(place / "data")]
    subprocess.run(made, check=True, capture_output=True, timeout=120)
    url = f"127.0.0.1:{free_port()}"
    options = ["--config.file", str(place / "prometheus.yml"), "--storage.tsdb.path", str(place / "data"), "--web.listen-address", url]
    run = subprocess.Popen([PROMETHEUS, *options, "--storage.tsdb.retention.time", "100y"], stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + START_S
        while True:
            try:
                urllib.request.urlopen(f"http://{url}/-/ready", timeout=5).read()
                break
            except (urllib.error.URLError, ConnectionError):
                assert run.poll() is None and time.monotonic() < until
                time.sleep(0.2)
        yield f"http://{url}"
    finally:
        run.kill()
        run.wait()


@pytest.mark.parametrize(("factors", "drifts"), [({}, set()), ({"litellm_proxy_total": 1.4, "litellm_spend": 1.4}, {"demand", "spend"})])
def test_a_real_server_answers_every_query(folder: Path, factors: dict[str, float], drifts: set[str]) -> None:
    series = scaled(quiet_day.quiet(quiet_day.planned(folder)), factors)
    servers = serving(series, folder / f"day{len(drifts)}")
    url = next(servers)
    try:
        found: Findings = track(
            quiet_day.plan(folder), saved(), scenario(), END, 24, lambda asked, _: ask_prometheus(url, "none", asked, END_S, DAY_S, END_S)
        )
    finally:
        servers.close()
    assert {row.kind for row in found.drifted} == drifts and found.code == (DRIFTED if drifts else AS_PLANNED)
    assert all(row.observed is not None for row in found.rows) and all(each.kept for each in found.promises) and found.notes == ()
