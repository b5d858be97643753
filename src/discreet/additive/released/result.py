"""What is released: an additive model, a sum of scores that are looked up bin by bin."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from discreet.additive.released.explained import FreeExplanations
from discreet.errors import ArgumentError
from discreet.models.released import ReleasedModel, class_values, classifier_tags, regressor_tags
from discreet.plans import Result
from discreet.plans.results.result import Drawing, is_table
from discreet.schema import Bins, FloatArray, Number

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Term:
    """What one column, or two of them together, add to the margins.

    Attributes:
      columns: the name of the column, or the names of both.
      bins: the public bins of every column: edges in its own unit, or its categories; missing and
        unlisted values have bins of their own, the last ones.
      scores: per margin the score of every cell; those of two columns in row-major order.
      counts: noisy records per cell, drawn together with all that was released of the feature.
      noise_std: per margin and cell how far off the score is that the same fit has without noise.
    """

    columns: tuple[str, ...]
    bins: tuple[Bins, ...]
    scores: tuple[tuple[float, ...], ...]
    counts: tuple[float, ...]
    noise_std: tuple[tuple[float, ...], ...]

    @property
    def name(self) -> str:
        """What the term is called: its column, or both."""
        return " x ".join(self.columns)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of bins of every column."""
        return tuple(map(len, self.bins))

    @property
    def labels(self) -> list[str]:
        """What every cell is called."""
        names = [list(part.labels) for part in self.bins]
        if len(names) == 1:
            return names[0]
        return [f"{first}, {second}" for first in names[0] for second in names[1]]

    @cached_property
    def table(self) -> FloatArray:
        """The scores, margins x cells."""
        return np.array(self.scores, dtype=np.float64).reshape(len(self.scores), -1)

    def cells(self, columns: list[FloatArray]) -> NDArray[np.int64]:
        """Return the cell of every row from its encoded columns."""
        found = np.zeros(len(columns[0]), dtype=np.int64)
        for part, encoded in zip(self.bins, columns, strict=True):
            found = found * len(part) + part.index(encoded)
        return found

    def fits(self, margins: int) -> bool:
        """Return whether every cell has a count and every margin a score for it."""
        size = math.prod(self.shape)
        return (
            len(self.columns) == len(self.bins) in (1, 2)
            and size > 0
            and len(self.counts) == size
            and is_table(self.scores, margins, size)
            and is_table(self.noise_std, margins, size)
            and all(part.edges is None or _ascending(part) for part in self.bins)
        )


@dataclass(frozen=True, repr=False)
class AdditiveModel(FreeExplanations, ReleasedModel, Result):
    """A private additive model, ready to predict: its scores are its explanation.

    A margin is the intercept and the score of every term, added up. For two classes there is one
    margin, the log-odds of the second; for more there is one each, which a softmax turns into
    probabilities; for a number it is the number itself.

    Attributes:
      target: the column it predicts.
      classes: its values, in order; None if it is a number.
      features: the columns it may look at, in order.
      intercept: one number per margin.
      terms: what columns add; averaged over the noisy counts a term adds nothing.
      records: the noisy number of records it was made of.
      facts: the public schema, as JSON.
    """

    target: str
    classes: tuple[Any, ...] | None
    features: tuple[str, ...]
    intercept: tuple[float, ...]
    terms: tuple[Term, ...]
    records: float
    facts: str

    def __repr__(self) -> str:
        kind = "number" if self.classes is None else f"{len(self.classes)} classes"
        return f"AdditiveModel({self.target!r}, {kind}, {self.extent})"

    @property
    def extent(self) -> str:
        """The number of terms and of scores."""
        scores = len(self.intercept) * sum(len(term.counts) for term in self.terms)
        return f"{len(self.terms):,} terms, {scores:,} scores"

    def fits_together(self) -> bool:
        """Return whether the model has its margins, and every term its bins and columns."""
        margins = 1 if self.classes is None or len(self.classes) == 2 else len(self.classes)
        return (
            len(self.intercept) == margins
            and self.schema.features == self.features
            and all(term.fits(margins) for term in self.terms)
            and all(name in self.features for term in self.terms for name in term.columns)
            and all(self._has_codes(term) for term in self.terms)
        )

    def _has_codes(self, term: Term) -> bool:
        """Return whether a term has a bin for every value of its columns."""
        columns = [self.schema[name] for name in term.columns]
        return all(
            (part.edges is not None and part.reserved == int(column.may_be_missing))
            if isinstance(column, Number)
            else len(part) == len(column)
            for part, column in zip(term.bins, columns, strict=True)
        )

    def margins(self, x: Any) -> FloatArray:
        """Return the margins of rows, rows x margins, from a frame by name or an array by place."""
        return self.encoded_margins(self.encode(x))

    def encoded_margins(self, encoded: FloatArray) -> FloatArray:
        """Return the margins of encoded rows."""
        total = np.tile(np.array(self.intercept, dtype=np.float64), (len(encoded), 1))
        for term in self.terms:
            total += term.table.T[self.cells(term, encoded)]
        return total

    def cells(self, term: Term, encoded: FloatArray) -> NDArray[np.int64]:
        """Return the cell of a term that every encoded row falls into."""
        return term.cells([encoded[:, self.features.index(name)] for name in term.columns])

    def encoded_shares(self, encoded: FloatArray) -> FloatArray:
        """Return the probabilities of encoded rows, rows x classes."""
        if self.classes is None:
            raise ArgumentError(
                f"predict_proba must be asked of a model of classes, got one of the number "
                f"{self.target!r}. Use predict."
            )
        margins = self.encoded_margins(encoded)
        if len(self.classes) == 2:
            margins = np.hstack([np.zeros_like(margins), margins])
        return _softmax(margins)

    def predict_proba(self, x: Any) -> FloatArray:
        """Return the probability of every class, in the order of ``classes_``."""
        return self.encoded_shares(self.encode(x))

    def predict(self, x: Any) -> NDArray[Any]:
        """Return the likeliest class of every row, or the number within its public bounds."""
        encoded = self.encode(x)
        if self.classes is not None:
            return np.asarray(self.classes_[np.argmax(self.encoded_shares(encoded), axis=1)])
        column = self.schema[self.target]
        assert isinstance(column, Number)
        return np.clip(self.encoded_margins(encoded)[:, 0], column.low, column.high)

    def decision_function(self, x: Any) -> FloatArray:
        """Return the margins of rows; a vector if there is only one."""
        found = self.margins(x)
        return found[:, 0] if found.shape[1] == 1 else found

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of the schema."""
        if self.classes is None:
            raise AttributeError("classes_ of a model of a number")
        return class_values(self.schema, self.target)

    def score(self, x: Any, y: Any) -> float:
        """Return the accuracy, or of a number the share of its variance that is explained."""
        found, truth = self.predict(x), np.asarray(y)
        if self.classes is not None:
            return float(np.mean(found == truth))
        return float(1 - np.mean((truth - found) ** 2) / max(np.var(truth), 1e-300))

    def to_frame(self) -> pd.DataFrame:
        """Return one row per margin, term and cell: its score, noise and noisy count."""
        import pandas as pd

        names = self.margin_names
        rows = [
            (names[margin], term.name, *row)
            for term in self.terms
            for margin in range(len(names))
            for row in zip(
                term.labels, term.scores[margin], term.noise_std[margin], term.counts, strict=True
            )
        ]
        return pd.DataFrame(rows, columns=["margin", "term", "cell", "score", "noise_std", "count"])

    @property
    def margin_names(self) -> tuple[str, ...]:
        """What every margin speaks of: a class, or the target."""
        if self.classes is None:
            return (self.target,)
        return tuple(map(str, self.classes if len(self.intercept) > 1 else self.classes[1:]))

    def plot(self, ax: Any = None, *, title: str | None = None, class_: Any = None) -> Any:
        """Draw what every term adds, the most important first, for all classes or for one."""
        from discreet.plans.results.pictures.additive import AdditiveDisplay

        several = len(self.intercept) > 1 and class_ is None
        chosen = (self.classes or ()) if several else (class_,)
        return AdditiveDisplay({str(one): self.shapes(one) for one in chosen}).plot(ax, title=title)

    def pictures(self) -> dict[str, Drawing]:
        """Return what is drawn on a page: the terms, and how much each of them matters."""
        return {"Shape functions": self, "Importances": self.importances()}

    def __sklearn_tags__(self) -> Any:
        return regressor_tags() if self.classes is None else classifier_tags()


def _softmax(margins: FloatArray) -> FloatArray:
    """Return the shares of every row, each a function of its own margins to the last bit.

    Powers are made of ``expit``, which goes element by element, unlike vectorised exponentials whose
    last bit depends on the place; sums go from class to class.
    """
    from scipy.special import expit

    below = margins - margins.max(axis=1, keepdims=True)
    powers = expit(below) / expit(-below)
    total = powers[:, 0].copy()
    for place in range(1, powers.shape[1]):
        total += powers[:, place]
    return np.asarray(powers / total[:, None])


def _ascending(part: Bins) -> bool:
    """Return whether bins of a number have edges in order, one more than there are."""
    assert part.edges is not None
    edges = np.asarray(part.edges)
    return len(edges) == len(part) - part.reserved + 1 and bool(np.all(np.diff(edges) > 0))
