"""Habits of a good command line: version, quiet and verbose, standard input, colour and width, samples, `check`."""

from __future__ import annotations

import io
import json
import re
import sys
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from ruamel.yaml import YAML

import cli
from optimize.commands import common
from optimize.commands.common import Voice, epilog
from optimize.report.terminal import console, render_plan
from sim.progress import Stage
from sim.scenario import load_scenario
from sim.scenario.json_schema import EDITOR_LINE, FILE, scenario_json_schema, schema_text
from sim.start import samples
from sim.version import VERSION

ROOT = Path(__file__).resolve().parents[1]
SCENARIOS = sorted((ROOT / "scenarios").glob("*.yaml"))
TWO_OFFERS = ROOT / "scenarios/two_offers.yaml"
RELAY = "relay:deepinfra.llama-3.1-8b"


class Terminal:
    """Runs commands in this process; gives exit code, stdout and stderr."""

    def __init__(self, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
        self.capsys, self.monkeypatch = capsys, monkeypatch

    def __call__(self, *words: str, stdin: str | None = None) -> tuple[int, str, str]:
        self.monkeypatch.setattr(sys, "argv", ["servemix", *words])
        if stdin is not None:
            self.monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin.encode())))
        with pytest.raises(SystemExit) as left:
            cli.main()
        out, err = self.capsys.readouterr()
        return left.value.code if isinstance(left.value.code, int) else 0, out, err


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(capsys, monkeypatch)


def test_version(run: Terminal) -> None:
    assert run("--version") == (0, f"servemix {VERSION}\n", "")


def test_the_version_is_the_same_everywhere() -> None:
    assert f"\nversion: {VERSION}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_shell_completion_is_offered(run: Terminal) -> None:
    code, out, _ = run("--help")
    assert code == 0 and "--install-completion" in out


@pytest.mark.parametrize("verb", [name for name in common.ORDER if name not in ("estimate", "catalog")])
def test_every_verb_can_be_quiet_or_verbose_and_ends_its_help_with_an_example(run: Terminal, verb: str) -> None:
    out = " ".join(run(verb, "--help")[1].split())
    assert "-q, --quiet" in out and "-v, --verbose" in out
    assert re.search(rf"Example: (servemix|python cli.py) {verb} ", out)


def test_an_example_fits_the_place_where_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["/somewhere/cli.py"])
    assert epilog("check scenarios/a.yaml", ROOT / "scenarios") == "Example: python cli.py check scenarios/a.yaml"
    monkeypatch.setattr(sys, "argv", ["/somewhere/bin/servemix"])
    assert epilog("check scenarios/a.yaml", ROOT / "scenarios") == "Example: servemix check scenarios/a.yaml"
    assert epilog("check scenarios/a.yaml", tmp_path / "none") == "Example: servemix check a.yaml (the file: servemix new --from-sample a)"


def test_quiet_says_nothing_and_verbose_says_when(capsys: pytest.CaptureFixture[str]) -> None:
    voice = Voice()
    voice.begin(quiet=True, verbose=False)
    voice.tell("unheard")
    voice.begin(quiet=False, verbose=True)
    voice.tell("heard")
    out, err = capsys.readouterr()
    assert out == "" and "unheard" not in err and re.search(r"^ +\d+\.\d s  heard$", err, flags=re.M) and "numba" in err


def test_a_stage_of_the_work_says_how_long_the_rest_takes(capsys: pytest.CaptureFixture[str]) -> None:
    voice = Voice()
    voice.started_s -= 600.0  # ten minutes of compiling before the work begins
    voice.tell(Stage("at the beginning"))
    voice.work_s -= 60.0
    voice.tell(Stage("half way", 0.5))
    assert capsys.readouterr().err == "at the beginning\nhalf way (about 1 min left)\n"


def test_a_scenario_may_come_by_standard_input(run: Terminal) -> None:
    text = TWO_OFFERS.read_text(encoding="utf-8")
    by_file, by_pipe = run("simulate", str(TWO_OFFERS), "--fleet", RELAY), run("simulate", "-", "--fleet", RELAY, stdin=text)
    assert by_file[:2] == by_pipe[:2] and by_pipe[0] == 0
    code, out, err = run("check", "-", stdin=text.replace("share: 1.0", "share: 2"))
    assert code == 2 and out == "" and err.startswith("stdin:12:12: request_classes.0.share: ")
    code, _, err = run("optimize", "-", stdin="")
    assert code == 2 and err.startswith("stdin:1:1: is empty")


@pytest.mark.parametrize(
    ("values", "wanted"), [({}, True), ({"NO_COLOR": "1"}, False), ({"NO_COLOR": ""}, True), ({"TERM": "dumb"}, False)]
)
def test_colour_only_where_it_is_wanted(values: dict[str, str], wanted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    monkeypatch.setenv("TERM", "xterm")
    for name, value in values.items():
        monkeypatch.setenv(name, value)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    assert console.coloured() is wanted
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    assert not console.coloured()


def test_a_terminal_has_its_width_and_a_pipe_always_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)
    for columns, width, hours in (("300", 110, 24), ("20", 60, 12), ("80", 80, 12)):
        monkeypatch.setenv("COLUMNS", columns)
        assert console.width() == width and render_plan.cells(console.screen(False)) == hours
    monkeypatch.setattr(sys.stdout, "isatty", lambda: False)
    assert console.width() == 110 and render_plan.cells(console.screen(False)) == 24


def test_signs_that_a_stream_lacks_end_no_command() -> None:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding="ascii")
    cli.write_anything(stream)
    print("▪ ä", file=stream, flush=True)
    assert raw.getvalue() == b"# ?\n"


@pytest.mark.parametrize("file", SCENARIOS, ids=lambda file: file.stem)
def test_every_sample_begins_with_the_line_for_editors_and_fits_the_schema(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.startswith(f"{EDITOR_LINE}\n")
    values = YAML(typ="safe", pure=True).load(text)
    jsonschema.Draft202012Validator(scenario_json_schema()).validate(values)


def test_the_schema_file_is_what_the_code_writes_and_finds_slips() -> None:
    assert (ROOT / "scenarios" / FILE).read_text(encoding="utf-8") == schema_text(), "run: make docs"
    jsonschema.Draft202012Validator.check_schema(scenario_json_schema())
    values = YAML(typ="safe", pure=True).load(TWO_OFFERS.read_text(encoding="utf-8"))
    checker = jsonschema.Draft202012Validator(scenario_json_schema())
    slips: tuple[dict[str, Any], ...] = ({"budgett": 1}, {"budget": {"per_month": -1}}, {"traffic": {"rate_rps": "5"}}, {"seed": 1.5})
    assert [bool(list(checker.iter_errors(values | slip))) for slip in slips] == [True] * len(slips)


@pytest.mark.parametrize("name", ["two_offers", "trace_replay", "melange", "route_by_task"])
def test_a_sample_is_copied_with_the_files_that_it_names(name: str, tmp_path: Path) -> None:
    assert name in samples.sample_names()
    written = samples.copy_sample(name, tmp_path / f"{name}.yaml")
    assert tmp_path / FILE in written
    assert load_scenario(tmp_path / f"{name}.yaml").digest == load_scenario(ROOT / f"scenarios/{name}.yaml").digest


def test_a_sample_under_another_name_and_never_over_a_file(run: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert run("new", "mine", "--from-sample", "melange")[0] == 0
    assert load_scenario(tmp_path / "mine.yaml").name == "mine" and (tmp_path / "melange_capacity.csv").is_file()
    code, _, err = run("new", "mine", "--from-sample", "melange")
    assert code == 2 and "mine.yaml: the file exists" in err
    assert run("new", "mine", "--from-sample", "melange", "--force")[0] == 0
    code, _, err = run("new", "--from-sample", "million")
    assert code == 2 and "million_dau" in err and not (tmp_path / "million.yaml").exists()
    assert run("new")[0] == 2


def test_check_says_what_is_assumed_and_finds_every_fault(run: Terminal, tmp_path: Path) -> None:
    code, out, err = run("check", str(TWO_OFFERS))
    assert code == 0 and err == "" and "13,140,000 requests a month" in out and "policy.safety" in out
    said = json.loads(run("check", str(TWO_OFFERS), "--json")[1])
    assert said["kind"] == "scenario" and {"key", "value", "unit", "meaning"} == set(said["assumed"][0])
    assert "seed" not in {row["key"] for row in said["assumed"]}  # it is written
    wrong = tmp_path / "wrong.yaml"
    wrong.write_text(TWO_OFFERS.read_text(encoding="utf-8").replace("rate_rps: 5", "rate_rps: -5").replace("p95: 1.0", "p95: 200ms"))
    code, out, err = run("check", str(wrong))
    assert code == 2 and out == "" and err.count("\n") == 2 and f"{wrong}:8:13" in err
    assert run("check", str(TWO_OFFERS), "--set", "budget.per_mont=1")[0] == 2
    assert run("check")[0] == 2


@pytest.mark.parametrize(
    ("file", "kind", "told"),
    [
        ("example_log.csv.gz", "log", "2550 rows read, 2550 kept"),
        ("gateway_calls.csv", "log", "120 rows read"),
        ("measured/l4_qwen2.5-7b.csv", "benchmark", "5 measured points"),
    ],
)
def test_check_reads_logs_and_benchmark_files_too(run: Terminal, file: str, kind: str, told: str) -> None:
    code, out, _ = run("check", str(ROOT / "scenarios" / file), "--json")
    said = json.loads(out)
    assert code == 0 and said["kind"] == kind and told in said["facts"][0]


def test_check_of_a_file_of_no_known_kind_says_what_would_be_right(run: Terminal) -> None:
    code, _, err = run("check", str(ROOT / "README.md"))
    assert code == 2 and "no known log format" in err
    assert run("check", str(ROOT / "README.md"), "--kind", "poem")[0] == 2


def test_the_schema_is_printed_for_editors_elsewhere(run: Terminal) -> None:
    assert run("check", "--schema")[1] == schema_text()


def test_every_environment_variable_is_documented() -> None:
    page = (ROOT / "docs/reference/environment.md").read_text(encoding="utf-8")
    sources = [ROOT / "cli.py", *(file for house in ("optimize", "sim", "servemix") for file in (ROOT / house).rglob("*.py"))]
    used = {name for file in sources for name in re.findall(r"environ(?:\.get)?[\[(]\"(\w+)\"", file.read_text(encoding="utf-8"))}
    assert "SERVEMIX_CACHE_DIR" in used and [name for name in used if f"`{name}`" not in page] == []
