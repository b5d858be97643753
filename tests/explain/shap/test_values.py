"""SHAP values: bounds over all neighbours, values below the noise, honest bands, sealed queries."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable
from discreet.engines.shapley.coalitions import all_masks
from discreet.engines.shapley.kernel import kernel_values
from discreet.errors import AccessDenied, ArgumentError, ModelError
from discreet.plans import Release, Setting
from tests.explain.shap.cases import TINY, TINY_ROWS, jumpy, keeps, tiny_models, worst_moves
from tests.laws import world
from tests.laws.examples import Example

D = 5
SCHEMA = dc.Schema({f"f{i}": dc.Number(-4, 4, missing=False) for i in range(D)})
MODELS = tiny_models()


@pytest.fixture(scope="module")
def task() -> tuple[pd.DataFrame, np.ndarray, np.ndarray]:
    values, labels = make_classification(600, D, n_informative=4, n_redundant=0, random_state=0)
    return pd.DataFrame(np.clip(values, -4, 4), columns=list(SCHEMA)), labels, values[:3]


def stage_of(name: str, relation: str, mechanism: str = "laplace", **options: object):
    options = {"clip": None, **options}
    plan = dc.shap_values(
        MODELS[name], [[1.0, 1.0], [0.0, 1.0]], epsilon=1.0, delta=1e-6, mechanism=mechanism, **options
    )
    return plan.prepare(Setting(TINY, relation, 2 if relation == "replace-one" else None)).stages[0]


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("name", list(MODELS))
def test_no_neighbour_moves_the_sum_further(name: str, mechanism: str, relation: str) -> None:
    assert keeps(stage_of(name, relation, mechanism), relation)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("norm", ["l2", "linf"])
@pytest.mark.parametrize("clip", [0.2, 5.0])
def test_clipped_vectors_keep_their_own_bound(clip: float, norm: str, relation: str) -> None:
    stage = stage_of("opaque", relation, clip=clip, clip_norm=norm)
    assert keeps(stage, relation)
    free = stage_of("opaque", relation)
    if clip == 0.2:
        for n in ("l1", "l2", "linf"):
            assert stage.certificate.sensitivity(n, relation) < free.certificate.sensitivity(
                n, relation
            )


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("name", list(MODELS))
def test_a_clip_from_public_rows_keeps_the_bound_and_lowers_the_noise(name: str, relation: str) -> None:
    stage = stage_of(name, relation, clip="auto")
    assert keeps(stage, relation)
    assert stage.noise.std <= stage_of(name, relation).noise.std * (1 + 1e-9)


def test_a_clip_from_public_rows_shortens_hardly_a_record(task) -> None:
    frame, labels, queries = task
    model = LogisticRegression().fit(frame.to_numpy(), labels)
    session = dc.protect(frame, SCHEMA, dataset="t", ledger=":memory:", epsilon=1e6, seed=0)
    auto, whole = (
        session.release(dc.shap_values(model, queries, clip=clip, epsilon=1e5)).value.to_array()
        for clip in ("auto", None)
    )
    assert auto == pytest.approx(whole, abs=2e-3)


@pytest.mark.refutes("shap-contribution")
def test_a_model_wider_than_its_bounds_is_caught() -> None:
    narrow = stage_of("opaque", "replace-one")
    plan = dc.shap_values(
        dc.Model(jumpy, bounds=(-4, 8), name="wide"), [1.0, 1.0], clip=None, epsilon=1.0
    )
    wide = plan.prepare(Setting(TINY, "replace-one", 2)).stages[0]
    found = worst_moves(wide, "replace-one")
    assert found.linf > narrow.certificate.sensitivity("linf", "replace-one")


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("kind", ["linear", "logistic", "forest", "margin", "opaque"])
def test_without_noise_they_are_the_shapley_values(task, kind: str, relation: str) -> None:
    frame, labels, queries = task
    rows = frame.to_numpy()
    model = {
        "linear": lambda: dc.Model(LinearRegression().fit(rows, labels), bounds=SCHEMA),
        "logistic": lambda: dc.Model(LogisticRegression().fit(rows, labels)),
        "forest": lambda: dc.Model(
            RandomForestClassifier(5, max_depth=3, random_state=0).fit(rows, labels)
        ),
        "margin": lambda: dc.Model(
            GradientBoostingClassifier(n_estimators=5, random_state=0).fit(rows, labels),
            output="margin",
        ),
        "opaque": lambda: dc.Model(lambda r: np.sin(r).prod(axis=1), bounds=(-1, 1), name="sines"),
    }[kind]()
    session = dc.protect(
        frame, SCHEMA, dataset="t", ledger=":memory:", epsilon=1e6, relation=relation, seed=0
    )
    value = session.release(dc.shap_values(model, queries, clip=None, epsilon=1e5)).value
    exact = kernel_values(model.bind(SCHEMA).predict, queries, rows, all_masks(D))
    assert value.to_array() == pytest.approx(exact, abs=3e-3)
    assert np.sum(value.values[0]) + value.base_values[0] == pytest.approx(value.predictions[0])


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_all_values_are_in_their_band_as_often_as_promised(task, relation: str) -> None:
    frame, labels, queries = task
    model = LogisticRegression().fit(frame.to_numpy(), labels)
    session = dc.protect(
        frame, SCHEMA, dataset="t", ledger=":memory:", epsilon=4e6, relation=relation, seed=1
    )
    exact = session.release(dc.shap_values(model, queries, clip=None, epsilon=1e6)).value.to_array()
    plan = dc.shap_values(model, queries, clip=None, epsilon=2.0)
    program = plan.prepare(Setting(SCHEMA, relation, len(frame) if relation == "replace-one" else None))
    releaser = SimulatedReleaser(PrivateTable(frame, SCHEMA, relation), 1)
    inside = 0
    for _ in range(200):
        value = program.finish(releaser)
        inside += bool(np.all(np.abs(value.to_array() - exact) <= value.half_width))
    assert inside >= 180


def test_a_public_base_value_projects_the_values(task) -> None:
    frame, labels, queries = task
    model = LogisticRegression().fit(frame.to_numpy(), labels)
    session = dc.protect(frame, SCHEMA, dataset="t", ledger=":memory:", epsilon=100, seed=1)
    plan = dc.shap_values(model, queries, base_value=0.5, epsilon=0.5)
    value = session.release(plan).value
    assert value.to_array().sum(axis=1) + 0.5 == pytest.approx(value.predictions)
    assert value.base_values == (0.5, 0.5, 0.5)


def test_queries_may_come_as_anything(task) -> None:
    frame, labels, _ = task
    model = LogisticRegression().fit(frame, labels)
    session = dc.protect(frame, SCHEMA, dataset="t", ledger=":memory:", epsilon=100, seed=1)
    forms = [
        frame.iloc[0],
        frame.iloc[[0]],
        frame.iloc[0].to_dict(),
        pl.DataFrame(frame.iloc[[0]].to_dict("list")),
        frame.to_numpy()[0],
        [frame.iloc[0].to_dict()],
    ]
    keys = {repr(session.release(dc.shap_values(model, x, epsilon=1.0)).value.data) for x in forms}
    assert len(keys) == 1


def test_the_index_of_a_frame_comes_back_and_is_stored_nowhere(task, tmp_path) -> None:
    frame, labels, _ = task
    model = LogisticRegression().fit(frame, labels)
    session = dc.protect(frame, SCHEMA, dataset="t", ledger=":memory:", epsilon=100, seed=1)
    asked = frame.iloc[[4, 2]].set_axis(pd.Index(["Ada", "Bob"], name="who"))
    release = session.release(dc.shap_values(model, asked, epsilon=1.0))
    table = release.value.to_frame()
    assert table.index.name == "who" and list(table.index.unique()) == ["Ada", "Bob"]
    assert list(table.loc["Bob", "value"]) == list(release.value.values[1])
    assert "Ada" not in release.dumps() and session.verify([release]).ok
    other = session.release(dc.shap_values(model, asked.set_axis(["x", "y"]), epsilon=1.0))
    assert other.id == release.id and other.value == release.value, "the same question"
    assert list(other.value.to_frame().index.unique()) == ["x", "y"]
    assert other.value.to_frame().index.name == "query"
    plain = session.release(dc.shap_values(model, asked.reset_index(drop=True), epsilon=1.0))
    assert list(plain.value.to_frame().index.unique()) == [0, 1]
    levels = asked.set_axis(pd.MultiIndex.from_tuples([("a", 1), ("b", 2)], names=["c", "d"]))
    two = session.release(dc.shap_values(model, levels, epsilon=1.0)).value.to_frame()
    assert two.index.names == ["c", "d"] and two.index.nlevels == 2
    ranked = session.release(dc.shap_ranking(model, asked.loc["Bob"], epsilon=1.0)).value
    assert list(ranked.to_frame().index) == ["Bob"]
    public = session.release(dc.background(epsilon=1.0)).value.explain(model, asked).to_frame()
    assert list(public.index.unique()) == ["Ada", "Bob"]


def test_a_release_goes_to_json_to_shap_and_to_pictures(task, tmp_path) -> None:
    import matplotlib.pyplot as plt

    frame, labels, queries = task
    model = LogisticRegression().fit(frame.to_numpy(), labels)
    session = dc.protect(frame, SCHEMA, dataset="t", ledger=":memory:", epsilon=100, delta=1e-3, seed=1)
    release = session.release(dc.shap_values(model, queries, epsilon=1.0, delta=1e-6))
    assert Release.loads(release.dumps()).value == release.value
    frame_out = release.value.to_frame()
    assert list(frame_out.columns) == ["feature", "value", "low", "high"]
    assert frame_out.index.name == "query" and list(frame_out.index) == sorted([0, 1, 2] * D)
    for query, row in enumerate(release.value.values):
        one_query = frame_out.loc[query]
        assert tuple(one_query["feature"]) == release.value.features
        assert tuple(one_query["value"]) == row
    explanation = release.value.to_shap()
    assert explanation.values.shape == (3, D) and explanation.base_values.shape == (3,)
    one = session.release(dc.shap_values(model, queries[0], epsilon=1.0)).value
    assert list(one.to_frame().index) == [0] * D
    assert one.to_shap().values.shape == (D,) and len(one.ranking(2)) == 2
    assert one.plot().ax_.get_xlabel().startswith("SHAP value")
    assert len(one.plot_waterfall().ax_.patches) == D
    assert release.plot().figure_ is not None
    plt.close("all")


@pytest.mark.parametrize("kind", ["linear", "logistic", "clipped"])
def test_a_sealed_query_keeps_its_bound_and_leaves_no_trace(task, kind: str) -> None:
    frame, labels, _ = task
    rows = frame.to_numpy()
    fitted = (
        LogisticRegression().fit(rows, labels)
        if kind == "logistic"
        else LinearRegression().fit(rows, labels)
    )
    bounds = {"linear": SCHEMA, "logistic": (0, 1), "clipped": (0.2, 0.8)}[kind]
    model = dc.Model(fitted, bounds=bounds)
    radius, marker = 0.5, 1.2345678901

    def raw(query: np.ndarray):
        plan = dc.shap_values(
            model, query, protects="query", background=rows[:40], radius=radius, epsilon=1.0
        )
        program = plan.prepare(Setting(SCHEMA, "replace-one", 600))
        (stage,) = program.stages
        steps = SimulatedReleaser(None, 0)  # no table: no row is read
        return steps.exact(stage) * stage.noise.step, stage, plan, program

    rng, worst = np.random.default_rng(0), 0.0
    for _ in range(60):
        query = rng.uniform(-3, 3, D)
        moved = query.copy()
        moved[rng.integers(D)] += rng.choice([-radius, radius])
        change = raw(query)[0] - raw(moved)[0]
        _, stage, _, _ = raw(query)
        assert np.abs(change).sum() <= stage.certificate.sensitivity("l1", "replace-one")
        worst = max(worst, np.abs(change).max() / stage.certificate.sensitivity("linf", "replace-one"))
    assert worst > 0.2
    query = np.full(D, marker)
    _, _, plan, program = raw(query)
    assert str(marker) not in json.dumps(plan.describe()) + repr(plan)
    assert "value of the query" in program.protects
    with pytest.raises(AccessDenied):
        pickle.dumps(plan)
    session = dc.protect(frame, SCHEMA, dataset="t", ledger=":memory:", epsilon=100, seed=1)
    release = session.release(plan)
    assert str(marker) not in release.dumps() and release.value.data is None
    assert "value of the query" in release.guarantee.protects


def test_wrong_arguments_are_one_clear_sentence(task) -> None:
    frame, labels, _ = task
    rows = frame.to_numpy()
    model = LogisticRegression().fit(frame, labels)
    forest = RandomForestClassifier(3, max_depth=2).fit(frame, labels)
    session = dc.protect(frame, SCHEMA, dataset="t", ledger=":memory:", epsilon=1.0)
    query = frame.iloc[0].to_dict()
    deep = RandomForestClassifier(3).fit(rows, labels)
    cases = [
        (lambda: dc.shap_values(model, {"f0": 1.0}, epsilon=1), "x must have every column"),
        (lambda: dc.shap_values(model, query | {"zip": 3}, epsilon=1), "columns of the schema alone"),
        (lambda: dc.shap_values(model, query | {"f0": 9.0}, epsilon=1), "f0 between -4 and 4, got 9.0"),
        (lambda: dc.shap_values(model, [1.0, 2.0], epsilon=1), "one number for each of f0"),
        (lambda: dc.shap_values(model, object(), epsilon=1), "x must be a mapping"),
        (lambda: dc.shap_values(lambda r: r[:, 0], query, epsilon=1), "bounds must be given"),
        (
            lambda: dc.shap_values(model, query, epsilon=1, coalitions=4),
            "coalitions must be at least 10",
        ),
        (
            lambda: dc.shap_values(model, query, epsilon=1, mechanism="gaussian"),
            "delta must be positive",
        ),
        (lambda: dc.shap_values(model, query, epsilon=1, clip=-1), "clip must be"),
        (lambda: dc.shap_values(model, query, epsilon=1, protects="all"), "protects must be one of"),
        (lambda: dc.shap_values(model, query, epsilon=1, protects="query"), "public frame"),
        (lambda: dc.shap_values(model, query, epsilon=1, radius=1.0), "must be left out unless"),
        (
            lambda: dc.shap_values(forest, query, epsilon=1, protects="query", background=frame[:9]),
            "model must be linear or logistic",
        ),
        (
            lambda: dc.shap_values(
                model, {"f0": 1.0}, epsilon=1, protects="query", background=frame[:9]
            ),
            "x must have every column",
        ),
        (lambda: dc.shap_values(deep, np.zeros((2000, D)), epsilon=1), "at least 1 and at most 1000"),
    ]
    for make, sentence in cases:
        with pytest.raises((ArgumentError, ModelError), match=sentence):
            session.release(make())
    assert session.remaining.loss == 1.0


def test_predictions_that_are_missing_upset_nothing() -> None:
    frame = pd.DataFrame(TINY_ROWS, columns=list(TINY))
    session = dc.protect(frame, TINY, dataset="t", ledger=":memory:", epsilon=10, seed=0)
    value = session.release(dc.shap_values(MODELS["opaque"], [2.0, 1.0], epsilon=1)).value
    assert np.isfinite(value.to_array()).all() and value.predictions == (0.5,)


def sealed(model: dc.Model, income: float) -> dc.Plan:
    return dc.shap_values(
        model,
        world.query().assign(income=income),
        protects="query",
        background=world.public_rows(),
        epsilon=1.0,
    )


EXAMPLES = [
    Example(
        "shap_values", lambda model: dc.shap_values(model, world.query(), epsilon=1.0), world.FORMS
    ),
    Example(
        "shap_values",
        lambda model: dc.shap_values(
            model,
            world.public_rows(2),
            clip=None,
            base_value=0.4,
            mechanism="gaussian",
            epsilon=1.0,
            delta=1e-5,
        ),
        ("trees", "opaque"),
    ),
    Example(
        "shap_values",
        lambda model: dc.shap_values(
            model, world.query(), clip=0.2, clip_norm="linf", coalitions=8, epsilon=1.0
        ),
        ("linear", "opaque"),
    ),
    Example(
        "shap_values",
        lambda model: sealed(model, 0.0),
        ("linear",),
        other=lambda model: sealed(model, 100.0),
        unreadable="a sealed query is equal to nothing",
    ),
]
