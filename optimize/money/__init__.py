"""The only place where money is computed, one formula family per file. Amounts in USD; a month has 730 hours; prices exclude tax.

units        hours of a month, currencies, what a unit of prepaid credit costs
rent         hosts by the hour, by term
contracts    spend tiers, minimum payments, provisioned units, starts of hosts
tokens       what a relay bills: tokens of every kind, tiers per request, time of day, batch, commitments
metering     the kinds of tokens of a request at a relay and the price of each: cached, written, batch, long prompts
hours        what a slice of the demand pays where tokens are cheaper off peak
capital      annuity, straight line, present value, payback
power        electricity from load-dependent draw and PUE; colocation
ownership    a month of an owned host, and what is left to pay staff and maintenance with
extras       egress, one-off costs, free credits, lead time
utilisation  the two things that people call utilisation
classifier   telling requests apart; the cost of an answer that is accepted
bill         the lines of a plan's bill, and the charges (quantity x price) that they consist of
"""

from optimize.money.bill import CLASSIFIER, accepted_usd, classifier_usd, cost_lines, plan_cost_usd
from optimize.money.contracts import hosts_usd
from optimize.money.token_prices import calls_usd, relay_request_usd, request_usd, requests_per_month
from optimize.money.units import HOUR_S, HOURS_PER_MONTH, MTOK, to_currency, to_usd

__all__ = [
    "CLASSIFIER",
    "HOURS_PER_MONTH",
    "HOUR_S",
    "MTOK",
    "accepted_usd",
    "calls_usd",
    "classifier_usd",
    "cost_lines",
    "hosts_usd",
    "plan_cost_usd",
    "relay_request_usd",
    "request_usd",
    "requests_per_month",
    "to_currency",
    "to_usd",
]
