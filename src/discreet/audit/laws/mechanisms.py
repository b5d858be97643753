"""Which law, which neighbours and which promise a mechanism of this library is audited with."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from discreet.audit.laws.of_noise import noise_subject
from discreet.audit.laws.of_records import deniability_subject, support_subject
from discreet.audit.laws.of_scores import (
    pick_subject,
    ranking_subject,
    threshold_subject,
    top_subject,
)
from discreet.audit.laws.of_stability import joint_subject, stability_subject
from discreet.audit.laws.of_tables import (
    counts_subject,
    cuts_subject,
    dampening_subject,
    inverse_subject,
)
from discreet.audit.laws.of_trees import spanning_subject, splits_subject
from discreet.audit.laws.subject import Subject
from discreet.errors import ArgumentError
from discreet.mechanisms import (
    AboveThreshold,
    InverseSensitivity,
    JointSmoothMax,
    LocalDampening,
    Noise,
    RankingNoise,
    SelectThenMeasure,
    SmoothNoisyMax,
    SupportTest,
    TopK,
)
from discreet.mechanisms.selection.deniability import DeniabilityTest
from discreet.mechanisms.selection.pairs.pair_scores import PairChoice
from discreet.mechanisms.selection.pick import Pick
from discreet.mechanisms.selection.quantiles import QuantileNoise
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from discreet.select.choose.most_frequent import CountChoice
from discreet.select.quantiles.cuts import QuantileCuts
from discreet.select.quantiles.percentile import PercentileChoice
from discreet.trees.splits import SplitNoise

SUBJECTS: dict[type[Any], Callable[[Any], Subject]] = {
    Pick: pick_subject,
    TopK: top_subject,
    AboveThreshold: threshold_subject,
    RankingNoise: ranking_subject,
    SmoothNoisyMax: stability_subject,
    JointSmoothMax: joint_subject,
    InverseSensitivity: lambda mechanism: inverse_subject(mechanism, ADD_REMOVE),
    LocalDampening: lambda mechanism: dampening_subject(mechanism, ADD_REMOVE),
    Noise: noise_subject,
    SelectThenMeasure: lambda chosen: noise_subject(chosen.noise),
    SupportTest: support_subject,
    DeniabilityTest: deniability_subject,
    QuantileCuts: lambda cuts: cuts_subject(cuts, len(cuts.marks) - 2),
    QuantileNoise: lambda cuts: cuts_subject(cuts, cuts.parts - 1),
    PercentileChoice: lambda noise: counts_subject("percentile", noise, noise.measure.relation),
    CountChoice: lambda noise: counts_subject("most frequent", noise, _relation_of(noise)),
    SplitNoise: splits_subject,
    PairChoice: spanning_subject,
}
"""By class; of several that fit an object the first is taken."""


def subject_of(mechanism: Any) -> Subject:
    """Return what an audit of a mechanism tries: its own law, over neighbours it knows.

    Args:
      mechanism: one of this library's, calibrated: noise, a selection, a choice from counts.
    """
    for kind, build in SUBJECTS.items():
        if isinstance(mechanism, kind):
            return build(mechanism)
    known = ", ".join(sorted(kind.__name__ for kind in SUBJECTS))
    raise ArgumentError(
        f"law must be a function of an input, or one of {known}, got {type(mechanism).__name__}. "
        "Give the law itself, with pairs or neighbours."
    )


def _relation_of(noise: CountChoice) -> str:
    """Return the relation counts were priced for: a replaced record is two edits."""
    return REPLACE_ONE if noise.chooser.sensitivity == REPLACE_ONE.edits else ADD_REMOVE
