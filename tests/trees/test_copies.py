"""Copies of trees with moved cuts: where cuts may go, and what their mean is good for."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable
from discreet.models import TreeEnsemble
from discreet.plans import Setting
from discreet.schema import MISSING
from discreet.trees.columns import candidate_splits, schema_grid
from discreet.trees.copies import copied_cuts, left_impure
from discreet.trees.forest import random_forest
from discreet.trees.forest_growth import tree_of
from discreet.trees.nodes import LEAF, TreeNodes
from discreet.trees.result import RandomForest

SCHEMA = dc.Schema(
    {
        "size": dc.Number(0, 10),
        "kind": dc.Category("a", "b", "c", missing=False, other=False),
        "grade": dc.Category(*range(9), ordered=True, missing=False, other=False),
        "class": dc.Category("no", "yes", missing=False, other=False),
    },
    target="class",
)
GRID = schema_grid(SCHEMA, ("size", "kind", "grade"))
SPLITS = candidate_splits(GRID)


def grown(trees: int, levels: int = 3, seed: int = 0) -> TreeNodes:
    draw, nodes = np.random.default_rng(seed), TreeNodes.start(GRID, trees)
    for _ in range(levels):
        useful = nodes.useful(SPLITS)
        nodes = nodes.grow(SPLITS, np.array([draw.choice(np.flatnonzero(row)) for row in useful]))
    return nodes


def copies_of(nodes: TreeNodes, trees: int, shares: np.ndarray, seed: int = 0) -> np.ndarray:
    counts = np.full((len(nodes), 2), 10.0)
    return copied_cuts(nodes, GRID, tree_of(nodes, trees), counts, shares, seed)


def even(nodes: TreeNodes) -> np.ndarray:
    return np.full((len(nodes), 2), 0.5)


@pytest.mark.parametrize("trees", [1, 3, 8, 9, 40])
def test_trees_and_copies_are_sixteen_or_no_copies(trees: int) -> None:
    nodes = grown(trees)
    expected = 16 // trees if trees <= 8 else 0
    assert copies_of(nodes, trees, even(nodes)).shape == (expected, len(nodes))


def test_only_cuts_of_what_has_an_order_are_moved_and_never_beyond_the_grid() -> None:
    nodes = grown(2, levels=4)
    copies = copies_of(nodes, 2, even(nodes))
    size = (nodes.feature == 0) & (nodes.high != MISSING)
    grade = nodes.feature == 2
    stays = ~size & ~grade
    assert (nodes.feature[stays] == LEAF).any() and (nodes.feature[stays] == 1).any()
    assert np.array_equal(copies[:, stays], np.tile(nodes.high[stays], (len(copies), 1)))
    present = GRID.cuts[0][GRID.cuts[0] != MISSING]
    for own, cuts in ((size, present), (grade, GRID.cuts[2])):
        assert own.any() and (copies[:, own] != nodes.high[own]).any()
        assert copies[:, own].min() >= cuts[0] and copies[:, own].max() <= cuts[-1]


def test_a_missing_value_is_told_from_others_in_every_copy() -> None:
    alone = int(np.flatnonzero((SPLITS.feature == 0) & (SPLITS.high == MISSING))[0])
    nodes = TreeNodes.start(GRID).grow(SPLITS, np.array([alone]))
    assert set(copies_of(nodes, 1, even(nodes))[:, 0]) == {MISSING}


def test_cuts_of_pure_leaves_are_sharp() -> None:
    nodes = grown(1)
    pure = even(nodes)
    pure[nodes.leaves] = [1.0, 0.0]
    assert left_impure(nodes, np.full((len(nodes), 2), 5.0), pure) == 0.0
    assert np.array_equal(copies_of(nodes, 1, pure), np.tile(nodes.high, (16, 1)))
    assert left_impure(nodes, np.full((len(nodes), 2), 5.0), even(nodes)) == 1.0


def test_nothing_counted_moves_nothing() -> None:
    nodes = grown(1)
    assert left_impure(nodes, np.full((len(nodes), 2), -3.0), even(nodes)) == 0.0


def slope(rows: int, seed: int) -> pd.DataFrame:
    """Return records whose chance of yes grows steadily with size."""
    draw = np.random.default_rng(seed)
    size = draw.uniform(0, 10, rows)
    label = np.where(draw.random(rows) < size / 10, "yes", "no")
    kind, grade = draw.choice(["a", "b", "c"], rows), draw.integers(0, 9, rows)
    return pd.DataFrame({"size": size, "kind": kind, "grade": grade, "class": label})


def released(seed: int) -> RandomForest:
    program = random_forest("class", epsilon=1.0).prepare(Setting(SCHEMA, "replace-one", 4000))
    value = program.finish(SimulatedReleaser(PrivateTable(slope(4000, seed), SCHEMA), seed))
    assert isinstance(value, RandomForest)
    return value


def test_copies_rank_rows_of_one_leaf() -> None:
    """The mean over copies is nearer to the true chance than the trees are by themselves."""
    test = pd.DataFrame({"size": np.linspace(0, 10, 400), "kind": "a", "grade": 4})
    errors = {"copies": 0.0, "trees": 0.0}
    for seed in range(6):
        forest = released(seed)
        assert len(forest.copies) == 16
        fields = {**forest.get_params(), "copies": ()}
        for name, model in (("copies", forest), ("trees", RandomForest(**fields))):
            errors[name] += float(np.mean((model.predict_proba(test)[:, 1] - test["size"] / 10) ** 2))
    assert errors["copies"] < errors["trees"]


def test_copies_are_compiled_and_told_apart_from_trees() -> None:
    forest = released(0)
    test = slope(300, 9)
    form = forest.to_model("yes").bind(SCHEMA).form
    assert isinstance(form, TreeEnsemble) and form.tree.max() + 1 == 16 * forest.trees
    answers = form.predict(np.asfortranarray(forest.encode(test)))
    np.testing.assert_allclose(answers, forest.predict_proba(test)[:, 1], atol=1e-12)


def test_a_copy_with_too_few_ends_does_not_fit() -> None:
    fields = released(0).get_params()
    assert RandomForest(**fields).fits_together()
    assert not RandomForest(**{**fields, "copies": (*fields["copies"][:1], (0.5,))}).fits_together()
