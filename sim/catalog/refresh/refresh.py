"""The price rows of a relay file as an installed price package has them: compared, edited, and written when asked for."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

from sim.catalog.check import instead
from sim.catalog.facts import Relay, Source
from sim.catalog.loader import FOLDER, read_relays
from sim.catalog.refresh import genai, litellm_file
from sim.catalog.refresh.edit import RowFile
from sim.catalog.refresh.mapping import load_mapping
from sim.catalog.refresh.price_changes import Package, Refresh, RowChange
from sim.catalog.refresh.price_diff import compare
from sim.errors import InputError, MissingExtra, ServeMixError
from sim.named_files import read_bytes

RELAYS = FOLDER / "relays.yaml"
PACKAGES = {"genai-prices": (genai.load, "prices"), "litellm": (litellm_file.load, "prices-litellm")}  # loader, extra of pyproject.toml
MOST_BYTES = 5_000_000
STALE_DAYS = 90  # a package whose newest price is older than this may be long out of date
NOTE = "token prices; other facts of the row as before"


def installed(name: str, on: date) -> Package:
    """The price package of that name as of a day. Raises InputError that says how to install it, or which names there are."""
    if name not in PACKAGES:
        raise InputError(f'catalog refresh: "{name}" is no price package; write {" or ".join(PACKAGES)}')
    load, extra = PACKAGES[name]
    try:
        return load(on)
    except ImportError:
        raise MissingExtra("catalog refresh", name, extra) from None


def refresh(file: Path | None, package: Package, mapping: Mapping[str, str], on: date, accept_large: bool = False) -> Refresh:
    """What `package` changes in the list rows of `file` (default: the catalogue's own). Nothing is written.

    Quotes, contracts and claims are never touched. A row with a price that moved more than twofold, or to or from zero, is
    withheld as a whole unless `accept_large`. Raises InputError for a file that cannot be read or is no catalogue file.
    """
    path = file or RELAYS
    before = _read(path)
    rows, places = read_relays(path, before), RowFile(str(path), before)
    found: list[RowChange] = []
    missing, unmapped, firm = [], [], []
    for relay in rows.values():
        key = mapping.get(relay.id)
        if relay.grade != "list":
            firm += [relay.id] if key else []
        elif key is None:
            unmapped.append(relay.id)
        elif (entry := package.find(key)) is None:
            missing.append((relay.id, key))
        else:
            found.append(compare(relay, places.rows[relay.id], key, entry, on))
    changed = tuple(each for each in found if each.changes and (accept_large or not each.large))
    source = {"title": f"{package.name} {package.version}", "date": on.isoformat(), "note": NOTE}
    after = places.edited({each.relay: each.changes for each in changed}, source)
    _check(path, after, rows, changed, source)
    return Refresh(
        file=_shown(file),
        package=source["title"],
        on=on,
        before=before,
        after=after,
        changed=changed,
        withheld=tuple(each for each in found if each.large and not accept_large),
        confirmed=tuple(each.relay for each in found if not each.changes),
        missing=tuple(missing),
        unmapped=tuple(unmapped),
        firm=tuple(firm),
        notices=tuple(f"{each.relay}: {notice}" for each in found if not each.changes for notice in each.notices) + _age(package, on),
    )


def write(file: Path | None, found: Refresh) -> None:
    """The file with the changes, whole or not at all. Raises InputError where it cannot be written or was changed meanwhile."""
    path = file or RELAYS
    if _read(path) != found.before:
        raise InputError(f"{path}: was changed while it was compared; run the command again")
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
        try:
            with os.fdopen(handle, "w", encoding="utf-8", newline="") as out:
                out.write(found.after)
            os.chmod(name, path.stat().st_mode & 0o777)
            os.replace(name, path.resolve())
        except BaseException:
            os.unlink(name)
            raise
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror}; copy it and name the copy with --file") from None


def run(
    file: Path | None, package: str, mapping: Path | None, on: date, accept_large: bool, save: bool, today: date | None = None
) -> Refresh:
    """Compare, and write where `save` and there is something to write. A `mapping` of the user's names rows that the file has.

    Raises InputError for a day after `today` (default: the clock's), and for one before the newest price of the package, or of the
    file where the package has no dates.
    """
    named = load_mapping(package, mapping, PACKAGES) if package in PACKAGES else {}
    doubts = _check_day(file or RELAYS, package, on, today or date.today())
    found = refresh(file, installed(package, on), named, on, accept_large)
    if mapping is not None:
        rows = read_relays(file or RELAYS, found.before)
        strange = [each for each in named if each not in rows]
        if strange:
            raise InputError([f"{mapping}: {package}.{each}: {found.file} has no such row; {instead(each, rows)}" for each in strange])
    if save and found.changed:
        write(file, found)
    return replace(found, notices=found.notices + doubts)


def _check_day(path: Path, name: str, on: date, clock: date) -> tuple[str, ...]:
    """A source is dated by a day on which somebody can have looked: not one to come, nor one before the package was made.

    A clock that is behind the file's newest source does not make that a day to come. A price that begins after the newest look at the file
    may have been announced before, so it makes no earlier day unknown: such a day is accepted, and told in what is returned.
    """
    sources = [row.source.date for row in read_relays(path, _read(path)).values()]
    dates = [date.fromisoformat(day) for day in sources if len(day) == len("2026-11-30")]
    today = max([clock, *dates])
    looked = min(today, max(map(_first_day, sources), default=on))
    made = installed(name, looked).newest
    newest = made or looked
    days = f"write a day from {newest} to {today}, or leave --on out"
    if on > today:
        raise InputError(f"catalog refresh: --on {on} is in the future, so its prices are not known yet; {days}")
    if on < newest:
        whose = f"the newest price in {name}" if made else f"the newest price in {path.name}"
        raise InputError(f"catalog refresh: --on {on}: {whose} is of {newest}, so it says nothing of earlier days; {days}")
    begun = installed(name, today).newest
    if begun is None or begun <= on:
        return ()
    return (f"{name} has prices that begin on {begun}, after {on}: if it was made after that day, its undated prices may be newer too",)


def _first_day(text: str) -> date:
    """The first day that a source of that date can mean.

    >>> _first_day("2026"), _first_day("2026-11"), _first_day("2026-11-03")
    (datetime.date(2026, 1, 1), datetime.date(2026, 11, 1), datetime.date(2026, 11, 3))
    """
    year, month, day = (*map(int, text.split("-")), 1, 1)[:3]
    return date(year, month, day)


def _read(path: Path) -> str:
    """The text as it stands in the file, a byte-order mark included: it is written back."""
    raw = read_bytes(path, "a catalogue file", MOST_BYTES)
    try:
        return raw.decode("utf-8")
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: is not UTF-8 text (byte {error.start})") from None


def _check(path: Path, after: str, before: Mapping[str, Relay], changed: tuple[RowChange, ...], source: Mapping[str, str]) -> None:
    """The edited text means what was meant, in every row; an edit that does not is a defect of ours and reaches no file."""
    wanted = {**before, **{each.relay: _meant(before[each.relay], each, Source(**source)) for each in changed}}
    try:
        same = read_relays(path, after) == wanted
    except InputError:
        same = False
    if not same:
        raise ServeMixError(f"{path}: the edit would have changed more than it should; nothing was written")


def _meant(relay: Relay, change: RowChange, source: Source) -> Relay:
    """The record after the changes."""
    values: dict[str, Any] = {"source": source}
    tiers = list(relay.long_prompts)
    for each in change.changes:
        new = float(each.new) if isinstance(each.new, Decimal) else each.new
        _, dot, rest = each.key.partition(".")
        if dot:
            index, _, name = rest.partition(".")
            tiers[int(index)] = replace(tiers[int(index)], **{name: new})  # type: ignore[arg-type]
        else:
            values[each.key] = new
    return replace(relay, long_prompts=tuple(tiers), **values)


def _shown(file: Path | None) -> str:
    return "sim/catalog/relays.yaml" if file is None else file.as_posix()


def _age(package: Package, on: date) -> tuple[str, ...]:
    if package.newest is None or (on - package.newest).days <= STALE_DAYS:
        return ()
    days = (on - package.newest).days
    return (f"the newest price in {package.name} {package.version} is of {package.newest}, {days} days before {on}: update the package",)
