"""The words of the product and what they mean: the glossary of the documentation and of every report is made from these."""

from __future__ import annotations

TERMS = {
    "all-in": "with staff, support, operations, contingency and tax on top of the bill; what has no figure is open, not zero",
    "attainment": "share of the requests of a class and hour that meet a limit; rejected and failed requests miss",
    "base host": "a host that is held for the whole month, in every hour; the opposite is *elastic*",
    "bound": (
        "a number that no plan can undercut. The *model bound* holds for plans of the measured program, the *fluid bound* for "
        "any plan under this simulator"
    ),
    "break-even": "the demand from which self-hosting costs less than APIs",
    "calibrated": "fitted to measurements of that very GPU",
    "capacity": "the largest rate of requests, at a given mix and pool size, at which every promise holds in the simulation",
    "claimed price": "a price that only the seller states; used with `policy.trust_claims` alone",
    "class, request class": (
        "a kind of request: token lengths, task, SLO, which models may answer; its `kind` is chat, embedding or batch"
    ),
    "confidence": "the chance, over what the simulator and the forecast may be wrong by, that every promise holds in every hour",
    "contract price": "a price from a signed document; its file and hash stand in the price book",
    "cut": "a linear row that tells the program what the simulator found; here a tangent of the measured capacity of a pool",
    "deployment": "the shape of one replica: model x weight format x GPU type x tensor parallel x engine limits",
    "discount rate": "what money costs or would earn elsewhere in a year; later payments count for less",
    "E2E": "end to end: arrival to last token",
    "elastic": "may follow the hour, and is billed only while it runs",
    "fleet": "pools + relays + router on one clock",
    "flow": "the part of a class's hour that goes to a pool or a relay",
    "fluid bound": "what no plan can undercut: every second of arithmetic and memory traffic used, no promise kept",
    "gap": "(cost - bound) / cost",
    "headroom": "what of the capacity is not used",
    "hold-out seed": "a seed of the proof, never seen by the search",
    "host": "what is rented or owned as one: one or more GPUs; also a failure domain",
    "host-hour": "one host for one hour; what rented hosts are billed by",
    "hour slice": 'an hour of a kind of day ("weekday 14") with the hours of a month that it stands for',
    "knee": "the load beyond which waiting times grow steeply",
    "KV cache": "keys and values of the tokens of a running sequence, in blocks of 16 tokens; what a GPU runs out of first",
    "list price": "the public price of the seller",
    "look": "one time that the proof examines its results; each look costs a little certainty",
    "lower bound": "a number that no plan can undercut",
    "miss share": "the part of the requests that misses a promise; unlike percentiles, miss shares of parts add up",
    "model bound": "what no other plan of the same pools, at the capacities measured, can undercut",
    "month": "730 hours",
    "N+1": "every pool keeps its promise with one host lost",
    "offer": "something money buys: a GPU host at a price and term with a stock limit",
    "operating point": "rate, mix and miss shares of a pool at which it was measured",
    "overflow": "a threshold on open requests per replica beyond which a pool's next request goes to a named relay or pool",
    "p95": "95 % of the requests are at or below this; p50 is the middle, p99 nearly all",
    "pilot": "a short measurement on the real hardware that would settle the largest doubt",
    "plan": "how many of each offer in each hour, and which share of each class goes where",
    "pool": "the replicas of one deployment together with the set of classes that it serves",
    "preemption": "a running sequence loses its KV blocks to an older one, and is computed again later",
    "prefix cache": "KV of prompts that begin alike, kept by a replica; relays have a *prompt cache* with prices of its own",
    "present value": "all payments of the months ahead in money of today, by the discount rate",
    "promise": "one line of an SLO: 95 % of requests see the first token within 1 s",
    "proof, verification": "the plan replayed in the simulator on hold-out seeds",
    "purchased": "hosts that you buy and own",
    "rate limit": "what a seller lets one account send in a minute",
    "recourse": "what may still be bought when the future shows itself",
    "regret": "what a decision costs more than the best one in that future",
    "relaxation, linear": "the program with hosts that can be divided",
    "relay": "a remote API endpoint that sells tokens: price rows, latency distribution, limits",
    "replica": 'a running deployment. Not "instance", "worker" or "node"',
    "residency": "the regions that may hold the data",
    "RPM, TPM": "requests and tokens a minute that an account may send",
    "scenario": "one YAML file: traffic, request classes with SLOs, candidates, budget, policy",
    "seed": "the start of a series of random numbers; another seed is another random week",
    "self-hosted": "on GPUs that you operate, rented or purchased",
    "shadow price": "what one unit more of something scarce is worth, by the duals of the relaxation",
    "SLO": "service level objective: metric, quantile, limit in seconds; its window is the hour unless the scenario says otherwise",
    "spot": "spare capacity at a lower price that the seller may take back",
    "step": "one pass of the engine over its running sequences and a part of a prompt",
    "token": "a piece of a word; prompts and answers are counted in tokens",
    "TPOT": "time per output token: (last token - first token) / (output tokens - 1)",
    "TTFT": "time to first token: arrival to first token at the client, queueing and network included",
    "unserved": "demand that nothing serves; it costs a penalty in the program and is never `met`",
    "utilisation": "the part of what is paid that works",
    "verdict": "what the simulation says of a plan: met or missed, with which confidence, by how much, on how many requests and seeds",
}
HEAD = """# Glossary

One word per thing, in code, YAML, output and docs. Made from `optimize/tables/glossary.py`; every report has the words that it uses.

| word | meaning |
|---|---|
"""


def glossary_page() -> str:
    """The page of the documentation.

    >>> "| TTFT | time to first token" in glossary_page()
    True
    """
    return HEAD + "".join(f"| {word} | {meaning} |\n" for word, meaning in TERMS.items())


if __name__ == "__main__":  # python -m optimize.tables.glossary > docs/explanation/glossary.md
    print(glossary_page(), end="")
