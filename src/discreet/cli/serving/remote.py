"""``--server``: commands that ask a server of data sets, in the place of a project file."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Annotated, Any

import typer

from discreet.cli.commands import as_typed
from discreet.cli.output import print_json, print_table, say
from discreet.client import RemoteSession, Server, connect
from discreet.client.connecting import KEY_VARIABLE
from discreet.errors import ArgumentError, LedgerTampered
from discreet.session import Remaining

ServerOption = Annotated[
    str | None,
    typer.Option(
        "--server", help=f"Ask this server; your key comes from {KEY_VARIABLE} or --key-file."
    ),
]
KeyFileOption = Annotated[
    Path | None, typer.Option("--key-file", help="A file that holds your key for --server.")
]


@cache
def open_server(server: str, key_file: Path | None) -> Server:
    """Return a server; the same one for the whole of a command."""
    return connect(server, key=_key(key_file))


@cache
def open_remote(server: str, key_file: Path | None, dataset: str | None) -> RemoteSession:
    """Return a data set of a server: the named one, or the only one."""
    found = open_server(server, key_file)
    names = [dataset] if dataset is not None else found.datasets()["dataset"].tolist()
    if len(names) != 1:
        known = ", ".join(names) or "none"
        raise ArgumentError(f"dataset must be one of the server's ({known}), got none.")
    session: RemoteSession = found.dataset(names[0])
    return session


def _key(path: Path | None) -> str | None:
    """Return the key of a file; None lets it come from the environment."""
    if path is None:
        if not os.environ.get(KEY_VARIABLE):
            raise ArgumentError(f"--key-file must be given, or {KEY_VARIABLE} be set, got neither.")
        return None
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, ValueError) as error:
        raise ArgumentError(
            f"--key-file must be a file that holds a key, got {path} ({type(error).__name__})."
        ) from None


def refuse_here(server: str | None, **options: Any) -> None:
    """Refuse options that speak of a project of this machine where a server is asked."""
    given = [as_typed(name) for name, value in options.items() if value]
    if server is not None and given:
        raise ArgumentError(f"--{given[0]} must be left out with --server, which has its own, got one.")


def show_budget(session: RemoteSession, json: bool) -> None:
    """Show the budget of a server's data set: the whole, yours, and shares where you may see them."""
    told = session.budget()
    if json:
        print_json({"dataset": session.dataset, "accountant": session.card.accountant, **told})
        return
    parts = [("", told), *([] if told["yours"] is None else [("yours", told["yours"])])]
    parts += [(share["analyst"], share) for share in told["shares"]]
    rows = [[who, part, str(_amount(plain[part]))] for who, plain in parts for part in _PARTS]
    print_table(f"{session.dataset} ({session.card.relation})", ["analyst", "", "amount"], rows)


_PARTS = ("budget", "spent", "remaining")


def _amount(plain: Mapping[str, Any]) -> Remaining:
    return Remaining.from_json(plain)


def verify_remote(session: RemoteSession, files: list[Path], json: bool) -> None:
    """Let a server check its chain, and compare saved releases with what it stored."""
    found = session.verify(files)
    if json:
        print_json({"ok": found.ok, "entries": found.entries, "problems": found.problems})
        raise typer.Exit(0 if found.ok else LedgerTampered.exit_code)
    if not found.ok:
        raise LedgerTampered(" ".join(found.problems))
    say(f"{session.dataset}: {found.entries} entries, the chain holds")
    for path in files:
        say(f"{path}: as the server has it")
