"""A real relay product: the LiteLLM proxy, in its own environment, before an upstream of ours. `make test-relay` sets it up."""

from __future__ import annotations

import os
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from sim.probe.attempts import Caps, Load, Setup, Shape
from sim.probe.options import Asked, probe_and_write
from sim.probe.run_load import probe
from sim.probe.summary import summary
from tests.probe.server import Answer, Server, serving
from tests.probe.test_probe import QUICK, quiet

LITELLM = os.path.abspath(os.environ.get("SERVEMIX_LITELLM", ""))  # it is started in a folder of its own
KEY = "sk-relay-test-0123456789abcdef"
START_S = 120
NARROW_RPM = 30
CONFIG = """
model_list:
  - model_name: mock
    litellm_params: {{model: openai/mock, api_base: "{url}", api_key: upstream}}
  - model_name: narrow
    litellm_params: {{model: openai/mock, api_base: "{url}", api_key: upstream, rpm: {rpm}}}
  - model_name: embed
    litellm_params: {{model: openai/embed, api_base: "{url}", api_key: upstream}}
router_settings: {{num_retries: 0, optional_pre_call_checks: [enforce_model_rate_limits]}}
litellm_settings: {{num_retries: 0, telemetry: false, drop_params: true}}
general_settings: {{master_key: {key}}}
"""

pytestmark = pytest.mark.skipif(not Path(LITELLM).is_file(), reason="LiteLLM is not set up; `make test-relay` does it, with a network")


@dataclass
class Proxy:
    url: str
    upstream: Server


def free_port() -> int:
    with socket.socket() as probe_socket:
        probe_socket.bind(("127.0.0.1", 0))
        return int(probe_socket.getsockname()[1])


def alive(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/health/liveliness", timeout=2) as answer:
            return bool(answer.status == 200)
    except (OSError, urllib.error.URLError):
        return False


@pytest.fixture(scope="module")
def proxy(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Proxy]:
    """The proxy on a free port; it is given two minutes to start, and is stopped in the end."""
    folder, port = tmp_path_factory.mktemp("litellm"), free_port()
    with serving(lambda n, _: Answer(ttft_s=0.1, gap_s=0.02, cached_tokens=5)) as upstream:
        config, log = folder / "config.yaml", folder / "proxy.log"
        config.write_text(CONFIG.format(url=upstream.url, rpm=NARROW_RPM, key=KEY))
        environment = os.environ | {"LITELLM_LOCAL_MODEL_COST_MAP": "True", "DISABLE_ADMIN_UI": "True"}
        command = [LITELLM, "--config", str(config), "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"]
        with log.open("w") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, env=environment, cwd=folder)
        try:
            deadline = time.monotonic() + START_S
            while not alive(port) and process.poll() is None and time.monotonic() < deadline:
                time.sleep(0.5)
            if not alive(port):
                pytest.skip(f"the proxy did not start within {START_S} s: {log.read_text()[-300:]}")
            yield Proxy(f"http://127.0.0.1:{port}/v1", upstream)
        finally:
            process.terminate()
            process.wait(20)


def setup_for(proxy: Proxy, model: str, users: int, requests: int, kind: str = "chat") -> Setup:
    load, caps = Load(concurrency=(users,), requests_per_level=requests), Caps(requests=100, seconds=60)
    return Setup(proxy.url, model, kind, (Shape(50, 5),), load, caps, QUICK)


def test_first_tokens_and_counts_come_through_the_proxy(proxy: Proxy) -> None:
    probe(setup_for(proxy, "mock", 1, 3), KEY, quiet)  # its first calls import what they need
    before = len(proxy.upstream.seen)
    found = probe(setup_for(proxy, "mock", 2, 20), KEY, quiet)
    said = summary(found)
    assert said["requests"] == {"ok": 20, "failed": 0, "retried": 0, "status": {"200": 20}}
    sent = np.array([seen.sent for seen in proxy.upstream.seen[before:]])
    assert said["ttft_s"]["p50"] >= np.median(sent[:, 0])  # the proxy adds its own time, never takes any
    assert said["tpot_s"]["p50"] == pytest.approx(np.median(sent[:, 4] - sent[:, 0]) / 4, rel=0.25)
    assert said["tokens"]["cached_share"] == pytest.approx(5 * 20 / said["tokens"]["input"])
    assert {seen.authorization for seen in proxy.upstream.seen} == {"Bearer upstream"}  # our key ends at the proxy


def test_its_request_limit_is_found_and_its_refusals_are_counted(proxy: Proxy) -> None:
    found = probe(setup_for(proxy, "narrow", 4, 40), KEY, quiet)
    said = summary(found)
    assert said["limits"]["rpm"] == NARROW_RPM
    assert NARROW_RPM <= said["requests"]["ok"] <= 2 * NARROW_RPM  # its minute may turn in between
    assert said["requests"]["status"]["429"] >= said["requests"]["failed"] > 0


def test_embeddings_come_through_the_proxy(proxy: Proxy) -> None:
    said = summary(probe(setup_for(proxy, "embed", 1, 4, "embedding"), KEY, quiet))
    assert said["requests"]["ok"] == 4 and said["tpot_s"]["p50"] is None


def test_a_wrong_key_is_refused_by_the_proxy_and_written_nowhere(proxy: Proxy, tmp_path: Path) -> None:
    wrong = "sk-wrong-98765432100-zyxwvut"
    told: list[str] = []
    said = probe_and_write(setup_for(proxy, "mock", 1, 4), wrong, Asked(out=tmp_path), told.append)
    assert said["stopped"].startswith("HTTP 40") and said["requests"]["ok"] == 0
    text = repr(said) + "".join(told) + "".join(path.read_text() for path in tmp_path.iterdir())
    assert not any(wrong[at : at + 8] in text for at in range(len(wrong) - 7))
