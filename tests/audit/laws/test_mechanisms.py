"""A mechanism that is handed to an audit as it is: its law, its relation, its promise, its limits."""

from __future__ import annotations

from typing import Any

import pytest

from discreet.audit.laws.exact_audit import exact
from discreet.audit.laws.mechanisms import SUBJECTS, subject_of
from discreet.audit.laws.of_tables import setting_of
from discreet.errors import ArgumentError
from discreet.mechanisms import (
    AboveThreshold,
    JointSmoothMax,
    LocalDampening,
    NoisyMax,
    SmoothNoisyMax,
    SupportTest,
    TopK,
    ranking_noise,
)
from discreet.mechanisms.selection.deniability import DeniabilityTest
from discreet.mechanisms.selection.pairs.spanning_tree import tree_choice
from discreet.mechanisms.selection.quantiles import quantile_noise
from discreet.privacy.certificate import Bounds, Box, Certificate, certify_cells
from discreet.privacy.relation import RELATIONS, Relation
from discreet.select.choose.most_frequent import most_frequent
from discreet.select.quantiles.cuts import QuantileCuts
from discreet.select.quantiles.percentile import percentile
from discreet.trees.scores import Criterion
from discreet.trees.splits import split_noise


def moved_by(steps: float) -> Certificate:
    return Certificate(("mean-replace",), 2, {"replace-one": Bounds(2 * steps, 2 * steps, steps)})


MECHANISMS: dict[str, Any] = {
    "top": TopK(1, 0.8, 2),
    "threshold": AboveThreshold(2, 0.8),
    "gap": NoisyMax(2, 0.8),
    "ranking": ranking_noise(
        Box(0.0, 1.0).certify(3), relation="replace-one", epsilon=0.8, k=2, largest_sum=100.0
    ),
    "stability": SmoothNoisyMax(5, 0.8),
    "joint": JointSmoothMax(2, 0.8),
    "dampening": LocalDampening(0.8, 2),
    "support": SupportTest(moved_by(2.0), "replace-one", 0.8, 1e-2, 1.0, 3),
    "attempt": DeniabilityTest(3, 2, 1.0, 1.0, 4),
    "cuts": QuantileCuts(certify_cells(3), "add-remove", 0.8, 0.0, 0.4, "exponential", (0, 2, 3, 4), 1),
    "parts": quantile_noise(certify_cells(3), range(4), parts=2, relation="replace-one", epsilon=0.8),
    "splits": split_noise(
        Criterion("max", 50), "exponential", relation="add-remove", epsilon=0.8, candidates=6
    ),
    "tree": tree_choice(((0, 1), (0, 2), (1, 2)), (4,) * 3, 0, relation="add-remove", epsilon=0.8),
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_it_is_audited_by_its_own_promise(name: str) -> None:
    mechanism = MECHANISMS[name]
    audit = exact(mechanism)
    assert audit.kept and audit.promise.epsilon == mechanism.epsilon
    assert audit.promise.events
    assert not exact(mechanism, epsilon=mechanism.epsilon / 5).kept


@pytest.mark.parametrize("relation", RELATIONS)
def test_stages_that_choose_know_their_relation(relation: Relation) -> None:
    for plan in (percentile("size", 50, epsilon=1.0), most_frequent("kind", epsilon=1.0)):
        noise: Any = plan.prepare(setting_of(relation)).stages[0].noise
        audit = exact(noise)
        assert audit.name.endswith(relation)
        assert audit.kept and audit.tightness > 0.9


def test_every_kind_has_been_tried() -> None:
    elsewhere = {"Noise", "SelectThenMeasure", "InverseSensitivity", "PercentileChoice", "CountChoice"}
    tried = {kind for kind in SUBJECTS for one in MECHANISMS.values() if isinstance(one, kind)}
    assert {kind.__name__ for kind in SUBJECTS} - {kind.__name__ for kind in tried} == elsewhere


@pytest.mark.parametrize(
    ("mechanism", "word"),
    [
        (NoisyMax(10**6, 1.0), "sensitivity must be .* at most 1000"),
        (AboveThreshold(10**6, 1.0), "coarser lattice"),
        (SupportTest(moved_by(50.0), "replace-one", 1.0, 1e-3, 1.0, 3), "sensitivity must be"),
        (DeniabilityTest(3, 2, 1.0, 1.0, 40), "rows must be"),
    ],
    ids=["gap", "threshold", "support", "attempt"],
)
def test_what_has_too_many_outcomes_is_refused(mechanism: Any, word: str) -> None:
    with pytest.raises(ArgumentError, match=word):
        subject_of(mechanism)
