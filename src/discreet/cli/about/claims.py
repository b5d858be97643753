"""The command that lists what papers claim, with verdicts, and runs the evidence."""

from __future__ import annotations

import itertools
import time
from collections import Counter
from typing import Annotated, Any

import typer

from discreet.audit.claims import PAPERS, Claim, find_claim, register
from discreet.cli.output import JsonOption, print_json
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
    """Print a line per claim, which a shell can search."""
    for paper, claims in itertools.groupby(told, key=lambda one: one["paper"]):
        typer.echo(f"\n{paper}")
        for one in claims:
            typer.echo(f"  {one['verdict']:<17}{one['id']:<46}{one['place']}")
            if run:
                mark = "" if one["found"] == one["verdict"] else f"NOW {one['found']}: "
                typer.echo(f"    {mark}{one['evidence']}")
    counts = Counter(one["verdict"] for one in told)
    typer.echo(f"\n{len(told)} claims: " + ", ".join(f"{n} {name}" for name, n in counts.items()))
