"""Fingerprints: equal models share one, whoever fitted, copied or loaded them."""

from __future__ import annotations

import collections
import copy
import enum
import functools
import io
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pytest
import scipy.special
from sklearn.base import BaseEstimator
from sklearn.ensemble import VotingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

from discreet.models import Model
from discreet.models.fingerprint import fingerprint
from tests.models.zoo import ESTIMATORS, fit, fitted, numbers_only, one_hot_pipeline, training


def through_joblib(model: Any) -> Any:
    file = io.BytesIO()
    joblib.dump(model, file)
    return joblib.load(io.BytesIO(file.getvalue()))


WAYS: dict[str, Callable[[Any], Any]] = {
    "deepcopy": copy.deepcopy,
    "pickle": lambda model: pickle.loads(pickle.dumps(model)),
    "joblib": through_joblib,
    "twice": lambda model: through_joblib(through_joblib(model)),
}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_equal_estimators_share_a_fingerprint(name: str) -> None:
    """Forests once had another one every time they were loaded, and paid for their answers again."""
    first = fit(ESTIMATORS[name](), numbers_only(), training()[1])
    known = Model(first).fingerprint
    assert known.startswith("hash:")
    assert Model(fit(ESTIMATORS[name](), numbers_only(), training()[1])).fingerprint == known
    for way, make in WAYS.items():
        assert Model(make(first)).fingerprint == known, way
    first.predict_proba(numbers_only())
    assert Model(first).fingerprint == known


@pytest.mark.parametrize("name", ESTIMATORS)
def test_different_estimators_differ(name: str) -> None:
    first = fitted(name)
    other = fit(ESTIMATORS[name](), numbers_only(), 1 - training()[1])
    swapped = fit(ESTIMATORS[name](), numbers_only()[["income", "age"]], training()[1])
    marks = [fingerprint(model, None) for model in (first, other, swapped, fitted(name, named=False))]
    assert len(set(marks)) == 4


def test_small_changes_are_seen() -> None:
    model = fit(LogisticRegression(), numbers_only(), training()[1])
    known = fingerprint(model, None)
    moved = copy.deepcopy(model)
    moved.coef_[0, 0] = np.nextafter(moved.coef_[0, 0], 9)
    renamed = copy.deepcopy(model)
    renamed.feature_names_in_[0] = "Age"
    retyped = copy.deepcopy(model)
    retyped.classes_ = retyped.classes_.astype(np.int8)
    assert len({known, *(fingerprint(m, None) for m in (moved, renamed, retyped))}) == 4


def test_the_same_in_another_process(tmp_path: Path) -> None:
    models = {name: fitted(name) for name in ("forest", "histogram boosting")} | {
        "one": one_hot_pipeline()
    }
    joblib.dump(models, tmp_path / "models")
    script = (
        "import joblib, sys; from discreet.models.fingerprint import fingerprint\n"
        "for model in joblib.load(sys.argv[1]).values(): print(fingerprint(model, None))"
    )
    command = [sys.executable, "-c", script, str(tmp_path / "models")]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    assert said == [fingerprint(model, None) for model in models.values()]


class Holder(BaseEstimator):  # type: ignore[misc]
    """An estimator that holds whatever it is given."""

    def __init__(self, held: Any = None) -> None:
        self.held = held


class Level(enum.Enum):
    LOW = 1
    HIGH = 2


class Marked(list[Any]):
    """A list that holds more than its items."""

    def __init__(self, items: Any, mark: str = "") -> None:
        super().__init__(items)
        self.mark = mark


def shared(part: Any) -> list[Any]:
    return [part, part]


HELD: list[Any] = [
    None,
    1,
    1.0,
    True,
    "1",
    b"1",
    (1,),
    [1],
    {1},
    {1, 2},
    {"a": 1, "b": 2},
    {"a": 2, "b": 1},
    {"b": 2, "a": 1},
    collections.OrderedDict(a=1),
    np.array([1.0]),
    np.array([[1.0]]),
    np.float32(1),
    np.array([1, "a"], dtype=object),
    np.zeros(2, dtype=[("x", "i1"), ("y", "f8")]),
    np.zeros(2, dtype=[("x", "i1"), ("z", "f8")]),
    np.random.RandomState(0),
    np.random.RandomState(1),
    np.log1p,
    np.exp,
    len,
    copy.copy,
    LogisticRegression,
    LogisticRegression(),
    shared([1, 2]),
    range(3),
    slice(1),
    {"a": 1}.get,
    {"a": 2}.get,
    np.eye(2).dot,
    np.ones((2, 2)).dot,
    "a".join,
    "b".join,
    copy.deepcopy,
    functools.partial(np.clip, a_min=0),
    functools.partial(np.clip, a_min=1),
    np.vectorize({"a": 1}.get),
    np.vectorize({"a": 2}.get),
    scipy.special.expit,
    Level.LOW,
    Level.HIGH,
    Marked([1]),
    Marked([1], "a"),
]


def test_whatever_is_held_is_told_apart_and_found_again() -> None:
    marks = [fingerprint(Holder(held), None) for held in HELD]
    assert len(set(marks)) == len(HELD)
    assert all(mark.startswith("hash:") for mark in marks)
    assert [fingerprint(Holder(copy.deepcopy(held)), None) for held in HELD] == marks


def test_what_is_equal_does_not_depend_on_who_shares_it() -> None:
    assert fingerprint(Holder(shared([1, 2])), None) == fingerprint(Holder([[1, 2], [1, 2]]), None)
    one, other = Holder(), Holder()
    one.first, one.then = 1, 2
    other.then, other.first = 2, 1
    assert fingerprint(one, None) == fingerprint(other, None), "attributes have no order"
    array = np.arange(6.0).reshape(2, 3)
    assert fingerprint(Holder(array), None) == fingerprint(Holder(np.asfortranarray(array)), None)


def test_bytes_between_numbers_do_not_count() -> None:
    aligned = np.dtype([("x", "i1"), ("y", "f8")], align=True)
    first, second = (np.full(16, filler, np.uint8).view(aligned) for filler in (0, 255))
    for array in (first, second):
        array["x"], array["y"] = 1, 2.0
    assert first.tobytes() != second.tobytes()
    assert fingerprint(Holder(first), None) == fingerprint(Holder(second), None)


class Named(np.ndarray[Any, Any]):
    """An array whose own pickling leaves its name out."""

    name: str


class Forgetful:
    """Keeps something from its pickle that may decide its answers."""

    def __init__(self) -> None:
        self.seen, self.hidden = 1, 2

    def __getstate__(self) -> dict[str, int]:
        return {"seen": self.seen}


def made(value: float) -> type:
    """Return a class whose name leads nowhere, like those of a factory."""
    return type("Made", (), {"__module__": __name__, "value": value})


def a_circle() -> list[Any]:
    circle: list[Any] = []
    circle.append(circle)
    return circle


def test_what_has_no_name_is_equal_to_nothing() -> None:
    def local(rows: Any) -> Any:
        return rows

    scripts_own = type("Mine", (), {"__module__": "__main__"})
    generator = (i for i in range(3))
    wrapped = functools.wraps(double)(lambda rows: rows)
    masked, attributed = np.ma.array([1.0], mask=[True]), np.zeros(2).view(Named)
    attributed.name = "a"
    nameless = (lambda rows: rows, local, a_circle(), scripts_own, generator, wrapped, made(0.5))
    foreign = (np.frompyfunc(double, 1, 1), masked, attributed, Forgetful(), open)
    for held in (*nameless, *foreign):
        model = Holder(held)
        same = fingerprint(model, None) == fingerprint(model, None)
        assert same is (held is open), held
    pipeline = make_pipeline(FunctionTransformer(lambda rows: rows), LogisticRegression())
    fit(pipeline, numbers_only(named=False), training()[1])
    assert Model(pipeline).fingerprint != Model(pipeline).fingerprint


def double(rows: Any) -> Any:
    return 2 * rows[:, 0]


def test_functions_are_never_equal_unless_named() -> None:
    options: dict[str, Any] = {"bounds": (0, 1)}
    assert Model(double, **options).fingerprint != Model(double, **options).fingerprint
    named = Model(double, name="mine", **options)
    assert named.fingerprint == Model(len, name="mine", **options).fingerprint == "name:mine"
    assert fingerprint(fitted("logistic"), "mine") == "name:mine"


def test_neighbours_and_votes_are_known_again_after_they_were_asked() -> None:
    """Their trees count queries, a vote keeps notes that pickle drops: each ask was charged anew."""
    rows, labels = numbers_only(named=False), training()[1]
    votes = [("a", LogisticRegression()), ("b", GaussianNB())]
    for build in (
        lambda: KNeighborsClassifier(algorithm="kd_tree"),
        lambda: KNeighborsClassifier(algorithm="ball_tree"),
        lambda: VotingClassifier(votes, voting="soft"),
    ):
        model = fit(build(), rows, labels)
        known = Model(model).fingerprint
        model.predict_proba(rows)
        assert known.startswith("hash:")
        assert Model(model).fingerprint == known == Model(WAYS["pickle"](model)).fingerprint
        assert Model(fit(build(), rows, 1 - labels)).fingerprint != known


def test_functions_that_differ_by_what_they_are_bound_to_differ() -> None:
    """A method of a dictionary, or of an array, was known by its name alone."""
    rows, labels = numbers_only(named=False), training()[1]
    marks = {}
    for scale in (1.0, 2.0):
        pipeline = make_pipeline(FunctionTransformer((scale * np.eye(2)).dot), LogisticRegression())
        pipeline[-1].fit(rows, labels)
        marks[scale] = fingerprint(pipeline, None)
    assert len({*marks.values()}) == 2 and all(mark.startswith("hash:") for mark in marks.values())


@pytest.mark.parametrize("align", [False, True])
def test_records_are_told_apart_by_their_fields_and_not_by_what_lies_between(align: bool) -> None:
    def marked(fill: int, last: float) -> str:
        records = np.full(32, fill, dtype=np.uint8).view(
            np.dtype([("x", "i1"), ("y", "f8")], align=True)
        )
        records["x"], records["y"] = 1, (2, last)
        return fingerprint(
            Holder(records if align else records.astype([("x", "i1"), ("y", "f8")])), None
        )

    assert marked(0, 3.0) == marked(255, 3.0)
    assert marked(0, 3.0) != marked(0, 4.0)
