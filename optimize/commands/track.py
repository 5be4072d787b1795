"""`servemix track`: is the world still the plan's?"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
import typer.core

from optimize.commands.common import AsJson, Jobs, command, deliver, json_text, tell

if TYPE_CHECKING:
    from optimize.track.questions import Answers, Question

KEY_ENV = "Environment variable with a bearer token of that server."


@command("track plans/plan.json --prometheus http://prometheus:9090, after: optimize scenarios/two_offers.yaml --out plans")
def track(
    plan: Annotated[Path, typer.Argument(metavar="PLAN", help="plan.json in the results folder of `optimize --out DIR`.")],
    prometheus: Annotated[str | None, typer.Option("--prometheus", metavar="URL", help="Prometheus server; it is only read.")] = None,
    begin: Annotated[list[Path] | None, typer.Option("--begin", metavar="FILE", help="Instead: /metrics page saved at the begin.")] = None,
    end: Annotated[list[Path] | None, typer.Option("--end", metavar="FILE", help="The same page saved at the end; one for each.")] = None,
    hours: Annotated[int, typer.Option("--hours", min=1, max=168, help="Length of the window.")] = 24,
    until: Annotated[str | None, typer.Option("--until", metavar="TIME", help="End of the window, ISO 8601; default: now.")] = None,
    timezone: Annotated[str, typer.Option("--timezone", help="Time zone of the plan's hours, as given to `deploy`.")] = "UTC",
    key_env: Annotated[str | None, typer.Option("--key-env", metavar="NAME", help=KEY_ENV)] = None,
    replan: Annotated[bool, typer.Option("--replan", help="Plan again with the observed demand and lengths (minutes).")] = False,
    as_json: AsJson = False,
    jobs: Jobs = 2,
) -> None:
    """Hold what engines and gateway measured against the plan: promises, drifts, the likely cause, whether to plan again.

    Exit code 0: as planned; 2: bad input; 4: a promise was broken; 5: something drifted, every promise that can be judged was kept.
    """
    from optimize.audit.manifest import read_manifest
    from optimize.audit.rerun import recorded_scenario
    from optimize.deploy.deployable import deployable
    from optimize.report.terminal.render_track import render_track
    from optimize.simulate.saved_plan import read_plan
    from optimize.track.ask_prometheus import ask_prometheus
    from optimize.track.look import track as look
    from optimize.track.plan_again import plan_again
    from optimize.track.read_exposition import read_exposition
    from sim.catalog.loader import load_catalog
    from sim.errors import InputError
    from sim.probe.secret import read_key

    if (prometheus is None) == (not begin and not end) or len(begin or ()) != len(end or ()):
        raise InputError("give --prometheus URL, or as many --begin as --end files")
    saved, wanted = read_plan(plan), deployable(plan, load_catalog(), {})
    scenario, changed = recorded_scenario(plan.parent, read_manifest(plan.parent))
    for text in changed:
        tell(text)
    finish, key = _end(until, timezone), read_key(key_env, None)

    def ask(asked: Sequence[Question], after_busiest: int) -> Answers:
        if prometheus is None:
            return read_exposition(begin or (), end or (), asked)
        busy = finish - timedelta(hours=after_busiest)
        return ask_prometheus(prometheus, key, asked, finish.timestamp(), hours * 3600, busy.timestamp())

    found = look(wanted, saved, scenario, finish, hours, ask)
    again = plan_again(wanted, saved, scenario, found, jobs, tell) if replan else None
    said = found.as_json() | ({} if again is None else {"replanned": again.as_json()})
    deliver(lambda: json_text(said) if as_json else render_track(found) + ("" if again is None else again.text()), None)
    raise typer.Exit(found.code)


def _end(until: str | None, timezone: str) -> datetime:
    """The end of the window in the plan's time zone. Raises InputError."""
    from optimize.deploy.choices import timezone_of
    from sim.errors import InputError, quoted

    zone = timezone_of(timezone)
    if until is None:
        return datetime.now(UTC).astimezone(zone)
    try:
        found = datetime.fromisoformat(until)
        return found.astimezone(zone) if found.tzinfo else found.replace(tzinfo=zone)
    except (ValueError, OverflowError):
        raise InputError(f"--until: {quoted(until)} is no time; write 2026-12-31T18:00 or 2026-12-31T18:00Z") from None
