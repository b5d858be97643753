"""Tree ensembles as flat arrays: splits on numbers, leaves that add up, one link.

    prediction(row) = link(base + value of the row's leaf in tree 1 + ... + in the last tree)

Averaged leaf probabilities of a forest have this shape (identity), margins of boosted trees
(identity), and probabilities of two-class boosted trees (logistic). What is not additive, such as
the probability of one of several classes of boosted trees, has no such form.

The nodes of a tree stand together, level by level, and the two children of a split stand side by
side: ``left`` and ``left + 1``. So children come after their parents, a tree is ``nodes[roots[t]:
roots[t + 1]]``, and passing something down (the interval of every feature, the path to a leaf) or up
(the extremes of a subtree) is one loop over ``levels()``.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ModelError
from discreet.schema import FloatArray

if TYPE_CHECKING:
    from discreet.models.forms.category_splits import Handed, RawEnsemble
    from discreet.models.forms.compiled import Compiled

Link = Literal["identity", "logistic"]
IntArray = NDArray[np.int64]
BoolArray = NDArray[np.bool_]

LEAF = -1
"""The ``feature`` of a leaf."""


@dataclass(frozen=True)
class RawTree:
    """One tree in a library's own order of nodes: node 0 is the root, a leaf's ``left`` is negative.

    ``threshold`` is already that of float64 comparisons; ``value`` counts at leaves alone.
    """

    feature: IntArray
    threshold: FloatArray
    missing_left: BoolArray
    left: IntArray
    right: IntArray
    value: FloatArray


@dataclass(frozen=True, eq=False)
class TreeEnsemble:
    """A sum of trees; all arrays but ``roots`` have one entry per node and are read-only.

    Args:
      feature: the column a split looks at; ``LEAF`` at a leaf.
      threshold: a float64 row goes left if ``row[feature] <= threshold``; infinite at a leaf.
      missing_left: whether NaN goes left; true at a leaf.
      left: the left child, the right one is ``left + 1``; a leaf is its own left child.
      value: what a leaf adds to the score; zero at a split.
      depth: the level of the node below its root.
      roots: the first node of every tree, ascending.
      base: what the score is before any tree.
      link: from the score to the prediction.
      width: the number of columns of a row.
      tolerance: how far the estimator's own answers may be off by its rounding, relative.

    Guarantees:
      - A row falls into the same leaves as in the estimator, also where a value is NaN or next to a
        threshold. [tree-decisions]
      - Its answer is a function of the row alone, to the last bit. [tree-decisions]
    """

    feature: IntArray
    threshold: FloatArray
    missing_left: BoolArray
    left: IntArray
    value: FloatArray
    depth: IntArray
    roots: IntArray
    base: float
    link: Link
    width: int
    tolerance: float = 1e-9

    kind: ClassVar[Literal["trees"]] = "trees"

    def __post_init__(self) -> None:
        used = self.feature[self.feature != LEAF]
        if len(used) and not (used.min() >= 0 and used.max() < self.width):
            raise ModelError(f"A tree must split on columns below {self.width}, got {used.max()}.")
        for name in ("feature", "threshold", "missing_left", "left", "value", "depth", "roots"):
            getattr(self, name).setflags(write=False)

    @property
    def is_leaf(self) -> BoolArray:
        """Which nodes are leaves."""
        return np.asarray(self.feature == LEAF)

    @cached_property
    def tree(self) -> IntArray:
        """The number of the tree each node belongs to."""
        sizes = np.diff(self.roots, append=len(self.feature))
        return np.repeat(np.arange(len(self.roots)), sizes)

    def levels(self) -> list[IntArray]:
        """Return the nodes of all trees level by level, the roots first."""
        order = np.argsort(self.depth, kind="stable")
        return np.split(order, np.cumsum(np.bincount(self.depth))[:-1])

    def scores(self, rows: FloatArray) -> FloatArray:
        """Return base plus leaf values, added tree by tree."""
        if rows.ndim != 2 or rows.shape[1] != self.width:  # compiled code would read beyond a row
            raise ModelError(f"rows must have {self.width} columns, got shape {rows.shape}.")
        return self._compiled.scores(np.asarray(rows, dtype=np.float64))

    def predict(self, rows: FloatArray) -> FloatArray:
        """Return one prediction per float64 row; feature-major rows are read fastest."""
        return apply_link(self.link, self.scores(rows))

    def agrees(self, rows: FloatArray, answers: FloatArray) -> bool:
        """Say whether an estimator's own answers to public rows are these predictions."""
        own = self.predict(rows)
        close = np.isclose(own, answers, rtol=self.tolerance, atol=self.tolerance)
        return bool(close.all())

    @cached_property
    def _compiled(self) -> Compiled:
        from discreet.models.forms.compiled import compile_trees

        return compile_trees(self)


_ANSWERS = ("predict", "predict_proba", "decision_function")


def raw_ensemble(estimator: Any, output: str, class_index: int) -> RawEnsemble | None:
    """Return the trees behind a fitted estimator's output as its library has them, or None.

    Args:
      estimator: of scikit-learn, XGBoost, LightGBM or CatBoost; anything else gives None.
      output: ``probability``, ``margin`` or ``value``.
      class_index: the place of the class among ``classes_``; without meaning for ``value``.
    """
    if any(name in _ANSWERS for name in getattr(estimator, "__dict__", ())):
        return None  # somebody wrote a method of its own into it
    match type(estimator).__module__.split(".")[0]:
        case "sklearn":
            from discreet.models.readers.sklearn import read_sklearn as read
        case "xgboost" if hasattr(estimator, "get_booster"):
            from discreet.models.readers.boosters import read_xgboost as read
        case "lightgbm" | "discreet" if hasattr(estimator, "booster_"):
            from discreet.models.readers.boosters import read_lightgbm as read
        case "catboost" if hasattr(estimator, "get_all_params"):
            from discreet.models.readers.catboost import read_catboost as read
        case _:
            return None
    return read(estimator, output, class_index)


def tree_ensemble(
    estimator: Any, output: str, class_index: int, handed: Handed | None = None
) -> TreeEnsemble | None:
    """Return the ensemble behind a fitted estimator's output, or None if it has no such form.

    Args:
      estimator: of scikit-learn, XGBoost, LightGBM or CatBoost; anything else gives None.
      output: ``probability``, ``margin`` or ``value``.
      class_index: the place of the class among ``classes_``; without meaning for ``value``.
      handed: for every column the values handed over for its codes, None for numbers; left out, all
        columns are numbers.
    """
    found = raw_ensemble(estimator, output, class_index)
    return None if found is None else found.on(handed)


def apply_link(link: Link, scores: FloatArray) -> FloatArray:
    """Return predictions from scores."""
    if link == "identity":
        return scores
    from scipy.special import expit

    # Element by element, unlike vectorised exponentials whose last bit depends on the place.
    return np.asarray(expit(scores))


def join_trees(
    trees: Sequence[RawTree], *, base: float, link: Link, width: int, tolerance: float = 1e-9
) -> TreeEnsemble | None:
    """Return the ensemble of some trees, or None if there is none or a leaf is not finite."""
    if not trees:
        return None
    offsets = np.cumsum([0, *(len(tree.feature) for tree in trees)])
    raw = RawTree(
        *(
            np.concatenate([getattr(tree, name) for tree in trees])
            for name in ("feature", "threshold", "missing_left", "left", "right", "value")
        )
    )
    shift = np.repeat(offsets[:-1], np.diff(offsets))
    order, depth = _level_order(raw.left, raw.right, offsets, shift)
    place = np.zeros(len(raw.feature), dtype=np.int64)
    place[order] = np.arange(len(order))
    leaf = raw.left[order] < 0
    left = np.where(leaf, order, raw.left[order] + shift[order])
    ensemble = TreeEnsemble(
        feature=np.where(leaf, LEAF, raw.feature[order]).astype(np.int64),
        threshold=np.where(leaf, np.inf, raw.threshold[order]),
        missing_left=leaf | raw.missing_left[order].astype(bool),
        left=place[left],
        value=np.where(leaf, raw.value[order], 0.0),
        depth=depth,
        roots=place[offsets[:-1]],
        base=float(base),
        link=link,
        width=width,
        tolerance=tolerance,
    )
    finite = np.isfinite(ensemble.base) and np.isfinite(ensemble.value).all()
    return ensemble if finite else None


def _level_order(
    left: IntArray, right: IntArray, offsets: IntArray, shift: IntArray
) -> tuple[IntArray, IntArray]:
    """Return the nodes that roots lead to, tree by tree and level by level, and their levels."""
    levels = [offsets[:-1]]
    while len(splits := levels[-1][left[levels[-1]] >= 0]):
        pairs = np.column_stack([left[splits], right[splits]]) + shift[splits, None]
        levels.append(pairs.ravel())
    order = np.concatenate(levels)
    depth = np.repeat(np.arange(len(levels)), [len(level) for level in levels])
    by_tree = np.argsort(shift[order], kind="stable")
    return order[by_tree], depth[by_tree]
