"""The plan of a private forest: shapes from public facts, prices, results that last."""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable
from discreet.errors import ArgumentError
from discreet.models import TreeEnsemble
from discreet.plans import Release, Result, Setting
from discreet.trees.forest import random_forest
from discreet.trees.result import RandomForest
from discreet.trees.shape import fit_shape, random_depth
from tests.laws.examples import Example

SCHEMA = dc.Schema(
    {
        "size": dc.Number(0, 10, missing=False),
        "kind": dc.Category("a", "b", "c", missing=False, other=False),
        "still": dc.Category("x", "y", missing=False, other=False),
        "class": dc.Category("no", "yes", "never", missing=False, other=False),
    },
    target="class",
)


def frame(rows: int = 4000, seed: int = 0) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    size, kind = draw.uniform(0, 10, rows), draw.choice(["a", "b", "c"], rows)
    label = np.where((size > 4) ^ (kind == "b"), "yes", "no")
    return pd.DataFrame({"size": size, "kind": kind, "still": "x", "class": label})


def forest(table: pd.DataFrame, *, relation: str = "replace-one", **options: Any) -> RandomForest:
    plan = random_forest("class", **{"epsilon": 5.0, **options})
    rows = len(table) if relation == "replace-one" else None
    program = plan.prepare(Setting(SCHEMA, relation, rows))  # type: ignore[arg-type]
    value = program.finish(SimulatedReleaser(PrivateTable(table, SCHEMA), 1))
    assert isinstance(value, RandomForest)
    return value


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("rows", ["disjoint", "whole"])
def test_forest_learns_under_both_relations(relation: str, rows: str) -> None:
    model = forest(frame(), relation=relation, rows=rows, trees=4, depth=5)
    assert model.score(frame(seed=1), frame(seed=1)["class"]) > 0.9
    assert model.rows == rows


@pytest.mark.parametrize("mechanism", ["stability", "smooth-student-t", "smooth-laplace-log-normal"])
def test_choices_by_stability_split_every_node(mechanism: str) -> None:
    model = forest(frame(), mechanism=mechanism, trees=4, depth=5, candidate_splits=8)
    assert model.score(frame(seed=1), frame(seed=1)["class"]) > 0.9


def test_leaves_of_all_trees_are_priced_as_they_are_asked() -> None:
    """With a delta stages are promised together, and one with less noise than priced is refused."""
    plan = random_forest("class", trees=16, rows="whole", epsilon=1.0, delta=1e-6)
    terms: Any = {"epsilon": 1.0, "delta": 1e-6, "ledger": ":memory:", "seed": 1}
    release = dc.protect(frame(), SCHEMA, dataset="d", **terms).release(plan)
    assert release.value.rows == "whole" and "joint-stages" in release.guarantee.statements


def test_sorted_labels_do_not_matter() -> None:
    table = frame().sort_values("class")
    assert forest(table).score(frame(seed=1), frame(seed=1)["class"]) > 0.9


def test_one_class_only_and_a_constant_feature() -> None:
    model = forest(frame().assign(**{"class": "yes"}), epsilon=50.0)
    assert set(model.predict(frame(50))) == {"yes"}
    assert np.isfinite(model.feature_importances_).all()


@pytest.mark.parametrize("method", ["chosen", "random"])
def test_importances_are_finite_and_sum_to_one(method: str) -> None:
    importances = forest(frame(), method=method).feature_importances_
    assert importances.sum() == pytest.approx(1.0) and (importances >= 0).all()


def test_a_class_nobody_has_is_never_likely() -> None:
    shares = forest(frame()).predict_proba(frame(100, seed=2))
    assert shares.shape == (100, 3)
    assert shares[:, 2].mean() < 0.1
    np.testing.assert_allclose(shares.sum(axis=1), 1.0)


def test_model_and_compiled_trees_agree() -> None:
    model = forest(frame())
    test = frame(200, seed=3)
    bound = model.to_model("yes").bind(SCHEMA)
    assert isinstance(bound.form, TreeEnsemble)
    answers = bound.form.predict(np.asfortranarray(model.encode(test)))
    np.testing.assert_allclose(answers, model.predict_proba(test)[:, 1], atol=1e-12)


def test_forest_survives_json_and_pickle() -> None:
    model = forest(frame(), trees=3)
    again = Result.read(json.loads(json.dumps(model.to_json())))
    assert again == model == pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.predict(frame(20)), model.predict(frame(20)))


def test_a_forest_that_was_saved_before_there_were_copies_predicts_as_its_trees_do() -> None:
    model = forest(frame(), trees=3)
    old = {name: value for name, value in model.to_json().items() if name != "copies"}
    again = Result.read(json.loads(json.dumps(old)))
    assert isinstance(again, RandomForest) and again.copies == () != model.copies
    assert again.predict_proba(frame(20)).shape == (20, 3)


def test_frame_names_the_tree_of_every_node() -> None:
    table = forest(frame(), trees=3, depth=2).to_frame()
    assert table["tree"].tolist()[:3] == [0, 1, 2]
    assert sorted(table["tree"].value_counts().tolist()) == [7, 7, 7]


def test_forest_is_drawn_by_its_importances() -> None:
    display = forest(frame(), trees=3).plot(title="forest")
    assert display.ax_.get_yticklabels()[0].get_text() in ("size", "kind")
    alone = forest(frame(), trees=1).plot()
    assert alone.figure_ is not None


def session(**options: Any) -> dc.Session:
    return dc.protect(
        frame(),
        SCHEMA,
        dataset="forest",
        ledger=":memory:",
        progress=False,
        **{"epsilon": 2.0, **options},
    )


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_session_charges_what_the_plan_promises(relation: str) -> None:
    own = session(relation=relation)
    plan = random_forest("class", epsilon=1.5)
    price = own.price(plan)
    release = own.release(plan)
    assert price.cost.loss == pytest.approx(1.5)
    assert own.remaining.loss == pytest.approx(0.5)
    assert release.guarantee.certified
    assert Release.loads(release.dumps()).value == release.value


def test_shares_of_all_stages_are_the_whole_budget() -> None:
    for depth in (1, 3, 6):
        program = random_forest("class", depth=depth, epsilon=0.7).prepare(
            Setting(SCHEMA, "replace-one", 50_000)
        )
        assert sum(stage.noise.epsilon for stage in program.stages) <= 0.7 + 1e-12


def test_random_trees_pay_for_classes_and_leaves_alone() -> None:
    program = random_forest("class", method="random", trees=4, epsilon=1.0).prepare(
        Setting(SCHEMA, "replace-one", 1000)
    )
    assert [stage.name for stage in program.stages] == ["classes", "leaves"]
    assert program.stages[1].noise.epsilon == pytest.approx(0.95)


def test_delta_makes_whole_rows_better() -> None:
    """Gaussian noise for many tables together is less than as many tables' Laplace noise."""
    for delta, rows in ((0.0, "disjoint"), (1e-6, "whole")):
        assert forest(frame(), trees=32, depth=3, delta=delta).rows == rows


def test_shape_grows_with_the_strength_of_the_table() -> None:
    shapes = [
        fit_shape(
            Setting(SCHEMA, "replace-one", rows),
            ("size", "kind"),
            epsilon=1.0,
            trees=None,
            depth=None,
            method="auto",
        )
        for rows in (100, 10_000, 1_000_000)
    ]
    assert [s.trees for s in shapes] == [1, 1, 2]
    assert [s.chosen for s in shapes] == sorted(s.chosen for s in shapes)
    assert shapes[0].chosen == 1 < shapes[2].chosen
    assert [s.candidates for s in shapes] == [None] * 3


def rare(rows: int, seed: int) -> pd.DataFrame:
    """Return records of which one in fifty says yes, nearly all of large size and kind b."""
    draw = np.random.default_rng(100 + seed)
    table = frame(rows, seed)
    chance = np.where((table["size"] > 6) & (table["kind"] == "b"), 0.15, 0.002)
    return table.assign(**{"class": np.where(draw.random(rows) < chance, "yes", "no")})


def test_a_rare_class_is_told_from_the_others() -> None:
    """Unweighted choices are blind here: a split changes the norm of the counts by less than noise."""
    test = rare(8_000, 1)
    yes = (test["class"] == "yes").to_numpy()
    for model in (forest(rare(20_000, 0), epsilon=1.0), forest(rare(20_000, 0), epsilon=1.0, trees=4)):
        scores = model.predict_proba(test)[:, 1]
        above = (scores[yes][:, None] > scores[~yes]) + 0.5 * (scores[yes][:, None] == scores[~yes])
        assert above.mean() > 0.8


def test_wrong_classes_between_records_are_as_good_as_impossible() -> None:
    """A leaf between the records is empty: its noise must not outweigh what its parent knows."""
    schema = dc.Schema(
        {
            "x": dc.Number(0, 1, missing=False),
            "class": dc.Category(0, 1, missing=False, other=False),
        },
        target="class",
    )
    table = pd.DataFrame({"x": [0.1, 0.2, 0.8, 0.9] * 2500, "class": [0, 0, 1, 1] * 2500})
    rows = PrivateTable(table, schema)
    asked = pd.DataFrame({"x": [0.0, 0.15, 0.85, 1.0]})
    for trees in (1, 2):
        program = random_forest("class", trees=trees, epsilon=1.0).prepare(
            Setting(schema, "replace-one", len(table))
        )
        for seed in range(25):
            value = program.finish(SimulatedReleaser(rows, seed))
            assert value.predict(asked).tolist() == [0, 0, 1, 1]  # type: ignore[attr-defined]


@pytest.mark.parametrize(
    ("numbers", "categories", "depth"),
    [(6, 8, 9), (0, 22, 11), (4, 0, 4), (11, 0, 9), (16, 0, 12), (0, 1, 1), (40, 30, 15)],
)
def test_depth_rule_of_fletcher_and_islam(numbers: int, categories: int, depth: int) -> None:
    """Adult, mushroom, wall sensors, wine and pen digits as in the authors' code."""
    columns: dict[str, Any] = {f"n{i}": dc.Number(0, 1, missing=False) for i in range(numbers)}
    columns |= {f"c{i}": dc.Category("a", "b", missing=False, other=False) for i in range(categories)}
    assert random_depth(dc.Schema(columns), tuple(columns)) == depth


@pytest.mark.parametrize(
    ("options", "text"),
    [
        ({"trees": 0}, "trees"),
        ({"depth": 40}, "depth"),
        ({"method": "best"}, "method"),
        ({"rows": "some"}, "rows"),
        ({"candidate_splits": 1}, "candidate_splits"),
        ({"seed": -1}, "seed"),
        ({"criterion": "luck"}, "criterion"),
        ({"epsilon": 0.0}, "epsilon"),
    ],
)
def test_bad_arguments_are_named(options: dict[str, Any], text: str) -> None:
    with pytest.raises(ArgumentError, match=text):
        random_forest("class", **{"epsilon": 1.0, **options})


def test_too_large_a_forest_is_refused_before_a_row_is_read() -> None:
    plan = random_forest("class", trees=1024, depth=16, method="random", epsilon=1.0)
    with pytest.raises(ArgumentError, match="trees and depth"):
        plan.prepare(Setting(SCHEMA, "replace-one", 1000))


EXAMPLES = [
    Example("random_forest", lambda _: dc.random_forest("paid", depth=2, trees=3, epsilon=1.0)),
    Example(
        "random_forest",
        lambda _: dc.random_forest(
            "paid", depth=2, trees=2, rows="whole", method="chosen", candidate_splits=5, epsilon=1.0
        ),
    ),
]
