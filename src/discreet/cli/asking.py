"""What ``discreet price``, ``diagnose`` and ``release`` do with a plan; ``questions`` makes it."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.output import JsonOption, print_json
from discreet.cli.project import (
    DEFAULT_PROJECT,
    AnalystOption,
    DatasetOption,
    ProjectOption,
    open_session,
)
from discreet.errors import ReleaseError, SettlementFailed
from discreet.plans import Plan, Release


def price_plan(
    plan: Plan,
    project: ProjectOption = DEFAULT_PROJECT,
    dataset: DatasetOption = None,
    analyst: AnalystOption = None,
    queries: Annotated[
        int | None, typer.Option(help="Compare strategies to answer so many questions like this one.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Say what a plan would cost and how noisy it would be. Spends nothing."""
    price = open_session(project, dataset, analyst=analyst).price(plan, queries=queries)
    if json:
        print_json(price.to_json())
    else:
        typer.echo(str(price))


def diagnose_plan(
    plan: Plan, project: ProjectOption = DEFAULT_PROJECT, dataset: DatasetOption = None
) -> None:
    """Try a plan's answers on the table, for the curator alone. Exact, no release, spends nothing."""
    typer.echo(str(open_session(project, dataset).diagnose(plan)))


def release_plan(
    plan: Plan,
    project: ProjectOption = DEFAULT_PROJECT,
    dataset: DatasetOption = None,
    analyst: AnalystOption = None,
    out: Annotated[
        Path | None, typer.Option(help="Write the release to this JSON file; several get numbers.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Draw it into this picture file; several get numbers.")
    ] = None,
    fresh: Annotated[bool, typer.Option(help="Pay for new noise even if it was asked before.")] = False,
    json: JsonOption = False,
) -> None:
    """Answer a plan and spend its budget."""
    session = open_session(project, dataset, analyst=analyst)
    try:
        releases = session.release([plan], fresh=fresh)
    except SettlementFailed as failed:
        keep_answer(failed, Path(".") if out is None else out.parent, json)
        raise
    except KeyboardInterrupt as interrupt:
        typer.echo(str(interrupt) or "Interrupted.", err=True)
        raise typer.Exit(130) from None
    for number, release in enumerate(releases, start=1):
        if out is not None:
            release.save(_numbered(out, number, len(releases)))
        if plot is not None:
            draw(release, _numbered(plot, number, len(releases)))
        if not json:
            frame = release.value.to_frame()
            shown = frame if frame.index.name is None else frame.reset_index()
            typer.echo(f"{shown.to_string(index=False)}\n\n{release.guarantee}")
    if json:
        told = [release.to_json() for release in releases]
        print_json(told[0] if len(told) == 1 else told)
    else:
        typer.echo(f"left: {session.remaining}")


def _numbered(path: Path, number: int, count: int) -> Path:
    """Return the path of one of several answers: ``age.json``, or ``age-1.json``, ``age-2.json``."""
    return path if count == 1 else path.with_name(f"{path.stem}-{number}{path.suffix}")


def keep_answer(failed: SettlementFailed, folder: Path, json: bool) -> None:
    """Print an answer that the ledger did not store, and write it where it can be stored from."""
    if not json:
        typer.echo(failed.release.value.to_frame().to_string(index=False))
        typer.echo(f"\n{failed.release.guarantee}")
    try:
        kept = failed.save(folder / f"unsettled-{failed.reservation.id}.json")
        typer.echo(f"Store the answer later with: discreet budget settle {kept}", err=True)
    except ReleaseError as error:  # a full disk may be why the ledger failed
        typer.echo(f"The answer is above and nowhere else. {error}", err=True)


def draw(release: Release, path: Path) -> None:
    """Draw a release into a file, without a screen."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6.4, 4.2), layout="constrained")
    FigureCanvasAgg(figure)
    release.plot(figure.add_subplot())
    figure.savefig(path, dpi=150)
