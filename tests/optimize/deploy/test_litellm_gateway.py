"""The gateway's configuration in a real LiteLLM proxy before small servers that stand for engines and relay: `make test-deploy`."""

from __future__ import annotations

import json
import os
import subprocess
import time
import urllib.request
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from optimize.deploy.deployable import deployable
from optimize.deploy.files import Choices, deployment_files
from sim.catalog.loader import load_catalog
from tests.optimize.deploy.small_plan import MOVING, RELAY, STEADY, written
from tests.probe.server import Answer, Server, serving
from tests.probe.test_litellm import LITELLM, START_S, alive, free_port

pytestmark = pytest.mark.skipif(not Path(LITELLM).is_file(), reason="LiteLLM is not set up; `make test-deploy` does it, with a network")
KEY = "sk-gateway-test-0123456789"
CALLS, AT_ONCE = 4000, 16
POINTS = 0.02  # that a measured split may differ from the plan's


@dataclass
class Gateway:
    """A running proxy, and the servers behind it by the plan's target."""

    url: str
    behind: dict[str, Server]
    broken: set[str]

    def call(self, request_class: str) -> int:
        """The status of one short chat request."""
        body = {"model": request_class, "messages": [{"role": "user", "content": "hello"}], "max_tokens": 1, "stream": True}
        request = urllib.request.Request(
            f"{self.url}/v1/chat/completions",
            json.dumps(body).encode(),
            {"Authorization": f"Bearer {KEY}", "Content-Type": "application/json"},
        )
        with urllib.request.urlopen(request, timeout=60) as answer:
            answer.read()
            return int(answer.status)

    def calls(self, request_class: str, number: int) -> Counter[int]:
        with ThreadPoolExecutor(AT_ONCE) as pool:
            return Counter(pool.map(lambda _: self.call(request_class), range(number)))

    def counts(self) -> dict[str, int]:
        return {name: len(server.seen) for name, server in self.behind.items()}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    folder, port, broken = tmp_path_factory.mktemp("gateway"), free_port(), set[str]()
    plan = deployable(written(folder), load_catalog(), {})
    text = deployment_files(plan, Choices())["gateway/config.yaml"]
    with ExitStack() as stack:

        def server(name: str) -> Server:
            return stack.enter_context(serving(lambda n, _: Answer(status=500) if name in broken else Answer()))

        behind = {name: server(name) for name in (STEADY, MOVING, RELAY)}
        for pool in plan.pools:
            text = text.replace(f"http://{pool.name}.servemix.svc:8000/v1", behind[pool.id].url)
        relay = plan.relays[0].variable
        environment = os.environ | {
            **{"LITELLM_LOCAL_MODEL_COST_MAP": "True", "DISABLE_ADMIN_UI": "True", "LITELLM_MASTER_KEY": KEY},
            **{f"{relay}_MODEL": "openai/relay", f"{relay}_API_BASE": behind[RELAY].url, f"{relay}_API_KEY": "upstream"},
        }
        (folder / "config.yaml").write_text(text, encoding="utf-8")
        command = [LITELLM, "--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port), "--telemetry", "False"]
        log = folder / "proxy.log"
        with log.open("w") as output:
            process = subprocess.Popen(command, stdout=output, stderr=output, env=environment, cwd=folder)
        stack.callback(process.wait, 20)
        stack.callback(process.terminate)
        deadline = time.monotonic() + START_S
        while not alive(port) and process.poll() is None and time.monotonic() < deadline:
            time.sleep(0.5)
        assert alive(port), log.read_text()[-3000:]
        yield Gateway(f"http://127.0.0.1:{port}", behind, broken)


def test_the_proxy_splits_each_class_as_the_plan_does(gateway: Gateway) -> None:
    for request_class, shares in (("chat", {MOVING: 0.75, RELAY: 0.25}), ("faq", {STEADY: 0.6, MOVING: 0.4})):
        before = gateway.counts()
        assert gateway.calls(request_class, CALLS) == Counter({200: CALLS})
        sent = {name: count - before[name] for name, count in gateway.counts().items()}
        assert sum(sent.values()) == CALLS
        for name, count in sent.items():
            assert count / CALLS == pytest.approx(shares.get(name, 0.0), abs=POINTS)


def test_a_target_that_fails_is_left_out_and_its_requests_are_answered_by_others(gateway: Gateway) -> None:
    gateway.broken.add(RELAY)
    try:
        assert gateway.calls("chat", 200) == Counter({200: 200})
        before = gateway.counts()[RELAY]
        gateway.calls("chat", 100)
        assert gateway.counts()[RELAY] - before < 25  # it cools down: without, a quarter would go there first
    finally:
        gateway.broken.clear()
