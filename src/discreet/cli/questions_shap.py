"""Questions about SHAP on the command line: rankings, values, importances, backgrounds."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from discreet.cli.files import load_model, read_rows
from discreet.cli.options import Delta, Epsilon, Isolated, Mechanism, ModelFile
from discreet.explain.shap.background import background
from discreet.explain.shap.dependence import shap_dependence
from discreet.explain.shap.importance import shap_importance
from discreet.explain.shap.ranking import shap_ranking
from discreet.explain.shap.values import shap_values
from discreet.plans import Plan

QueryFile = Annotated[
    Path, typer.Option(help="The rows to explain: a JSON object or list of them, or a CSV file.")
]
Coalitions = Annotated[int | None, typer.Option(help="Masks of the kernel engine; forces it if given.")]
Clip = Annotated[float | None, typer.Option(help="Bound on what one record may contribute.")]


def ask_shap_ranking(
    query: QueryFile,
    model: ModelFile,
    epsilon: Epsilon,
    delta: Delta = 0.0,
    k: Annotated[int, typer.Option(help="How many features, best first.")] = 1,
    magnitudes: Annotated[bool, typer.Option(help="Release their noisy values too.")] = False,
    threshold: Annotated[
        float | None, typer.Option(help="Instead of k: all features above it, if that is stable.")
    ] = None,
    clip: Clip = None,
    coalitions: Coalitions = None,
    mechanism: Annotated[
        str,
        typer.Option(help="auto, exponential, permute-and-flip, laplace (tells the lead) or sorted."),
    ] = "auto",
    isolated: Isolated = False,
) -> Plan:
    """The features that mattered most for a query, the data set being the background."""
    return shap_ranking(
        load_model(model, isolated),
        read_rows(query),
        k=k,
        magnitudes=magnitudes,
        threshold=threshold,
        clip=clip,
        coalitions=coalitions,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,  # type: ignore[arg-type]  # checked by the plan, with a sentence
    )


def ask_shap_values(
    query: QueryFile,
    model: ModelFile,
    epsilon: Epsilon,
    delta: Delta = 0.0,
    clip: Clip = None,
    coalitions: Coalitions = None,
    mechanism: Mechanism = "auto",
    isolated: Isolated = False,
) -> Plan:
    """All SHAP values of one or several queries, the data set being the background."""
    return shap_values(
        load_model(model, isolated),
        read_rows(query),
        clip=clip,
        coalitions=coalitions,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,  # type: ignore[arg-type]  # checked by the plan, with a sentence
    )


def ask_shap_importance(
    background: Annotated[
        Path, typer.Option(help="A released background (JSON), or public rows (CSV or JSON).")
    ],
    model: ModelFile,
    epsilon: Epsilon,
    delta: Delta = 0.0,
    coalitions: Coalitions = None,
    mechanism: Mechanism = "auto",
    isolated: Isolated = False,
) -> Plan:
    """The mean absolute SHAP value of every feature over the data set."""
    return shap_importance(
        load_model(model, isolated),
        background=read_rows(background),
        coalitions=coalitions,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,  # type: ignore[arg-type]  # checked by the plan, with a sentence
    )


def ask_shap_dependence(
    feature: Annotated[str, typer.Argument(help="The column on the horizontal axis.")],
    background: Annotated[
        Path, typer.Option(help="A released background (JSON), or public rows (CSV or JSON).")
    ],
    model: ModelFile,
    epsilon: Epsilon,
    delta: Delta = 0.0,
    bins: Annotated[int, typer.Option(help="Cells of a numeric feature.")] = 20,
    clip: Annotated[float | None, typer.Option(help="Bound on one record's SHAP value.")] = None,
    mechanism: Mechanism = "auto",
    isolated: Isolated = False,
) -> Plan:
    """How the SHAP value of a feature depends on its value."""
    return shap_dependence(
        load_model(model, isolated),
        feature,
        background=read_rows(background),
        bins=bins,
        clip=clip,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,  # type: ignore[arg-type]  # checked by the plan, with a sentence
    )


def ask_background(
    epsilon: Epsilon,
    delta: Delta = 0.0,
    kind: Annotated[str, typer.Option(help="sample (rows like the records) or mean.")] = "sample",
    rows: Annotated[int | None, typer.Option(help="How many rows.")] = None,
    bins: Annotated[int | None, typer.Option(help="Cells per number of kind sample.")] = None,
    clip: Annotated[float | None, typer.Option(help="Greatest length of a row of kind mean.")] = None,
    mechanism: Mechanism = "auto",
) -> Plan:
    """Rows to explain with in place of the private ones: paid once, used for ever."""
    return background(
        kind,
        rows=rows,
        bins=bins,
        clip=clip,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,  # type: ignore[arg-type]  # checked by the plan, with a sentence
    )
