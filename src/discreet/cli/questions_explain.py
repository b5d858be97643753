"""Questions that explain a model on the command line, SHAP apart."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.models import load_model
from discreet.cli.options import Delta, Epsilon, Mechanism, ModelFile
from discreet.explain import feature_interaction, partial_dependence
from discreet.plans import Plan


def ask_feature_interaction(
    model: ModelFile,
    epsilon: Epsilon,
    delta: Delta = 0.0,
    feature: Annotated[
        str | None, typer.Option(help="Rank the others by their interaction with it.")
    ] = None,
    k: Annotated[int | None, typer.Option(help="How many of the first; all if left out.")] = None,
    subsets: Annotated[int, typer.Option(help="Ballots that are cast.")] = 200,
    points: Annotated[int, typer.Option(help="Rows used of a subset.")] = 50,
    mechanism: Annotated[
        str, typer.Option(help="auto, laplace, gaussian, exponential or permute-and-flip.")
    ] = "auto",
) -> Plan:
    """Which features interact, with all others or with one."""
    return feature_interaction(
        load_model(model),
        feature,
        k=k,
        subsets=subsets,
        points=points,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,  # type: ignore[arg-type]  # checked by the plan, with a sentence
    )


def ask_partial_dependence(
    feature: Annotated[str, typer.Argument(help="The column to vary.")],
    model: ModelFile,
    epsilon: Epsilon,
    delta: Delta = 0.0,
    resolution: Annotated[int, typer.Option(help="Grid points.")] = 20,
    rug: Annotated[bool, typer.Option(help="Release a histogram of the feature too.")] = True,
    clip: Annotated[bool, typer.Option(help="Keep the curve inside the model's bounds.")] = True,
    smooth: Annotated[bool, typer.Option(help="Remove bends that noise explains.")] = False,
    mechanism: Mechanism = "auto",
) -> Plan:
    """How a model's mean prediction moves with one feature."""
    return partial_dependence(
        load_model(model),
        feature,
        resolution=resolution,
        rug=rug,
        clip=clip,
        smooth=smooth,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,  # type: ignore[arg-type]  # checked by the plan, with a sentence
    )
