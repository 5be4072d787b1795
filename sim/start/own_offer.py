"""A host that a user can have, as people write it: "8xh200=16600/month", "l40s=1.2/h", or a name of the catalogue."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sim.catalog.facts import Catalog
from sim.errors import InputError
from sim.scenario.read.document import nearest, shown

WRITTEN = re.compile(r"(?:(\d+)\s*x\s*)?([a-z0-9][a-z0-9.\-]*)\s*=\s*\$?([0-9][0-9_,.]*)(k?)\s*/\s*(month|mo|h|hour|gpu-hour|gpu-h)")
KEYS = {"month": "usd_per_month", "mo": "usd_per_month", "h": "usd_per_hour", "hour": "usd_per_hour"}
PER_GPU = "usd_per_gpu_hour"


@dataclass(frozen=True)
class OwnOffer:
    """`text` as the scenario writes it: a name, or a mapping with GPU and price."""

    text: str


def own_offer(written: str, catalog: Catalog) -> OwnOffer:
    """The offer that `written` means. A price by the month is paid for all of it; one by the hour follows the hours.

    Raises InputError for a GPU or a name that the catalogue lacks.
    """
    plain = written.strip().lower()
    if plain in catalog.offers:
        return OwnOffer(plain)
    found = WRITTEN.fullmatch(plain)
    if found is None:
        known = nearest(plain, set(catalog.offers))
        raise InputError(
            f"--offer {shown(written)} is no offer of the catalogue; {known}; or write for example 8xh200=16600/month or l40s=1.2/h"
        )
    count, gpu, digits, thousand, unit = found.groups()
    if gpu not in catalog.gpus:
        raise InputError(f"--offer {shown(written)}: {shown(gpu)} is no GPU of the catalogue; {nearest(gpu, set(catalog.gpus))}")
    try:
        price = float(digits.replace("_", "").replace(",", "")) * (1000 if thousand else 1)
    except ValueError:
        raise InputError(f"--offer {shown(written)}: {shown(digits)} is no price; write for example 16600") from None
    key = KEYS.get(unit, PER_GPU)
    elastic = "false" if key == "usd_per_month" else "true"
    gpus = int(count or 1)
    if not 1 <= gpus <= 64:
        raise InputError(f"--offer {shown(written)}: a host has 1 to 64 GPUs")
    return OwnOffer(f"{{name: own-{gpus}x{gpu}, gpu: {gpu}, gpus: {gpus}, {key}: {price:g}, elastic: {elastic}}}")
