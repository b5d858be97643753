"""Keys of plans: a changed argument changes the key, an equal one does not; what changed is refused."""

from __future__ import annotations

import inspect
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import discreet as dc
from discreet.errors import ArgumentError
from discreet.models.fingerprint import Kept
from discreet.plans.declaration import kinds_of
from discreet.plans.registry import find_plan

Options = dict[str, Any]


def rows(seed: int = 0, count: int = 30) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {"a": draw.random(count), "b": draw.random(count), "c": ["u", "v"] * (count // 2)}
    )
    return frame.assign(y=(frame.a + frame.b > 1).astype(int))


def fitted(flip: bool = False) -> LogisticRegression:
    frame = rows()
    return LogisticRegression().fit(frame[["a", "b"]].to_numpy(), frame.y ^ flip)


def counted(first: float) -> dc.Histogram:
    return dc.Histogram(("c",), (("u", "v"),), (None,), (first, 2.0), 1.0, 2.0, 0.95)


def first(block: Any, candidates: Any) -> Any:
    return np.zeros((len(block["a"]), len(candidates)))


def second(block: Any, candidates: Any) -> Any:
    return np.ones((len(block["a"]), len(candidates)))


def whole() -> Options:
    given: Options = {"utility": first, "distance": first, "local": first}
    names = {"utility": "u", "distance": "d", "local": "l"}
    return given | {"candidates": ["p", "q"], "sensitivity": 1.0, "name": names, "epsilon": 1.0}


def budget(**others: Any) -> Options:
    return {"epsilon": 2.0, "delta": 1e-6} | others


MODEL: Options = {"model": lambda: fitted(flip=True)}
GAUSS: Options = {"mechanism": "gaussian"}
QUERY: Options = {"x": {"a": 0.2, "b": 0.4}}
POINTS = [{"a": 0.1, "b": 0.9}, {"a": 0.5, "b": 0.5}]
BACKGROUND: Options = {"background": POINTS[::-1]}
SHAP: Options = {"coalitions": 50, "seed": 1}
TABLE = {"features": ["a"], "depth": 3, "criterion": "gini", "mechanism": "exponential"}

CASES: list[tuple[str, Callable[[], Options], Options]] = [
    (
        "accumulated_effects",
        lambda: {"model": fitted(), "features": "a"},
        MODEL
        | budget(features="b", intervals=5, edges="uniform", rug=False, smooth=True, clip=False)
        | {"limit": 0.5}
        | GAUSS,
    ),
    (
        "accumulated_effects",
        lambda: {"model": fitted(), "features": "c", "order": ["u", "v"]},
        {"order": ["v", "u"]},
    ),
    (
        "additive_model",
        lambda: {"target": "y"},
        budget(target="c", features=["a"], bins=8, interactions=2),
    ),
    (
        "any_curve",
        lambda: {"explainer": first, "feature": "a", "bounds": (0, 1), "name": "e"},
        budget(feature="b", grid=[0.0, 1.0], resolution=5, bounds=(0, 2), subsets=9, smooth=True)
        | {"name": "f", "repeatable": False}
        | GAUSS,
    ),
    (
        "any_ranking",
        lambda: {"explainer": first, "items": ["p", "q", "r"], "name": "e"},
        budget(items=["q", "p", "r"], k=1, subsets=9, name="f", repeatable=False) | GAUSS,
    ),
    ("background", dict, budget(kind="mean", rows=9, bins=4, seed=1) | GAUSS),
    ("background", lambda: {"kind": "mean"}, {"clip": 0.5}),
    (
        "choose",
        lambda: {"utility": first, "candidates": ["p", "q"], "name": "u"},
        budget(candidates=["q", "p"], bounds=(0, 2), columns=["a"], name="v", mechanism="laplace")
        | {"sensitivity": 1.0},
    ),
    (
        "choose",
        whole,
        budget(sensitivity=2.0, bounds=(0, 2), mechanism="local-dampening")
        | {"distance": None, "local": None}
        | {"name": {"utility": "u", "distance": "other", "local": "l"}},
    ),
    (
        "data_shapley",
        lambda: {"model": LogisticRegression(), "test": rows(1)},
        budget(model=lambda: LogisticRegression(C=0.5), test=lambda: rows(2), records=[1, 0], decay=2.0)
        | {
            "score": "log-loss",
            "empty": 0.25,
            "clip": 0.05,
            "rounds": 3,
            "l2_penalty": 0.5,
            "row_clip": 2.0,
        }
        | {"coreset": dc.Coreset, "seed": 1, "audience": "public"}
        | GAUSS,
    ),
    (
        "data_shapley",
        lambda: {"model": LogisticRegression(), "test": rows(1), "audience": "public", "top": 2},
        {"top": 3},
    ),
    (
        "data_shapley",
        lambda: {"model": LogisticRegression(), "test": rows(1), "audience": "public", "bottom": 2},
        {"bottom": 3},
    ),
    (
        "data_shapley",
        lambda: {"method": "tknn", "test": rows(1)},
        {"radius": 0.5, "test": lambda: rows(2)},
    ),
    ("decision_tree", lambda: {"target": "y"}, budget(target="c", cuts="private") | TABLE),
    (
        "deniable_rows",
        lambda: {"attempts": 9, "delta": 1e-3, "resampled": 1},
        budget(attempts=8, columns=["a", "b"], resampled=2, bins=4, seed=1),
    ),
    (
        "deniable_rows",
        lambda: {"attempts": 9, "delta": 1e-3, "proposal": "ball"},
        {"proposal": "resample", "radius": 0.2, "gamma": 3.0},
    ),
    (
        "entropy",
        lambda: {"columns": "a"},
        budget(columns="b", given="c", bins=4, base="nats", order=2.0, method="histogram") | GAUSS,
    ),
    (
        "evaluate",
        lambda: {"model": fitted()},
        MODEL
        | budget(by="c", bins=6, cuts="quantile", residuals=["a"], clip=0.5, one_vs_rest=True)
        | {"focus": "scores"}
        | GAUSS,
    ),
    (
        "feature_interaction",
        lambda: {"model": fitted()},
        MODEL | budget(feature="a", k=1, subsets=9, points=5) | GAUSS,
    ),
    (
        "fit",
        lambda: {"target": "y"},
        budget(target="c", features=["a"], model="tree"),
    ),
    ("fit", lambda: {"target": "y"}, {"choose": "held-out"}),
    (
        "functional_mean",
        lambda: {"columns": ["a", "b"], "delta": 1e-3},
        budget(columns=["b", "a"], points=[0.0, 3.0], axis="t", lengthscale=0.5, kernel="gaussian")
        | {"smoothness": 2.5, "penalty": 0.1, "clip": 0.5, "terms": 2, "noise": "process"},
    ),
    (
        "histogram",
        lambda: {"columns": ["a"]},
        budget(columns=["a", "b"], bins=4, clip=False, consistent=False, ranges=True) | GAUSS,
    ),
    ("most_frequent", lambda: {"column": "c"}, budget(column="y", mechanism="exponential")),
    (
        "mutual_information",
        lambda: {"first": "a", "second": "b"},
        budget(first="c", second="c", bins=4, base="nats", method="histogram") | GAUSS,
    ),
    (
        "partial_dependence",
        lambda: {"model": fitted(), "features": "a"},
        MODEL
        | budget(features="b", resolution=5, grid="uniform", curve="centred", rug=False, clip=False)
        | {"smooth": True}
        | GAUSS,
    ),
    (
        "partial_dependence",
        lambda: {"model": fitted(), "features": "a", "curve": "centred"},
        {"shape_clip": 0.2},
    ),
    ("percentile", lambda: {"column": "a", "p": 50}, budget(column="b", p=25, candidates=[0.0, 1.0])),
    ("percentile", lambda: {"column": "a", "p": 50}, {"mechanism": "exponential"}),
    (
        "permutation_importance",
        lambda: {"model": fitted()},
        MODEL
        | budget(scoring="log_loss", repeats=2, release="ranking", clip=0.5, seed=1)
        | {"sampling": "marginal", "mechanism": "gaussian"},
    ),
    ("permutation_importance", lambda: {"model": fitted(), "release": "ranking"}, {"k": 1}),
    (
        "permutation_importance",
        lambda: {"model": fitted(), "sampling": "marginal", "background": POINTS},
        BACKGROUND,
    ),
    (
        "quantiles",
        lambda: {"column": "a", "levels": [0.25, 0.5]},
        budget(column="b", levels=[0.5], candidates=[0.0, 1.0], mechanism="exponential"),
    ),
    (
        "random_forest",
        lambda: {"target": "y"},
        budget(target="c", trees=3, rows="disjoint", method="random", candidate_splits=9, seed=1)
        | TABLE,
    ),
    (
        "shap_baseline",
        lambda: {"model": fitted(), **QUERY, "clip": 1.0, "delta": 1e-3},
        MODEL | budget(x=POINTS[:1], method="bootstrap", clip=2.0, resamples=9) | SHAP,
    ),
    (
        "shap_dependence",
        lambda: {"model": fitted(), "feature": "a", "background": POINTS},
        MODEL | BACKGROUND | budget(feature="b", bins=4, clip=0.5) | SHAP | GAUSS,
    ),
    (
        "shap_importance",
        lambda: {"model": fitted(), "background": POINTS},
        MODEL | BACKGROUND | budget(clip=0.5) | SHAP | GAUSS,
    ),
    (
        "shap_ranking",
        lambda: {"model": fitted(), **QUERY},
        MODEL | budget(x=POINTS, k=2, magnitudes=True, clip=0.5, mechanism="laplace") | SHAP,
    ),
    (
        "shap_ranking",
        lambda: {"model": fitted(), **QUERY, "delta": 1e-6, "threshold": 0.1},
        {"threshold": 0.2},
    ),
    (
        "shap_values",
        lambda: {"model": fitted(), **QUERY},
        MODEL | budget(x=POINTS, clip=0.5, clip_norm="linf", base_value=0.5) | SHAP | GAUSS,
    ),
    (
        "compare",
        lambda: {"first": fitted(), "second": fitted(flip=True), "feature": "a"},
        {"first": lambda: fitted(flip=True), "second": fitted}
        | budget(feature="b", scoring="brier", resolution=5, clip=0.5, method="two releases")
        | GAUSS,
    ),
    (
        "compare",
        lambda: {
            "first": fitted(),
            "second": fitted(flip=True),
            "importance": "shap",
            "background": rows(1),
        },
        budget(importance="permutation", background=lambda: rows(2)),
    ),
    (
        "drift",
        lambda: {"reference": counted(3.0)},
        budget(reference=lambda: counted(4.0), method="direct") | GAUSS,
    ),
    (
        "source_values",
        lambda: {"source": "c", "test": rows(1)},
        budget(source="d", test=lambda: rows(2), features=["a"], bins=3) | GAUSS,
    ),
    ("synthesize", dict, budget(rows=9, columns=["a", "b"], bins=4, pairs=2, seed=1) | GAUSS),
]
SEALED = {"protects", "background", "radius"}
UNSEEN = {
    "any_curve": {"explainer"},  # a name speaks for it
    "any_ranking": {"explainer"},
    "choose": {"utility"},
    "data_shapley": {"n_jobs", "method"},  # workers change no answer; the other method is a case below
    "partial_dependence": {"kind"},  # averages alone can be asked for
    "shap_ranking": SEALED,  # a sealed query is equal to nothing: see below
    "shap_values": SEALED,
}


def make(name: str, options: Options) -> dc.Plan:
    plan: dc.Plan = getattr(dc, name)(**{"epsilon": 1.0} | options)
    return plan


def changes(given: Options) -> Iterator[tuple[str, Any]]:
    for name, value in given.items():
        yield name, value() if callable(value) else value


def some_records(name: str) -> Options:
    """Return the parts and groups that a plan can be asked of."""
    asked = {"where": dc.col("age") >= 65, "by": "home"}
    return {argument: asked[argument] for argument in asked if argument in kinds_of(find_plan(name))}


def check_law(name: str, base: Callable[[], Options], others: Options) -> None:
    if "sensitivity" not in base():  # of a utility of the whole table no part can be asked
        others = others | some_records(name)
    key = make(name, base()).key
    assert make(name, base()).key == key, "equal arguments, another key"
    found = {changed: make(name, base() | {changed: value}).key for changed, value in changes(others)}
    same = [changed for changed, other in found.items() if other == key]
    assert not same, f"changed arguments, the same key: {same}"
    assert len({*found.values()}) == len(found), "two questions share a key"


def identity(case: tuple[str, Callable[[], Options], Options]) -> str:
    return case[0]


@pytest.mark.proves("plan-keys")
@pytest.mark.parametrize("case", CASES, ids=identity)
def test_a_changed_argument_changes_the_key_and_an_equal_one_does_not(
    case: tuple[str, Callable[[], Options], Options],
) -> None:
    check_law(*case)


def test_keys_are_the_same_in_another_process() -> None:
    script = (
        "from tests.laws.test_keys import *\nfor name, base, _ in CASES: print(make(name, base()).key)"
    )
    command = [sys.executable, "-c", script]
    root = Path(__file__).parents[2]
    said = subprocess.run(command, capture_output=True, text=True, check=True, cwd=root).stdout.split()
    assert said == [make(name, base()).key for name, base, _ in CASES]


def declared(name: str) -> set[str]:
    """Return the arguments of a plan that its declaration writes into the key."""
    return {argument for argument, kind in kinds_of(find_plan(name)).items() if kind.identifies}


@pytest.mark.parametrize("case", CASES, ids=identity)
def test_a_rho_is_another_question_than_an_epsilon(
    case: tuple[str, Callable[[], Options], Options],
) -> None:
    name, base, _ = case
    given = {key: value for key, value in base().items() if key not in ("epsilon", "delta")}
    first, second = (getattr(dc, name)(**given, rho=rho).key for rho in (0.1, 0.2))
    assert len({first, second, make(name, base()).key}) == 3


def test_the_law_covers_every_argument_of_every_plan() -> None:
    """A plan without a case here is taken by its declaration, which ``test_plan_keys`` reads back."""
    planned = {
        name: set(inspect.signature(getattr(dc, name)).parameters) - {"rho"} for name in dc.PLANS
    }
    cases = {name for name, *_ in CASES}
    covered = {name: set(UNSEEN.get(name, ())) if name in cases else declared(name) for name in planned}
    for name, _, others in CASES:
        covered[name] |= set(others) | set(some_records(name))
    assert {
        name: planned[name] - covered[name] for name in planned if planned[name] - covered[name]
    } == {}


def test_the_law_covers_every_argument_of_a_model() -> None:
    """Whoever adds an argument to ``Model`` decides here whether it changes the question."""
    plain = {"bounds": (0.0, 1.0), "output": "probability", "class_": 1}
    others = {
        "bounds": (0.0, 2.0),
        "output": "value",
        "class_": 0,
        "name": "mine",
        "isolated": True,
        "columns": ["a", "b"],
        "as_frame": True,
    }
    key = dc.partial_dependence(dc.Model(fitted(), **plain), "a", epsilon=1.0).key
    for name, value in others.items():
        options = plain | {name: value} | ({"class_": None} if name == "output" else {})
        model = dc.Model(fitted(), **options)
        assert dc.partial_dependence(model, "a", epsilon=1.0).key != key, name
    assert {*inspect.signature(dc.Model).parameters} == {"model", *others}


@pytest.mark.refutes("plan-keys")
def test_a_forgotten_argument_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only whether there is a distance was written down, and another's answer came back."""
    true = dc.choose.arguments

    def forgetful(self: dc.choose) -> Options:
        known = {"distance": self.distance is not None, "local": self.local is not None}
        return true(self) | known | {"name": None}

    monkeypatch.setattr(dc.choose, "arguments", forgetful)
    case = next(case for case in CASES if case[1] is whole)
    with pytest.raises(AssertionError, match=r"the same key: \['name'\]"):
        check_law(case[0], case[1], {"name": {"utility": "u", "distance": "other", "local": "l"}})


def test_functions_without_a_name_are_equal_to_nothing() -> None:
    given = whole() | {"name": "u"}
    assert dc.choose(**given).key != dc.choose(**given).key, "distance and local have no name"
    named = {"utility": "u", "distance": "d", "local": "l"}
    assert dc.choose(**given | {"name": named}).key == dc.choose(**given | {"name": named}).key
    for wrong in (7, {"distances": "d"}, {"distance": 3}, ""):
        with pytest.raises(ArgumentError, match="name must be a text"):
            dc.choose(**given | {"name": wrong})


def test_a_sealed_query_is_equal_to_nothing() -> None:
    sealed = {"model": fitted(), **QUERY, "protects": "query", "background": POINTS, "radius": 0.1}
    for name in ("shap_values", "shap_ranking"):
        assert make(name, sealed).key != make(name, sealed).key


# -- test sets


def test_object_arrays_are_told_by_their_values() -> None:
    """Pointers were hashed: of many small test sets some had the key of another."""
    keys = set()
    for seed in range(60):
        test = rows(seed, 2).to_numpy()
        assert test.dtype == object
        plans = [
            make("data_shapley", {"model": LogisticRegression(), "test": test.copy()}) for _ in "ab"
        ]
        assert plans[0].key == plans[1].key
        keys.add(plans[0].key)
    assert len(keys) == 60


def test_kinds_of_values_are_told_apart() -> None:
    sets: list[Any] = [
        pd.DataFrame({"a": [True], "y": [1]}),
        pd.DataFrame({"a": ["True"], "y": [1]}),
        pd.DataFrame({"a": [1], "y": [1]}),
        pd.DataFrame({"a": [1.0], "y": [1]}),
        pd.DataFrame({"a": [None], "y": [1]}, dtype=object),
        np.array([[1, 1]]),
        np.array([[1.0, 1.0]]),
        np.array([[1, 1]], dtype=object),
    ]
    for method in ("layered", "tknn"):
        given = {"model": LogisticRegression()} if method == "layered" else {"method": "tknn"}
        assert len({make("data_shapley", given | {"test": test}).key for test in sets}) == len(sets)


# -- what changed after the plan was made


def change_model(options: Options) -> None:
    frame = rows()
    options["model"].fit(frame[["a", "b"]].to_numpy(), 1 - frame.y)


HELD = sorted({name for name, base, _ in CASES if "model" in base() and name != "data_shapley"})


def session() -> dc.Session:
    columns = {"a": dc.Number(0, 1, missing=False), "b": dc.Number(0, 1, missing=False)}
    table = rows()[["a", "b"]]
    terms: Options = {"dataset": "d", "epsilon": 1e4, "delta": 0.1, "ledger": ":memory:"}
    return dc.protect(table, dc.Schema(columns), **terms, progress=False)


@pytest.mark.proves("plan-keys")
@pytest.mark.parametrize("name", HELD)
def test_a_model_that_was_fitted_again_is_refused(name: str) -> None:
    base = next(case[1] for case in CASES if case[0] == name)()
    plan, book = make(name, base), session()
    change_model(base)
    for ask in (book.release, book.price):
        with pytest.raises(ArgumentError, match="model must be what it was when the plan was made"):
            ask(plan)
    assert book.balance.spent.loss == 0 and len(book.history()) == 1


@pytest.mark.refutes("plan-keys")
def test_a_model_that_nobody_looks_at_again_answers_under_the_old_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(Kept, "check_unchanged", lambda self: None)
    model, book = fitted(), session()
    plan = dc.partial_dependence(model, "a", epsilon=1000.0)
    change_model({"model": model})
    wrong = book.release(plan)
    right = book.release(dc.partial_dependence(fitted(), "a", epsilon=1000.0))
    assert right.id == wrong.id, "the planted fault: another model's answer comes back"


def test_plans_of_one_model_fitted_twice_are_refused_together() -> None:
    model, plans, frame = LogisticRegression(), [], rows()
    for flip in (0, 1):
        model.fit(frame[["a", "b"]].to_numpy(), frame.y ^ flip)
        plans.append(dc.partial_dependence(model, "a", epsilon=1.0))
    book = session()
    with pytest.raises(ArgumentError, match="fitted again"):
        book.release(plans)
    assert book.release(plans[1]).guarantee.certified, "the last one is what it was"


def test_an_estimator_inside_a_function_is_looked_at() -> None:
    model = fitted()
    plan = dc.partial_dependence(
        dc.Model(lambda x: model.predict_proba(x)[:, 1], bounds=(0, 1)), "a", epsilon=1.0
    )
    change_model({"model": model})
    with pytest.raises(ArgumentError, match="model must be what it was"):
        session().release(plan)


def test_a_test_set_that_was_written_to_is_refused(tmp_path: Any) -> None:
    frame, array, path = rows(1), rows(1).to_numpy(), tmp_path / "test.csv"
    frame.to_csv(path, index=False)
    plans = [
        make("data_shapley", {"model": LogisticRegression(), "test": t}) for t in (frame, array, path)
    ]
    frame.loc[0, "a"] = 0.123
    array[0, 0] = 0.123
    frame.to_csv(path, index=False)
    book = session()
    for plan in plans:
        with pytest.raises(ArgumentError, match="test must be what it was"):
            book.release(plan)


class Counting(LogisticRegression):  # type: ignore[misc]
    """Remembers how often it was asked."""

    asked = 0

    def predict_proba(self, x: Any) -> Any:
        self.asked += 1
        return super().predict_proba(x)


def test_what_our_own_calls_do_to_a_model_is_no_change() -> None:
    frame = rows()
    model = Counting().fit(frame[["a", "b"]].to_numpy(), frame.y)
    plan, book = dc.partial_dependence(model, "a", epsilon=1.0), session()
    book.price(plan)
    first_time, calls = book.release(plan), model.asked
    assert book.release(plan).id == first_time.id and calls > 0
