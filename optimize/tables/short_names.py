"""What people call pools, relays and hosts: ids stay in tables, sentences and first screens use these."""

from __future__ import annotations

from optimize.records import CostLine, PoolOption
from optimize.result import Plan
from sim.catalog.facts import Offer, Relay
from sim.plural import counted

COMPANIES = {
    "aws": "AWS", "gcp": "Google Cloud", "azure": "Azure", "deepinfra": "DeepInfra", "deepseek": "DeepSeek", "openai": "OpenAI",
    "openrouter": "OpenRouter", "ovhcloud": "OVHcloud", "runpod": "RunPod", "coreweave": "CoreWeave", "xai": "xAI",
    "siliconflow": "SiliconFlow",
}  # fmt: skip
HOW = {
    "on_demand": ("rent {} by the hour", "from"),
    "reserved_1y": ("reserve {} for one year", "at"),
    "reserved_3y": ("reserve {} for three years", "at"),
    "spot": ("rent {} as spot hosts", "from"),
    "owned": ("run {} of your own", ""),
}
PAID = {"on_demand": "rented hosts", "spot": "rented spot hosts", "reserved_1y": "reserved hosts", "reserved_3y": "reserved hosts"}
ALTERNATIVES = {
    "relays wherever allowed": "everything by API where allowed",
    "all relay": "everything by API",
    "own GPUs wherever possible": "everything self-hosted where possible",
    "all self-hosted": "everything self-hosted",
}
INPUTS = {"all GPU prices": "prices of all GPUs", "all API prices": "prices of all APIs", "requests a month": "demand"}


def company(name: str) -> str:
    """A seller as it writes itself, else with a capital.

    >>> company("aws"), company("verda")
    ('AWS', 'Verda')
    """
    return COMPANIES.get(name.lower(), name[:1].upper() + name[1:])


def gpus_of(offer: Offer, hosts: int) -> str:
    """How many GPUs so many hosts hold.

    >>> from sim.catalog.loader import load_catalog
    >>> gpus_of(load_catalog().offers["nebius.h100x8"], 3)
    '24 H100'
    """
    return f"{hosts * offer.gpus:,} {offer.gpu.upper()}"


def seller(offer: Offer) -> str:
    """Who sells a host; empty where the scenario names a GPU and no seller, whose place its own name then takes.

    >>> from sim.catalog.loader import load_catalog
    >>> seller(load_catalog().offers["nebius.h100x8"])
    'Nebius'
    """
    return "" if offer.provider.lower() in (offer.id.lower(), offer.gpu.lower()) else company(offer.provider)


def acquired(offer: Offer, hosts: str) -> str:
    """What is done to have so many hosts: "rent 6 to 24 H100 by the hour from Verda"."""
    how, whose = HOW.get(offer.term, HOW["on_demand"])
    words, who = how.format(hosts), seller(offer)
    return f"{words} {whose} {who}" if whose and who else words


def host_name(offer: Offer) -> str:
    """The host of an offer: "2xH100, Verda"."""
    hosts = f"{offer.gpus}x{offer.gpu.upper()}" if offer.gpus > 1 else offer.gpu.upper()
    return ", ".join(filter(None, (hosts, seller(offer))))


def pool_name(option: PoolOption, class_names: tuple[str, ...]) -> str:
    """A pool for people: "llama-3.3-70b for chat on 2xH100, Verda"; a pool for three or more classes counts them.

    What the plan chose for its engine follows in brackets: "(kv-fp8, 512-tokens)".
    """
    served = option.deployment.model.id if option.deployment else "your own measurements"
    names = [class_names[c] for c in option.classes]
    who = (
        " and ".join(names)
        if len(names) <= 2
        else "all classes"
        if len(names) == len(class_names)
        else counted(len(names), "class", "classes")
    )
    tail = option.deployment.tail.strip("/").replace("/", ", ") if option.deployment else ""
    settings = ", ".join(part for part in tail.split(", ") if part and not part.startswith("tp"))
    return f"{served} for {who} on {host_name(option.offer)}{f' ({settings})' if settings else ''}"


def relay_name(relay: Relay) -> str:
    """A relay for people: "deepseek-v4-flash by API, DeepSeek"."""
    return f"{relay.model} by API, {company(relay.vendor)}"


def names_of(plan: Plan) -> dict[str, str]:
    """Id of every pool and relay of the program -> its name for people; two that share a name keep their ids."""
    found = {terms.option.id: pool_name(terms.option, plan.program.class_names) for terms in plan.program.pools}
    found |= {terms.relay.id: relay_name(terms.relay) for terms in plan.program.relays}
    bought = {line.name for line in plan.lines}
    taken = [name for key, name in found.items() if key in bought]
    return {key: key if key in bought and taken.count(name) > 1 else name for key, name in found.items()}


def supplier(plan: Plan, line: CostLine) -> str:
    """Who is paid by a line of the bill, and for what: "Verda, rented hosts", "DeepSeek, API"; fixed costs keep their names."""
    for terms in plan.program.pools:
        offer = terms.option.offer
        if line.name in (terms.option.id, f"{terms.option.id} starts"):
            return "purchased hosts" if offer.term == "owned" else f"{seller(offer) or offer.id}, {PAID.get(offer.term, 'hosts')}"
    for sold in plan.program.relays:
        if line.name == sold.relay.id or (line.kind == "relay" and line.name.startswith(f"{sold.relay.id} ")):
            return f"{company(sold.relay.vendor)}, API"
    return line.name


def alternative_name(name: str) -> str:
    """An alternative for people; a name that says it already stays.

    >>> alternative_name("own GPUs wherever possible"), alternative_name("h100 only")
    ('everything self-hosted where possible', 'h100 only')
    """
    return ALTERNATIVES.get(name, name)


def sensitivity_name(name: str) -> str:
    """An input of the sensitivity for people.

    >>> sensitivity_name("price: lab.thinker output tokens"), sensitivity_name("all GPU prices")
    ('price of lab.thinker output tokens', 'prices of all GPUs')
    """
    return INPUTS.get(name, name.replace("price: ", "price of ", 1))
