from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone, is_classifier
from sklearn.inspection import permutation_importance
from sklearn.utils.validation import check_is_fitted

import discreet as dc
from discreet.errors import ArgumentError, BudgetExhausted
from discreet.explain.shap.engines import choose_engine
from discreet.models import TreeEnsemble
from discreet.plans import Setting
from discreet.session import Release
from discreet.trees.plan import decision_tree
from discreet.trees.result import DecisionTree
from discreet.trees.scores import CRITERIA
from discreet.trees.shape import fitting_depth
from discreet.trees.splits import MECHANISMS
from tests.laws.examples import Example

SCHEMA = dc.Schema(
    {
        "age": dc.Number(18, 90, step=1, missing=False),
        "gain": dc.Number(0, 10_000, missing=False),
        "home": dc.Category("rent", "own", "none", missing=False, other=False),
        "same": dc.Number(0, 1, missing=False),
        "class": dc.Category("no", "yes", "never seen", missing=False, other=False),
    },
    target="class",
)
FEATURES = ["age", "gain", "home", "same"]


def frame(rows: int = 3000, seed: int = 0) -> pd.DataFrame:
    generator = np.random.default_rng(seed)
    age = generator.integers(18, 91, rows)
    home = generator.choice(["rent", "own", "none"], rows)
    gain = np.where(generator.uniform(size=rows) < 0.8, 0.0, generator.uniform(0, 10_000, rows))
    yes = (home == "own") | (age > 60)
    return pd.DataFrame(
        {
            "age": age,
            "gain": gain,
            "home": home,
            "same": 0.5,
            "class": np.where(yes ^ (generator.uniform(size=rows) < 0.05), "yes", "no"),
        }
    )


def session(data: pd.DataFrame | None = None, **terms: Any) -> dc.Session:
    settings = {"epsilon": 50.0, "seed": 1, "progress": False, "workers": 1, **terms}
    rows = frame() if data is None else data
    return dc.protect(rows, SCHEMA, dataset="people", ledger=":memory:", **settings)


@pytest.fixture(scope="module")
def release() -> Release:
    return session().release(decision_tree("class", depth=3, epsilon=2.0))


@pytest.fixture(scope="module")
def tree(release: Release) -> DecisionTree:
    assert isinstance(release.value, DecisionTree)
    return release.value


def test_it_learns(release: Release, tree: DecisionTree) -> None:
    new = frame(seed=1)
    assert tree.score(new, new["class"]) > 0.9
    assert release.guarantee.epsilon == 2.0
    assert {"tree-utility", "tree-splits", "tree-leaves"} <= set(release.guarantee.statements)
    assert tree.mechanism == "permute-and-flip" and tree.depth == 3


def test_probabilities_are_honest(tree: DecisionTree) -> None:
    new = frame(2000, seed=2)
    shares = tree.predict_proba(new)
    assert shares.shape == (2000, 3)
    assert np.all(shares > 0) and np.allclose(shares.sum(axis=1), 1.0)
    assert np.isfinite(tree.predict_log_proba(new)).all()
    assert abs(shares[:, 1].mean() - (new["class"] == "yes").mean()) < 0.05
    assert shares[:, 2].max() < 0.1


def test_importances_are_finite_and_find_what_matters(tree: DecisionTree) -> None:
    found = dict(zip(tree.features, tree.feature_importances_, strict=True))
    assert sum(found.values()) == pytest.approx(1.0)
    assert found["home"] + found["age"] > 0.9
    assert found["same"] < 0.02


def test_it_follows_scikit_learn(tree: DecisionTree) -> None:
    assert is_classifier(tree)
    check_is_fitted(tree)
    assert tree.classes_.tolist() == ["no", "yes", "never seen"]
    assert tree.feature_names_in_.tolist() == FEATURES and tree.n_features_in_ == 4
    assert clone(tree) == tree
    assert tree.set_params() is tree
    new = frame(300, seed=3)
    found = permutation_importance(tree, new[FEATURES], new["class"], n_repeats=2, random_state=0)
    assert found.importances_mean[FEATURES.index("home")] > 0.05
    with pytest.raises(ArgumentError, match="cannot be fitted again"):
        tree.fit(new, new["class"])
    with pytest.raises(ArgumentError, match="cannot be changed"):
        tree.set_params(target="age")


def test_frames_and_arrays_predict_alike(tree: DecisionTree) -> None:
    polars = pytest.importorskip("polars")
    new = frame(200, seed=4)[FEATURES]
    shares = tree.predict_proba(new)
    assert np.array_equal(shares, tree.predict_proba(new.to_numpy(dtype=object)))
    assert np.array_equal(shares, tree.predict_proba(new.to_numpy(dtype=object).tolist()))
    assert np.array_equal(shares, tree.predict_proba(polars.from_pandas(new)))
    assert np.array_equal(shares, tree.predict_proba(new[FEATURES[::-1]]))
    with pytest.raises(ArgumentError, match="X must have a column 'home'"):
        tree.predict(new.drop(columns="home"))
    with pytest.raises(ArgumentError, match="X must have one column for each of the 4 features"):
        tree.predict(np.zeros((3, 2)))


def test_round_trips(release: Release, tree: DecisionTree) -> None:
    again = Release.loads(release.dumps())
    assert again.value == tree and again.guarantee == release.guarantee
    tree.predict(frame(10))
    assert pickle.loads(pickle.dumps(tree)) == tree
    assert tree.to_model("yes").fingerprint == again.value.to_model("yes").fingerprint  # type: ignore[attr-defined]


def test_no_row_rides_along() -> None:
    data = frame(500)
    data.loc[0, "gain"] = 1234.56789
    text = session(data).release(decision_tree("class", depth=4, epsilon=50.0)).dumps()
    assert "1234.56789" not in text


def test_to_frame_and_repr(tree: DecisionTree) -> None:
    table = tree.to_frame()
    assert len(table) == len(tree.feature)
    assert table["split"].iloc[0] in {tree.split_text(0)}
    assert "depth=3" in repr(tree)
    texts = [tree.split_text(node) for node in range(len(tree.left)) if tree.left[node] != node]
    assert any("home = own" in text or "≤" in text for text in texts)


def test_plot(tree: DecisionTree, release: Release) -> None:
    import matplotlib.pyplot as plt

    display = release.plot()
    texts = [text.get_text() for text in display.ax_.texts]
    assert any("records" in text for text in texts)
    short = tree.plot(levels=1)
    assert len(short.ax_.patches) < len(display.ax_.patches)
    assert any("…" in text.get_text() for text in short.ax_.texts)
    plt.close("all")


def test_explanations_take_the_compiled_way(tree: DecisionTree) -> None:
    bound = tree.to_model("yes").bind(SCHEMA)
    assert isinstance(bound.form, TreeEnsemble) and bound.pulse is None
    rows = SCHEMA.draw(300)[:, :4]
    assert np.array_equal(bound.predict(np.asfortranarray(rows)), tree.encoded_shares(rows)[:, 1])
    assert "tree" in type(choose_engine(bound, SCHEMA)).__name__.lower()
    plan = dc.partial_dependence(tree.to_model("yes"), "age", epsilon=1.0)
    curve = session().release(plan).value
    assert np.isfinite(curve.y).all()  # type: ignore[attr-defined]
    query = {"age": 70, "gain": 0.0, "home": "own", "same": 0.5}
    ranking = session().release(dc.shap_ranking(tree.to_model("yes"), query, epsilon=1.0)).value
    assert ranking.order[0][0] in FEATURES  # type: ignore[attr-defined]


def test_another_order_of_categories_is_noticed(tree: DecisionTree) -> None:
    columns = {name: SCHEMA[name] for name in SCHEMA}
    columns["home"] = dc.Category("own", "rent", "none", missing=False, other=False)
    other = dc.Schema(columns, target="class")
    bound = tree.to_model("yes").bind(other)
    assert bound.form is None
    row = np.asfortranarray([[40.0, 0.0, 0.0, 0.5]])
    said = tree.predict_proba(pd.DataFrame([{"age": 40, "gain": 0, "home": "own", "same": 0.5}]))
    assert bound.predict(row)[0] == said[0, 1]


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("mechanism", MECHANISMS)
def test_every_mechanism_runs_within_its_budget(mechanism: str, relation: str) -> None:
    criterion = "gain" if mechanism == "dampening" else "norm"
    plan = decision_tree(
        "class",
        depth=2,
        mechanism=mechanism,
        criterion=criterion,
        epsilon=1.0,  # type: ignore[arg-type]
    )
    opened = session(frame(400), epsilon=1.0, relation=relation)
    assert isinstance(opened.release(plan).value, DecisionTree)
    with pytest.raises(BudgetExhausted):
        opened.release(decision_tree("class", depth=1, epsilon=0.001))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_every_criterion_finds_the_signal(criterion: str) -> None:
    plan = decision_tree("class", depth=2, criterion=criterion, epsilon=20.0)  # type: ignore[arg-type]
    value = session().release(plan).value
    assert value.score(frame(seed=7), frame(seed=7)["class"]) > 0.85  # type: ignore[attr-defined]


def test_both_accountants_price_a_tree() -> None:
    plan = decision_tree("class", depth=4, mechanism="exponential", epsilon=1.0)
    flips = decision_tree("class", depth=4, epsilon=1.0)
    basic, zcdp = session(), session(delta=1e-6, accountant="zcdp")
    assert basic.price(plan).cost.loss == basic.price(flips).cost.loss == 1.0
    assert zcdp.price(plan).cost.loss < 0.6 * zcdp.price(flips).cost.loss
    assert isinstance(zcdp.release(plan).value, DecisionTree)


def test_gaussian_counts_are_used_where_they_pay() -> None:
    opened = session(delta=0.1)
    plan = decision_tree("class", depth=2, epsilon=0.5, delta=0.05)
    assert opened.price(plan).plans[0].stages[-1]["mechanism"] == "gaussian"
    assert opened.release(plan).guarantee.delta == 0.05


def test_private_cuts_are_billed_inside_epsilon() -> None:
    plan = decision_tree("class", depth=2, cuts="private", epsilon=3.0)
    release = session(epsilon=3.0).release(plan)
    assert [stage["name"] for stage in release.stages][:4] == [
        "classes",
        "cuts of age",
        "cuts of gain",
        "cuts of same",
    ]
    assert sum(stage["epsilon"] for stage in release.stages) == pytest.approx(3.0)
    assert release.value.score(frame(seed=8), frame(seed=8)["class"]) > 0.8  # type: ignore[attr-defined]


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_one_class_only_and_sorted_labels(relation: str) -> None:
    data = frame(600)
    data["class"] = "no"
    value = session(data, relation=relation).release(decision_tree("class", epsilon=5.0)).value
    assert isinstance(value, DecisionTree)
    assert (value.predict(data) == "no").all()
    assert np.isfinite(value.feature_importances_).all()
    ordered = frame().sort_values("class")
    sorted_value = session(ordered).release(decision_tree("class", depth=3, epsilon=2.0)).value
    assert sorted_value.score(frame(), frame()["class"]) > 0.9  # type: ignore[attr-defined]


def test_an_empty_table_gives_equal_shares_and_noise() -> None:
    opened = session(frame(0), relation="add-remove")
    value = opened.release(decision_tree("class", depth=2, epsilon=100.0 / 4)).value
    assert np.allclose(value.predict_proba(frame(5)).sum(axis=1), 1.0)  # type: ignore[attr-defined]


def test_few_values_end_growth_early() -> None:
    schema = dc.Schema(
        {
            "x": dc.Category("a", "b", missing=False, other=False),
            "class": dc.Category(0, 1, missing=False, other=False),
        },
        target="class",
    )
    data = pd.DataFrame({"x": ["a", "b"] * 50, "class": [0, 1] * 50})
    opened = dc.protect(
        data, schema, dataset="d", ledger=":memory:", epsilon=9.0, seed=0, progress=False
    )
    value = opened.release(decision_tree("class", depth=5, epsilon=9.0)).value
    assert isinstance(value, DecisionTree)
    assert value.depth == 1 and value.predict(data[["x"]]).tolist() == [0, 1] * 50


def test_removing_a_record_moves_no_other_to_another_leaf() -> None:
    data = frame(400)
    value = session(data).release(decision_tree("class", depth=3, epsilon=2.0)).value
    assert isinstance(value, DecisionTree)
    leaves = value.leaf_of(value.encode(data))
    assert np.array_equal(np.delete(leaves, 7), value.leaf_of(value.encode(data.drop(index=7))))


def test_results_do_not_depend_on_workers() -> None:
    data = frame(20_000)
    texts = {
        json.dumps(
            session(data, workers=w).release(decision_tree("class", epsilon=1.0)).value.to_json()
        )
        for w in (1, 2)
    }
    assert len(texts) == 1


def test_depth_follows_public_facts() -> None:
    def depth(rows: int | None, epsilon: float) -> int:
        relation = "add-remove" if rows is None else "replace-one"
        return fitting_depth(Setting(SCHEMA, relation, rows), epsilon)  # type: ignore[arg-type]

    assert depth(40_000, 1.0) == 5 and depth(40_000, 0.1) == 3 and depth(500, 0.1) == 1
    assert depth(None, 1.0) == 4
    assert depth(10**9, 100.0) == 8


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"criterion": "mean"}, "criterion must be one of"),
        ({"mechanism": "luck"}, "mechanism must be one of"),
        ({"cuts": "data"}, "cuts must be one of schema, private"),
        ({"depth": 0}, "depth must be a whole number of at least 1"),
        ({"features": []}, "features must be one or more different names"),
        ({"epsilon": 0.0}, "epsilon must be a positive finite number"),
    ],
)
def test_wrong_arguments(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        decision_tree("class", **{"epsilon": 1.0, **arguments})


@pytest.mark.parametrize(
    ("plan", "message"),
    [
        (decision_tree("age", epsilon=1.0), "target must be a category, got the number 'age'"),
        (decision_tree("class", features=["class"], epsilon=1.0), "features must be columns besides"),
        (decision_tree("class", features=["what"], epsilon=1.0), "features must be among"),
    ],
)
def test_plans_that_do_not_fit_the_schema(plan: dc.Plan, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        session().price(plan)


def test_more_cells_than_can_be_counted_are_refused() -> None:
    many = dc.Schema(
        {
            "x": dc.Number(0, 1, missing=False),
            "class": dc.Category(*range(64), missing=False, other=False),
        },
        target="class",
    )
    with pytest.raises(ArgumentError, match="depth must leave at most 16777216 cells"):
        decision_tree("class", depth=16, epsilon=1.0).prepare(Setting(many, "replace-one", 100))


EXAMPLES = [
    Example("decision_tree", lambda _: decision_tree("paid", depth=2, epsilon=1.0)),
    Example("decision_tree", lambda _: decision_tree("paid", depth=2, cuts="private", epsilon=1.0)),
    Example("decision_tree", lambda _: decision_tree("home", depth=1, criterion="gini", epsilon=1.0)),
]
