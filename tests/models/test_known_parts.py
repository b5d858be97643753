"""The list of scikit-learn's parts that answer a row by itself: the law on all of it, and the rest."""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    BaggingClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    IsolationForest,
    RandomForestClassifier,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    StandardScaler,
    minmax_scale,
    scale,
)
from sklearn.tree import DecisionTreeClassifier

import discreet as dc
from discreet.data.calls import CALL_ROWS, CallShape
from discreet.data.state import quietly
from discreet.models import known_parts as known_parts_module
from discreet.models.forms.trees import raw_ensemble
from discreet.models.known_parts import (
    ANYWHERE,
    IN_ITS_PLACE,
    known_parts,
    parts_within,
)
from discreet.models.soundness import is_sound
from discreet.schema import FloatArray

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

X, Y = make_classification(400, 6, random_state=0)
NAMES = [f"c{place}" for place in range(6)]
SCHEMA = dc.Schema({name: dc.Number(-4, 4, missing=False) for name in NAMES})
SHAPE = CallShape.of(SCHEMA, tuple(NAMES))
OPTIONS: dict[str, dict[str, Any]] = {
    "OneHotEncoder": {"handle_unknown": "ignore"},
    "OrdinalEncoder": {"handle_unknown": "use_encoded_value", "unknown_value": -1},
    "MLPClassifier": {"hidden_layer_sizes": (33, 17), "max_iter": 30},
    "MLPRegressor": {"hidden_layer_sizes": (33, 17), "max_iter": 30},
}
LISTED = [
    (module, name, place)
    for place, listed in (("anywhere", ANYWHERE), ("in its place", IN_ITS_PLACE))
    for module, names in listed.items()
    for name in names
]


def fitted(module: str, name: str) -> Any:
    kind = getattr(importlib.import_module(module), name)
    options = OPTIONS.get(name, {})
    if "random_state" in kind().get_params():
        options = {"random_state": 0, **options}
    if "n_estimators" in kind().get_params():
        options = {"n_estimators": 7, **options}
    return kind(**options).fit(np.rint(X) if "Encoder" in name else X, Y)


def answers(part: Any, batch: FloatArray) -> Iterator[FloatArray]:
    """Yield all that a part says of a batch, as whoever is asked for it would get it."""
    for method in ("transform", "predict_proba", "decision_function", "predict"):
        if hasattr(part, method):
            said = getattr(part, method)(np.rint(batch) if "Encoder" in type(part).__name__ else batch)
            yield np.asarray(said.toarray() if hasattr(said, "toarray") else said, dtype=np.float64)


def moved(part: Any, places: bool) -> float:
    """Return how far answers to some rows move with the rows beside them, or with their places."""
    draw = np.random.default_rng(3)
    rows = X[:150]
    start, worst = len(SHAPE.first), 0.0
    others = [X[draw.integers(0, len(X), CALL_ROWS)] * size for size in (1.0, 0.01, 100.0)]
    others.append(np.full((CALL_ROWS, 6), 4.0))
    first: list[FloatArray] | None = None
    for company in others:
        for place in draw.integers(0, CALL_ROWS - 150, 2) if places else (77,):
            filled = company.copy()
            filled[place : place + 150] = rows
            batch = SHAPE.batch(filled, 0, CALL_ROWS)
            found = [a[start + place : start + place + 150] for a in answers(part, batch)]
            first = first or found
            worst = max(worst, *(np.abs(a - b).max() for a, b in zip(first, found, strict=True)))
    return worst


@pytest.mark.proves("grades")
@pytest.mark.parametrize(("module", "name", "place"), LISTED)
def test_the_listed_answer_a_row_by_itself_to_the_last_bit(module: str, name: str, place: str) -> None:
    part = fitted(module, name)
    assert known_parts(part) == place
    with quietly():
        assert moved(part, places=place == "anywhere") == 0


@pytest.mark.refutes("grades")
def test_a_part_that_looks_at_the_call_is_caught() -> None:
    part = FunctionTransformer(scale).fit(X)
    assert known_parts(part) is None
    assert moved(part, places=False) > 0


FRAME = pd.DataFrame(X, columns=NAMES).assign(h=np.where(Y, "x", "y"))


def test_pipelines_and_column_transformers_are_as_good_as_their_parts() -> None:
    columns = make_column_transformer(
        (OneHotEncoder(), ["h"]), (SimpleImputer(), NAMES[:2]), remainder="passthrough"
    )
    forest = make_pipeline(columns, RandomForestClassifier(3, random_state=0)).fit(FRAME, Y)
    assert known_parts(forest) == "anywhere"
    network = make_pipeline(columns, "passthrough", MLPClassifier((5,), max_iter=9)).fit(FRAME, Y)
    assert known_parts(network) == "in its place"
    spoilt = make_column_transformer((FunctionTransformer(scale), NAMES), remainder="drop")
    assert known_parts(make_pipeline(spoilt, RandomForestClassifier(3)).fit(FRAME, Y)) is None


class Heir(StandardScaler):
    """Not the class itself."""


def impostor() -> Any:
    """A class that only says it is the one on the list."""
    kind = type("StandardScaler", (StandardScaler,), {})
    kind.__module__ = "sklearn.preprocessing._data"
    return kind().fit(X)


def overridden() -> Any:
    part = LogisticRegression().fit(X, Y)
    part.predict_proba = lambda rows: rows
    return part


class Watchful(np.ndarray):
    """Weights that look at all rows they are multiplied with."""

    def __rmatmul__(self, rows: Any) -> Any:
        return np.asarray(rows - rows.min(axis=0)) @ np.asarray(self)


def watchful_weights() -> Any:
    part = LogisticRegression().fit(X, Y)
    part.coef_ = part.coef_.view(Watchful)
    return part


def watchful_layers() -> Any:
    part = MLPClassifier((5,), max_iter=9, random_state=0).fit(X, Y)
    part.coefs_[0] = part.coefs_[0].view(Watchful)
    return part


def foreign_start() -> Any:
    start = make_pipeline(FunctionTransformer(minmax_scale), LogisticRegression())
    return GradientBoostingClassifier(n_estimators=2, init=start, random_state=0).fit(X, Y)


class OddTree(DecisionTreeClassifier):
    """Not the class itself."""


def odd_forest() -> Any:
    part = RandomForestClassifier(3, random_state=0).fit(X, Y)
    part.estimators_[1] = OddTree(max_depth=2).fit(X, Y)
    return part


class Watcher:
    """Nodes that look at all rows they are asked for."""

    def predict(self, rows: Any) -> Any:
        return np.tile([rows[:, 0].min(), 1.0], (len(rows), 1))


def watchful_tree() -> Any:
    part = DecisionTreeClassifier(max_depth=2).fit(X, Y)
    part.tree_ = Watcher()
    return part


def forgotten_start() -> Any:
    """What was fitted is called, whatever the parameters say now."""
    return foreign_start().set_params(init=None)


def drawn_start() -> Any:
    start = DummyClassifier(strategy="stratified", random_state=0)
    part = GradientBoostingClassifier(n_estimators=2, init=start, random_state=0).fit(X, Y)
    assert len(np.unique(part.predict_proba(np.zeros((50, X.shape[1]))))) > 1  # by places alone
    prior = GradientBoostingClassifier(n_estimators=2, init=DummyClassifier(strategy="prior"))
    assert known_parts(prior.fit(X, Y)) == "anywhere"
    return part


def foreign_binning() -> Any:
    part = HistGradientBoostingClassifier(max_iter=3).fit(X, Y)
    part._preprocessor = FunctionTransformer(minmax_scale)
    return part


def foreign_leaf() -> Any:
    part = HistGradientBoostingClassifier(max_iter=3).fit(X, Y)
    part._predictors[0][0] = Watcher()
    return part


class Centred:
    """A link, or a weight, that looks at all rows."""

    __array_ufunc__ = None

    def inverse(self, raw: Any, out: Any = None) -> Any:
        return 1 / (1 + np.exp(raw.mean() - raw))

    def __rmul__(self, rows: Any) -> Any:
        return rows - rows.mean(axis=0)


def watchful_link() -> Any:
    part = HistGradientBoostingClassifier(max_iter=3).fit(X, Y)
    part._loss.link = Centred()
    return part


def watchful_columns() -> Any:
    columns = make_column_transformer((StandardScaler(), [0, 1]), remainder="passthrough")
    part = make_pipeline(columns, DecisionTreeClassifier()).fit(X, Y)
    assert known_parts(part.set_params(columntransformer__transformer_weights={"remainder": 2.0}))
    return part.set_params(columntransformer__transformer_weights={"standardscaler": Centred()})


def mean_per_row() -> Any:
    part = StandardScaler().fit(X)
    part.mean_ = np.zeros((SHAPE.places, X.shape[1]))
    return part


class Slotted:
    __slots__ = ()

    def __call__(self, rows: Any) -> Any:
        return rows[:, 0]


@pytest.mark.refutes("grades")
@pytest.mark.parametrize(
    "make",
    [
        watchful_weights,
        watchful_layers,
        watchful_tree,
        watchful_link,
        watchful_columns,
        foreign_start,
        drawn_start,
        forgotten_start,
        foreign_binning,
        foreign_leaf,
        odd_forest,
        mean_per_row,
        Slotted,
    ],
)
def test_listed_classes_made_of_something_else_are_not_known(make: Any) -> None:
    assert known_parts(make()) is None


@pytest.mark.parametrize(
    "part",
    [Heir().fit(X), impostor(), overridden(), FunctionTransformer(), lambda rows: rows[:, 0]],
)
def test_others_are_not_known(part: Any) -> None:
    assert known_parts(part) is None
    assert known_parts(make_pipeline(StandardScaler(), part)) is None


def test_grades_follow_the_relation() -> None:
    """Where a matrix product decides, a row that changes its place is not proven."""
    schema = dc.Schema(
        {
            **{name: SCHEMA[name] for name in NAMES},
            "h": dc.Category("x", "y", missing=False, other=False),
        }
    )
    # A number that is looked up keeps no order, so that the trees behind it are called.
    looked_up = OneHotEncoder(handle_unknown="ignore")
    columns = make_column_transformer((looked_up, ["h", NAMES[0]]), (StandardScaler(), NAMES))
    grades = {}
    for last in (RandomForestClassifier(3, random_state=0), MLPClassifier((5,), max_iter=9)):
        company = dc.Model(make_pipeline(columns, last).fit(FRAME, Y)).bind(schema).third_party
        assert company is not None
        kept, freed = company.under("replace-one"), company.under("add-remove")
        grades[type(last).__name__] = (kept.grade, freed.grade, kept.batch_error, freed.batch_error > 0)
    assert grades == {
        "RandomForestClassifier": ("proven", "proven", 0.0, False),
        "MLPClassifier": ("proven", "probed", 0.0, True),
    }


def test_a_model_that_was_overridden_is_asked_itself() -> None:
    """Its class's form would answer in its place."""
    part = LogisticRegression().fit(X, Y)
    part.predict_proba = lambda rows: np.column_stack([rows[:, 0] < 3, rows[:, 0] >= 3]).astype(float)
    bound = dc.Model(part).bind(SCHEMA)
    assert bound.form is None
    sparse = LogisticRegression().fit(X, Y).sparsify()
    assert dc.Model(sparse).bind(SCHEMA).form is None


def bent(estimator: Any, name: str, value: int) -> Any:
    """Return an estimator with another number in the first split of its first tree."""
    tree = np.ravel(getattr(estimator, "estimators_", [estimator]))[0].tree_
    state = tree.__getstate__()
    state["nodes"] = state["nodes"].copy()
    state["nodes"][name][0] = value
    tree.__setstate__(state)
    return estimator


def bent_histogram(name: str, value: int) -> Any:
    made = HistGradientBoostingClassifier(max_iter=2).fit(X, Y)
    made._predictors[0][0].nodes[name][0] = value
    return made


def narrow_member() -> Any:
    made = RandomForestClassifier(2).fit(X, Y)
    made.estimators_[1] = DecisionTreeClassifier().fit(np.column_stack([X, X]), Y)
    return made


ASTRAY = {
    "the next row": lambda: bent(DecisionTreeClassifier().fit(X, Y), "feature", X.shape[1]),
    "before the row": lambda: bent(DecisionTreeClassifier().fit(X, Y), "feature", -9),
    "past the end": lambda: bent(RandomForestClassifier(2).fit(X, Y), "left_child", 2**40),
    "up again": lambda: bent(GradientBoostingClassifier(n_estimators=2).fit(X, Y), "left_child", 0),
    "past the row": lambda: bent_histogram("feature_idx", 99),
    "past the nodes": lambda: bent_histogram("left", 2**30),
    "sets that are not there": lambda: bent_histogram("is_categorical", 1),
    "more columns": narrow_member,
}


@pytest.mark.proves("grades")
@pytest.mark.parametrize("name", ASTRAY)
def test_trees_that_go_astray_are_not_known(name: str) -> None:
    estimator = ASTRAY[name]()
    assert known_parts(estimator) is None
    assert known_parts(make_pipeline(StandardScaler().fit(X), estimator)) is None
    assert raw_ensemble(estimator, "probability", 1) is None


@pytest.mark.refutes("grades")
def test_a_tree_that_looks_into_the_next_row_would_be_proven(monkeypatch: pytest.MonkeyPatch) -> None:
    estimator = bent(DecisionTreeClassifier(max_depth=1).fit(X, Y), "feature", X.shape[1])
    rows = np.zeros((3, X.shape[1]))
    low, high = (np.where([[False], [True], [True]], end, rows) for end in (-1e6, 1e6))
    assert estimator.predict_proba(low)[0, 1] != estimator.predict_proba(high)[0, 1]
    monkeypatch.setattr(known_parts_module, "is_sound", lambda part: True)
    assert known_parts(estimator) == "anywhere"


def test_histograms_with_a_link_of_another_kind_are_called() -> None:
    assert raw_ensemble(watchful_link(), "probability", 1) is None
    assert raw_ensemble(HistGradientBoostingClassifier(max_iter=3).fit(X, Y), "probability", 1)


def test_fitted_parts_are_sound() -> None:
    for module, name, _ in LISTED:
        assert all(map(is_sound, parts_within(fitted(module, name))))
    for made in (
        KNeighborsClassifier(algorithm="kd_tree"),
        KNeighborsClassifier(algorithm="ball_tree"),
    ):
        assert all(map(is_sound, parts_within(made.fit(X, Y))))
    for other in (IsolationForest(max_features=0.5), BaggingClassifier(max_features=0.5)):
        assert all(map(is_sound, parts_within(other.fit(X, Y))))
    sets = HistGradientBoostingClassifier(max_iter=2, categorical_features=[0])
    assert all(map(is_sound, parts_within(sets.fit(np.abs(np.round(X)), Y))))
