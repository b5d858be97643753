"""Commands for releases that were saved: no table is opened, and nothing is charged."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.asking import tell_answer, tell_plan
from discreet.cli.output import JsonOption, print_json, say
from discreet.cli.project import DEFAULT_PROJECT, DatasetOption, ProjectOption, open_books
from discreet.cli.writing import PICTURES, TABLES, check_file, draw, write_table
from discreet.session import Release

SavedArgument = Annotated[Path, typer.Argument(help="A saved release, as --out writes it.")]


def show_command(
    release: SavedArgument,
    table: Annotated[
        Path | None, typer.Option(help="Also write the answer to this CSV or Parquet file.")
    ] = None,
    json: JsonOption = False,
) -> None:
    """Show a saved release: the answer, what was asked, what is promised."""
    check_file("--table", table, TABLES)
    read = Release.load(release)
    if json:
        print_json(read.to_json())
    else:
        say(f"{read.title}\n{tell_plan(read.plan)}")
        say(f"of {read.dataset} (version {read.version}){read.paid_by}, {read.created}\n")
        say(tell_answer(read))
    if table is not None:
        write_table(read, table)


def plot_command(
    release: SavedArgument,
    out: Annotated[
        Path | None, typer.Option(help="The picture; beside the release and named like it if left out.")
    ] = None,
    title: Annotated[str | None, typer.Option(help="Above the picture.")] = None,
    json: JsonOption = False,
) -> None:
    """Draw a saved release into a picture file."""
    path = release.with_suffix(".png") if out is None else out
    check_file("--out", path, PICTURES)
    read = Release.load(release)
    draw(lambda ax: read.plot(ax, title=title), path)
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
