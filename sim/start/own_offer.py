"""A host that a user can have, as people write it: "8xh200=16600/month", "l40s=1.2/h", or a name of the catalogue."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
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


OWNED = re.compile(r"(?:(\d+)\s*x?\s*)?([a-z0-9][a-z0-9.\-]*)")


def owned_offer(written: str, catalog: Catalog) -> OwnOffer:
    """One host that the user has already, paid for: "2xa100-80", "8 h100". It costs its electricity, space and upkeep in every hour.

    Raises InputError for a GPU that the catalogue lacks.
    """
    found = OWNED.fullmatch(written.strip().lower())
    if found is None:
        raise InputError(f"--own {shown(written)} is no host; write for example 2xa100-80")
    gpu, gpus = known_gpu("--own", written, found[2], catalog), int(found[1] or 1)
    if not 1 <= gpus <= 64:
        raise InputError(f"--own {shown(written)}: a host has 1 to 64 GPUs; write --own once for each host")
    text = f"name: have-{gpus}x{gpu}, gpu: {gpu}, gpus: {gpus}, usd_per_hour: 0, term: owned, purchase_usd: 0, stock: 1, elastic: false"
    return OwnOffer(f"{{{text}}}")


def owned_offers(written: Sequence[str], catalog: Catalog) -> tuple[OwnOffer, ...]:
    """As `owned_offer`, for several hosts; the same host again is one more of it."""
    found = Counter(owned_offer(each, catalog).text for each in written)
    return tuple(OwnOffer(text.replace("stock: 1,", f"stock: {count},")) for text, count in found.items())


def known_gpu(option: str, written: str, gpu: str, catalog: Catalog) -> str:
    """`gpu` as the catalogue names it. Raises InputError with the kinds that the name may mean."""
    if gpu in catalog.gpus:
        return gpu
    kinds = [name for name in catalog.gpus if name.startswith(f"{gpu}-")]
    which = f"is it {' or '.join(kinds)}?" if kinds else nearest(gpu, set(catalog.gpus))
    raise InputError(f"{option} {shown(written)}: {shown(gpu)} is no GPU of the catalogue; {which}")


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
    gpu = known_gpu("--offer", written, gpu, catalog)
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
