"""The Kubernetes manifest of the docs, as far as that goes without a cluster: its schema, what it says of itself, and its commands."""

from __future__ import annotations

import importlib.util
import os
import subprocess
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from optimize.search.cache import default_folder
from optimize.whatif.cluster import connect

ROOT = Path(__file__).resolve().parents[3]
FILE = ROOT / "docs/how-to/whatif-on-kubernetes.yaml"
PATIENCE_S = 90


def documents() -> list[dict[str, Any]]:
    return list(YAML(typ="safe").load_all(FILE.read_text(encoding="utf-8")))


def container(name: str) -> dict[str, Any]:
    specs = [each["spec"]["template"]["spec"] for each in documents() if each["kind"] == "Deployment"]
    return next(each for spec in specs for each in spec["containers"] if each["name"] == name)


def environment(name: str) -> dict[str, str]:
    return {each["name"]: each["value"] for each in container(name).get("env", [])}


@pytest.mark.parametrize("version", ["1.28", "1.32", "1.37"])
def test_every_document_is_what_kubernetes_says_it_must_be(version: str) -> None:
    validator = pytest.importorskip("kubernetes_validate")
    for document in documents():
        validator.validate(document, version, strict=True)


def test_kinds_and_labels_fit_each_other() -> None:
    found = documents()
    assert [(each["kind"], each["metadata"]["name"]) for each in found] == [
        ("Deployment", "servemix-scheduler"),
        ("Service", "servemix-scheduler"),
        ("Deployment", "servemix-worker"),
    ]
    for each in (found[0], found[2]):
        assert each["spec"]["selector"]["matchLabels"] == each["spec"]["template"]["metadata"]["labels"]
    assert found[1]["spec"]["selector"] == found[0]["spec"]["template"]["metadata"]["labels"]


def test_workers_go_to_the_port_on_which_the_scheduler_listens() -> None:
    command, service = container("scheduler")["command"], documents()[1]
    listens = int(command[command.index("--port") + 1])
    ports = {each["name"]: each["containerPort"] for each in container("scheduler")["ports"]}
    offered = {each["targetPort"]: each["port"] for each in service["spec"]["ports"]}
    assert ports["scheduler"] == listens == offered["scheduler"]
    assert f"tcp://{service['metadata']['name']}:{listens}" in container("worker")["command"]
    assert container("scheduler")["readinessProbe"]["tcpSocket"]["port"] in ports


def test_processes_of_a_pod_share_a_cache_that_is_mounted_and_have_a_cpu_each(monkeypatch: pytest.MonkeyPatch) -> None:
    worker, mounted = container("worker"), [each["mountPath"] for each in container("worker")["volumeMounts"]]
    monkeypatch.setenv("SERVEMIX_CACHE_DIR", environment("worker")["SERVEMIX_CACHE_DIR"])
    assert default_folder().is_relative_to(mounted[0])
    assert environment("worker")["NUMBA_CACHE_DIR"].startswith(mounted[0])
    processes = worker["command"][worker["command"].index("--nworkers") + 1]
    assert processes == worker["resources"]["requests"]["cpu"]
    assert worker["resources"]["requests"]["memory"] == f"{2 * int(processes)}Gi"  # 2 GB a process: docs/explanation/scale.md


def test_the_commands_of_the_manifest_start_a_cluster_that_runs_servemix(tmp_path: Path) -> None:
    if importlib.util.find_spec("distributed") is None:
        pytest.skip("needs dask: pip install 'servemix[cluster]'")
    here = {"8786": "0", ":8787": "127.0.0.1:0", "4": "1", "/cache/dask": str(tmp_path / "dask"), "dask": dask()}
    variables = {name: value.replace("/cache", str(tmp_path)) for name, value in environment("worker").items()}
    with ExitStack() as stack:
        log = tmp_path / "log"

        def start(words: list[str]) -> None:
            out = stack.enter_context(log.open("ab"))
            process = subprocess.Popen(words, env=os.environ | {"PYTHONPATH": str(ROOT)} | variables, cwd=tmp_path, stdout=out, stderr=out)
            stack.callback(process.wait)
            stack.callback(process.terminate)

        start([here.get(word, word) for word in container("scheduler")["command"]] + ["--host", "127.0.0.1"])
        address = said(log, "Scheduler at:").split()[-1]
        start([here.get(word, word.replace("tcp://servemix-scheduler:8786", address)) for word in container("worker")["command"]])
        said(log, "Register worker")
        client = connect(address)
        stack.callback(client.close)
        assert len(client.scheduler_info()["workers"]) == 1
        assert client.submit(default_folder, pure=False).result(timeout=PATIENCE_S) == tmp_path / "capacity"


def dask() -> str:
    return str(Path(sys.executable).with_name("dask"))


def said(log: Path, words: str) -> str:
    """The line of the log that holds `words`, once it is there."""
    deadline = time.monotonic() + PATIENCE_S
    while True:
        line = next((each for each in log.read_text().splitlines() if words in each), None)
        if line is not None:
            return line
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.1)
