"""A released classifier made of trees, as a model that is explained quickly.

For explanations its trees are compiled: a beginning of a range is one threshold; a category against the
rest is an interval, hence two thresholds, with the rest's subtree below both of them.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.models.forms.trees import LEAF, RawTree, TreeEnsemble, join_trees
from discreet.models.own import OwnModel
from discreet.models.released import ReleasedModel, class_values, classifier_tags
from discreet.schema import FloatArray
from discreet.trees.columns import IntArray

_MOST_NODES = 2**16
"""A tree that would have more nodes is evaluated as it is."""


class TreeModel(OwnModel):
    """The probability of a class of a released tree or forest."""

    def __init__(self, classifier: Any, class_: Any = None) -> None:
        super().__init__(classifier, output="probability", class_=class_)

    def ensemble(self, width: int) -> TreeEnsemble | None:
        """Return the probability of the class as an ensemble over the model's features."""
        raw = self._released.raw_trees(self.class_index)
        return None if raw is None else join_trees(raw, base=0.0, link="identity", width=width)


class ReleasedClassifier(ReleasedModel):
    """What a released tree and a released forest have in common; a dataclass fills in the fields."""

    @abstractmethod
    def encoded_shares(self, encoded: FloatArray) -> FloatArray:
        """Return the probabilities of encoded rows, rows x classes."""

    @abstractmethod
    def raw_trees(self, class_index: int) -> list[RawTree] | None:
        """Return trees whose leaf values add up to the probability of a class; None if too many."""

    @property
    def classes_(self) -> NDArray[Any]:
        """The classes, in the order of the schema."""
        return class_values(self.schema, self.target)

    def predict_proba(self, x: Any) -> FloatArray:
        """Return the probability of every class, in the order of ``classes_``."""
        return self.encoded_shares(self.encode(x))

    def predict_log_proba(self, x: Any) -> FloatArray:
        """Return the logarithms of the probabilities; all are finite."""
        return np.log(self.predict_proba(x))

    def predict(self, x: Any) -> NDArray[Any]:
        """Return the likeliest class of every row."""
        return np.asarray(self.classes_[np.argmax(self.predict_proba(x), axis=1)])

    def score(self, x: Any, y: Any) -> float:
        """Return the share of rows whose class is predicted right."""
        return float(np.mean(self.predict(x) == np.asarray(y)))

    def to_model(self, class_: Any = None) -> TreeModel:
        """Return the probability of a class as a ``dc.Model`` that explanations evaluate quickly.

        ``class_`` may be left out if there are two; then the second is meant.
        """
        return TreeModel(self, class_=class_)

    def __sklearn_tags__(self) -> Any:
        return classifier_tags()


def raw_tree(
    feature: IntArray,
    low: FloatArray,
    high: FloatArray,
    left: IntArray,
    value: FloatArray,
    root: int = 0,
) -> RawTree | None:
    """Return a tree of thresholds with the leaves' values, or None if it would be too large.

    Guarantees:
      - A row falls into a leaf with the value of the leaf it falls into by intervals. [tree-intervals]
    """
    columns: list[int] = []
    thresholds: list[float] = []
    children: list[list[int]] = []
    values: list[float] = []
    waiting = [(root, -1, 0, False)]  # a node, where it hangs, and whether its lower end is settled
    while waiting:
        node, parent, side, above = waiting.pop()
        here = len(columns)
        if here >= _MOST_NODES:
            return None
        if parent >= 0:
            children[parent][side] = here
        leaf = feature[node] == LEAF
        below = not leaf and not above and np.isfinite(low[node])
        columns.append(int(feature[node]))
        thresholds.append(float(np.inf if leaf else low[node] if below else high[node]))
        values.append(float(value[node]) if leaf else 0.0)
        children.append([-1, -1])
        if below:
            waiting += [(int(left[node]) + 1, here, 0, False), (node, here, 1, True)]
        elif not leaf:
            waiting += [(int(left[node]), here, 0, False), (int(left[node]) + 1, here, 1, False)]
    pairs = np.array(children, dtype=np.int64)
    return RawTree(
        feature=np.array(columns, dtype=np.int64),
        threshold=np.array(thresholds),
        missing_left=np.zeros(len(columns), dtype=bool),
        left=pairs[:, 0],
        right=pairs[:, 1],
        value=np.array(values),
    )
