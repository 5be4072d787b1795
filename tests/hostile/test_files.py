"""Files that a user names: devices, pipes, endless lines, bombs and deep nesting end in one message; no other code opens such files."""

from __future__ import annotations

import ast
import gzip
import json
import os
from collections.abc import Callable
from pathlib import Path

import pytest

from optimize.audit.invoice_file import read_invoice
from optimize.audit.manifest import fingerprint, read_manifest
from optimize.simulate.saved_plan import read_plan
from sim.calibration.points import load_points
from sim.calibration.readers.read_benchmark import read_benchmark
from sim.catalog.model_config import load_model_config
from sim.catalog.refresh.mapping import load_mapping
from sim.catalog.refresh.refresh import refresh
from sim.errors import InputError
from sim.probe.call_log import read_calls
from sim.probe.secret import read_key
from sim.scenario.read.load import load_scenario
from sim.scenario.read.yaml_text import read_document
from sim.traffic.readers.read import read_any

ROOT = Path(__file__).resolve().parents[2]
READERS: dict[str, Callable[[Path], object]] = {
    "scenario": load_scenario,
    "document": read_document,
    "log": read_any,
    "call log": lambda path: read_calls(path, None),
    "benchmark": read_benchmark,
    "points": load_points,
    "plan": read_plan,
    "manifest": read_manifest,
    "invoice": lambda path: read_invoice(path, "USD"),
    "model": load_model_config,
    "mapping": lambda path: load_mapping("genai-prices", path),
    "key": lambda path: read_key(None, path),
}


@pytest.mark.parametrize("reader", READERS)
def test_a_pipe_a_device_and_a_folder_are_refused_at_once(reader: str, tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for path in (pipe, Path("/dev/zero"), tmp_path / ("x" * 300), tmp_path / "a\0b"):
        with pytest.raises(InputError) as error:
            READERS[reader](path)
        assert len(error.value.problems) == 1


@pytest.mark.parametrize("reader", READERS)
@pytest.mark.parametrize("text", ["[" * 100_000, '{"a":' * 50_000, "- " * 20_000, "1" * 5_000, '{"schema": ' + "9" * 5_000 + "}", ""])
def test_deep_nesting_and_endless_numbers_are_one_message(reader: str, text: str, tmp_path: Path) -> None:
    path = tmp_path / "deep"
    path.write_text(text)
    if reader == "key" or (reader == "document" and text.startswith('{"schema')):
        pytest.skip("a key may be any text, and a number of a document is judged by its schema")
    with pytest.raises(InputError):
        READERS[reader](path)


def test_a_mapping_that_nests_too_deep_never_meets_the_fast_reader(tmp_path: Path) -> None:
    path = tmp_path / "mapping.yaml"
    path.write_text("genai-prices: " + "[" * 200_000)
    with pytest.raises(InputError, match="nests deeper than 30 levels"):
        load_mapping("genai-prices", path)
    relays = tmp_path / "relays.yaml"
    relays.write_text("relays: " + "{a: " * 100_000)
    with pytest.raises(InputError, match="nests deeper than 30 levels"):
        from datetime import date

        refresh(relays, None, {}, date(2026, 11, 30))  # type: ignore[arg-type]


def test_a_line_that_never_ends_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "log.csv"
    path.write_bytes(b"arrival_s,input_tokens,output_tokens\n" + b"1" * (17 * 2**20))
    with pytest.raises(InputError, match=r"log\.csv:2: a line of over"):
        read_any(path)


def test_a_gzip_bomb_is_refused_with_lines_and_without(tmp_path: Path) -> None:
    for name, content in (("plain", b"a" * (17 * 2**20)), ("lines", (b"x" * 1023 + b"\n") * (17 * 2**10))):
        path = tmp_path / f"{name}.gz"
        path.write_bytes(gzip.compress(b"arrival_s,input_tokens,output_tokens\n" + content, 9))
        with pytest.raises(InputError, match=r"grows more than 200-fold|a line of over"):
            read_any(path)


@pytest.mark.parametrize("value", ["Infinity", "NaN", "-Infinity", "1e999", "9" * 400])
def test_plans_with_numbers_that_are_none_are_refused(value: str, tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text('{"schema": "servemix.plan/1", "cost": {"per_month": ' + value + "}}")
    with pytest.raises(InputError, match="is not a finite number"):
        read_plan(path)


def test_times_between_tokens_that_are_no_numbers_are_one_message(tmp_path: Path) -> None:
    result = {"total_input_tokens": 10, "total_output_tokens": 4, "output_throughput": 3.0, "completed": 1}
    path = tmp_path / "r.json"
    for bad in ("x", {}, [[1]], "seconds"):
        path.write_text(json.dumps(result | {"input_lens": [10], "output_lens": [4], "ttfts": [0.1], "itls": [[0.01, bad, 0.02]]}))
        with pytest.raises(InputError, match="itls: holds something"):
            read_benchmark(path)


@pytest.mark.parametrize("text", ["a,b\nx\ry,1\n", 'ServiceName,Cost\n"' + "x" * 200_000 + '",1\n'])
def test_an_invoice_that_is_no_table_is_one_message(text: str, tmp_path: Path) -> None:
    path = tmp_path / "invoice.csv"
    path.write_bytes(text.encode())
    with pytest.raises(InputError):
        read_invoice(path, "USD")


MANIFEST = {
    "schema": "servemix.manifest/1",
    "scenario": {"path": "a.yaml", "name": "a", "digest": "0", "seed": 1, "overrides": []},
    "options": {"explain": "brief"},
    "inputs": [{"path": "a.yaml", "sha256": None}],
    "catalog": {"date": "2026-11", "digest": "0"},
    "figures": {"sha256": "0"},
    "software": {},
    "result": {"plan_sha256": "0"},
}


@pytest.mark.parametrize("key", [key for key in MANIFEST if key != "schema"])
@pytest.mark.parametrize("value", [None, 1, "x", [1], {"a": 1}, [[]], True])
def test_every_part_of_a_manifest_has_its_form(key: str, value: object, tmp_path: Path) -> None:
    path = tmp_path / "manifest.json"
    path.write_text(json.dumps(MANIFEST))
    assert read_manifest(tmp_path) == MANIFEST
    if key == "software" and value == {"a": 1}:
        return
    path.write_text(json.dumps(MANIFEST | {key: value}))
    with pytest.raises(InputError, match=rf"manifest\.json: {key}"):
        read_manifest(tmp_path)


def test_a_manifest_that_names_a_device_hashes_nothing() -> None:
    assert fingerprint(Path("/dev/zero")) == {"sha256": None, "bytes": None}


ALLOWED = {  # files of the package or of a results folder that this program wrote, and the guard itself
    "sim/named_files.py": "the guard",
    "sim/catalog/loader.py": "the catalogue of the package",
    "sim/catalog/refresh/litellm_file.py": "a file of an installed package",
    "sim/engine/jit.py": "own source",
    "optimize/whatif/task.py": "own source",
    "sim/start/samples.py": "samples of the package",
    "sim/start/write_scenario.py": "a file that was just made",
    "optimize/program/lp_file.py": "a file that was just written",
    "optimize/report/write.py": "own results",
    "optimize/report/page/scripts.py": "files of the package",
    "optimize/report/page/stress_section.py": "own results",
    "optimize/whatif/run_jobs.py": "own results, checked entry by entry",
}
OPENS = ("read_text", "read_bytes", "open", "fdopen")


def opened(source: str) -> list[str]:
    """Calls of `x.read_text()` and the like whose object is a path: not our own functions of that name, nor a FILE of the package."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in OPENS:
            holder = ast.unparse(node.func.value)
            writes = any(isinstance(each, ast.Constant) and str(each.value)[:1] in ("w", "x", "a") for each in node.args)
            if not holder.endswith("FILE") and holder not in ("os", "named_files", "gzip") and not writes:
                found.append(f"{node.lineno}: {ast.unparse(node)}")
    return found


def test_files_of_users_are_opened_in_one_place() -> None:
    paths = [path for house in ("sim", "optimize", "servemix") for path in (ROOT / house).rglob("*.py")]
    found = {path.relative_to(ROOT).as_posix(): opened(path.read_text(encoding="utf-8")) for path in paths}
    assert {name: calls for name, calls in found.items() if calls and name not in ALLOWED} == {}


def test_the_test_above_sees_an_open() -> None:
    assert opened("import os\nfrom pathlib import Path\nPath('x').read_text()") == ["3: Path('x').read_text()"]
