"""What the documentation shows is what happens: commands, outputs, code and links."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import cli
from benchmarks.outputs import EXCERPT, excerpt
from tests.terminal import alone
from tests.test_rooms import ORDER

ROOT = Path(__file__).resolve().parents[2]
FRONT = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md")
PAGES = sorted([*(ROOT / name for name in FRONT), *(ROOT / "docs").rglob("*.md")])
CONSOLE_PAGES = [page for page in PAGES if "```console" in page.read_text(encoding="utf-8")]
SETS_UP = re.compile(r"\$ (make|python3? -m venv|\. \S+activate|pip|servemix)\b|.*million_dau")  # not run here: slow, or they install


def title(page: Path) -> str:
    return str(page.relative_to(ROOT))


def blocks(page: Path, language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```", page.read_text(encoding="utf-8"), flags=re.S | re.M)


def commands_of(block: str) -> list[tuple[str, list[str]]]:
    """The commands of a console block, each with the lines shown under it; `...` and empty lines left out."""
    found: list[tuple[str, list[str]]] = []
    for line in block.splitlines():
        if line.startswith("$ "):
            found.append((line[2:], []))
        elif line.strip() and line.strip() != "...":
            assert found, f"{line!r} stands before the first command"
            found[-1][1].append(line.rstrip())
    return found


def runnable(command: str) -> str:
    """`command` with this interpreter for `python` and this checkout's `cli.py`."""
    command = re.sub(r"(^|\| )python ", lambda match: f"{match[1]}{shlex.quote(sys.executable)} ", command)
    return command.replace(" cli.py ", f" {shlex.quote(str(ROOT / 'cli.py'))} ")


def first_missing(shown: list[str], printed: str) -> str | None:
    """The first of `shown` that is not a line of `printed` after the one before it; None when all are, in their order."""
    lines = iter([line.rstrip() for line in printed.splitlines()])
    return next((line for line in shown if line not in lines), None)


@pytest.fixture(scope="module")
def workplace(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder that looks like a fresh checkout to the commands."""
    folder = tmp_path_factory.mktemp("docs")
    shutil.copytree(ROOT / "scenarios", folder / "scenarios")
    return folder


class Shell:
    """A shell in a folder: commands of ServeMix alone run in this process, which has loaded what they need, others in a real one."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
        self.folder, self.monkeypatch, self.capsys = folder, monkeypatch, capsys
        monkeypatch.setenv("PYTHONIOENCODING", "utf-8")
        monkeypatch.setenv("COLUMNS", "110")
        monkeypatch.chdir(folder)

    def run(self, command: str) -> tuple[int, str, str]:
        """(exit code, stdout, stderr)."""
        words = shlex.split(command)
        if words[:2] == ["python", "cli.py"] and not set(words) & set("|<>&;"):
            return self._here(words[2:])
        done = subprocess.run(runnable(command), shell=True, capture_output=True, text=True, encoding="utf-8", timeout=300)
        return done.returncode, done.stdout, done.stderr

    def _here(self, words: list[str]) -> tuple[int, str, str]:
        self.monkeypatch.setattr(sys, "argv", [str(ROOT / "cli.py"), *alone(*words)])
        with pytest.raises(SystemExit) as left:
            cli.main()
        return left.value.code if isinstance(left.value.code, int) else 0, *self.capsys.readouterr()


@pytest.mark.parametrize("page", CONSOLE_PAGES, ids=title)
def test_commands_print_what_the_page_shows_and_exit_as_it_says(
    page: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    shell, ran = Shell(workplace, monkeypatch, capsys), 0
    for block in blocks(page, "console"):
        exit_code = 0
        commands = commands_of(block)
        for k, (command, shown) in enumerate(commands):
            if command == "echo $?":
                assert shown == [str(exit_code)]
                continue
            if SETS_UP.match(f"$ {command}"):
                continue
            exit_code, out, err = shell.run(command)
            ran += 1
            stated = k + 1 < len(commands) and commands[k + 1][0] == "echo $?"
            assert stated or exit_code == 0, f"{command!r} exits with {exit_code}: {err}"
            missing = first_missing(shown, out + err)
            assert missing is None, f"{command!r} does not print {missing!r} there, but:\n{out}{err}"
    assert ran > 0


def test_a_line_that_a_command_does_not_print_is_found() -> None:
    assert first_missing(["a", "c"], "a\nb\nc\n") is None
    assert first_missing(["c", "a"], "a\nb\nc\n") == "a"
    assert commands_of("$ one\nx\n...\n$ two\n") == [("one", ["x"]), ("two", [])]


@pytest.mark.parametrize("page", [page for page in PAGES if blocks(page, "python")], ids=title)
def test_python_blocks_run_one_after_the_other_and_print_what_the_page_shows(
    page: Path, workplace: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(workplace)
    names: dict[str, object] = {"__name__": "docs"}
    for code, _, shown in re.findall(
        r"^```python\n(.*?)^```\n(\n```text\n(.*?)^```)?", page.read_text(encoding="utf-8"), flags=re.S | re.M
    ):
        exec(compile(code, str(page), "exec"), names)
        printed = capsys.readouterr().out
        lines = [line for line in shown.splitlines() if line != "..."]
        missing = first_missing(lines, printed)
        assert missing is None, f"{code!r} does not print {missing!r} there, but:\n{printed}"


@pytest.mark.parametrize("page", PAGES, ids=title)
def test_relative_links_resolve(page: Path) -> None:
    for target in re.findall(r"\]\((?!https?:)([^)#\s]+)", page.read_text(encoding="utf-8")):
        assert (page.parent / target).exists(), f"{page.name} links to {target}, which is not there"


def test_the_index_links_every_page() -> None:
    index, decisions = ROOT / "docs/index.md", ROOT / "docs/explanation/decisions"
    linked = {(index.parent / target).resolve() for target in re.findall(r"\]\(([^)#\s]+)", index.read_text(encoding="utf-8"))}
    pages = [page for page in (ROOT / "docs").rglob("*.md") if page != index and page.parent != decisions]
    assert [title(page) for page in pages if page not in linked] == []
    overview = (decisions / "README.md").read_text(encoding="utf-8")
    assert [page.name for page in decisions.glob("[0-9]*.md") if f"({page.name})" not in overview] == []


def test_the_map_of_the_rooms_names_every_room() -> None:
    drawn = (ROOT / "docs/explanation/architecture.svg").read_text(encoding="utf-8")
    names = {room.split(".")[1] for room in ORDER if room.startswith(("sim.", "optimize."))}
    assert [name for name in sorted(names) if not re.search(rf"\b{name}\b", drawn)] == []


@pytest.mark.parametrize("block", list(EXCERPT.finditer((ROOT / "README.md").read_text(encoding="utf-8"))), ids=lambda block: block[2])
def test_an_excerpt_is_what_its_page_shows(block: re.Match[str]) -> None:
    assert block[3] == excerpt((ROOT / block[2]).read_text(encoding="utf-8")), "run: python -m benchmarks.outputs none"


def test_the_readme_names_every_command() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    commands = [command.name for command in cli.app.registered_commands]
    assert "optimize" in commands
    assert [name for name in commands if f"`{name} " not in text] == []
