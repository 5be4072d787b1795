"""One message, with place, value and what would be right, for each way to write a scenario wrongly."""

from __future__ import annotations

from pathlib import Path

import pytest

from sim.scenario import load_scenario

from .helpers import GOOD, broken, problems, write

ONE_FAULT = {
    "unknown key": ("seed: 7", "sead: 7", "s.yaml:2:1: sead: is not a key here; nearest: seed"),
    "unknown key deep down": (
        "ttft: {p95: 1.0}",
        "tfft: {p95: 1.0}",
        "s.yaml:11:7: request_classes.0.slo.tfft: is not a key here; nearest: ttft, tpot",
    ),
    "unknown traffic key": (
        "{rate_rps: 5}",
        "{rate_rps: 5, peak_minute: 2}",
        "s.yaml:3:24: traffic.peak_minute: is not a key here; nearest: peak_minute_factor",
    ),
    "seconds with a unit": (
        "{p95: 1.0}",
        "{p95: 200ms}",
        's.yaml:11:19: request_classes.0.slo.ttft.p95: "200ms" is not a number of seconds; write 0.2',
    ),
    "money with a unit": (
        "{per_month: 1000}",
        "{per_month: $60k}",
        's.yaml:20:21: budget.per_month: "$60k" is not a number of money; write 60000',
    ),
    "a number in quotes": (
        "{rate_rps: 5}",
        '{rate_rps: "5"}',
        's.yaml:3:21: traffic.rate_rps: "5" is not a number; write 5',
    ),
    "text for a list": (
        "offers: [aws.g6e.xlarge]",
        "offers: aws.g6e.xlarge",
        's.yaml:18:11: candidates.offers: "aws.g6e.xlarge" is not a list; write a list',
    ),
    "a boolean for a number": (
        "{rate_rps: 5}",
        "{rate_rps: true}",
        "s.yaml:3:21: traffic.rate_rps: true is not a number; write digits only",
    ),
    "a fraction for a whole number": ("seed: 7", "seed: 7.5", "s.yaml:2:7: seed: 7.5 is not a whole number; write 8"),
    "not a number": ("{rate_rps: 5}", "{rate_rps: .nan}", "s.yaml:3:21: traffic.rate_rps: nan is not a number; write a finite one"),
    "infinity": ("{rate_rps: 5}", "{rate_rps: .inf}", "s.yaml:3:21: traffic.rate_rps: inf is not a number; write a finite one"),
    "negative rate": (
        "{rate_rps: 5}",
        "{rate_rps: -5}",
        "s.yaml:3:21: traffic.rate_rps: -5 is negative; write a number above 0",
    ),
    "negative budget": (
        "{per_month: 1000}",
        "{per_month: -1}",
        "s.yaml:20:21: budget.per_month: -1 is negative; write at least 0",
    ),
    "enormous rate": (
        "{rate_rps: 5}",
        "{rate_rps: 1e300}",
        "s.yaml:3:21: traffic.rate_rps: 1e+300 is too large; write at most 1e+12",
    ),
    "shares below one": (
        "share: 0.4",
        "share: 0.3",
        's.yaml:4:1: request_classes: the shares sum to 0.9; write shares whose sum is 1, such as 0.4 for "faq"',
    ),
    "class written twice": ("name: faq", "name: chat", 's.yaml:12:11: request_classes.1.name: "chat" is used twice; write another name'),
    "unknown model": (
        "    output_tokens: 200\n    models: [llama-3.1-8b]",
        "    output_tokens: 200\n    models: [llama-3.1-8]",
        's.yaml:9:14: request_classes.0.models.0: "llama-3.1-8" is no model of the catalogue, and no relay serves it; '
        "nearest: llama-3.1-8b, llama-3.1-70b, llama-3.1-405b",
    ),
    "unknown offer": (
        "[aws.g6e.xlarge]",
        "[aws.g6e.xlrage]",
        's.yaml:18:12: candidates.offers.0: "aws.g6e.xlrage" is no offer of the catalogue; '
        "nearest: aws.g6e.xlarge, aws.g6.xlarge, aws.g6e.48xlarge; a new offer needs gpu, usd_per_hour",
    ),
    "unknown GPU": (
        "[aws.g6e.xlarge]",
        "[{name: mine, gpu: l40, usd_per_hour: 1}]",
        's.yaml:18:30: candidates.offers.0.gpu: "l40" is no GPU of the catalogue; nearest: l40s, l4, a40',
    ),
    "unknown currency": (
        "{per_month: 1000}",
        "{per_month: 1000, currency: usd}",
        's.yaml:20:37: budget.currency: "usd" is no currency with a rate; nearest: USD',
    ),
    "missing key": (
        "budget: {per_month: 1000}\n",
        "",
        "s.yaml:1:1: budget: is missing; write `budget: {per_month: 60000}`, for example (what may be spent)",
    ),
    "no models": (
        "    output_tokens: 200\n    models: [llama-3.1-8b]",
        "    output_tokens: 200\n    models: []",
        "s.yaml:9:13: request_classes.0.models: a list has too few entries (0); write at least 1",
    ),
    "neither quantile": (
        "{p95: 1.0}",
        "{95: 1.0}",
        "s.yaml:11:14: request_classes.0.slo.ttft.95: is not a quantile; write p50, p90, p95, p99 or p99.9",
    ),
    "none of the choices": (
        "name: chat",
        "name: chat\n    kind: chatty",
        's.yaml:6:11: request_classes.0.kind: "chatty" is none of the choices; write chat, embedding or batch',
    ),
    "text that is a number": ("name: small", "name: 7", 's.yaml:1:7: name: 7 is a number, not text; write "7" in quotes'),
    "null": ("{rate_rps: 5}", "{rate_rps: }", "s.yaml:3:20: traffic.rate_rps: nothing is not a number; write digits only"),
    "unknown shape": (
        "input_tokens: 500",
        "input_tokens: azure_conv",
        's.yaml:7:19: request_classes.0.input_tokens: "azure_conv" is no token shape; '
        "nearest: azure_2023_conv_input, azure_2023_conv_output, azure_2023_code_input",
    ),
    "a mean out of reach": (
        "input_tokens: 500",
        "input_tokens: {mean: 9000, p50: 100, p99: 200}",
        "s.yaml:7:19: request_classes.0.input_tokens: has mean 9000, but with these quantiles it lies between "
        "68 and 149; write a mean inside, or more quantiles",
    ),
    "two prompts": (
        "input_tokens: 500",
        "input_tokens: 500\n    conversation: {system_prompt_tokens: 1, user_tokens: 5, history_cap_tokens: 9}",
        "s.yaml:8:5: request_classes.0.conversation: stands together with input_tokens; write one of the two",
    ),
    "a log that is not there": (
        "{rate_rps: 5}",
        "{log: no.csv}",
        's.yaml:3:16: traffic.log: "no.csv" is no file in FOLDER; write its path relative to the scenario',
    ),
}


@pytest.mark.parametrize("case", ONE_FAULT)
def test_one_fault_gives_one_line_with_its_place(case: str, tmp_path: Path) -> None:
    old, new, expected = ONE_FAULT[case]
    found = problems(write(tmp_path, broken(old, new)))
    assert found == [expected.replace("FOLDER", str(tmp_path))]


def test_all_faults_of_a_file_are_told_at_once_in_its_order(tmp_path: Path) -> None:
    text = GOOD.replace("rate_rps: 5", "rate_rps: -5").replace("share: 0.4", "share: 0.3")
    text = text.replace("per_month: 1000", "per_month: lots").replace("[aws.g6e.xlarge]", "[nothing]")
    keys = [line.split(": ")[1] for line in problems(write(tmp_path, text))]
    assert keys == ["traffic.rate_rps", "request_classes", "candidates.offers.0", "budget.per_month"]


def test_a_budget_of_zero_is_a_question_and_not_a_mistake(tmp_path: Path) -> None:
    assert load_scenario(write(tmp_path, broken("1000", "0"))).budget.per_month == 0


def test_a_key_written_twice_names_the_first_line(tmp_path: Path) -> None:
    found = problems(write(tmp_path, GOOD + "seed: 8\n"))
    assert found == ["s.yaml:21:1: seed: is written twice, first at line 2; keep one"]


FORMS = {
    "empty": (b"", "s.yaml:1:1: is empty; write a scenario"),
    "comments only": (b"# nothing\n", "s.yaml:1:1: is empty; write a scenario"),
    "a list": (b"- 1\n- 2\n", "s.yaml:1:1: a list is not a scenario; write keys and values"),
    "prose": (b"Dear planner, please", 's.yaml:1:1: "Dear planner, please" is not a scenario'),
    "binary": (b"\x7fELF\x00\x01", "s.yaml: is a binary file"),
    "not UTF-8": (b"name: caf\xe9\n", "s.yaml:1:10: is not UTF-8 text; save it as UTF-8"),
    "UTF-16": ("name: x".encode("utf-16"), "s.yaml:1:1: is UTF-16; save it as UTF-8"),
    "torn": (b"name: [1, 2\n", "s.yaml:2:1: is not YAML"),
    "a tab": (b"name:\n\tx: 1\n", "s.yaml:2:1: is not YAML"),
    "two documents": (b"name: a\n---\nname: b\n", "s.yaml:2:1: is not YAML"),
    "python": (b"name: !!python/object/apply:os.system ['echo x']\n", "s.yaml:1:7: name: the tag tag:yaml.org,2002:python/object"),
    "deep": (b"a: " + b"[" * 5000, "s.yaml:1:33: nests deeper than 30 levels"),
    "self-reference": (b"a: &a [*a]\n", "s.yaml:1:4: aliases expand to over 20,000 values or into themselves"),
    "large": (b"#" * 1_000_001, "s.yaml: is larger than 1,000,000 bytes"),
}


@pytest.mark.parametrize("case", FORMS)
def test_what_is_no_scenario_at_all_is_refused_in_one_line(case: str, tmp_path: Path) -> None:
    content, expected = FORMS[case]
    (line,) = problems(write(tmp_path, content))
    assert line.startswith(expected), line


def test_an_alias_bomb_stops_early(tmp_path: Path) -> None:
    rows = ["a0: &a0 [x, x, x, x, x, x, x, x, x]"]
    rows += [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 20)]
    (line,) = problems(write(tmp_path, "\n".join(rows)))
    assert "aliases expand to over 20,000 values" in line


def test_a_missing_file_and_a_directory_are_named(tmp_path: Path) -> None:
    assert problems(tmp_path / "no.yaml") == ["no.yaml: there is no such file; write the path of a scenario file"]
    (line,) = problems(tmp_path)
    assert line.endswith("is a directory; write the path of a scenario file inside it")


def test_byte_order_mark_and_windows_line_ends_change_nothing(tmp_path: Path) -> None:
    plain = load_scenario(write(tmp_path, GOOD, "a.yaml"))
    windows = load_scenario(write(tmp_path, b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode(), "b.yaml"))
    assert plain.digest == windows.digest and plain.request_classes == windows.request_classes


def test_control_characters_never_reach_the_terminal(tmp_path: Path) -> None:
    (line,) = problems(write(tmp_path, broken("name: small", 'name: "a\\e[31m\\uD800"')))
    assert line == 's.yaml:1:7: name: "a\\x1b[31m\\ud800" is not a name; write letters, digits, `_`, `-` or `.`, at most 80'


def test_a_private_class_needs_a_model_with_weights(tmp_path: Path) -> None:
    text = GOOD.replace("    models: [llama-3.1-8b]\n    slo", "    models: [gpt-4.1]\n    self_hosted_only: true\n    slo")
    (line,) = problems(write(tmp_path, text))
    assert line.startswith("s.yaml:9:13: request_classes.0.models: none can be self-hosted")


def test_candidates_that_offer_nothing_at_all_are_bad_input(tmp_path: Path) -> None:
    text = GOOD.replace("offers: [aws.g6e.xlarge]", "offers: []").replace("relays: [deepinfra.llama-3.1-8b]", "relays: []")
    (line,) = problems(write(tmp_path, text))
    assert line.startswith("s.yaml:17:1: candidates: offers nothing: both lists are empty; name an offer or a relay")
