"""What `calibrate` found, for people."""

from __future__ import annotations

import io

from rich.console import Console
from rich.table import Table

from sim.calibration.fit_own import Calibrated
from sim.plural import counted


def render_calibration(found: Calibrated) -> str:
    """Step times before and after, errors by run, what stays unknown, and the runs that would help most."""
    row = found.row
    parts = [f"{row.source.title}: {counted(row.points, 'run')}, {row.engine}\n", "\nStep times\n", _steps(found)]
    parts += ["\nRuns, as the fit sees them\n", _runs(found)]
    error = "; ".join(
        f"{name} {row.error[f'{name}_median']:.1%} median, {row.error[f'{name}_p90']:.1%} p90"
        for name in ("throughput", "tpot", "ttft")
        if f"{name}_median" in row.error
    )
    parts.append(f"\nError that plans will carry: {error}\n")
    parts += _listing("Left out", [f"{run}: {why}" for run, why in found.skipped])
    parts += _listing("Not identified", list(found.missing))
    after = "then step times are known to +/-"
    runs = [f"{run.command()}\n    about {run.seconds:.0f} s; {after}{run.mean_sd:.1%} on average" for run in found.next_runs]
    parts += _listing("Runs that would help most, in this order", runs)
    return "".join(parts)


def _listing(title: str, lines: list[str]) -> list[str]:
    return [f"\n{title}\n", *(f"  - {line}\n" for line in lines)] if lines else []


def _steps(found: Calibrated) -> str:
    grid = Table(box=None, pad_edge=False)
    for column in ("  step", "catalogue ms", "fitted ms", "+/-", ""):
        grid.add_column(column, justify="left" if column in ("  step", "") else "right")
    for state in found.states:
        open_ = "" if state.known else "not identified"
        grid.add_row(f"  {state.name}", f"{1e3 * state.before_s:.2f}", f"{1e3 * state.fitted_s:.2f}", f"{state.sd:.1%}", open_)
    return _text(grid)


def _runs(found: Calibrated) -> str:
    grid = Table(box=None, pad_edge=False)
    for column in ("  run", "metric", "measured", "fitted", "error"):
        grid.add_column(column, justify="left" if column in ("  run", "metric") else "right", overflow="fold")
    for one in found.errors:
        scale, unit = (1.0, "tok/s") if one.metric == "throughput" else (1e3, "ms")
        grid.add_row(f"  {one.run}", one.metric, f"{scale * one.measured:,.1f} {unit}", f"{scale * one.fitted:,.1f}", f"{one.error:+.1%}")
    return _text(grid)


def _text(grid: Table) -> str:
    buffer = io.StringIO()
    Console(file=buffer, width=160, color_system=None).print(grid)
    return "\n".join(line.rstrip() for line in buffer.getvalue().splitlines()) + "\n"
