"""How good synthetic records are: exact comparisons with the real ones, for the curator alone."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.data.quality import ForTheCurator
from discreet.errors import ArgumentError
from discreet.numerics import check_whole
from discreet.schema import Category, FloatArray, Schema

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, repr=False)
class Quality(ForTheCurator):
    """Distances between real and synthetic records. Exact, so not a release.

    Attributes:
      one_way: total variation between the distributions of every column.
      two_way: the same for every pair of columns.
      trained_on_real: accuracy on held-out real records of a model trained on real ones.
      trained_on_synthetic: the same, trained on synthetic records.
    """

    called = "comparison"

    one_way: dict[str, float]
    two_way: dict[tuple[str, str], float]
    trained_on_real: float | None
    trained_on_synthetic: float | None

    @property
    def mean_one_way(self) -> float:
        """The mean over all columns."""
        return float(np.mean(list(self.one_way.values())))

    @property
    def mean_two_way(self) -> float:
        """The mean over all pairs; NaN of a single column."""
        return float(np.mean(list(self.two_way.values()))) if self.two_way else math.nan

    def lines(self) -> Iterable[str]:
        """Return the distances, and the accuracies where there are any."""
        lines = [f"  total variation of a column: {self.mean_one_way:.3g} on average"]
        if self.two_way:
            lines.append(f"  of a pair of columns: {self.mean_two_way:.3g}")
        if self.trained_on_real is not None:
            lines.append(
                f"  accuracy of a model trained on them: {self.trained_on_synthetic:.3f} "
                f"(on real records {self.trained_on_real:.3f})"
            )
        return lines


def compare_tables(
    real: Any,
    synthetic: Any,
    schema: Schema,
    *,
    bins: int = 16,
    target: str | None = None,
    held_out: Any = None,
) -> Quality:
    """Compare synthetic with real records, exactly: the answer must not leave the curator.

    Args:
      real: the private table, as a pandas frame.
      synthetic: the synthetic one.
      schema: bins and categories of the comparison.
      bins: cells per number.
      target: a category to train a gradient-boosted model for; needs ``held_out``.
      held_out: real records that were in neither table.
    """
    check_whole("bins", bins, 1)
    names = [name for name in schema if name in synthetic.columns and name in real.columns]
    if not names:
        raise ArgumentError("synthetic must share a column with the schema, got none.")
    cells = {name: schema[name].bins(bins) for name in names}
    places = [
        {name: cells[name].index(schema[name].encode(frame[name].to_numpy())) for name in names}
        for frame in (real, synthetic)
    ]

    def distance(*columns: str) -> float:
        shape = tuple(len(cells[name]) for name in columns)
        shares = [_shares([here[name] for name in columns], shape) for here in places]
        return float(np.abs(shares[0] - shares[1]).sum() / 2)

    scores: tuple[float | None, float | None] = (None, None)
    if target is not None:
        if held_out is None or not isinstance(schema[target], Category):
            raise ArgumentError(f"target must be a category and come with held_out, got {target!r}.")
        scores = (
            trained_score(real, held_out, schema, target, names),
            trained_score(synthetic, held_out, schema, target, names),
        )
    return Quality(
        one_way={name: distance(name) for name in names},
        two_way={pair: distance(*pair) for pair in itertools.combinations(names, 2)},
        trained_on_real=scores[0],
        trained_on_synthetic=scores[1],
    )


def trained_score(
    train: pd.DataFrame, test: pd.DataFrame, schema: Schema, target: str, names: list[str]
) -> float:
    """Return the accuracy on ``test`` of a boosted model trained on ``train``."""
    from sklearn.ensemble import HistGradientBoostingClassifier

    inputs = [name for name in names if name != target]

    def encoded(frame: pd.DataFrame, columns: list[str]) -> FloatArray:
        return np.column_stack([schema[n].encode(frame[n].to_numpy()) for n in columns])

    model = HistGradientBoostingClassifier(max_iter=60, random_state=0)
    wanted, known = encoded(test, [target])[:, 0], encoded(train, [target])[:, 0]
    if len(np.unique(known)) < 2:
        return float(np.mean(wanted == known[0]))
    return float(model.fit(encoded(train, inputs), known).score(encoded(test, inputs), wanted))


def _shares(places: list[Any], shape: tuple[int, ...]) -> FloatArray:
    flat = np.ravel_multi_index(places, shape)
    counts = np.bincount(flat, minlength=math.prod(shape)).astype(np.float64)
    return counts / max(len(flat), 1)
