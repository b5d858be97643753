"""Commands for releases that were saved: no table is opened, and nothing is charged."""

from __future__ import annotations

from json import loads
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.asking import tell_answer, tell_plan
from discreet.cli.output import JsonOption, print_json, say
from discreet.cli.project import DEFAULT_PROJECT, DatasetOption, ProjectOption, open_books
from discreet.cli.writing import PICTURES, TABLES, as_columns, check_file, draw_alone, write_table
from discreet.errors import ArgumentError
from discreet.plans.showing import chosen, drawings_of, views_of
from discreet.session import Release

SavedArgument = Annotated[Path, typer.Argument(help="A saved release, as --out writes it.")]


GroupOption = Annotated[
    list[str] | None,
    typer.Option(help="Of this group alone; once per column of an answer by several columns."),
]


def show_command(
    release: SavedArgument,
    view: Annotated[
        str | None,
        typer.Option(help="Another table of the same answer, at no cost; a wrong name lists them."),
    ] = None,
    by_group: Annotated[bool, typer.Option(help="Groups beside each other: --view by-group.")] = False,
    even_thresholds: Annotated[
        str | None,
        typer.Option(help="Per group the threshold at which this rate is even: --view even-RATE."),
    ] = None,
    threshold: Annotated[
        float | None, typer.Option(help="At which records are selected, of an evaluation.")
    ] = None,
    group: GroupOption = None,
    table: Annotated[
        Path | None, typer.Option(help="Also write the answer to this CSV or Parquet file.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show a saved release: the answer, what was asked, what is promised."""
    check_file("--table", table, TABLES)
    named = _one_view(view, by_group=by_group, even_thresholds=even_thresholds)
    read = Release.load(release)
    plain = named is None and threshold is None and not group
    frame = None if plain else _viewed(read, named, threshold, group)
    if json:
        print_json(read.to_json() if frame is None else {"table": _records(frame)})
    else:
        say(f"{read.title}\n{tell_plan(read.plan)}")
        say(f"of {read.dataset} (version {read.version}){read.paid_by}, {read.created}\n")
        say(tell_answer(read, frame))
    if table is not None:
        write_table(read, table, frame)


def _one_view(view: str | None, *, by_group: bool, even_thresholds: str | None) -> str | None:
    """Return the table that is asked for, or raise if several are."""
    short = ["by_group"] if by_group else []
    short += [] if even_thresholds is None else [f"even_{even_thresholds}"]
    asked = [*([] if view is None else [view]), *short]
    if len(asked) > 1:
        raise ArgumentError(
            "--view, --by-group and --even-thresholds must be given one at a time, got "
            f"{len(asked)} of them."
        )
    return asked[0] if asked else None


def _viewed(read: Release, view: str | None, threshold: float | None, group: list[str] | None) -> Any:
    """Return a table of an answer, the first one if none is named."""
    found = views_of(read.value, threshold=threshold, group=tuple(group) if group else None)
    named = next(iter(found)) if view is None else view
    return as_columns(chosen("--view", named, found)())


def _records(frame: Any) -> Any:
    return loads(frame.to_json(orient="records"))


def plot_command(
    release: SavedArgument,
    out: Annotated[
        Path | None, typer.Option(help="The picture; beside the release and named like it if left out.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Above the picture.")] = None,
    kind: Annotated[
        str | None,
        typer.Option(help="Another picture of the same answer; a wrong name lists them."),
    ] = None,
    group: GroupOption = None,
    json: JsonOption = False,
) -> None:
    """Draw a saved release into a picture file."""
    path = release.with_suffix(".png") if out is None else out
    check_file("--out", path, PICTURES)
    read = Release.load(release)
    one = read.value
    if kind is not None or group:
        found = drawings_of(read.value, tuple(group) if group else None)
        one = chosen("--kind", kind or next(iter(found)), found)
    whose = f"{read.title}, {' and '.join(group)}" if group else read.title
    draw_alone(lambda paper: one.plot(paper, title=title or whose), path)
    if json:
        print_json({"picture": str(path)})
    else:
        say(str(path))


def report_command(
    releases: Annotated[list[Path], typer.Argument(help="Saved releases, in the order of the page.")],
    out: Annotated[Path, typer.Option(help="The page.")] = Path("report.html"),
    title: Annotated[str, typer.Option(help="Heading of the page.")] = "Private release",
    note: Annotated[str, typer.Option(help="A paragraph below the heading.")] = "",
    budget: Annotated[
        bool, typer.Option(help="Add the budget and the ledger's history, if there is a project.")
    ] = True,
    project: ProjectOption = DEFAULT_PROJECT,
    dataset: DatasetOption = None,
    json: JsonOption = False,
) -> None:
    """Make one page of saved releases, to open in a browser."""
    from discreet.reporting import report

    check_file("--out", out, (".html", ".htm"))
    read = [Release.load(path) for path in releases]
    wanted = budget and (dataset is not None or project.exists())
    books = open_books(project, dataset) if wanted else None
    report(read, session=books, title=title, note=note).save(out)
    if json:
        print_json({"page": str(out)})
    else:
        say(str(out))
