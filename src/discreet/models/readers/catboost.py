"""Read CatBoost's trees: splits on numbers, and on one category against all others.

CatBoost compares float32 values with a border and goes right if they are *above* it. A level of an
oblivious tree has one split, a bit of the leaf's number; other policies have nested trees. A category
is known by a hash of its text, so a value is asked for by its hash; which hash a text has the library
says itself. Splits on statistics of the target (what CatBoost makes of columns with many categories),
on texts and on embeddings are not read.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from discreet.errors import ModelError
from discreet.models.forms.category_splits import CategorySet, ListedCategories, RawEnsemble, SetTree
from discreet.models.readers.sklearn import boosted_output
from discreet.models.readers.thresholds import lift_single
from discreet.schema import FloatArray

_OBJECTIVES = {
    "Logloss": ("margin", "probability"),
    "CrossEntropy": ("margin", "probability"),
    "MultiClass": ("margin",),
    "RMSE": ("value",),
    "MAE": ("value",),
    "Quantile": ("value",),
    "Huber": ("value",),
    "MAPE": ("value",),
    "Expectile": ("value",),
    "LogCosh": ("value",),
}
_WORD = 2**32


def read_catboost(estimator: Any, output: str, class_index: int) -> RawEnsemble | None:
    """Return the trees of a CatBoost estimator's output, or None if it has no such form."""
    plain = _exported(estimator)
    objective = str(estimator.get_all_params().get("loss_function", "")).split(":")[0]
    found = getattr(estimator, "classes_", ())
    kind = boosted_output(len(found) or None, output, class_index)
    if output not in _OBJECTIVES.get(objective, ()) or kind is None:
        return None
    link, column, sign = kind
    columns = _Columns.of(plain["features_info"])
    scale, biases = plain["scale_and_bias"]
    trees = [
        columns.tree(_nested(tree), sign * scale, column)
        for tree in plain.get("oblivious_trees", plain.get("trees", ()))
    ]
    read = [tree for tree in trees if tree is not None]
    if len(read) < len(trees):
        return None
    return RawEnsemble(
        read,
        base=sign * biases[column],
        link=link,
        width=len(estimator.feature_names_),
        code=_Hashes(estimator),
    )


def check_catboost(model: Any) -> None:
    """Raise if a model looks at columns beyond its last: CatBoost reads there, and crashes."""
    names = model.feature_names_ or ()
    try:
        told = _exported(model)["features_info"]
    except Exception:  # not every model is written as plain data
        return
    kinds = ("float_features", "categorical_features", "text_features", "embedding_features")
    places = [one["flat_feature_index"] for kind in kinds for one in told.get(kind) or ()]
    if names and not all(0 <= place < len(names) for place in places):
        raise ModelError(
            f"model must look at its {len(names)} columns, got one beyond them in a file of CatBoost. "
            "The file is spoilt: save the model again."
        )


def _exported(estimator: Any, **options: Any) -> dict[str, Any]:
    """Return a model as the plain data that CatBoost writes to files."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.json"
        estimator.save_model(str(path), format="json", **options)
        plain: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return plain


@dataclass(frozen=True)
class _Hashes:
    """What splits on categories compare: a hash of the value's text; numbers are themselves."""

    estimator: Any

    def __call__(self, place: int, values: Sequence[object]) -> FloatArray:
        if place not in self.estimator.get_cat_feature_indices():
            return ListedCategories({})(place, values)
        texts = [str(value) for value in values]
        known = self._known(texts)
        return np.array([float(known[text]) for text in texts])

    def _known(self, texts: list[str]) -> Mapping[str, int]:
        """Return the hashes of texts, as a model has them that was made of these texts alone."""
        import pandas as pd
        from catboost import CatBoost, Pool

        texts = sorted({*texts, "a", "b"})  # nothing can be fitted to a column with one value
        rows = Pool(
            pd.DataFrame({"text": pd.Series(texts, dtype=object)}),
            label=np.arange(len(texts)),
            cat_features=["text"],
        )
        options = {"iterations": 1, "depth": 1, "one_hot_max_size": 255, "thread_count": 1}
        made = CatBoost({**options, "allow_writing_files": False, "verbose": False}).fit(rows)
        listed = _exported(made, pool=rows)["features_info"]["cat_features_hash"]
        return {entry["value"]: entry["hash"] % _WORD for entry in listed}


@dataclass(frozen=True)
class _Columns:
    """Where CatBoost's features of a kind stand in a row, and where NaN goes at splits on numbers."""

    numbers: Mapping[int, int]
    categories: Mapping[int, int]
    missing_left: Mapping[int, bool]

    @classmethod
    def of(cls, facts: Mapping[str, Any]) -> _Columns:
        """Read them from an exported model."""
        numbers = facts.get("float_features", ())
        return cls(
            {entry["feature_index"]: entry["flat_feature_index"] for entry in numbers},
            {
                entry["feature_index"]: entry["flat_feature_index"]
                for entry in facts.get("categorical_features", ())
            },
            # NaN counts as above all borders, or as below all; never asked for, it is above none.
            {e["feature_index"]: e["nan_value_treatment"] != "AsTrue" for e in numbers},
        )

    def tree(self, root: Mapping[str, Any], factor: float, column: int) -> SetTree | None:
        """Flatten a nested tree; None if one of its splits is of another kind."""
        nodes, left, right, sets = [root], [-1], [-1], {}
        for at, node in enumerate(nodes):  # grows while we go
            if "split" not in node:
                continue
            kind = node["split"]["split_type"]
            if kind == "OneHotFeature":
                sets[at] = CategorySet(frozenset({node["split"]["value"] % _WORD}), inside_left=False)
            elif kind != "FloatFeature":
                return None
            left[at], right[at] = len(nodes), len(nodes) + 1
            nodes += [node["left"], node["right"]]
            left += [-1, -1]
            right += [-1, -1]
        splits = [node.get("split", {}) for node in nodes]
        borders = np.array([split.get("border", np.inf) for split in splits], dtype=np.float64)
        return SetTree(
            sets=sets,
            feature=np.array([self._place(split) for split in splits], dtype=np.int64),
            threshold=lift_single(borders),
            missing_left=np.array(
                [self.missing_left.get(split.get("float_feature_index", -1), True) for split in splits]
            ),
            left=np.array(left, dtype=np.int64),
            right=np.array(right, dtype=np.int64),
            value=factor * np.array([_leaf(node, column) for node in nodes], dtype=np.float64),
        )

    def _place(self, split: Mapping[str, Any]) -> int:
        if "cat_feature_index" in split:
            return self.categories[split["cat_feature_index"]]
        return self.numbers[split["float_feature_index"]] if "float_feature_index" in split else 0


def _leaf(node: Mapping[str, Any], column: int) -> float:
    value = node.get("value", 0.0)
    return float(value[column] if isinstance(value, list) else value)


def _nested(tree: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return an oblivious tree as a nested one; its first split is a leaf number's lowest bit."""
    if "splits" not in tree:
        return tree
    size = 2 ** len(tree["splits"])
    width = len(tree["leaf_values"]) // size
    values = np.reshape(np.array(tree["leaf_values"], dtype=np.float64), (size, width)).tolist()
    level: list[Mapping[str, Any]] = [{"value": value} for value in values]
    for split in reversed(tree["splits"]):
        half = len(level) // 2
        level = [
            {"split": split, "left": low, "right": high}
            for low, high in zip(level[:half], level[half:], strict=True)
        ]
    return level[0]
