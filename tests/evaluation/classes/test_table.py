"""One record moves the tables of classes by no more than their certificate says."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.data.blocks import Block
from discreet.evaluation.classes.table import TIE, ClassTable, one_class, shared_classes
from discreet.evaluation.plan import evaluate
from discreet.plans import Setting
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from tests.evaluation.classes.cases import Unknown, forest, logistic, schema
from tests.oracles.norms import additions, replacements, within


def table_of(model: Any, relation: str = "replace-one", *, gaps: bool = False, **asked: Any) -> Any:
    """Return the layout behind a plan."""
    plan = evaluate(model, **{"epsilon": 1.0, **asked})
    rows = 400 if relation == "replace-one" else None
    (stage,) = plan.prepare(Setting(schema(gaps=gaps), relation, rows)).stages
    return stage.contribution.compute.__self__


def everybody(table: ClassTable) -> np.ndarray:
    """Return what every record of a small domain adds."""
    frame = pd.DataFrame(
        list(itertools.product((-4.0, -0.3, 0.4, 4.0), (-3.0, 0.1), "FM", ("a", "b", "c", None))),
        columns=["x", "z", "sex", "y"],
    )
    own, columns = table.setting.schema, table.contribution.columns
    encoded = [own[name].encode(frame[name].to_numpy()) for name in columns]
    vectors = table.contribution.compute(Block(0, columns, np.column_stack(encoded)))
    return np.unique(vectors, axis=0)


CASES = [
    (forest, {}, False),
    (forest, {"by": "sex", "one_vs_rest": True}, True),
    (logistic, {"by": "sex"}, False),
    (Unknown, {"one_vs_rest": True}, False),
]


@pytest.mark.proves("class-tables")
@pytest.mark.parametrize(("model", "asked", "gaps"), CASES)
def test_no_two_records_are_farther_apart(model: Any, asked: dict[str, Any], gaps: bool) -> None:
    table = table_of(model(), gaps=gaps, **asked)
    added, bounds = everybody(table), table.certify().bounds
    assert all(within(bounds[REPLACE_ONE], change) for change in replacements(added))
    assert all(within(bounds[ADD_REMOVE], change) for change in additions(added))
    farthest = max(np.abs(a - b).sum() for a, b in itertools.combinations(added, 2))
    assert farthest >= 0.99 * bounds[REPLACE_ONE].l1


@pytest.mark.refutes("class-tables")
@pytest.mark.parametrize("fault", ["one table", "every class at its whole weight"])
def test_planted_faults_are_caught(fault: str) -> None:
    table = table_of(forest(), by="sex", one_vs_rest=True)
    added, certified = everybody(table), table.certify().bounds[REPLACE_ONE]
    if fault == "one table":  # the confusions alone, as if the record were in no other table
        certified = replace(certified, l1=2 * table.weights["confusion"])
    else:  # what all classes together may have, in the table of each
        blocks = added.reshape(len(added), table.groups.groups, table.block)
        blocks[:, :, table.parts["rest"]] *= table.given
    assert not all(within(certified, change) for change in replacements(added))


def steepest(classes: int, step: float) -> tuple[np.ndarray, np.ndarray]:
    """Return scores, and as far from them as answers move, where the highest loses most at once."""
    scores = np.full(classes, 0.5 - TIE)
    scores[0] = 0.5
    moved = scores + step
    moved[0] = 0.5 - step
    return scores, moved


@pytest.mark.proves("class-tables")
@pytest.mark.parametrize("classes", [3, 5, 9])
def test_shared_classes_move_as_slowly_as_is_paid_for(classes: int) -> None:
    rng = np.random.default_rng(classes)
    scores = rng.random((20_000, classes)) * rng.choice([1.0, TIE, 10 * TIE], (20_000, 1))
    moved = scores + rng.choice([-1.0, 1.0], scores.shape) * TIE * 1e-3
    scores[0], moved[0] = steepest(classes, TIE * 1e-3)
    change = np.abs(shared_classes(moved) - shared_classes(scores))
    assert change.max() <= 2 * classes / TIE * TIE * 1e-3
    assert change.sum(axis=1).max() <= 4 * classes / TIE * TIE * 1e-3
    assert change.max() >= 0.98 * 2 * (classes - 1) / TIE * TIE * 1e-3
    assert np.allclose(shared_classes(scores).sum(axis=1), 1.0)


@pytest.mark.refutes("class-tables")
def test_the_highest_score_alone_jumps() -> None:
    scores = np.array([[0.4, 0.4, 0.2]])
    moved = scores + np.array([[0.0, 2.0**-40, 0.0]])
    assert np.abs(one_class(moved) - one_class(scores)).max() == 1.0
    assert np.abs(shared_classes(moved) - shared_classes(scores)).max() < 2 * 3 / TIE * 2.0**-39


@pytest.mark.proves("class-tables")
def test_tables_move_as_slowly_as_is_paid_for() -> None:
    table = table_of(Unknown(), one_vs_rest=True)
    rng, step = np.random.default_rng(0), TIE * 1e-4
    scores = rng.dirichlet((1, 1, 1), 4_000)
    scores[:2_000, 1] = scores[:2_000, 0] + rng.uniform(-2, 2, 2_000) * TIE
    truth = rng.integers(0, 3, len(scores))
    moved = scores + rng.choice([-1.0, 1.0], scores.shape) * step
    (scores[0], moved[0]), truth[0] = steepest(3, step), 0
    change = np.abs(table._own(moved, truth) - table._own(scores, truth))
    lipschitz, together = table._steepness()
    assert 0.6 * lipschitz * step <= change.max() <= lipschitz * step
    assert 0.6 * together * step <= change.sum(axis=1).max() <= together * step


def test_only_exact_scores_meet_an_edge() -> None:
    assert not table_of(forest()).soft
    assert not table_of(logistic()).soft
    assert table_of(logistic(), "add-remove").soft
    assert table_of(Unknown()).soft
