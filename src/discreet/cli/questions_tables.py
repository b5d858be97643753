"""Questions about the table itself: histograms, entropies, mutual information."""

from __future__ import annotations

from typing import Annotated

import typer

from discreet.cli.options import Delta, Epsilon, Mechanism
from discreet.plans import Plan
from discreet.tables.entropy.plan import entropy, mutual_information

Bins = Annotated[int, typer.Option(help="Cells per numeric column.")]
Base = Annotated[str, typer.Option(help="bits or nats.")]


def ask_entropy(
    columns: Annotated[list[str], typer.Argument(help="One column, or several for joint cells.")],
    epsilon: Epsilon,
    delta: Delta = 0.0,
    given: Annotated[
        list[str] | None, typer.Option(help="Condition on this column; may be repeated.")
    ] = None,
    order: Annotated[float, typer.Option(help="Rényi order: 1 is Shannon's, inf the least.")] = 1.0,
    bins: Bins = 20,
    base: Base = "bits",
    method: Annotated[str, typer.Option(help="auto, direct, narrowed or histogram.")] = "auto",
    mechanism: Mechanism = "auto",
) -> Plan:
    """How evenly records are spread over a column's values."""
    return entropy(
        columns,
        given=given or (),
        order=order,
        bins=bins,
        base=base,  # type: ignore[arg-type]  # checked by the plan, with a sentence
        method=method,  # type: ignore[arg-type]
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,  # type: ignore[arg-type]
    )


def ask_mutual_information(
    first: Annotated[str, typer.Argument(help="One column.")],
    second: Annotated[str, typer.Argument(help="Another one.")],
    epsilon: Epsilon,
    delta: Delta = 0.0,
    bins: Bins = 20,
    base: Base = "bits",
    method: Annotated[str, typer.Option(help="auto, direct or histogram.")] = "auto",
    mechanism: Mechanism = "auto",
) -> Plan:
    """How much one column tells of another."""
    return mutual_information(
        first,
        second,
        bins=bins,
        base=base,  # type: ignore[arg-type]  # checked by the plan, with a sentence
        method=method,  # type: ignore[arg-type]
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,  # type: ignore[arg-type]
    )
