"""The command in processes of its own: killed and run again, and on a cluster of which a worker is killed; the table is the same."""

from __future__ import annotations

import importlib.util
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[3]
GRID = ["--vary", "traffic.rate_rps=2:12:lin6", "--vary", "budget.per_month=1k,5k", "--set", "candidates.offers=[aws.g6e.xlarge]"]
PATIENCE_S = 150


@pytest.fixture(scope="module")
def copy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the program, compiled code included, that no one edits while the tests run: outcomes are kept by the program's content."""
    folder = tmp_path_factory.mktemp("copy")
    for name in ("sim", "optimize", "scenarios"):
        shutil.copytree(ROOT / name, folder / name)
    shutil.copy2(ROOT / "cli.py", folder)
    return folder


@pytest.fixture(scope="module")
def cache(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("cache")


def start(copy: Path, cache: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    words = [
        sys.executable,
        str(copy / "cli.py"),
        "whatif",
        str(copy / "scenarios/two_offers.yaml"),
        *GRID,
        "--jobs",
        "1",
        "--out",
        str(out),
        *more,
    ]
    environment = os.environ | {"SERVEMIX_CACHE_DIR": str(cache)}
    return subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def ended(process: subprocess.Popen[str]) -> tuple[str, str]:
    out, err = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 0, err
    return out, err


def finished_points(out: Path) -> int:
    return len(list((out / "points").glob("*.json"))) if (out / "points").exists() else 0


def wait_for(out: Path, points: int, process: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while finished_points(out) < points:
        assert time.monotonic() < deadline and process.poll() is None, "the command ended, or took too long, before it was killed"
        time.sleep(0.01)


@pytest.fixture(scope="module")
def undisturbed(copy: Path, cache: Path, tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    out = tmp_path_factory.mktemp("undisturbed")
    return out, ended(start(copy, cache, out))[0]


def test_killed_run_resumes_with_only_the_unfinished_points_and_the_same_table(
    copy: Path, undisturbed: tuple[Path, str], tmp_path: Path
) -> None:
    out = tmp_path / "out"
    process = start(copy, tmp_path / "cold", out)
    wait_for(out, 3, process)
    process.send_signal(signal.SIGKILL)
    process.communicate()
    done = finished_points(out)
    assert 3 <= done < 12
    shown, said = ended(start(copy, tmp_path / "cold", out))
    assert f"{done} of 12 points were finished by an earlier run" in said
    assert f"point {12 - done} of {12 - done}:" in said
    assert shown == undisturbed[1]
    for name in ("points.csv", "whatif.json", "whatif.html"):
        assert (out / name).read_bytes() == (undisturbed[0] / name).read_bytes(), name


def test_interrupted_run_prints_what_is_done_and_exits_with_130(copy: Path, tmp_path: Path) -> None:
    out = tmp_path / "out"
    process = start(copy, tmp_path / "cold", out)
    wait_for(out, 2, process)
    process.send_signal(signal.SIGINT)
    shown, said = process.communicate(timeout=PATIENCE_S)
    assert process.returncode == 130, said
    assert "Traceback" not in said
    assert "points are finished and kept" in said
    assert "Interrupted: " in shown
    assert (out / "points.csv").exists()


class Cluster:
    """A scheduler and two workers, each a process of its own."""

    def __init__(self, copy: Path, folder: Path, stack: ExitStack) -> None:
        self.file = folder / "scheduler.json"
        self.environment = os.environ | {"PYTHONPATH": str(copy), "SERVEMIX_CACHE_DIR": str(folder / "cache")}
        self.stack, self.folder = stack, folder
        self.launch("scheduler", "--port", "0", "--host", "127.0.0.1")
        self.workers = [self.launch("worker", "--nthreads", "1", "--no-nanny", "--local-directory", str(folder)) for _ in range(2)]

    def launch(self, kind: str, *words: str) -> subprocess.Popen[bytes]:
        command = [str(Path(sys.executable).with_name("dask")), kind, "--scheduler-file", str(self.file), "--no-dashboard", *words]
        log = self.stack.enter_context((self.folder / f"{kind}.log").open("ab"))
        process = subprocess.Popen(command, env=self.environment, stdout=log, stderr=log)
        self.stack.callback(process.wait)
        self.stack.callback(process.terminate)
        return process

    def address(self) -> str:
        deadline = time.monotonic() + PATIENCE_S
        log = self.folder / "scheduler.log"
        while not self.file.exists() or log.read_text().count("Register worker") < 2:
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.1)
        return str(json.loads(self.file.read_text())["address"])


@pytest.fixture
def cluster(copy: Path, tmp_path: Path) -> Iterator[Cluster]:
    if importlib.util.find_spec("distributed") is None:
        pytest.skip("needs dask: pip install 'servemix[cluster]'")
    with ExitStack() as stack:
        yield Cluster(copy, tmp_path, stack)


def test_cluster_gives_the_same_table_also_when_a_worker_is_killed(
    copy: Path, undisturbed: tuple[Path, str], cluster: Cluster, tmp_path: Path
) -> None:
    address, whole, torn = cluster.address(), tmp_path / "whole", tmp_path / "torn"
    assert ended(start(copy, tmp_path / "unused", whole, "--cluster", address))[0] == undisturbed[1]
    process = start(copy, tmp_path / "unused", torn, "--cluster", address, "--seed", "2")
    wait_for(torn, 1, process)
    cluster.workers[0].kill()
    shown, _ = ended(process)
    local = tmp_path / "local"
    assert shown == ended(start(copy, tmp_path / "unused", local, "--seed", "2"))[0]
    for one, other in ((whole, undisturbed[0]), (torn, local)):
        assert (one / "points.csv").read_bytes() == (other / "points.csv").read_bytes()


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:8786", "is not tcp://HOST:PORT"),
        ("tcp://x", "is not tcp://HOST:PORT"),
        ("tcp://127.0.0.1:9", "no scheduler answers there"),
    ],
)
def test_wrong_cluster_is_one_clear_message(copy: Path, cache: Path, tmp_path: Path, address: str, said: str) -> None:
    if importlib.util.find_spec("distributed") is None and "9" in address[-2:]:
        pytest.skip("needs dask: pip install 'servemix[cluster]'")
    process = start(copy, cache, tmp_path / "out", "--cluster", address)
    shown, err = process.communicate(timeout=PATIENCE_S)
    assert (process.returncode, shown) == (2, "")
    assert said in err
    assert "Traceback" not in err
