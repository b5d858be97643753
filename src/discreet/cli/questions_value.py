"""Questions about the value of records on the command line."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.files import load_model
from discreet.cli.options import Delta, Epsilon
from discreet.plans import Plan


def ask_data_shapley(
    test: Annotated[Path, typer.Option(help="Public rows with the target: CSV or Parquet.")],
    epsilon: Epsilon,
    delta: Delta = 0.0,
    model: Annotated[
        Path | None, typer.Option(help="An unfitted scikit-learn model saved with skops; for layered.")
    ] = None,
    record: Annotated[
        list[int] | None,
        typer.Option(help="A record's place, from 0, one option each; all if left out."),
    ] = None,
    method: Annotated[str, typer.Option(help="layered, or tknn: counts for all owners.")] = "layered",
    audience: Annotated[str, typer.Option(help="owner (of the record alone) or public.")] = "owner",
    score: Annotated[str, typer.Option(help="accuracy, log-loss, brier or r2.")] = "accuracy",
    clip: Annotated[float | None, typer.Option(help="Greatest marginal, times coalition size.")] = None,
    rounds: Annotated[int, typer.Option(help="Draws of every layer; no price.")] = 4,
    top: Annotated[int | None, typer.Option(help="Name so many best records instead.")] = None,
    bottom: Annotated[int | None, typer.Option(help="Name so many worst records instead.")] = None,
    radius: Annotated[float | None, typer.Option(help="How far a near record is; for tknn.")] = None,
    seed: Annotated[int, typer.Option(help="Of the public coalitions.")] = 0,
    mechanism: Annotated[
        str, typer.Option(help="auto, laplace or gaussian; exponential ... for top and bottom.")
    ] = "auto",
) -> Plan:
    """Data Shapley values of records, for a model's score."""
    from discreet.value.plan import data_shapley  # compiles: slow to import

    return data_shapley(
        None if model is None else load_model(model),
        test=test,
        records=record or None,
        method=method,  # type: ignore[arg-type]  # checked by the plan, with a sentence
        audience=audience,  # type: ignore[arg-type]
        score=score,
        clip=clip,
        rounds=rounds,
        top=top,
        bottom=bottom,
        radius=radius,
        seed=seed,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,
    )
