"""Questions that release records or a mean curve on the command line."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.options import Delta, Epsilon, Mechanism
from discreet.plans import Plan
from discreet.tables.functional.plan import functional_mean
from discreet.tables.synthesis.plan import deniable_rows, synthesize

Columns = Annotated[
    list[str] | None, typer.Option("--column", help="A column of the records; all if left out.")
]
Bins = Annotated[int, typer.Option(help="Cells per numeric column.")]
Seed = Annotated[int, typer.Option(help="Of the public generator that draws rows.")]


def ask_synthesize(
    epsilon: Epsilon,
    delta: Delta = 0.0,
    rows: Annotated[int | None, typer.Option(help="How many; as many as there are.")] = None,
    column: Columns = None,
    bins: Bins = 16,
    seed: Seed = 0,
    mechanism: Mechanism = "auto",
) -> Plan:
    """Synthetic records from noisy tables of columns and of the strongest pairs."""
    return synthesize(
        rows,
        columns=column or None,
        bins=bins,
        seed=seed,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,  # type: ignore[arg-type]  # checked by the plan, with a sentence
    )


def ask_deniable_rows(
    attempts: Annotated[int, typer.Argument(help="How many records are proposed.")],
    epsilon: Epsilon,
    delta: Annotated[float, typer.Option(help="Above zero.")],
    column: Columns = None,
    proposal: Annotated[str, typer.Option(help="resample or ball.")] = "resample",
    resampled: Annotated[int | None, typer.Option(help="Columns drawn anew.")] = None,
    radius: Annotated[float, typer.Option(help="Of a ball, a share of a number's cells.")] = 0.1,
    gamma: Annotated[float, typer.Option(help="Of a ball, the factor of plausible seeds.")] = 2.0,
    bins: Bins = 16,
    seed: Seed = 0,
) -> Plan:
    """Records proposed from real ones, if many could have proposed them."""
    return deniable_rows(
        attempts,
        columns=column or None,
        proposal=proposal,  # type: ignore[arg-type]  # checked by the plan, with a sentence
        resampled=resampled,
        radius=radius,
        gamma=gamma,
        bins=bins,
        seed=seed,
        epsilon=epsilon,
        delta=delta,
    )


def ask_functional_mean(
    columns: Annotated[list[str], typer.Argument(help="The columns of a curve, in order.")],
    epsilon: Epsilon,
    delta: Annotated[float, typer.Option(help="Above zero: the noise is Gaussian.")],
    axis: Annotated[str, typer.Option(help="What the points are called.")] = "position",
    kernel: Annotated[str, typer.Option(help="wiener, exponential, matern, gaussian.")] = "matern",
    lengthscale: Annotated[float, typer.Option(help="A share of the span.")] = 0.3,
    rho: Annotated[float | None, typer.Option(help="The penalty; chosen if left out.")] = None,
    clip: Annotated[float | None, typer.Option(help="The greatest length of a curve.")] = None,
    noise: Annotated[str, typer.Option(help="white, or process (the published way).")] = "white",
) -> Plan:
    """The mean of records that are curves."""
    return functional_mean(
        columns,
        axis=axis,
        kernel=kernel,  # type: ignore[arg-type]  # checked by the plan, with a sentence
        lengthscale=lengthscale,
        rho="auto" if rho is None else rho,
        clip=clip,
        noise=noise,  # type: ignore[arg-type]
        epsilon=epsilon,
        delta=delta,
    )
