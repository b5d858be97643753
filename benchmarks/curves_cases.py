"""Models, rows and the table of the benchmarks of curves' speed."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np

import discreet as dc
from benchmarks.shap_models import fit, make_rows

Rows = list[dict[str, Any]]
WIDTH = 20
NAMES = [f"f{place}" for place in range(WIDTH)]
KINDS = ("forest", "boosting", "logistic", "network")
TREES = ("forest", "boosting")
SCHEMA = dc.Schema(
    {name: dc.Number(-6, 6, missing=False) for name in NAMES}
    | {"y": dc.Category(0, 1, missing=False, other=False)},
    target="y",
)


def sizes(quick: bool) -> tuple[int, ...]:
    """Return numbers of rows."""
    return (10_000,) if quick else (10_000, 100_000)


@cache
def rows_of(size: int) -> tuple[Any, Any]:
    """Return encoded rows, column by column in memory, and their classes."""
    values, classes = make_rows(WIDTH, size, 1)
    return np.asfortranarray(np.clip(values, -6, 6)), classes


@cache
def bind(kind: str, output: str = "probability") -> Any:
    """Return a model as plans see it."""
    return model_of(kind, output).bind(SCHEMA)


def model_of(kind: str, output: str = "probability") -> dc.Model:
    """Return a fitted model; the margin of boosting is a sum of trees."""
    return dc.Model(fit(kind, WIDTH), output=output)  # type: ignore[arg-type]


def output_of(kind: str) -> str:
    """Return the output that is additive, if there is one."""
    return "margin" if kind == "boosting" else "probability"


def row(
    model: str, size: int, theirs: float, ours: float, target: str, met: bool, **more: Any
) -> dict[str, Any]:
    """Return what a comparison found; ``ratio`` is how many times theirs is slower."""
    return {
        "model": model,
        "rows": size,
        **more,
        "theirs ms": theirs * 1e3,
        "ours ms": ours * 1e3,
        "ratio": theirs / ours,
        "target": target,
        "met": bool(met),
    }


def mean_of(contribution: Any, rows: Any) -> Any:
    """Return the mean of what the rows add, without privacy."""
    from discreet.data.blocks import BLOCK_ROWS, Block

    total = np.zeros(contribution.size)
    for start in range(0, len(rows), BLOCK_ROWS):
        block = Block(start, contribution.columns, rows[start : start + BLOCK_ROWS])
        total += contribution.compute(block).sum(axis=0)
    return total / len(rows)
