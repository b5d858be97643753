"""Questions that explain a model on the command line, SHAP apart."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.models import load_model
from discreet.cli.options import Delta, Epsilon, Isolated, Mechanism, ModelFile
from discreet.cli.rows import read_rows
from discreet.explain.ale.plan import accumulated_effects
from discreet.explain.interaction.plan import feature_interaction
from discreet.explain.pdp.plan import partial_dependence
from discreet.explain.permutation.plan import permutation_importance
from discreet.plans import Plan


def ask_accumulated_effects(
    feature: Annotated[str, typer.Argument(help="The column whose effect is asked for.")],
    model: ModelFile,
    epsilon: Epsilon,
    delta: Delta = 0.0,
    intervals: Annotated[int, typer.Option(help="The most intervals of a number.")] = 20,
    edges: Annotated[str, typer.Option(help="quantile (bought) or uniform (schema).")] = "quantile",
    order: Annotated[
        list[str] | None, typer.Option(help="A category's values in order, one option each.")
    ] = None,
    rug: Annotated[bool, typer.Option(help="Release a histogram of the feature too.")] = True,
    smooth: Annotated[bool, typer.Option(help="Let intervals borrow from their neighbours.")] = False,
    clip: Annotated[bool, typer.Option(help="Keep every step inside the model's range.")] = True,
    mechanism: Mechanism = "auto",
    isolated: Isolated = False,
) -> Plan:
    """How a model moves with one feature, accumulated over small steps (ALE)."""
    return accumulated_effects(
        load_model(model, isolated),
        feature,
        intervals=intervals,
        edges=edges,
        order=order or None,
        rug=rug,
        smooth=smooth,
        clip=clip,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,  # type: ignore[arg-type]  # checked by the plan, with a sentence
    )


def ask_permutation_importance(
    model: ModelFile,
    epsilon: Epsilon,
    delta: Delta = 0.0,
    scoring: Annotated[
        str, typer.Option(help="auto, squared_error, absolute_error, brier, log_loss or zero_one.")
    ] = "auto",
    repeats: Annotated[int, typer.Option(help="Exchanges that are averaged; no price.")] = 5,
    sampling: Annotated[
        str, typer.Option(help="permutation, or marginal (the one for add-remove).")
    ] = "permutation",
    release: Annotated[str, typer.Option(help="values, or the ranking alone.")] = "values",
    k: Annotated[int | None, typer.Option(help="How many features a ranking has.")] = None,
    background: Annotated[
        Path | None, typer.Option(help="Released background (JSON) or public rows to draw from.")
    ] = None,
    clip: Annotated[
        float | None, typer.Option(help="Cap on one record's loss; from public rows if left out.")
    ] = None,
    mechanism: Mechanism = "auto",
    isolated: Isolated = False,
) -> Plan:
    """How much the loss grows when the values of a feature are exchanged."""
    return permutation_importance(
        load_model(model, isolated),
        scoring=scoring,  # type: ignore[arg-type]  # checked by the plan, with a sentence
        repeats=repeats,
        sampling=sampling,  # type: ignore[arg-type]
        release=release,  # type: ignore[arg-type]
        k=k,
        background=None if background is None else read_rows(background),
        clip="auto" if clip is None else clip,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,  # type: ignore[arg-type]
    )


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
        str,
        typer.Option(help="auto, laplace, linf, gaussian; rankings: exponential, permute-and-flip, sorted."),
    ] = "auto",
    isolated: Isolated = False,
) -> Plan:
    """Which features interact, with all others or with one."""
    return feature_interaction(
        load_model(model, isolated),
        feature,
        k=k,
        subsets=subsets,
        points=points,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,  # type: ignore[arg-type]  # checked by the plan, with a sentence
    )


def ask_partial_dependence(
    features: Annotated[list[str], typer.Argument(help="The column to vary, or two of them.")],
    model: ModelFile,
    epsilon: Epsilon,
    delta: Delta = 0.0,
    resolution: Annotated[
        int | None, typer.Option(help="Grid points per feature: 20, or 10 of two features.")
    ] = None,
    grid: Annotated[
        str, typer.Option(help="auto (where trees bend), uniform, or quantile (bought).")
    ] = "auto",
    curve: Annotated[
        str, typer.Option(help="whole, centred (level and shape apart) or auto.")
    ] = "whole",
    rug: Annotated[
        bool | None, typer.Option(help="Release a histogram of a single feature too.")
    ] = None,
    clip: Annotated[bool, typer.Option(help="Keep the curve inside the model's bounds.")] = True,
    smooth: Annotated[bool, typer.Option(help="Remove bends that noise explains.")] = False,
    mechanism: Mechanism = "auto",
    isolated: Isolated = False,
) -> Plan:
    """How a model's mean prediction moves with one feature, or with two."""
    return partial_dependence(
        load_model(model, isolated),
        features[0] if len(features) == 1 else tuple(features),  # type: ignore[arg-type]
        resolution=resolution,
        grid=grid,
        curve=curve,  # type: ignore[arg-type]
        rug=rug,
        clip=clip,
        smooth=smooth,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,  # type: ignore[arg-type]  # checked by the plan, with a sentence
    )
