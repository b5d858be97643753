"""Questions that choose on the command line: the most frequent value, percentiles, quantiles."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.options import Delta, Epsilon
from discreet.plans import Plan
from discreet.select.choose.most_frequent import most_frequent
from discreet.select.quantiles.percentile import percentile
from discreet.select.quantiles.plan import quantiles

Column = Annotated[str, typer.Argument(help="A numeric column.")]
Candidates = Annotated[
    list[float] | None,
    typer.Option("--candidate", help="A public value to choose from, one option each."),
]


def ask_choose(
    column: Annotated[str, typer.Argument(help="A category; its values are the candidates.")],
    epsilon: Epsilon,
    delta: Delta = 0.0,
    mechanism: Annotated[
        str,
        typer.Option(
            help="auto, exponential, permute-and-flip, laplace (with a lead), stability, "
            "smooth-student-t, smooth-laplace or smooth-laplace-log-normal."
        ),
    ] = "auto",
) -> Plan:
    """Which value of a category is the most frequent one."""
    return most_frequent(
        column,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,  # type: ignore[arg-type]  # checked by the plan, with a sentence
    )


def ask_percentile(
    column: Column,
    p: Annotated[float, typer.Argument(help="Percent of the records at or below; the median is 50.")],
    epsilon: Epsilon,
    delta: Delta = 0.0,
    candidate: Candidates = None,
    mechanism: Annotated[
        str,
        typer.Option(
            help="auto, exponential, permute-and-flip, laplace, stability, smooth-..., "
            "inverse-sensitivity or local-dampening."
        ),
    ] = "auto",
) -> Plan:
    """The value below or at which so many percent of the records lie."""
    return percentile(
        column,
        p,
        candidates=candidate or None,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,  # type: ignore[arg-type]  # checked by the plan, with a sentence
    )


def ask_quantiles(
    column: Column,
    ps: Annotated[list[float], typer.Argument(help="Percents, one after the other: 25 50 75.")],
    epsilon: Epsilon,
    delta: Delta = 0.0,
    candidate: Candidates = None,
    mechanism: Annotated[str, typer.Option(help="auto, permute-and-flip or exponential.")] = "auto",
) -> Plan:
    """Several quantiles at once; they never cross."""
    return quantiles(
        column,
        ps,
        candidates=candidate or None,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,  # type: ignore[arg-type]  # checked by the plan, with a sentence
    )
