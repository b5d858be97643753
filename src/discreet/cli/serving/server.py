"""``discreet serve`` and ``discreet keys``: the service of a project, and who may use it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from discreet.cli.output import JsonOption, print_json, print_table
from discreet.cli.project import DEFAULT_PROJECT, ProjectOption
from discreet.errors import ArgumentError

if TYPE_CHECKING:
    from discreet.service.access.keys import KeyRing

_EXTRA = "The service needs what pip install 'discreet[service]' installs, got no {name}."


def serve_command(
    project: ProjectOption = DEFAULT_PROJECT,
    host: Annotated[
        str, typer.Option(help="The address to listen at; others than this machine need TLS before it.")
    ] = "127.0.0.1",
    port: Annotated[int, typer.Option(help="The port to listen at.")] = 8417,
    workers: Annotated[int, typer.Option(help="How many processes answer.")] = 1,
    demo: Annotated[
        Path | None,
        typer.Option(help="Serve example loans from this folder instead, and print a key per role."),
    ] = None,
) -> None:
    """Serve the data sets of a project: a page, an API, keys for owners, analysts and auditors."""
    if demo is None and not project.exists():
        raise ArgumentError(
            f"--project must be a project file, got {project}, which is not there. "
            "Run 'discreet protect' first."
        )
    try:
        from discreet.service.serving import serve
    except ImportError as error:
        raise ArgumentError(_EXTRA.format(name=error.name)) from None
    if demo is not None:
        from discreet.cli.about.service_demo import prepare

        project, keys = prepare(demo)
        print_table("Keys of the demo", ["role", "key"], [[role, key] for role, key in keys.items()])
    where = f"discreet at http://{host}:{port} (end with Ctrl-C)"
    serve(project, host=host, port=port, workers=workers, announce=lambda: typer.echo(where))


def keys_command() -> None:
    """Make, list and revoke keys of the service."""


def new_key(
    role: Annotated[str, typer.Option(help="owner, analyst or auditor.")],
    analyst: Annotated[str | None, typer.Option(help="Whose share pays, for the role analyst.")] = None,
    dataset: Annotated[
        list[str] | None, typer.Option(help="The only data set that it opens; may be repeated.")
    ] = None,
    days: Annotated[int, typer.Option(help="How long it is valid.")] = 90,
    note: Annotated[str, typer.Option(help="What it is for.")] = "",
    project: ProjectOption = DEFAULT_PROJECT,
    json: JsonOption = False,
) -> None:
    """Make a key and print it, this once: only a digest of it is kept."""
    from discreet.session.project import Project

    for name in dataset or ():
        Project.load(project).choose(name)  # a key for one that is misspelt would open nothing
    key, holder = _ring(project).new(
        role,  # type: ignore[arg-type]  # checked there, with a sentence
        analyst=analyst,
        datasets=dataset,
        days=days,
        note=note,
    )
    if json:
        print_json({**holder.to_json(), "id": holder.key, "key": key})
    else:
        typer.echo(key)


def list_keys(project: ProjectOption = DEFAULT_PROJECT, json: JsonOption = False) -> None:
    """List the keys, without what they open with."""
    found = _ring(project).told()
    if json:
        print_json(found)
        return
    header = ["id", "role", "analyst", "data sets", "expires", "revoked", "note"]
    rows = [
        [
            one["key"],
            one["role"],
            one["analyst"] or "",
            "all" if one["datasets"] is None else ", ".join(one["datasets"]),
            (one["expires"] or "never")[:10],
            (one["revoked"] or "")[:10],
            one["note"],
        ]
        for one in found
    ]
    print_table("Keys", header, rows)


def revoke_key(
    id: Annotated[str, typer.Argument(help="The id of the key, as listed.")],
    project: ProjectOption = DEFAULT_PROJECT,
) -> None:
    """Let a key open nothing any more, from now on."""
    _ring(project).revoke(id)
    typer.echo(f"{id} is revoked")


def _ring(path: Path) -> KeyRing:
    from discreet.service.access.keys import KeyRing
    from discreet.service.settings import Settings, path_of
    from discreet.service.store import Store
    from discreet.session.project import Project

    known = Project.load(path)
    settings = Settings.of(known)
    return KeyRing(Store(known.resolve(settings.store)), path_of(known, settings.secret))
