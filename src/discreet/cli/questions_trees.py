"""Questions that train a private model on the command line."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.options import Delta, Epsilon
from discreet.plans import Plan
from discreet.trees.forest import random_forest
from discreet.trees.plan import decision_tree

Target = Annotated[str, typer.Argument(help="The category to predict.")]
Features = Annotated[
    list[str] | None, typer.Option("--feature", help="A column to predict from; all if left out.")
]
Depth = Annotated[int | None, typer.Option(help="Levels of splits; from public facts if left out.")]
Criterion = Annotated[str, typer.Option(help="norm, max, gini or gain.")]
Chooser = Annotated[str, typer.Option(help="auto, permute-and-flip, exponential, laplace ...")]


def ask_decision_tree(
    target: Target,
    epsilon: Epsilon,
    delta: Delta = 0.0,
    feature: Features = None,
    depth: Depth = None,
    criterion: Criterion = "norm",
    cuts: Annotated[str, typer.Option(help="schema, or private (bought).")] = "schema",
    mechanism: Chooser = "auto",
) -> Plan:
    """A decision tree, trained privately."""
    return decision_tree(
        target,
        features=feature or None,
        depth=depth,
        criterion=criterion,  # type: ignore[arg-type]  # checked by the plan, with a sentence
        cuts=cuts,  # type: ignore[arg-type]
        mechanism=mechanism,  # type: ignore[arg-type]
        epsilon=epsilon,
        delta=delta,
    )


def ask_random_forest(
    target: Target,
    epsilon: Epsilon,
    delta: Delta = 0.0,
    feature: Features = None,
    trees: Annotated[int | None, typer.Option(help="Their number.")] = None,
    depth: Depth = None,
    method: Annotated[str, typer.Option(help="auto, chosen or random.")] = "auto",
    rows: Annotated[str, typer.Option(help="auto, disjoint or whole.")] = "auto",
    criterion: Criterion = "norm",
    mechanism: Chooser = "auto",
) -> Plan:
    """A forest, trained privately."""
    return random_forest(
        target,
        features=feature or None,
        trees=trees,
        depth=depth,
        method=method,  # type: ignore[arg-type]  # checked by the plan, with a sentence
        rows=rows,  # type: ignore[arg-type]
        criterion=criterion,  # type: ignore[arg-type]
        mechanism=mechanism,  # type: ignore[arg-type]
        epsilon=epsilon,
        delta=delta,
    )
