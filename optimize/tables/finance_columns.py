"""The columns of the tables about money: charges, unit costs, months, break-even, sensitivity, prices, own hosts, figures, FOCUS rows."""

from __future__ import annotations

from optimize.tables.columns import Column

CHARGES = (
    Column("line", "str", "", "line of the bill that it belongs to"),
    Column("kind", "str", "", "gpu, relay or fixed"),
    Column("source", "str", "", "offer or relay that asks the price"),
    Column("item", "str", "", "what is priced; `other terms`: what quantity x price does not explain"),
    Column("quantity", "float", "", "units of a month, to 12 significant digits"),
    Column("unit", "str", "", "h, million tokens or month"),
    Column("usd_per_unit", "float", "USD", "price of a unit, to 12 significant digits"),
    Column("per_month", "float", "money", "cost of a month; the charges of a line sum to it to the cent"),
)
UNITS = (
    Column("name", "str", "", "what one is asked"),
    Column("value", "float", "", "its value; idle hours are paid and included"),
    Column("unit", "str", "", "unit of the value"),
    Column("how", "str", "", "how it is computed"),
)
MONTHS = (
    Column("month", "str", "", "YYYY-MM"),
    Column("demand", "float", "", "requests, times today's"),
    Column("requests", "float", "requests", "requests of the month"),
    Column("gpu", "float", "money", "GPU hosts"),
    Column("relay", "float", "money", "relays"),
    Column("fixed", "float", "money", "fixed costs"),
    Column("once", "float", "money", "one-off costs"),
    Column("credits", "float", "money", "paid by free credits"),
    Column("paid", "float", "money", "cash of the month"),
    Column("cumulative", "float", "money", "cash since the first month"),
    Column("peak_hosts", "int", "hosts", "hosts in the busiest hour, all pools"),
    Column("saved", "float", "money", "all-API less the plan before one-off costs; empty where there is no all-API"),
    Column("solved", "bool", "", "whether the program was solved for the month; else the last fleet is scaled"),
    Column("bought", "bool", "", "whether all of it can be bought; False: a retired model without successor, priced as before"),
    Column("changes", "str", "", "announced prices, retirements and successors that its relay cost contains; empty: today's prices"),
)
BREAK_EVEN = (
    Column("demand", "float", "", "requests, times today's"),
    Column("users", "float", "users/day", "daily users at that demand; empty where traffic is not stated in users"),
    Column("requests", "float", "requests", "requests of a month"),
    Column("tokens", "float", "tokens", "input and output tokens of a month"),
    Column("plan", "float", "money", "pools and relays mixed anew; at 1 this plan's bill"),
    Column("all_api", "float", "money", "relays wherever allowed"),
    Column("self_hosted", "float", "money", "own GPUs wherever possible"),
    Column("self_hosted_low", "float", "money", "the same if a request occupies less of them, by the simulator's error"),
    Column("self_hosted_high", "float", "money", "the same if it occupies more"),
    Column("scaled", "str", "", "strategies whose figure is an estimate: a fleet scaled between solutions; all others were solved again"),
)
BREAK_EVEN_TOKENS = (
    Column("tokens", "float", "", "tokens of every request, times today's"),
    Column("tokens_per_request", "float", "tokens", "input and output of a mean request"),
    Column("unit", "str", "", "what the next columns count"),
    Column("break_even", "float", "", "from here on own GPUs are cheaper than relays; empty: at no demand up to 1,000 times today's"),
    Column("low", "float", "", "the same if a request occupies less of them, by the simulator's error"),
    Column("high", "float", "", "the same if it occupies more"),
)
SENSITIVITY = (
    Column("name", "str", "", "input"),
    Column("change", "float", "share", "change down and up"),
    Column("low", "float", "money", "cost of a month with the input lowered, the fleet as it is"),
    Column("high", "float", "money", "cost of a month with it raised"),
    Column("span", "float", "money", "high - low"),
)
PRICES = (
    Column("name", "str", "", "offer or relay"),
    Column("item", "str", "", "what is priced"),
    Column("unit", "str", "", "unit of the price"),
    Column("list", "float", "USD", "list price"),
    Column("quoted", "float", "USD", "what a quote says, or the scenario without a document"),
    Column("contracted", "float", "USD", "what a contract says"),
    Column("claimed", "float", "USD", "what is only claimed"),
    Column("grade", "str", "", "evidence for the price of the plan: quote, contract, list or claimed; whether its contract has ended"),
    Column("used", "bool", "", "whether the plan buys it"),
    Column("reference", "str", "", "catalogue row that the list price is from; another row than `name`: another vendor's"),
    Column("source", "str", "", "where the plan's price comes from"),
    Column("date", "str", "", "its date"),
    Column("age_days", "int", "days", "age on the first day of the horizon; empty: nobody says when the price was made"),
    Column("valid_from", "str", "", "first day of the price, where a contract states it"),
    Column("valid_until", "str", "", "last day of the price: of the contract, or before an announced change"),
    Column("document", "str", "", "what the price is read from: a contract or quote, the catalogue's file, the scenario"),
    Column("sha256", "str", "", "hash of that file"),
    Column("retires_on", "str", "", "day on which the model retires"),
    Column("successor", "str", "", "what follows it"),
    Column("hours_utc", "str", "", "hours in which the price holds; empty: in all that have no price of their own"),
)
OWN = (
    Column("pool", "str", "", "rented pool that own hosts would replace"),
    Column("hosts", "int", "hosts", "hosts that would be bought: the most that run in any hour"),
    Column("rent", "float", "money", "rent of a month"),
    Column("known", "float", "money", "a month of own hosts, parts with a source (economic view)"),
    Column("left", "float", "money", "what the open parts may cost before owning is dearer; negative: owning never wins"),
    Column("open", "str", "", "parts without a source that could be cited"),
    Column("book", "float", "money", "straight-line depreciation of a month (book view of the capital line)"),
    Column("purchase", "float", "money", "purchase of the hosts with their share of the network"),
    Column("once", "float", "money", "rent that runs on during lead time and overlap; empty while either is open"),
    Column(
        "payback_months", "float", "months", "until the rent saved repays purchase and `once`, open parts left out; empty: not in its life"
    ),
    Column("verdict", "str", "", "the answer in words, USD"),
)
OWN_PARTS = (
    Column("pool", "str", "", "rented pool that own hosts would replace"),
    Column("part", "str", "", "capital, electricity, colocation, failures, maintenance or staff"),
    Column("per_month", "float", "money", "cost of a month"),
    Column("how", "str", "", "its formula with numbers, USD"),
)
FIGURES = (
    Column("name", "str", "", "key under `finance` of the scenario"),
    Column("value", "float", "", "value used; empty: open, never zero"),
    Column("unit", "str", "", "unit"),
    Column("low", "float", "", "lower end of what is plausible"),
    Column("high", "float", "", "upper end"),
    Column("given", "bool", "", "whether the scenario states it"),
    Column("meaning", "str", "", "what it is"),
    Column("source", "str", "", "where it is from"),
    Column("date", "str", "", "its date"),
)
FOCUS = (
    Column("BillingPeriodStart", "str", "", "first instant of the month"),
    Column("BillingPeriodEnd", "str", "", "first instant after it"),
    Column("ChargePeriodStart", "str", "", "the same: a plan is a month"),
    Column("ChargePeriodEnd", "str", "", "the same"),
    Column("BillingCurrency", "str", "", "currency of the costs"),
    Column("BilledCost", "float", "money", "the charge"),
    Column("EffectiveCost", "float", "money", "the same: a plan has no prepayment"),
    Column("ListCost", "float", "money", "quantity at the list price of its seller, where the catalogue has it"),
    Column("ContractedCost", "float", "money", "the same as billed"),
    Column("ListUnitPrice", "float", "money", "list price of a unit; empty where the catalogue has none of this seller"),
    Column("ContractedUnitPrice", "float", "money", "price of a unit in this plan"),
    Column("PricingQuantity", "float", "", "units priced"),
    Column("PricingUnit", "str", "", "Hours, Million tokens or Months"),
    Column("ConsumedQuantity", "float", "", "units consumed"),
    Column("ConsumedUnit", "str", "", "the same unit"),
    Column("ChargeCategory", "str", "", "Usage or Purchase"),
    Column("ChargeDescription", "str", "", "line and item"),
    Column("ProviderName", "str", "", "who sells it"),
    Column("PublisherName", "str", "", "the same"),
    Column("ServiceCategory", "str", "", "AI and Machine Learning, Compute or Other"),
    Column("ServiceName", "str", "", "offer or relay"),
    Column("SkuId", "str", "", "offer or relay, and item"),
    Column("RegionId", "str", "", "region of the offer; empty if not stated"),
    Column("ResourceId", "str", "", "line of the bill"),
    Column("x_Item", "str", "", "item of the charge, as in `charges`"),
    Column("x_Requests", "float", "requests", "requests of the month that the line serves; only on its first charge"),
)
FINANCE_TABLES = {
    "charges": CHARGES,
    "unit_costs": UNITS,
    "months": MONTHS,
    "break_even": BREAK_EVEN,
    "break_even_tokens": BREAK_EVEN_TOKENS,
    "sensitivity": SENSITIVITY,
    "prices": PRICES,
    "own_or_rent": OWN,
    "own_parts": OWN_PARTS,
    "figures": FIGURES,
    "focus": FOCUS,
}
