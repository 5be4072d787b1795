"""A new file appears whole or not at all, and never in place of another."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from sim.errors import InputError


def check_target(path: Path, force: bool) -> None:
    """Raises InputError where `path` exists, or its folder does not."""
    if os.path.exists(path) and not force:
        raise InputError(f"{path}: the file exists; write another name with --out, or replace it with --force")
    if os.path.isdir(path):
        raise InputError(f"{path}: is a folder; write a file name")
    if not os.path.isdir(path.parent):
        raise InputError(f"{path}: the folder {path.parent} does not exist; make it first")


def write_new(path: Path, text: str, force: bool = False) -> None:
    """`text` in `path`, written next to it first; without `force` an existing file is left alone, also one that appears meanwhile."""
    write_bytes_new(path, text.encode(), force)


def write_bytes_new(path: Path, content: bytes, force: bool = False) -> None:
    """The same of bytes."""
    check_target(path, force)
    try:
        handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    except OSError as error:
        raise InputError(f"{path}: cannot be written: {error.strerror or error}; choose another folder with --out") from error
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(content)
        os.chmod(name, 0o644)
        if force:
            os.replace(name, path)
        else:
            _place(Path(name), path)
    except FileExistsError:
        raise InputError(f"{path}: the file exists; write another name with --out, or replace it with --force") from None
    finally:
        Path(name).unlink(missing_ok=True)


def _place(made: Path, path: Path) -> None:
    """Gives `made` its name; FileExistsError where the file has appeared meanwhile."""
    try:
        os.link(made, path)
    except FileExistsError:
        raise
    except OSError:  # a disk without hard links
        with path.open("xb") as file:
            file.write(made.read_bytes())
