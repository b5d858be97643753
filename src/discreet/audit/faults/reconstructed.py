"""Faults that fingerprints and shadow models catch."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from discreet.audit.attacks.ceiling import Ceiling
from discreet.audit.attacks.scoring import AttackResult
from discreet.audit.attacks.simulated.checks import (
    EPSILON,
    finding_of_reconstruction,
    shadowed,
    traced,
)
from discreet.audit.attacks.simulated.encoded import EncodedTable
from discreet.audit.attacks.simulated.fingerprinting import exact_means
from discreet.audit.attacks.simulated.reconstruction import reconstruct_queries
from discreet.audit.attacks.simulated.shadow import private_learner
from discreet.audit.attacks.verdict import attack_check
from discreet.audit.faults.fault import Fault
from discreet.audit.finding import Check, Effort, Finding
from discreet.plans import Perturbation, Stage
from discreet.schema import FloatArray
from discreet.trees.forest import random_forest

_ROWS = 60


class ExactLeaves(EncodedTable):
    """Answers the levels of trees with noise, and the counts of their leaves without."""

    def answer(self, *stages: Stage[Perturbation]) -> list[FloatArray]:
        """Return noisy choices and exact counts."""
        return [self._answer(stage) for stage in stages]

    def _answer(self, stage: Stage[Perturbation]) -> FloatArray:
        if stage.name == "leaves":
            return np.asarray(self.exact(stage) * stage.noise.step, dtype=np.float64)
        return super().answer(stage)[0]


def _exact_background(effort: Effort) -> AttackResult:
    return traced(exact_means, "the mean of a background, as it is", effort)


def _exact_leaves(effort: Effort) -> AttackResult:
    plan = random_forest("class", trees=3, depth=2, epsilon=EPSILON)
    learner = private_learner("forest with exact leaves", plan, _ROWS, ExactLeaves)
    return shadowed(learner, "likelihood ratio", effort)


def _exact_values(effort: Effort) -> Finding:
    """Values as they are, held to the promise of a sealed query."""
    found = reconstruct_queries(known=600, queries=200, seed=effort.seed)
    return finding_of_reconstruction(replace(found, ceiling=Ceiling(EPSILON)))


FAULTS: list[Fault] = [
    Fault(
        "exact background mean",
        "The mean of a background is released as it is and taken for harmless, being a mean.",
        "a slip: explainers that keep the mean of their background",
        attack_check("fingerprint of an exact mean", "an exact background mean", _exact_background),
    ),
    Fault(
        "forest with exact leaves",
        "Splits are chosen privately, and the leaves' counts are released without noise.",
        "a slip: half of the training is forgotten",
        attack_check("shadow forests with exact leaves", "a forest with exact leaves", _exact_leaves),
    ),
    Fault(
        "exact SHAP values of a sealed query",
        "Values that are nearly a function of the query are released as they are.",
        "Luo, Jiang and Zhang (2022) invert such values of three services",
        Check(
            "attack: inverse map of exact SHAP values",
            "attack",
            "exact SHAP values of a query",
            _exact_values,
        ),
    ),
]
"""What fingerprints, shadow models and inverse maps catch."""
