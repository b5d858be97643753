"""How far the sums of two neighbouring tables are apart, beside what is certified."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np

from discreet.additive.noise import MappedNoise
from discreet.additive.pairs.choice import ResidualChoice
from discreet.data import PrivateTable, Summand, add_up
from discreet.mechanisms.additive.select_then_measure import SelectThenMeasure
from discreet.mechanisms.lattice import LARGEST_SUM
from discreet.mechanisms.selection.pairs.pair_scores import PairChoice
from discreet.plans import Stage
from discreet.plans.stages.sums import TableNoise
from discreet.plans.stages.weighted_tables import WeightedNoise
from discreet.privacy.certificate import NORMS, Certificate, Norm
from discreet.privacy.relation import Relation
from discreet.randomness import IntArray
from discreet.schema import FloatArray
from discreet.tables.drift.distance import DistanceNoise, records_off
from discreet.tables.entropy.noise import MeasureNoise
from discreet.trees.splits import SplitNoise

ORDERS: dict[Norm, float] = {"l1": 1, "l2": 2, "linf": np.inf}
"""The norms as numpy names them."""


@dataclass(frozen=True)
class Move:
    """How far a sum moved in one norm, and how far it may."""

    norm: Norm
    far: float
    allowed: float

    @property
    def share(self) -> float:
        """How much of the certificate was used; above one it is broken."""
        if self.allowed > 0:
            return self.far / self.allowed
        return math.inf if self.far > 0 else 0.0

    @property
    def broken(self) -> bool:
        """Whether it moved farther than is certified."""
        return self.far > self.allowed

    def __str__(self) -> str:
        return f"{self.far:.8g} in {self.norm}, {self.allowed:.8g} is certified"


def sums_of(
    stages: Sequence[Stage[Any]], table: PrivateTable, place: int | None = None
) -> list[IntArray]:
    """Return the exact sums of stages in whole steps, reading the rows once.

    Numbers that the owner of the record at ``place`` alone will see are left out.
    """
    made = add_up(table, [Summand(stage.contribution, stage.noise.step) for stage in stages])
    return [of_others(stage, raw, place) for stage, raw in zip(stages, made, strict=True)]


def of_others(stage: Stage[Any], raw: IntArray, place: int | None) -> IntArray:
    """Return what somebody else than the owner of a record will see, and be it a zero."""
    owners = getattr(stage.contribution, "owners", None)
    if owners is None or place is None:
        return raw
    others = raw[np.asarray(owners) != place]
    return others if len(others) else np.zeros(1, dtype=np.int64)


def raw_sums(
    stage: Stage[Any], tables: Sequence[PrivateTable], place: int | None = None
) -> list[IntArray]:
    """Return the exact sums of a stage over some tables that differ at a place, in whole steps."""
    return [sums_of([stage], table, place)[0] for table in tables]


def moves_between(
    noise: Any, certificate: Certificate, relation: Relation, first: IntArray, second: IntArray
) -> list[Move]:
    """Return in every norm how far two neighbours' sums are apart and how far they may be."""
    moved = apart(noise, first, second)
    return [
        Move(
            norm,
            float(np.linalg.norm(moved, ORDERS[norm])),
            certificate.sensitivity(norm, relation),
        )
        for norm in NORMS
    ]


def too_far(
    noise: Any, certificate: Certificate, relation: Relation, sums: Sequence[IntArray]
) -> list[str]:
    """Return where two of some neighbours' sums are farther apart than is certified."""
    return [
        f"tables {one} and {two}: {move}"
        for (one, first), (two, second) in combinations(enumerate(sums), 2)
        for move in moves_between(noise, certificate, relation, first, second)
        if move.broken
    ]


def apart(noise: Any, first: IntArray, second: IntArray) -> FloatArray:
    """Return how far two sums are apart, or what is made of them where that is what is certified."""
    match noise:
        case DistanceNoise():
            parts = np.array(noise.shares)
            return np.array([float(records_off(first, parts) - records_off(second, parts))])
        case MeasureNoise():
            values = [noise.measure(noise.filled(raw)) / noise.unit for raw in (first, second)]
            steps = np.rint(np.array(values) / noise.noise.step)
            return np.array([steps[0] - steps[1]]) * noise.noise.step
        case PairChoice():
            return np.asarray((noise.scores(first) - noise.scores(second)) / noise.steps_per_record)
        case ResidualChoice():
            return np.asarray((noise.scores(first) - noise.scores(second)) * noise.step)
        case SplitNoise():
            return _utilities_apart(noise, first, second)
        case MappedNoise():
            moved = noise.contrasts(first) - noise.contrasts(second)
            return np.asarray(moved * noise.noise.step, dtype=np.float64)
        case WeightedNoise():
            weighted = _difference(first, second)[list(noise.places)] * noise.weights
            return np.asarray(weighted * noise.step)
        case TableNoise() | SelectThenMeasure():
            return np.asarray(_difference(first, second)[list(noise.places)] * noise.step)
    return np.asarray(_difference(first, second) * noise.step)


def _difference(first: IntArray, second: IntArray) -> FloatArray:
    """Return how many steps two sums are apart, as numbers: sums that wrapped are far apart.

    In 64 bits the difference of two wrapped sums wraps as well, and would hide it.
    """
    sums = first, second
    if max(int(np.abs(raw.astype(np.float64)).max(initial=0.0)) for raw in sums) <= LARGEST_SUM:
        return (first - second).astype(np.float64)
    return np.asarray(first.astype(object) - second.astype(object), dtype=np.float64)


def _utilities_apart(noise: SplitNoise, first: IntArray, second: IntArray) -> FloatArray:
    """Return by how much the utilities of one node's splits move against each other, where most."""
    assert noise.level is not None
    nodes, splits, grid = noise.level.nodes, noise.level.splits, noise.level.grid
    shape = (len(nodes.open), grid, splits, noise.level.classes, noise.level.weights)
    utilities = [noise.criterion.utilities(raw, *shape) for raw in (first, second)]
    moved = utilities[0] - utilities[1]
    centred = [
        (row[useful] - (row[useful].max() + row[useful].min()) / 2) / noise.criterion.steps
        for row, useful in zip(moved, nodes.useful(splits), strict=True)
        if useful.any()
    ]
    return max(centred, key=lambda row: float(np.abs(row).max()), default=np.zeros(1))
