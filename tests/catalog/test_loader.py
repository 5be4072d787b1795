"""The loader accepts the catalogue that comes with the package and says what is wrong with any other."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from sim.catalog.check import nearest
from sim.catalog.loader import FOLDER, load_catalog
from sim.errors import InputError


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for file in FOLDER.glob("*.yaml"):
        shutil.copy(file, tmp_path)
    return tmp_path


def change(folder: Path, name: str, old: str, new: str) -> int:
    """Replaces the first `old` in a file; the line (from 1) on which it stood."""
    file = folder / f"{name}.yaml"
    text = file.read_text()
    assert old in text, f"{old!r} is not in {name}.yaml"
    file.write_text(text.replace(old, new, 1))
    return text[: text.index(old)].count("\n") + 1


def problems(folder: Path) -> list[str]:
    with pytest.raises(InputError) as error:
        load_catalog(folder)
    return error.value.problems


def test_the_package_catalogue_loads_once_and_names_its_date_and_content() -> None:
    catalog = load_catalog()
    assert load_catalog() is catalog
    assert len(catalog.digest) == 64
    assert catalog.date == max(r.source.date for r in (*catalog.offers.values(), *catalog.relays.values()))


def test_a_changed_byte_changes_the_digest(folder: Path) -> None:
    change(folder, "offers", "usd_per_hour: 0.526", "usd_per_hour: 0.527")
    catalog = load_catalog(folder)
    assert catalog.digest != load_catalog().digest
    assert catalog.offers["aws.g4dn.xlarge"].usd_per_hour == 0.527


def test_a_catalogue_without_calibration_or_exchange_rates_is_valid(folder: Path) -> None:
    (folder / "calibration.yaml").unlink(missing_ok=True)
    (folder / "fx.yaml").unlink()
    catalog = load_catalog(folder)
    assert catalog.calibration == ()
    assert catalog.fx_usd == {"USD": 1.0}


def test_a_missing_file_is_named(folder: Path) -> None:
    (folder / "models.yaml").unlink()
    (only,) = problems(folder)
    assert "models.yaml: no such file" in only


def test_an_unknown_key_is_told_with_its_line_and_the_nearest_name(folder: Path) -> None:
    line = change(folder, "gpus", "tdp_w: 70", "tdp_watt: 70")
    found = problems(folder)
    assert f"{folder / 'gpus.yaml'}:{line}: gpus.0.tdp_watt: unknown key; did you mean tdp_w?" in found
    assert any("gpus.0.tdp_w: missing" in p for p in found)


def test_all_problems_of_all_files_come_at_once(folder: Path) -> None:
    change(folder, "gpus", "tdp_w: 70", "tdp_w: .nan")
    change(folder, "offers", "usd_per_hour: 0.526", "usd_per_hour: -1")
    change(folder, "relays", "ttft_p50_s: 1.2", "ttft_p50_s: fast")
    found = problems(folder)
    assert len(found) == 3
    assert [part in text for part, text in zip(("finite", "negative", "not a number"), found, strict=True)] == [True] * 3


def test_an_offer_of_an_unknown_gpu_suggests_the_nearest(folder: Path) -> None:
    line = change(folder, "offers", "gpu: l40s", "gpu: l40")
    (only,) = problems(folder)
    assert only.startswith(f"{folder / 'offers.yaml'}:{line}: ")
    assert "'l40' is no id in gpus.yaml; did you mean l40s" in only


def test_the_line_of_a_dangling_name_counts_rows_that_were_dropped_before_it(folder: Path) -> None:
    change(folder, "offers", "usd_per_hour: 0.526", "usd_per_hour: free")
    line = change(folder, "offers", "gpu: l40s", "gpu: l40")
    assert any(p.startswith(f"{folder / 'offers.yaml'}:{line}: ") for p in problems(folder))


def test_a_successor_that_nobody_sells_is_refused(folder: Path) -> None:
    change(folder, "relays", "successor: openai.gpt-6.1-sol", "successor: openai.gpt-7")
    (only,) = problems(folder)
    assert "'openai.gpt-7' is no id in relays.yaml" in only


def test_two_rows_with_one_id_are_refused(folder: Path) -> None:
    change(folder, "offers", "id: aws.g5.xlarge", "id: aws.g4dn.xlarge")
    (only,) = problems(folder)
    assert "'aws.g4dn.xlarge' is here twice" in only


def test_a_row_without_source_is_refused(folder: Path) -> None:
    change(folder, "relays", "    source: *genaitier\n", "")
    assert any("relays.0.source: missing" in p for p in problems(folder))


@pytest.mark.parametrize("date", ["'30.11.2026'", "2026-13", "soon", "''"])
def test_a_source_needs_an_iso_date(folder: Path, date: str) -> None:
    change(folder, "fx", "date: 2026-10-30", f"date: {date}")
    assert any("ISO date" in p for p in problems(folder))


@pytest.mark.parametrize(
    ("name", "old", "new", "said"),
    [
        ("gpus", "link: pcie", "link: cable", "'cable' is not one of nvlink, pcie, none"),
        ("gpus", "bf16: 65e12", "bf16: a lot", "gpus.0.flops.bf16: 'a lot' is not a number"),
        ("models", "layers: 32", "layers: 32.5", "32.5 is not a whole number"),
        ("models", "layers: 32", "layers: 0", "0 is no value; write more than 0"),
        ("offers", "elastic: true", "elastic: maybe", "'maybe' is not true or false"),
        ("offers", "term: on_demand", "term: monthly", "'monthly' is not one of on_demand"),
        ("offers", "residency: [us]", "residency: us", "is not a list of names"),
        ("relays", "retires_on: 2027-01-14", "retires_on: 2027-01", "write 2026-11-30"),
        ("weight_formats", "needs: fp8", "needs: fp7", "'fp7' is not one of"),
        ("fx", "usd_per_unit: 1.1172", "usd_per_unit: 0", "0 is not a positive number"),
        ("gpus", "gpus:\n", "cards:\n", "unknown key; write sources or gpus"),
        ("gpus", "gpus:\n", "gpus: [\n", "not YAML"),
    ],
)
def test_a_wrong_value_is_told_with_what_would_be_right(folder: Path, name: str, old: str, new: str, said: str) -> None:
    change(folder, name, old, new)
    found = problems(folder)
    assert any(said in p and p.startswith(f"{folder / name}.yaml:") for p in found), found


def test_names_like_the_wrong_one_come_most_alike_first() -> None:
    names = list(load_catalog().gpus)
    assert nearest("H-100", names)[0] == "h100"
    assert nearest("l40", names)[0] in ("l40s", "l4")
    assert nearest("potato", names) == []
