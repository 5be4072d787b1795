"""What the caller of `deploy` chose, checked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from optimize.deploy.files import ENGINE_IMAGE, GATEWAY_IMAGE, Choices
from sim.errors import InputError, quoted

NAMESPACE = re.compile(r"[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?")
IMAGE = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:/@-]{0,254}")
REPOSITORY = re.compile(r"[A-Za-z0-9./][A-Za-z0-9._/-]{0,254}")


def choices_of(namespace: str, timezone: str, image: str | None, gateway_image: str | None, checkpoints: Iterable[str]) -> Choices:
    """The choices; InputError names the option that makes no sense, and what would."""
    if not NAMESPACE.fullmatch(namespace):
        raise InputError(f"--namespace: {quoted(namespace)} is not one that Kubernetes takes; write lower-case letters, digits and hyphens")
    timezone_of(timezone)
    for option, name in (("--image", image), ("--gateway-image", gateway_image)):
        if name is not None and not IMAGE.fullmatch(name):
            raise InputError(f"{option}: {quoted(name)} is not the name of a container image; write one such as {ENGINE_IMAGE}")
    stored = dict(map(_checkpoint, checkpoints))
    return Choices(namespace, timezone, image or ENGINE_IMAGE, gateway_image or GATEWAY_IMAGE, checkpoints=stored)


def timezone_of(name: str) -> ZoneInfo:
    """The time zone. Raises InputError."""
    try:
        return ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise InputError(f"--timezone: {quoted(name)} is not a time zone; write one such as UTC or Europe/Berlin") from None


def _checkpoint(text: str) -> tuple[str, str]:
    name, sign, repository = text.partition("=")
    if not sign or name.count("/") != 1 or not all(name.split("/")) or not REPOSITORY.fullmatch(repository):
        raise InputError(
            f"--checkpoint: {quoted(text)} is not MODEL/WEIGHTS=REPOSITORY; "
            "write one such as llama-3.3-70b/int4=your-organisation/your-checkpoint"
        )
    return name.strip(), repository
