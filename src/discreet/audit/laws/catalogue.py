"""All mechanisms of this library whose law can be computed, with a promise of epsilon 1 each.

Registries are walked through, so that a new law of noise, selection or choice is on trial as soon as it
is registered, or is refused here for want of an exact law.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from discreet.additive.pairs.choice import residual_choice
from discreet.audit.laws.of_noise import noise_subject, response_subject
from discreet.audit.laws.of_records import PROPOSALS, deniability_subject, support_subject
from discreet.audit.laws.of_scores import (
    pick_subject,
    ranking_subject,
    threshold_subject,
    top_subject,
)
from discreet.audit.laws.of_stability import joint_subject, stability_subject
from discreet.audit.laws.of_tables import (
    cuts_subject,
    dampening_subject,
    frequent_subject,
    inverse_subject,
    percentile_subject,
)
from discreet.audit.laws.of_trees import (
    leaves_subject,
    level_subject,
    residual_subject,
    spanning_subject,
)
from discreet.audit.laws.subject import Subject
from discreet.mechanisms import (
    NOISES,
    AboveThreshold,
    InverseSensitivity,
    JointSmoothMax,
    LocalDampening,
    SmoothNoisyMax,
    SupportTest,
    TopK,
    count_noise,
    sum_noise,
)
from discreet.mechanisms.selection.borda import borda_noise, certify_points
from discreet.mechanisms.selection.deniability import DeniabilityTest
from discreet.mechanisms.selection.pairs.more_pairs import more_choice
from discreet.mechanisms.selection.pairs.spanning_tree import tree_choice
from discreet.mechanisms.selection.quantiles import quantile_noise
from discreet.mechanisms.selection.registry import ON_SCORES, ON_STABILITY
from discreet.privacy.certificate import Bounds, Box, Certificate, certify_cells
from discreet.privacy.relation import RELATIONS, REPLACE_ONE
from discreet.select.choose.chooser import CHOICES
from discreet.select.quantiles.cuts import CUT_CHOICES, QuantileCuts
from discreet.select.quantiles.percentile import PERCENTILE_CHOICES
from discreet.trees.splits import MECHANISMS

EPSILON, DELTA = 1.0, 1e-3

Build = Callable[[], list[Subject]]

_COORDINATES = 3


def catalogue() -> dict[str, Build]:
    """Return what is on trial by name; nothing is computed before it is asked for."""
    found: dict[str, Build] = {"randomised response": _responses}
    found |= {f"{name} noise on counts": _on_counts(name) for name in NOISES}
    found |= {f"{name} noise on sums": _on_sums(name) for name in NOISES}
    found |= {name: _pick(name) for name in ON_SCORES}
    found |= {name: _by_stability(name) for name in ON_STABILITY}
    found |= dict(_other_selections())
    found |= {
        f"percentile, {name}": _of_counts(percentile_subject, name) for name in PERCENTILE_CHOICES[1:]
    }
    found |= {f"most frequent, {name}": _of_counts(frequent_subject, name) for name in CHOICES[1:]}
    found |= {f"splits of a tree, {name}": _splits(name) for name in MECHANISMS[1:]}
    found |= {f"leaves of a tree, {name}": _of_counts(leaves_subject, name) for name in _independent()}
    return found


def _independent() -> list[str]:
    """Return the noises that cells of any number can have laid out: by one or two of them."""
    return [name for name, law in NOISES.items() if law.independent]


def _other_selections() -> Iterator[tuple[str, Build]]:
    yield (
        "top-k",
        lambda: [top_subject(TopK(1, EPSILON, 2, law)) for law in ("exponential", "permute-and-flip")],
    )
    yield "above threshold", lambda: [threshold_subject(AboveThreshold(1, EPSILON))]
    yield "joint smooth noisy max", _joint
    yield (
        "inverse sensitivity",
        lambda: [inverse_subject(InverseSensitivity(EPSILON), r) for r in RELATIONS],
    )
    yield "local dampening", _dampening
    yield "quantile cuts", _cuts
    yield "Borda counts", _borda
    yield "spanning tree", _spanning
    yield "pairs by residuals", _residuals
    yield "propose-test-release", _support
    yield "Mechanism F", _deniability


def _responses() -> list[Subject]:
    return [response_subject(EPSILON, values) for values in (2, 5)]


def _on_counts(name: Any) -> Build:
    def build() -> list[Subject]:
        sizes = (2,) if NOISES[name].independent else range(1, _COORDINATES + 1)
        return [
            noise_subject(
                count_noise(
                    certify_cells(size), relation=relation, epsilon=EPSILON, delta=DELTA, mechanism=name
                )
            )
            for relation in (RELATIONS if NOISES[name].independent else RELATIONS[:1])
            for size in sizes
        ]

    return build


def _on_sums(name: Any) -> Build:
    def build() -> list[Subject]:
        return [
            noise_subject(
                sum_noise(
                    Box(0.0, 1.0).certify(1),
                    relation=relation,
                    epsilon=EPSILON,
                    delta=DELTA,
                    mechanism=name,
                    largest_sum=1e6,
                )
            )
            for relation in RELATIONS
        ]

    return build


def _pick(name: str) -> Build:
    return lambda: [pick_subject(ON_SCORES[name](1, EPSILON))]


def _by_stability(name: str) -> Build:
    return lambda: [
        stability_subject(SmoothNoisyMax(4, EPSILON, delta, ON_STABILITY[name]))
        for delta in (0.0, DELTA)
    ]


def _joint() -> list[Subject]:
    return [
        joint_subject(JointSmoothMax(3, EPSILON, DELTA, noise, element_wise))
        for noise in ("student-t", "laplace")
        for element_wise in (False, True)
    ]


def _dampening() -> list[Subject]:
    return [
        dampening_subject(LocalDampening(EPSILON, 2, shift), relation)
        for relation in RELATIONS
        for shift in (0, 5)
    ]


def _cuts() -> list[Subject]:
    cells, marks = certify_cells(3), (0, 2, 3, 4)
    found: list[Subject] = []
    for relation in RELATIONS:
        for kind in CUT_CHOICES[1:]:
            several = QuantileCuts(cells, relation, EPSILON, 0.0, EPSILON / 2, kind, marks, 1)
            found.append(cuts_subject(several, len(marks) - 2))
        halves = quantile_noise(cells, range(4), parts=2, relation=relation, epsilon=EPSILON)
        found.append(cuts_subject(halves, 1))
    return found


def _borda() -> list[Subject]:
    found = []
    for mechanism in ("exponential", "permute-and-flip"):
        noise: Any = borda_noise(
            certify_points(3),
            rankings=20,
            k=2,
            relation=REPLACE_ONE,
            epsilon=EPSILON,
            mechanism=mechanism,
        )
        found.append(ranking_subject(noise))
    return found


def _spanning() -> list[Subject]:
    edges = ((0, 1), (0, 2), (1, 2))
    made = [
        (
            tree_choice(edges, (4, 4, 4), 0, relation=relation, epsilon=EPSILON),
            more_choice(edges, (4, 4, 4), 0, wanted=2, relation=relation, epsilon=EPSILON),
        )
        for relation in RELATIONS
    ]
    return [spanning_subject(choice) for choices in made for choice in choices]


def _residuals() -> list[Subject]:
    terms: Any = {"wanted": 1, "step": 2.0**-10, "rounded": 0.0, "share": EPSILON}
    return [residual_subject(residual_choice((2, 2), relation=r, **terms)) for r in RELATIONS]


def _support() -> list[Subject]:
    moved = Certificate(("mean-replace",), 2, {REPLACE_ONE: Bounds(2.0, 2.0, 1.0)})
    return [support_subject(SupportTest(moved, REPLACE_ONE, EPSILON, DELTA, 1.0, 2))]


def _deniability() -> list[Subject]:
    return [
        deniability_subject(DeniabilityTest(3, 2, PROPOSALS[name][0].gamma, 1.0, 5), name)
        for name in PROPOSALS
    ]


def _of_counts(build: Callable[[str, str, float, float], Subject], name: str) -> Build:
    return lambda: [build(name, relation, EPSILON, DELTA) for relation in RELATIONS]


def _splits(name: str) -> Build:
    return lambda: [level_subject(name, relation, EPSILON) for relation in RELATIONS]
