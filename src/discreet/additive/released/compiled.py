"""An additive model as a sum of trees, one for each term: what explainers of trees evaluate quickly.

A term of one column is a tree whose splits halve the bins; of two, one whose leaves are such trees.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.models.bounds import bound_sums
from discreet.models.forms.trees import LEAF, RawTree, TreeEnsemble, join_trees
from discreet.models.own import OwnModel
from discreet.schema import MISSING, Bins, FloatArray, Number

if TYPE_CHECKING:
    from discreet.additive.released.result import AdditiveModel, Term

_MOST_NODES = 2**16
"""A model that would have more nodes is evaluated as it is."""


class AdditiveScore(OwnModel):
    """One output of an additive model: the probability or the margin of a class, or the number."""

    def __init__(self, released: AdditiveModel, output: str, class_: Any = None) -> None:
        bounds = None if output == "probability" else _limits(released, output, class_)
        super().__init__(released, output=output, class_=class_, bounds=bounds)

    def ensemble(self, width: int) -> TreeEnsemble | None:
        """Return the margins' trees; the probability of one of several classes is no sum of any."""
        released: AdditiveModel = self._released
        if len(released.intercept) > 1 and self.output == "probability":
            return None
        margin, sign = margin_and_sign(released, self.class_index)
        link = "logistic" if self.output == "probability" else "identity"
        return margin_trees(released, margin, sign=sign, link=link)


def margin_and_sign(model: AdditiveModel, class_index: int) -> tuple[int, float]:
    """Return the margin of a class, and -1 if it is that of the other of two."""
    if len(model.intercept) > 1:
        return class_index, 1.0
    return 0, -1.0 if model.classes is not None and class_index == 0 else 1.0


def margin_trees(
    model: AdditiveModel, margin: int, *, sign: float = 1.0, link: Any = "identity"
) -> TreeEnsemble | None:
    """Return trees that add up to a margin, or to its negative; None if they would be too large."""
    if sum(2 * len(term.counts) for term in model.terms) > _MOST_NODES:
        return None
    trees = [_term_tree(model, term, sign * term.table[margin]) for term in model.terms]
    base = sign * model.intercept[margin]
    constant = _Builder()
    constant.leaf(0.0)
    width = len(model.features)
    return join_trees(trees or [constant.tree()], base=base, link=link, width=width)


def _limits(released: AdditiveModel, output: str, class_: Any) -> tuple[float, float]:
    """Return public bounds of a number, or those that the scores of a margin cannot leave."""
    column = released.schema[released.target]
    if output == "value":
        assert isinstance(column, Number)
        return column.low, column.high
    known = released.classes_.tolist()
    margin, sign = margin_and_sign(released, known.index(class_) if class_ in known else 1)
    scores = [sign * term.table[margin] for term in released.terms]
    box = bound_sums(scores, sign * released.intercept[margin])
    return box.limits


class _Builder:
    """Nodes of one tree, in the order in which they were met."""

    def __init__(self) -> None:
        self.nodes: list[list[float]] = []

    def leaf(self, value: float) -> int:
        self.nodes.append([LEAF, np.inf, -1, -1, value])
        return len(self.nodes) - 1

    def split(self, feature: int, threshold: float) -> int:
        self.nodes.append([feature, threshold, -1, -1, 0.0])
        return len(self.nodes) - 1

    def grow(self, columns: list[tuple[int, Bins]], values: FloatArray) -> int:
        """Add the tree of some columns with the values of their cells; return its root."""
        if not columns:
            return self.leaf(float(values))
        feature, bins = columns[0]
        return self._between(feature, cell_ends(bins), columns[1:], values, 0, len(bins))

    def _between(
        self,
        feature: int,
        ends: list[tuple[float, int]],
        rest: list[tuple[int, Bins]],
        values: FloatArray,
        start: int,
        stop: int,
    ) -> int:
        """Add the tree of some neighbouring cells; they lie in the order of ``ends``."""
        if stop - start == 1:
            return self.grow(rest, values[ends[start][1]])
        middle = (start + stop) // 2
        here = self.split(feature, ends[middle - 1][0])
        self.nodes[here][2] = self._between(feature, ends, rest, values, start, middle)
        self.nodes[here][3] = self._between(feature, ends, rest, values, middle, stop)
        return here

    def tree(self) -> RawTree:
        """Return the nodes as arrays."""
        feature, threshold, left, right, value = np.array(self.nodes, dtype=np.float64).T
        return RawTree(
            feature=feature.astype(np.int64),
            threshold=threshold,
            missing_left=np.zeros(len(feature), dtype=bool),
            left=left.astype(np.int64),
            right=right.astype(np.int64),
            value=value,
        )


def cell_ends(bins: Bins) -> list[tuple[float, int]]:
    """Return the cells from left to right, each with the greatest code in it.

    A number that is an edge belongs to the bin on its right; a missing one is below all.
    """
    if bins.edges is None:
        return [(code + 0.5, code) for code in range(len(bins))]
    inner = [*np.nextafter(bins.edges[1:-1], -np.inf).tolist(), np.inf]
    ends = [(end, cell) for cell, end in enumerate(inner)]
    return [(MISSING, len(bins) - 1), *ends] if bins.reserved else ends


def _term_tree(model: AdditiveModel, term: Term, scores: FloatArray) -> RawTree:
    built = _Builder()
    columns = [model.features.index(name) for name in term.columns]
    built.grow([*zip(columns, term.bins, strict=True)], scores.reshape(term.shape))
    return built.tree()
