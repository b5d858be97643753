"""The command that lists what papers claim, with verdicts, and runs the evidence."""

from __future__ import annotations

import time
from typing import Annotated, Any

import typer

from discreet.audit.claims import PAPERS, Claim, find_claim, register
from discreet.cli.output import JsonOption, print_json, print_table
from discreet.numerics import check_choice


def claims_command(
    id: Annotated[str, typer.Argument(help="Of one claim; all are listed without it.")] = "",
    run: Annotated[bool, typer.Option("--run", help="Run the evidence now.")] = False,
    paper: Annotated[str, typer.Option(help=f"One of {', '.join(PAPERS)}.")] = "",
    json: JsonOption = False,
) -> None:
    """List what the papers claim, with our verdicts; exit code 1 if evidence came to another one."""
    if paper:
        check_choice("paper", paper, tuple(PAPERS))
    asked = [find_claim(id)] if id else [c for c in register().values() if paper in ("", c.paper)]
    told = [_told(claim, run) for claim in asked]
    if json:
        print_json(told)
    elif id:
        _show(told[0])
    else:
        _list(told, run)
    if any(one.get("found", one["verdict"]) != one["verdict"] for one in told):
        raise typer.Exit(1)


def _told(claim: Claim, run: bool) -> dict[str, Any]:
    names = ("id", "place", "says", "verdict", "because", "instead", "statements")
    told = {name: getattr(claim, name) for name in names}
    told["paper"] = PAPERS[claim.paper]
    if run:
        start = time.perf_counter()
        found = claim.run()
        took = time.perf_counter() - start
        told |= {"found": found.verdict, "evidence": found.said, "figures": found.figures}
        told["seconds"] = round(took, 3)
    return told


def _show(told: dict[str, Any]) -> None:
    typer.echo(f"{told['id']}: {told['paper']}, {told['place']}")
    typer.echo(f"Claim: {told['says']}")
    typer.echo(f"Verdict: {told['verdict']}. {told['because']}")
    if told["instead"]:
        typer.echo(f"Here instead: {told['instead']}")
    if told["statements"]:
        typer.echo(f"Statements: {', '.join(told['statements'])}")
    if "found" in told:
        typer.echo(f"Evidence ({told['seconds']:.2f} s): {told['found']}. {told['evidence']}")


def _list(told: list[dict[str, Any]], run: bool) -> None:
    header = ["id", "verdict", "found" if run else "place", "evidence" if run else "why"]
    last = ("found", "evidence") if run else ("place", "because")
    rows = [[one["id"], one["verdict"], *(one[name] for name in last)] for one in told]
    counts = {verdict: sum(one["verdict"] == verdict for one in told) for verdict in _verdicts(told)}
    title = ", ".join(f"{count} {verdict}" for verdict, count in counts.items())
    print_table(f"{len(told)} claims: {title}", header, rows)


def _verdicts(told: list[dict[str, Any]]) -> list[str]:
    return list(dict.fromkeys(one["verdict"] for one in told))
