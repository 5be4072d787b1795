"""What policy, evidence and dates allow to be bought; for everything else the reason, in one sentence."""

from __future__ import annotations

from collections.abc import Sequence
from fnmatch import fnmatchcase

from optimize.money.price_claims import retired, successor_words
from sim.catalog.facts import Catalog, Relay
from sim.scenario.scenario import Policy, RequestClass, Scenario

GRADES = ("quote", "contract", "list", "claimed")  # firmest first


def matching(patterns: Sequence[str], names: Sequence[str]) -> list[str]:
    """The shell patterns that match any of the names."""
    return [pattern for pattern in patterns if any(fnmatchcase(name, pattern) for name in names)]


def policy_reason(names: Sequence[str], grade: str, policy: Policy) -> str:
    """Why policy rules out what goes by these names at this grade of evidence; empty if it does not.

    `deny` wins over `allow`; a price that is only claimed needs `trust_claims`, however it is allowed.

    >>> policy_reason(("aws.g6e.xlarge", "aws", "l40s"), "list", Policy(allow=("nebius.*",)))
    'policy.allow does not name it (nebius.*)'
    """
    denied = matching(policy.deny, names)
    if denied:
        return f'policy.deny "{denied[0]}" matches it'
    if policy.allow and not matching(policy.allow, names):
        return f"policy.allow does not name it ({', '.join(policy.allow)})"
    if grade == "claimed" and not policy.trust_claims:
        return "its price is only claimed; get a quote, or set policy.trust_claims"
    return ""


def model_reason(model: str, policy: Policy) -> str:
    """Why policy rules out a model, on pools and relays alike; empty if it does not.

    >>> model_reason("gpt-4.1", Policy(deny=("gpt-*",)))
    'policy.deny "gpt-*" matches model gpt-4.1'
    """
    denied = matching(policy.deny, (model,))
    return f'policy.deny "{denied[0]}" matches model {model}' if denied else ""


def relay_reason(relay: Relay, scenario: Scenario) -> str:
    """Why no class may use the relay; empty if some may: policy, evidence, a firmer row of the same product, retirement."""
    return relay_policy_reason(relay, scenario.policy) or firmer_reason(relay, scenario) or retired_reason(relay, scenario.catalog)


def relay_policy_reason(relay: Relay, policy: Policy) -> str:
    """Why policy rules the relay out, also where it was chosen by hand; empty if it does not."""
    named = policy_reason((relay.id, relay.vendor), relay.grade, policy) or model_reason(relay.model, policy)
    return named or payment_reason(relay, policy)


def payment_reason(relay: Relay, policy: Policy) -> str:
    """Why it cannot be paid for; empty if it can, or where the seller states no way to pay.

    >>> from sim.catalog.loader import load_catalog
    >>> payment_reason(load_catalog().relays["holysheep.gpt-4.1"], Policy(payment=("invoice",)))
    'it takes wechat, alipay or card; policy.payment allows invoice'
    """
    taken = [each.lower() for each in relay.payment]
    if not policy.payment or not taken or set(taken) & set(policy.payment):
        return ""
    ways = " or ".join(filter(None, (", ".join(taken[:-1]), taken[-1])))
    return f"it takes {ways}; policy.payment allows {', '.join(policy.payment)}"


def firmer_reason(relay: Relay, scenario: Scenario) -> str:
    """Names a row of the same vendor, model and weights with firmer evidence; of quote, contract and list only the best is planned with."""
    rank = GRADES.index(relay.grade)
    for other in scenario.relays:
        same = (other.vendor, other.model, other.weights) == (relay.vendor, relay.model, relay.weights)
        firmer = relay.grade != "claimed" and same and GRADES.index(other.grade) < rank
        if firmer and not policy_reason((other.id, other.vendor), other.grade, scenario.policy):
            return f"{other.id} is the same product at a {other.grade} price, which is firmer than {relay.grade}"
    return ""


def retired_reason(relay: Relay, catalog: Catalog) -> str:
    """Says that the model can no longer be bought on the date of the catalogue; empty if it can."""
    if not retired(relay, catalog.date):
        return ""
    return f"{relay.model} was retired on {relay.retires_on}{successor_words(relay, catalog)}"


def class_reason(relay: Relay, request_class: RequestClass) -> str:
    """Why a class that accepts the relay's model may not use it all the same; empty if it may."""
    if request_class.self_hosted_only:
        return "self_hosted_only"
    needed = request_class.data_residency
    if needed and not set(needed) & set(relay.residency):
        return f"data must stay in {' or '.join(needed)}; the relay states {', '.join(relay.residency) or 'no place'}"
    return ""
