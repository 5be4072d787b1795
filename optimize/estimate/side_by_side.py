"""One training against a year of serving: who pays what, when serving overtakes, and what adapters on an open model change."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from optimize.estimate.amounts import Options
from optimize.estimate.flops import FORWARD_PER_PARAMETER, training_flops
from optimize.estimate.question import GROUPS, Question, read_lengths
from optimize.estimate.rental import FOR_A_YEAR, cheapest_host, cheapest_hosts
from optimize.estimate.row import Row
from optimize.estimate.rules import Rule
from optimize.estimate.serving import serving_estimate
from optimize.estimate.serving_point import Load
from optimize.estimate.subjects import cpus, find_model, weight_formats
from optimize.estimate.training import Json, Run, TrainingEstimate, span, training_estimate
from optimize.money.amounts import amount_usd, share_of
from optimize.money.units import HOURS_PER_YEAR, MTOK
from optimize.money.utilisation import always_on_usd, break_even_mtok, capacity_mtok, usd_per_mtok
from sim.catalog.facts import Catalog, Model, Offer
from sim.catalog.loader import load_catalog

SCHEMA = "servemix.estimate.compare/1"
DAYS = 365
DAY_S = 86400.0
TOKENS_PER_PARAMETER = 20  # compute-optimal: Hoffmann et al. 2022 (Chinchilla)
TYPED = ("model", "tokens", "users", "requests_per_user", "serve_gpu", "context", "prompt", "answer", "mfu", "adapter_tokens")
SUPPORT_MODEL = "llama-3.2-3b"
USERS = 10_000
REQUESTS_PER_USER = 7.5  # 3 conversations of 2.5 turns: the default of scenarios/million_dau.yaml
PEAK_HOUR = 0.07  # share of the day's requests in its busiest hour, as there
PEAK_MINUTE = 1.26  # peak minute over the hour's mean, as there
PEAK_RPS = PEAK_HOUR / 3600 * PEAK_MINUTE  # peak requests per second of one request per day
ADAPTER_TOKENS = 50e6  # 100,000 support dialogues of 500 tokens


@dataclass(frozen=True)
class Way:
    """One way to the model. `usd` (low, high) is training once at the cheapest on-demand offer; `share` of it in the first year's sum.

    Serving overtakes training at so many daily users (whole hosts, idle hours paid), or so many tokens (no idle hours).
    """

    name: str
    training: TrainingEstimate
    usd: tuple[float, float]
    offer: str
    share: tuple[float, float]
    overtakes_at_users: tuple[int, int]
    overtakes_at_tokens: tuple[float, float]  # served, at the price of a replica that is busy at its knee all year


@dataclass(frozen=True)
class Comparison:
    """The answer. Serving: whole hosts of one offer rented all year, sized for the peak minute at the knee; idle hours are in the price."""

    model: Model
    users: int
    requests_per_user: float
    serving: Row
    offer: str
    hosts: int
    replicas_per_host: int
    users_per_host: int
    peak_rps: float
    serving_usd_per_year: float
    served_tokens_per_year: float  # prompt and answer
    utilisation: float
    flops_overtake_tokens: float  # served tokens whose forward passes cost as much as training: 6ND / 2N = 3D
    ways: tuple[Way, ...]

    @property
    def flops_overtake_days(self) -> float:
        return self.flops_overtake_tokens / (self.served_tokens_per_year / DAYS)


def estimate_compare(**given: Any) -> Comparison:
    """Training against serving, from options as typed; InputError with every problem.

    Keys: model, tokens, users, requests_per_user, gpu, serve_gpu, weights, context, prompt, answer, mfu, adapter_tokens; None: the worked
    example, a support model of 3B parameters.
    """
    options, catalog = Options("estimate compare"), load_catalog()
    model = find_model(options, given["model"] or SUPPORT_MODEL, catalog)
    tokens = options.count("--tokens", given["tokens"]) if given["tokens"] else None
    users = options.count("--users", given["users"]) if given["users"] else float(USERS)
    per_user = given["requests_per_user"] or REQUESTS_PER_USER
    adapter_tokens = options.count("--adapter-tokens", given["adapter_tokens"]) if given["adapter_tokens"] else ADAPTER_TOKENS
    gpu = options.row("--gpu", given["gpu"], catalog.gpus)
    served = {**catalog.gpus, **cpus()}
    devices = [options.row("--serve-gpu", given["serve_gpu"], served)] if given["serve_gpu"] else list(catalog.gpus.values())
    weights = options.row("--weights", given["weights"], weight_formats(catalog))
    mfu = None if given["mfu"] is None else options.band("--mfu", given["mfu"])
    if not options.problems and users != int(users):
        options.wrong("--users", f"{users:g} is not a whole number of users")
    lengths = read_lengths(options, model, given["context"], given["prompt"], given["answer"])
    options.check()
    assert model is not None and gpu is not None and weights is not None and lengths is not None
    question = Question(model, (weights,), tuple(d for d in devices if d), GROUPS, *lengths, None, "bf16")
    server = _server(options, question, users * per_user * PEAK_RPS, catalog)
    if gpu is not None and cheapest_host(catalog, gpu.id) is None:
        options.wrong("--gpu", f"no on-demand offer in the catalogue sells {gpu.id}; see `catalog offers`")
    options.check()
    assert server is not None
    tokens = tokens or TOKENS_PER_PARAMETER * model.parameters
    runs = {
        "from scratch, all weights": Run(model, tokens, gpu, mfu=mfu),
        "open model, all weights": Run(model, adapter_tokens, gpu, mfu=mfu),
        "open model, LoRA": Run(model, adapter_tokens, gpu, mfu=mfu, method="lora"),
    }
    return comparison(*server, lengths[1], int(users), per_user, runs, catalog)


def _server(options: Options, question: Question, peak_rps: float, catalog: Catalog) -> tuple[Row, Offer] | None:
    """The row and offer that carry the peak for the least money an hour, in whole hosts; None after a problem."""
    answer = serving_estimate(question, catalog)
    found: list[tuple[float, str, Row, Offer]] = []
    for row in answer.fits:
        d, replicas = row.deployment, math.ceil(peak_rps / row.knee.requests_per_s)
        rented = cheapest_hosts(catalog, d.gpu.id, d.tensor_parallel, replicas, FOR_A_YEAR)
        if rented is not None:
            found.append((rented[2], d.id, row, rented[0]))
    if not found:
        why = "; ".join(f"{each.gpu}: {each.reason}" for each in answer.refused[:3]) or "no on-demand offer in the catalogue sells it"
        options.wrong("--serve-gpu, --weights", f"nothing to serve on ({why}); try another GPU or --weights int4")
        return None
    return min(found, key=lambda entry: entry[:2])[2:]


def comparison(row: Row, offer: Offer, load: Load, users: int, per_user: float, runs: dict[str, Run], catalog: Catalog) -> Comparison:
    """What each way of training costs next to a year of serving `users` daily users on hosts of `offer` that run `row`."""
    per_host = offer.gpus // row.deployment.tensor_parallel
    users_per_host = max(1, math.floor(per_host * row.knee.requests_per_s / (per_user * PEAK_RPS)))
    hosts = math.ceil(users / users_per_host)
    host_usd = always_on_usd(offer.usd_per_hour, hours=HOURS_PER_YEAR)
    first = next(iter(runs.values()))
    host_mtok = capacity_mtok(per_host * row.knee.requests_per_s * load.context_tokens, hours=HOURS_PER_YEAR)
    terms = HostTerms(hosts, host_usd, users_per_host, usd_per_mtok(host_usd, host_mtok))
    return Comparison(
        model=row.deployment.model,
        users=users,
        requests_per_user=per_user,
        serving=row,
        offer=offer.id,
        hosts=hosts,
        replicas_per_host=per_host,
        users_per_host=users_per_host,
        peak_rps=users * per_user * PEAK_RPS,
        serving_usd_per_year=amount_usd(host_usd, hosts),
        served_tokens_per_year=users * per_user * DAYS * load.context_tokens,
        utilisation=users * per_user / DAY_S / (hosts * per_host * row.knee.requests_per_s),
        flops_overtake_tokens=training_flops(first.model, first.tokens) / (FORWARD_PER_PARAMETER * first.model.active_parameters),
        ways=tuple(_way(name, run, terms, catalog) for name, run in runs.items()),
    )


@dataclass(frozen=True)
class HostTerms:
    """What `_way` needs of the serving side: hosts, USD of one for a year, users that one carries, USD per busy million tokens."""

    hosts: int
    usd_per_year: float
    users: int
    usd_per_mtok: float


def _way(name: str, run: Run, host: HostTerms, catalog: Catalog) -> Way:
    training = training_estimate(run, catalog)
    rental = next(r for r in training.cost if r.term == "on_demand")  # there is one: estimate_compare asked
    (low, high), year_usd = rental.usd, amount_usd(host.usd_per_year, host.hosts)
    return Way(
        name=name,
        training=training,
        usd=(low, high),
        offer=rental.offer,
        share=(share_of(low, low + year_usd), share_of(high, high + year_usd)),
        overtakes_at_users=(overtaking_users(low, host.usd_per_year, host.users), overtaking_users(high, host.usd_per_year, host.users)),
        overtakes_at_tokens=(break_even_mtok(low, host.usd_per_mtok) * MTOK, break_even_mtok(high, host.usd_per_mtok) * MTOK),
    )


def overtaking_users(training_usd: float, host_usd: float, users_per_host: int) -> int:
    """The smallest number of daily users whose year of serving costs at least the training; whole hosts.

    >>> overtaking_users(25_000.0, 10_000.0, 1000), overtaking_users(9_000.0, 10_000.0, 1000)
    (2001, 1)
    """
    return (max(1, math.ceil(training_usd / host_usd)) - 1) * users_per_host + 1


def compare_json(c: Comparison) -> Json:
    """The comparison as one JSON object; money in USD."""
    return {
        "schema": SCHEMA,
        "model": c.model.id,
        "parameters": c.model.parameters,
        "users": c.users,
        "requests_per_user_day": c.requests_per_user,
        "serving": {
            **c.serving.as_json(),
            "peak_rps": c.peak_rps,
            "rented": {"offer": c.offer, "hosts": c.hosts, "replicas_per_host": c.replicas_per_host, "users_per_host": c.users_per_host},
            "utilisation": c.utilisation,
            "usd_per_year": c.serving_usd_per_year,
            "tokens_per_year": c.served_tokens_per_year,
        },
        "flops_overtake": {"served_tokens": c.flops_overtake_tokens, "days": c.flops_overtake_days},
        "ways": [
            {
                "name": way.name,
                "method": way.training.run.method,
                "tokens": way.training.run.tokens,
                "gpu": way.training.run.gpu.id,
                "gpus": way.training.gpus,
                "offer": way.offer,
                "gpu_hours": span(way.training.gpu_hours),
                "training_usd": span(way.usd),
                "training_share": span(way.share),
                "serving_share": span((1 - way.share[1], 1 - way.share[0])),
                "serving_overtakes_at_users": {"low": way.overtakes_at_users[0], "high": way.overtakes_at_users[1]},
                "serving_overtakes_at_tokens": span(way.overtakes_at_tokens),
            }
            for way in c.ways
        ],
    }


def training_share_rule() -> Rule:
    """The saying that training is 70 to 80 % of the cost, against a 3B support model trained from scratch and served for a year."""
    found = estimate_compare(**dict.fromkeys(TYPED), gpu="h100", weights="bf16")
    first, tuned = found.ways[0], found.ways[-1]
    most = max(tuned.share)
    why = f"of the first year, {found.users:,} daily users; adapters on an open model: {100 * most:.1f} % at most; more users, less"
    return Rule("training is 70 to 80 % of the cost", f"{found.model.id} from scratch", (0.7, 0.8), first.share, "share", why)
