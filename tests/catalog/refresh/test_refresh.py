"""Relay prices from a price package: what moves, what is withheld, and that nothing else of the file changes."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Iterator
from datetime import date
from decimal import Decimal
from pathlib import Path

import pytest

import cli
from optimize.report.terminal.render_refresh import diff_text, refresh_json, refresh_words
from sim.catalog.loader import read_relays
from sim.catalog.refresh import litellm_file, mapping
from sim.catalog.refresh.genai import load
from sim.catalog.refresh.litellm_file import entry_of
from sim.catalog.refresh.mapping import load_mapping
from sim.catalog.refresh.price_changes import Refresh
from sim.catalog.refresh.refresh import PACKAGES, RELAYS, installed, run
from sim.errors import InputError
from tests.catalog.refresh import fake_package

DAY = date(2026, 11, 30)
NONE = "usd_per_mtok_cached: null"
REST = "ttft_p50_s: 1, ttft_sigma: 0.4, tokens_per_s: 50, tokens_sigma: 0.2, latency_source: *old"
FILE = f"""# prices, each with its source

sources:
  old: &old {{title: "price list", date: 2026-08}}  # read by hand

relays:
  # the small one — first, as it is the cheapest
  - id: maker.small
    vendor: maker
    model: small
    usd_per_mtok_input: 1.00   # per million
    usd_per_mtok_output: 4.40
    usd_per_mtok_cached:       # none sold
    ttft_p50_s: 1
    ttft_sigma: 0.4
    tokens_per_s: 50
    tokens_sigma: 0.2
    latency_source: *old
    note: "see the vendor's page"
    source: *old # as of August

  - {{id: maker.night, vendor: maker, model: night, usd_per_mtok_input: 0.2, usd_per_mtok_output: 0.6, {NONE}, {REST}, source: *old}}
  - id: deal.small
    vendor: deal
    model: small
    usd_per_mtok_input: 0.7
    usd_per_mtok_output: 3
    usd_per_mtok_cached: null
    ttft_p50_s: 1
    ttft_sigma: 0.4
    tokens_per_s: 50
    tokens_sigma: 0.2
    latency_source: *old
    grade: contract
    source:
      title: "our contract"
      date: 2026-05
  - {{id: nobody.small, vendor: nobody, model: small, usd_per_mtok_input: 1, usd_per_mtok_output: 2, {NONE}, {REST}, source: *old}}
"""
MAPPING = "genai-prices: {maker.small: maker/small, maker.night: maker/night, deal.small: maker/small}\n"


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    fake_package.install(tmp_path, monkeypatch)
    (tmp_path / "mapping.yaml").write_text(MAPPING)
    (tmp_path / "relays.yaml").write_text(FILE)
    yield tmp_path
    fake_package.drop()


def refreshed(place: Path, accept: bool = False, save: bool = False, text: str | None = None, mapped: str | None = None) -> Refresh:
    if text is not None:
        (place / "relays.yaml").write_bytes(text.encode())
    if mapped is not None:
        (place / "mapping.yaml").write_text(mapped)
    return run(place / "relays.yaml", "genai-prices", place / "mapping.yaml", DAY, accept, save, today=DAY)


def row(name: str, more: str, prices: str = "usd_per_mtok_input: 1, usd_per_mtok_output: 2, usd_per_mtok_cached: null") -> str:
    head = 'sources: {old: &old {title: "price list", date: 2026-08}}\nrelays:\n'
    return f"{head}  - {{id: a.b, vendor: a, model: {name}, {prices}, {REST}, {more}source: *old}}\n"


def changes_of(found: Refresh) -> dict[str, tuple[object, object]]:
    (changed,) = (*found.changed, *found.withheld)
    return {change.key: (change.old, change.new) for change in changed.changes}


def only(model: str) -> str:
    return f"genai-prices: {{a.b: maker/{model}}}\n"


def test_only_the_changed_values_and_the_source_of_their_rows_differ(place: Path) -> None:
    found = refreshed(place, accept=True)
    before, after = FILE.splitlines(), found.after.splitlines()
    assert [line for line in before if line not in after] == [
        "    usd_per_mtok_input: 1.00   # per million",
        "    usd_per_mtok_cached:       # none sold",
        "    source: *old # as of August",
        next(line for line in before if "maker.night" in line),
    ]
    new = [line for line in after if line not in before]
    assert new[:4] == [
        "  genai-prices-9-9-9: &genai-prices-9-9-9",
        '    title: "genai-prices 9.9.9"',
        "    date: 2026-11-30",
        '    note: "token prices; other facts of the row as before"',
    ]
    assert new[4:7] == [
        "    usd_per_mtok_input: 1.1   # per million",
        "    usd_per_mtok_cached: 0.11       # none sold",
        "    source: *genai-prices-9-9-9 # as of August",
    ]
    assert "usd_per_mtok_input: 0.28, usd_per_mtok_output: 0.6" in new[7] and new[7].endswith("source: *genai-prices-9-9-9}")
    rows = read_relays(place / "relays.yaml", found.after)
    assert (rows["maker.small"].usd_per_mtok_cached, rows["maker.small"].source.date) == (0.11, "2026-11-30")


def test_contracts_and_rows_that_nothing_prices_are_left_alone_and_named_once(place: Path) -> None:
    found = refreshed(place, accept=True)
    assert (found.firm, found.unmapped) == (("deal.small",), ("nobody.small",))
    said = "\n".join(refresh_words(found, False))
    assert said.count("nobody.small") == said.count("deal.small") == 1
    assert found.after.split("id: deal.small")[1] == FILE.split("id: deal.small")[1]


def test_a_price_that_moved_more_than_twofold_withholds_its_row(place: Path) -> None:
    found = refreshed(place)
    assert [each.relay for each in found.withheld] == ["maker.small"]  # no cached price was sold: 1.00 -> 0.11
    assert [each.relay for each in found.changed] == ["maker.night"]
    (said,) = [line for line in refresh_words(found, False) if line.startswith("withheld")]
    assert "usd_per_mtok_cached null -> 0.11" in said and "--accept-large" in said
    assert "usd_per_mtok_input: 1.00   # per million" in found.after


@pytest.mark.parametrize(("old", "withheld"), [("0.8", False), ("0.81", True), ("0.2", False), ("0.19", True), ("0", True)])
def test_twofold_is_the_limit_both_ways(place: Path, old: str, withheld: bool) -> None:
    prices = f"usd_per_mtok_input: {old}, usd_per_mtok_output: 4, {NONE}"
    found = refreshed(place, text=row("cheap", "", prices), mapped=only("cheap"))  # 0.4 there
    assert (len(found.withheld), len(found.changed)) == ((1, 0) if withheld else (0, 1))


def test_nothing_is_written_unless_asked_and_then_the_whole_file(place: Path) -> None:
    file = place / "relays.yaml"
    file.chmod(0o640)
    refreshed(place)
    assert file.read_text() == FILE
    found = refreshed(place, accept=True, save=True)
    assert file.read_text() == found.after != FILE
    assert file.stat().st_mode & 0o777 == 0o640
    assert sorted(each.name for each in place.iterdir()) == ["genai_prices", "mapping.yaml", "relays.yaml"]
    again = refreshed(place, accept=True, save=True)
    assert (again.changed, diff_text(again)) == ((), "") and len(again.confirmed) == 2


def test_the_dearest_hour_of_the_day_is_taken_and_said(place: Path) -> None:
    found = refreshed(place, accept=True)
    (night,) = [each for each in found.changed if each.relay == "maker.night"]
    assert night.notices == ("the dearest hour is taken; the cheapest costs 50% of it, and the row has no off_peak",)
    prices = f"usd_per_mtok_input: 0.28, usd_per_mtok_output: 0.6, {NONE}"
    for factor, said in (("0.5", ""), ("0.4", "off-peak hours cost 50% by the package; the row says 40%")):
        more = f'off_peak: {{factor: {factor}, hours_utc: ["04:00-01:00"]}}, '
        same = refreshed(place, text=row("night", more, prices), mapped=only("night"))
        assert same.confirmed == ("a.b",) and [notice for notice in same.notices if "off-peak" in notice] == [f"a.b: {said}"] * bool(said)


def test_long_prompts_move_inside_their_rows(place: Path) -> None:
    tier = "long_prompts: [{above_tokens: 1000, usd_per_mtok_input: 4, usd_per_mtok_output: 12}], "
    prices = "usd_per_mtok_input: 2, usd_per_mtok_output: 8, usd_per_mtok_cached: null"
    found = refreshed(place, text=row("long", tier, prices), mapped=only("long"))
    assert changes_of(found) == {"long_prompts.0.usd_per_mtok_output": (Decimal(12), Decimal("12.5"))}
    assert "usd_per_mtok_output: 12.5}], " in found.after
    bare = refreshed(place, text=row("long", "", prices), mapped=only("long"))
    assert any("prompts above 1,000 tokens cost more" in notice for notice in bare.notices)
    other = refreshed(place, text=row("long", tier.replace("1000", "2000"), prices), mapped=only("long"))
    assert any("no price of prompts above 2,000 tokens" in notice for notice in other.notices)


def test_announced_prices_come_and_go(place: Path) -> None:
    found = refreshed(place, text=row("rising", ""), mapped=only("rising"))
    assert changes_of(found) == {
        "next_price_on": (None, "2027-01-01"),
        "next_usd_per_mtok_input": (None, Decimal("1.5")),
        "next_usd_per_mtok_output": (None, Decimal(3)),
    }
    known = read_relays(Path("x"), found.after)["a.b"]
    assert (known.next_price_on, known.next_usd_per_mtok_input, known.next_usd_per_mtok_output) == ("2027-01-01", 1.5, 3)
    later = run_on(place, found.after, date(2027, 1, 2))
    gone = read_relays(Path("x"), later.after)["a.b"]
    assert (gone.usd_per_mtok_input, gone.usd_per_mtok_output, gone.next_price_on, gone.next_usd_per_mtok_input) == (1.5, 3, None, None)


def run_on(place: Path, text: str, day: date) -> Refresh:
    (place / "relays.yaml").write_text(text)
    return run(place / "relays.yaml", "genai-prices", place / "mapping.yaml", day, False, False, today=day)


def test_announced_prices_are_lines_of_their_own_in_a_block(place: Path) -> None:
    text = FILE.replace("model: small\n    usd_per_mtok_input: 1.00", "model: rising\n    usd_per_mtok_input: 1.00").replace(
        "output: 4.40", "output: 2"
    )
    found = refreshed(place, text=text, mapped="genai-prices: {maker.small: maker/rising}\n")
    part = found.after.split("usd_per_mtok_cached:       # none sold\n")[1]
    assert part.startswith(
        "    next_price_on: 2027-01-01\n    next_usd_per_mtok_input: 1.5\n    next_usd_per_mtok_output: 3\n    ttft_p50_s: 1\n"
    )
    later = run_on(place, found.after, date(2027, 1, 2))
    assert "next_" not in later.after and "usd_per_mtok_input: 1.5   # per million" in later.after


def test_what_the_package_says_beside_prices_is_told(place: Path) -> None:
    found = refreshed(place, text=row("cheap", "max_context: 4096, "), mapped=only("cheap"), accept=True)
    said = "\n".join(refresh_words(found, False))
    assert "retires soon by the package; the row says nothing" in said
    batch = refreshed(place, text=row("small", ""), mapped=only("small"), accept=True)
    assert any("also has usd_per_mtok_batch_input 0.55" in line for line in refresh_words(batch, False))
    own = "usd_per_mtok_batch_input: 0.5, usd_per_mtok_batch_output: 2.2, "
    assert changes_of(refreshed(place, text=row("small", own), accept=True))["usd_per_mtok_batch_input"] == (
        Decimal("0.5"),
        Decimal("0.55"),
    )


def test_an_entry_that_the_package_does_not_have_is_named_and_the_row_stays(place: Path) -> None:
    found = refreshed(place, text=row("small", ""), mapped=only("gone"))
    assert (found.missing, found.before == found.after) == ((("a.b", "maker/gone"),), True)
    assert any("genai-prices 9.9.9 has no maker/gone" in line for line in refresh_words(found, False))


def test_line_ends_and_other_scripts_stay(place: Path) -> None:
    text = FILE.replace("\n", "\r\n").replace("price list", "价格表").encode().decode()
    found = refreshed(place, accept=True, save=True, text=text)
    written = (place / "relays.yaml").read_bytes().decode()
    assert written == found.after and written.count("\n") == written.count("\r\n")
    assert "价格表" in written and "usd_per_mtok_input: 0.28," in written
    assert "+    usd_per_mtok_input: 1.1   # per million\r\n" in diff_text(found)


def test_a_second_refresh_on_another_day_adds_a_source_and_one_on_the_same_day_uses_it(place: Path) -> None:
    first = refreshed(place, accept=True, save=True).after
    edited = first.replace("usd_per_mtok_input: 1.1 ", "usd_per_mtok_input: 1.2 ")
    assert run_on(place, edited, DAY).after.count('title: "genai-prices 9.9.9"') == 1
    assert "&genai-prices-9-9-9-2026-12-01" in run_on(place, edited, date(2026, 12, 1)).after


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("usd_per_mtok_input: 1.00", "usd_per_mtok_input: &p 1.00", ""),
        ("source: *old # as", 'source: &mine {title: "a", date: 2026-08} # as', "has an anchor"),
        ("usd_per_mtok_input: 1.00", "usd_per_mtok_input: much", "relays.yaml:11: relays.0.usd_per_mtok_input"),
        ("relays:\n", "relay:\n", "unknown key"),
        ("model: small\n    usd", "model: [\n    usd", "not YAML"),
    ],
)
def test_a_file_that_cannot_be_edited_is_one_clear_message(place: Path, old: str, new: str, said: str) -> None:
    text = FILE.replace(old, new, 1)
    if not said:
        assert refreshed(place, accept=True, text=text).changed
        return
    with pytest.raises(InputError, match=said):
        refreshed(place, accept=True, save=True, text=text)
    assert (place / "relays.yaml").read_text() == text


def test_values_that_come_from_another_row_are_written_into_the_row_that_changes(place: Path) -> None:
    base = "  - &base {id: x.y, vendor: x, model: small, usd_per_mtok_input: 1, usd_per_mtok_output: 2, usd_per_mtok_cached: null, "
    text = f"sources: {{old: &old {{title: t, date: 2026-08}}}}\nrelays:\n{base}{REST}, source: *old}}\n  - <<: *base\n    id: a.b\n"
    found = refreshed(place, text=text + "    usd_per_mtok_input: 1.2\n", mapped="genai-prices: {a.b: maker/small}\n", accept=True)
    row = read_relays(Path("x"), found.after)["a.b"]
    assert (row.usd_per_mtok_input, row.source.title) == (1.1, "genai-prices 9.9.9")
    assert found.after.startswith(text) and "usd_per_mtok_input: 1.1" in found.after


def test_a_file_that_is_a_bare_list_of_rows_is_edited_too(place: Path) -> None:
    text = row("night", "").partition("relays:\n")[2].replace("  - {", "- {").replace("*old", "{title: t, date: 2026-08}")
    (place / "mine.yaml").write_text(text)
    (place / "mapping.yaml").write_text(only("night"))
    found = run(place / "mine.yaml", "genai-prices", place / "mapping.yaml", DAY, True, False, today=DAY)
    assert found.changed and 'source: {title: "genai-prices 9.9.9", date: 2026-11-30, note: ' in found.after


def test_a_price_that_is_an_alias_is_not_guessed(place: Path) -> None:
    text = FILE.replace("usd_per_mtok_input: 1.00   #", "rpm: &p 1\n    usd_per_mtok_input: *p #")
    with pytest.raises(InputError, match="usd_per_mtok_input is an alias"):
        refreshed(place, accept=True, text=text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[1]", "a list per package"),
        ("genai-prices: [a]", "pairs"),
        ("genai-prices: {a.b: 3}", "3 is not the name of an entry"),
        ("genai-prices: {a: [}", "not YAML"),
        ("sources: {}\nrelays: []", "unknown key sources"),
        ("litellm: {}", "no list for genai-prices"),
        ("genai-prices: {maker.smal: maker/small}", r"genai-prices.maker.smal: .*has no such row; did you mean maker.small"),
    ],
)
def test_a_mapping_that_is_none_is_one_clear_message(place: Path, text: str, said: str) -> None:
    with pytest.raises(InputError, match=rf"mapping\.yaml.*{said}"):
        refreshed(place, mapped=text)


def test_without_the_package_the_message_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    fake_package.remove(monkeypatch)
    with pytest.raises(InputError, match=r'genai-prices is not installed.*pip install "servemix\[prices\]"'):
        installed("genai-prices", DAY)
    with pytest.raises(InputError, match="write genai-prices or litellm"):
        installed("tokencost", DAY)


def test_the_extras_are_those_of_the_project() -> None:
    text = (RELAYS.parents[2] / "pyproject.toml").read_text()
    assert all(f'\n{extra} = [\n    "{name}>=' in text for name, (_, extra) in PACKAGES.items())


def test_json_is_one_object_with_the_diff_in_it(place: Path) -> None:
    found = refreshed(place, accept=True)
    said = json.loads(json.dumps(refresh_json(found, False)))
    assert said["diff"] == diff_text(found)
    assert said["changed"][0]["changes"][0] == {"key": "usd_per_mtok_input", "old": 1.0, "new": 1.1, "large": False}
    assert (said["unmapped"], said["not_list"], said["written"]) == (["nobody.small"], ["deal.small"], False)


def test_a_package_whose_newest_price_is_old_is_warned_of(place: Path) -> None:
    assert load(DAY).newest == date(2026, 9, 10)
    old = run_on(place, FILE, date(2026, 12, 31))
    assert any("112 days before 2026-12-31: update the package" in notice for notice in old.notices)


@pytest.mark.parametrize(
    ("day", "said"),
    [
        (date(2026, 12, 1), "--on 2026-12-01 is in the future, so its prices are not known yet; write a day from 2026-08-01 to 2026-11-30"),
        (date(2020, 1, 1), "--on 2020-01-01: the newest price in relays.yaml is of 2026-08-01, so it says nothing of earlier days; write"),
    ],
)
def test_a_day_to_come_or_before_the_package_is_refused_and_nothing_is_written(place: Path, day: date, said: str) -> None:
    with pytest.raises(InputError) as told:
        run(place / "relays.yaml", "genai-prices", place / "mapping.yaml", day, True, True, today=DAY)
    assert len(told.value.problems) == 1 and said in told.value.problems[0]
    assert (place / "relays.yaml").read_text() == FILE


@pytest.mark.parametrize("clock", [date(2026, 12, 31), date(2027, 1, 1), date(2027, 6, 30)])
def test_a_price_that_was_announced_makes_no_earlier_day_unknown_once_it_has_begun(place: Path, clock: date) -> None:
    found = run(place / "relays.yaml", "genai-prices", place / "mapping.yaml", DAY, False, False, today=clock)
    assert found.on == DAY and found.changed == refreshed(place).changed
    told = any("has prices that begin on 2027-01-01, after 2026-11-30" in notice for notice in found.notices)
    assert told == (clock.year == 2027)


def test_the_example_of_the_help_works_on_every_later_day() -> None:
    pytest.importorskip("genai_prices", reason="pip install genai-prices")
    for clock in (date(2026, 12, 1), date(2027, 1, 1), date(2030, 1, 1)):
        assert run(None, "genai-prices", None, DAY, False, False, today=clock).on == DAY


def test_a_clock_behind_the_file_may_still_name_the_day_of_the_file(place: Path) -> None:
    (place / "relays.yaml").write_text(re.sub(r"date: \S+?([,}\n])", rf"date: {DAY}\1", FILE))
    assert run(place / "relays.yaml", "genai-prices", place / "mapping.yaml", DAY, False, False, today=date(2026, 10, 1)).on == DAY


def test_litellm_is_read_from_its_file_without_an_import(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "litellm"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (package / litellm_file.FILE).write_text('{"m": {"input_cost_per_token": 1.5e-07, "output_cost_per_token": 6e-07}}')
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.setattr(litellm_file, "version", lambda name: "1.2.3")
    found = installed("litellm", DAY)
    entry = found.find("m")
    assert entry is not None and entry.prices == {"usd_per_mtok_input": Decimal("0.15"), "usd_per_mtok_output": Decimal("0.6")}
    assert found.find("n") is None and "litellm" not in sys.modules


def test_litellm_steps_by_length_and_retirement_are_read() -> None:
    rates = {"input_cost_per_token": 2e-06, "output_cost_per_token": 1e-05, "cache_creation_input_token_cost": 0}
    entry = entry_of({**rates, "input_cost_per_token_above_272k_tokens": 4e-06, "deprecation_date": "2027-01-14"})
    assert entry.tiers == ((272_000, {"usd_per_mtok_input": Decimal(4)}),) and entry.retires_on == "2027-01-14"
    assert "usd_per_mtok_cache_write" not in entry.prices


def test_every_row_that_our_mapping_names_is_in_the_catalogue() -> None:
    known = read_relays(RELAYS, RELAYS.read_text())
    for package in PACKAGES:
        assert [relay for relay in load_mapping(package, None, PACKAGES) if relay not in known] == []
    assert mapping.FILE.exists()


def test_the_real_package_prices_the_catalogue() -> None:
    pytest.importorskip("genai_prices", reason="pip install genai-prices")
    found = run(None, "genai-prices", None, DAY, False, False, today=DAY)
    assert found.missing == () and found.withheld == ()
    assert len(found.confirmed) > 25 and len(found.changed) < 5
    assert run(None, "genai-prices", None, DAY, False, False, today=DAY) == found


def test_the_command_prints_the_diff_on_stdout_and_the_rest_on_stderr(
    place: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    words = ["catalog", "refresh", "--file", f"{place}/relays.yaml", "--mapping", f"{place}/mapping.yaml", "--on", "2026-11-30"]
    monkeypatch.setattr(sys, "argv", ["servemix", *words])
    with pytest.raises(SystemExit) as left:
        cli.main()
    out, err = capsys.readouterr()
    assert not left.value.code and out.startswith("--- a/") and "\x1b" not in out
    assert "withheld maker.small" in err and "rows: 1 changed, 1 withheld, 0 confirmed; nothing written; --write does" in err
