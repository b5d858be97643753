"""Trees where values are missing: features have a split for it, and no class is no count."""

from __future__ import annotations

import itertools
import json
from collections.abc import Sequence
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.data.blocks import Block
from discreet.data.engine import Summand, sum_block
from discreet.engines.table import engine_for
from discreet.plans import Result, Setting
from discreet.privacy.relation import ADD_REMOVE, RELATIONS, REPLACE_ONE, Relation
from discreet.schema import MISSING
from discreet.trees.columns import candidate_splits, schema_grid
from discreet.trees.leaves import leaf_stage
from discreet.trees.nodes import TreeNodes
from discreet.trees.scores import Criterion
from discreet.trees.splits import DAMPENING, MECHANISMS, TreeLevel, level_stage, split_noise
from tests.oracles.laws import as_law, max_divergence

TINY = dc.Schema(
    {
        "age": dc.Number(0, 2, step=1),
        "home": dc.Category("rent", "own"),
        "class": dc.Category("no", "yes"),
    },
    target="class",
)
OTHER, GONE = 2.0, 3.0
RECORDS = [
    (0.0, 0.0, 0.0),
    (MISSING, OTHER, 1.0),
    (2.0, GONE, 0.0),
    (MISSING, 1.0, OTHER),
    (1.0, 0.0, GONE),
]
"""The latter two have no class."""

BESIDE: list[list[tuple[float, ...]]] = [
    [],
    [(MISSING, 0.0, 0.0)] * 3 + [(2.0, 1.0, 1.0)] * 4,
    [(0.0, GONE, 1.0)] * 5 + [(1.0, 1.0, 0.0)] * 4 + [(1.0, 1.0, GONE)] * 3,
]


@cache
def two_nodes() -> TreeLevel:
    """Return a tree whose root tells missing ages from others."""
    grid = schema_grid(TINY, ("age", "home"))
    splits = candidate_splits(grid)
    missing = int(np.flatnonzero(splits.high == MISSING)[0])
    return TreeLevel(TreeNodes.start(grid).grow(splits, np.array([missing])), grid, splits, 2)


def counts(stage: Any, rows: Sequence[tuple[float, ...]]) -> Any:
    values = np.asfortranarray(np.array(rows, dtype=np.float64).reshape(-1, 3))
    block = Block(0, tuple(TINY), values).narrow(stage.contribution.columns)
    return sum_block(block, [Summand(stage.contribution, 1.0)])[0]


def neighbours(relation: Relation | str) -> Any:
    """Yield tables one of whose records is another, or is there in one of them alone."""
    for beside, new in itertools.product(BESIDE, RECORDS):
        if Relation(relation) is ADD_REMOVE:
            yield beside, [*beside, new]
        else:
            yield from (([*beside, old], [*beside, new]) for old in RECORDS if old != new)


def greatest_loss(noise: Any, relation: Relation | str) -> float:
    """Return the greatest loss of a level's choices between neighbours."""
    stage = level_stage("level", noise, two_nodes(), "class")

    @cache
    def law(rows: tuple[tuple[float, ...], ...]) -> Any:
        return as_law(np.multiply.outer(*stage.noise.laws(counts(stage, rows))).ravel())

    return max(max_divergence(law(tuple(a)), law(tuple(b))) for a, b in neighbours(relation))


def noise_of(kind: str, relation: Relation | str) -> Any:
    criterion = Criterion("gain" if kind == DAMPENING else "norm", 20)
    terms: Any = {"relation": Relation(relation), "epsilon": 1.0}
    return split_noise(criterion, kind, candidates=len(two_nodes().splits), **terms)


@pytest.mark.proves("tree-part")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kind", [kind for kind in MECHANISMS if kind not in ("auto", "laplace")])
def test_a_record_that_gets_or_loses_its_class_stays_within_epsilon(kind: str, relation: str) -> None:
    assert greatest_loss(noise_of(kind, relation), relation) <= 1.0 + 1e-9


@pytest.mark.refutes("tree-part")
def test_a_replacement_priced_as_one_record_is_caught() -> None:
    fault = noise_of("exponential", ADD_REMOVE)
    assert greatest_loss(fault, ADD_REMOVE) <= 1.0 + 1e-9
    assert greatest_loss(fault, REPLACE_ONE) > 1.05


def leaf_moves(relation: Relation | str) -> list[Any]:
    setting = Setting(TINY, Relation(relation), 8 if Relation(relation).rows_public else None)
    stage = leaf_stage("leaves", two_nodes().nodes, tuple(TINY), 2, setting, epsilon=1.0)
    bounds = stage.certificate.bounds[Relation(relation)]
    moved = [counts(stage, a) - counts(stage, b) for a, b in neighbours(relation)]
    for move in moved:
        assert np.abs(move).sum() <= bounds.l1 and np.linalg.norm(move) <= bounds.l2
        assert np.abs(move).max() <= bounds.linf
    return moved


@pytest.mark.proves("tree-part")
@pytest.mark.parametrize("relation", RELATIONS)
def test_leaves_move_as_tables_do(relation: str) -> None:
    assert max(np.abs(move).sum() for move in leaf_moves(relation)) == Relation(relation).edits


@pytest.mark.refutes("tree-part")
def test_the_number_of_records_with_a_class_is_not_public() -> None:
    """Whoever takes it for that of all records promises that replacing one moves it by nothing."""
    assert max(abs(move.sum()) for move in leaf_moves(REPLACE_ONE)) == 1


SCHEMA = dc.Schema(
    {
        "bmi": dc.Number(10, 60),
        "sex": dc.Category("f", "m"),
        "ill": dc.Category(0, 1),
    },
    target="ill",
)


def frame(rows: int = 3000) -> pd.DataFrame:
    """Return people whose missing bmi tells whether they are ill; a tenth has no answer to that."""
    draw = np.random.default_rng(0)
    ill = draw.integers(0, 2, rows)
    absent = ill == draw.integers(0, 12, rows).clip(0, 1)
    bmi = np.where(absent, np.nan, np.maximum(10, draw.normal(14, 4, rows)))
    sex = draw.choice(np.array(["f", "m", "d", None], dtype=object), rows)
    told: Any = ill.astype(object)
    told[: rows // 20] = None
    told[rows // 20 : rows // 10] = "unclear"
    return pd.DataFrame({"bmi": bmi, "sex": sex, "ill": told})


def session(relation: str = "replace-one") -> dc.Session:
    terms: Any = {"epsilon": 100, "ledger": ":memory:", "seed": 1, "progress": False}
    return dc.protect(frame(), SCHEMA, dataset="d", relation=relation, **terms)


def plans() -> list[dc.Plan]:
    return [
        dc.decision_tree("ill", depth=2, epsilon=20),
        dc.decision_tree("ill", depth=2, cuts="private", epsilon=20),
        dc.random_forest("ill", trees=3, depth=3, epsilon=20),
        dc.random_forest("ill", trees=3, depth=3, rows="whole", epsilon=20),
    ]


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("plan", plans(), ids=str)
def test_classes_are_the_listed_values_and_others_are_not_counted(plan: Any, relation: str) -> None:
    tree: Any = session(relation).release(plan).value
    assert tree.classes_.tolist() == [0, 1] and tree.classes_.dtype.kind == "i"
    trees = getattr(tree, "trees", 1)
    whole = trees if getattr(tree, "rows", "") == "whole" else 1
    assert np.sum(np.array(tree.counts)[:trees]) / whole == pytest.approx(2700, abs=60)
    rows = frame().dropna(subset="ill").query("ill != 'unclear'")
    assert tree.score(rows, rows["ill"].astype(int)) > 0.85
    assert Result.read(json.loads(json.dumps(tree.to_json()))) == tree


def test_missing_is_a_split_in_words() -> None:
    tree: Any = session().release(plans()[0]).value
    assert tree.split_text(0) == "bmi is missing"
    numbers = [n for n, place in enumerate(tree.feature) if place == 0 and tree.high[n] != MISSING]
    assert all(tree.split_text(n).endswith(" or missing") for n in numbers)


@pytest.mark.parametrize("plan", plans()[::2], ids=str)
def test_explanations_see_what_the_model_predicts(plan: Any) -> None:
    """Missing and unlisted values come to a released model as its own encoding has them."""
    tree: Any = session().release(plan).value
    model = tree.to_model().bind(SCHEMA)
    rows = SCHEMA.draw(500)[:, :2]
    decoded = pd.DataFrame({n: SCHEMA[n].decode(rows[:, j]) for j, n in enumerate(("bmi", "sex"))})
    expected = tree.predict_proba(decoded)[:, 1]
    assert model.kind == "trees" and np.isnan(decoded["bmi"]).any()
    assert model.predict(rows) == pytest.approx(expected)
    curve = engine_for("curve", model, [0], [np.array([MISSING, 20.0])])
    assert curve.predict(rows)[:, 0] == pytest.approx(
        tree.predict_proba(decoded.assign(bmi=np.nan))[:, 1]
    )
