"""The command that shows where in an explainer noise must go. It reads no table."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.output import JsonOption, print_json, print_table
from discreet.cli.writing import PICTURES, check_file, draw
from discreet.explain.dataflow import BUILTINS, PriceList, SetPrice, builtin


def dataflow_command(
    explainer: Annotated[str, typer.Argument(help=f"One of {', '.join(BUILTINS)}.")],
    rows: Annotated[int, typer.Option(help="Number of records.")] = 1000,
    epsilon: Annotated[float, typer.Option(help="The whole promise.")] = 1.0,
    delta: Annotated[float, typer.Option(help="Zero for a pure promise.")] = 0.0,
    relation: Annotated[str, typer.Option(help="replace-one or add-remove.")] = "replace-one",
    features: Annotated[int, typer.Option(help="Number of features.")] = 10,
    grid: Annotated[int, typer.Option(help="Points or intervals of a curve.")] = 20,
    output_range: Annotated[float, typer.Option(help="Width of the model's output.")] = 1.0,
    subsets: Annotated[int, typer.Option(help="Subsets for a generic design.")] = 200,
    mermaid: Annotated[
        bool, typer.Option("--mermaid", help="Print the diagram as Mermaid text.")
    ] = False,
    plot: Annotated[Path | None, typer.Option(help="Draw the diagram into this picture file.")] = None,
    json: JsonOption = False,
) -> None:
    """Show which sets of steps make an explainer private, and the noise each needs."""
    check_file("--plot", plot, PICTURES)
    flow = builtin(explainer, features=features, grid=grid, output_range=output_range, subsets=subsets)
    prices = flow.price(
        rows=rows,
        epsilon=epsilon,
        delta=delta,
        relation=relation,  # type: ignore[arg-type]  # checked by price, with a sentence
    )
    best = prices.best.steps if prices.best else ()
    if json:
        print_json(prices.to_json())
    elif mermaid:
        typer.echo(flow.to_mermaid(best), nl=False)
    else:
        _show(prices)
    if plot is not None:  # last: what cannot be drawn has been shown
        draw(lambda ax: flow.plot(ax, highlight=best), plot, size=(8.0, 3.6))


def _show(prices: PriceList) -> None:
    promise = f"epsilon={prices.epsilon:g}, delta={prices.delta:g}, {prices.relation}"
    header = ["perturb", "noise / range", "standard deviation of the noise", "done by"]
    lines = [
        [
            " + ".join(found.steps),
            "no price" if found.problem else f"{found.share:.3g}",
            found.problem or _noise(found),
            ", ".join(found.plans),
        ]
        for found in prices.sets
    ]
    print_table(f"{prices.flow}, {prices.rows:,} records, {promise}", header, lines)


def _noise(found: SetPrice) -> str:
    return ", ".join(
        f"{part.step} {part.std:.3g}" if part.std else f"{part.step} public" for part in found.parts
    )
