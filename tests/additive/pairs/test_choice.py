"""The choice of pairs by residuals: its exact law keeps the promise, and faults are caught."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator
from dataclasses import replace

import numpy as np
import pytest

from discreet.additive.pairs.choice import (
    ResidualChoice,
    certify_residual_scores,
    residual_choice,
)
from discreet.errors import ArgumentError
from discreet.privacy.certificate import Bounds
from discreet.privacy.relation import ADD_REMOVE, RELATIONS, REPLACE_ONE, Relation
from discreet.randomness import SimulatedNoise

STEP = 1 / 8
TABLES, CELLS = 2, 2

Added = np.ndarray


def residuals(channels: int, halved: bool = True) -> list[np.ndarray]:
    """Return residuals at corners and inside, as stages make them: of two classes, or of more."""
    if channels == 1:
        return [np.array([value]) for value in (-1.0, -0.375, 0.0, 0.625, 1.0)]
    shares = [np.eye(channels)[0], np.full(channels, 1 / channels), np.eye(channels)[-1]]
    made = [np.eye(channels)[k] - share for k in range(channels) for share in shares]
    return [np.trunc(one / (2 if halved else 1) / STEP) * STEP for one in made]


def records(channels: int, halved: bool = True) -> list[Added]:
    """Return what every record of a tiny domain adds to all tables, in steps; last what none does."""
    found = []
    for cells in itertools.product(range(CELLS), repeat=TABLES):
        for residual in residuals(channels, halved):
            raw = np.zeros((TABLES, CELLS, channels))
            raw[np.arange(TABLES), cells] = residual
            found.append(np.rint(raw.ravel() / STEP).astype(np.int64))
    return [*found, np.zeros_like(found[0])]


def others(channels: int) -> Iterator[np.ndarray]:
    """Yield sums of other records: none, few, and many in one cell."""
    size = TABLES * CELLS * channels
    yield np.zeros(size, dtype=np.int64)
    draw = np.random.default_rng(channels)
    for scale in (3, 40):
        yield draw.integers(-scale, scale + 1, size)


def neighbours(channels: int, relation: Relation, halved: bool = True) -> Iterator[tuple[Added, Added]]:
    every = records(channels, halved)
    few = every[::3]
    for rest in others(channels):
        if relation.edits == 1:
            yield from ((rest, rest + one) for one in every)
        else:
            yield from ((rest + one, rest + two) for one in few for two in few)


def choice(relation: Relation, channels: int, share: float = 1.5, wanted: int = 1) -> ResidualChoice:
    made = residual_choice(
        [CELLS * channels] * TABLES,
        wanted=wanted,
        step=STEP,
        rounded=0.0,
        relation=relation,
        share=share,
    )
    return made.less(np.array([0.7, 2.0]))


def farthest(
    made: ResidualChoice, channels: int, relation: Relation, halved: bool = True
) -> tuple[float, float]:
    """Return how far a score moves at most, in records, and the greatest loss of an answer."""
    moved = loss = 0.0
    orders = list(itertools.permutations(range(TABLES), made.wanted))
    for one, two in neighbours(channels, relation, halved):
        moved = max(moved, STEP * float(np.abs(made.scores(one) - made.scores(two)).max()))
        for order in orders:
            ratio = made.probability(one, order) / made.probability(two, order)
            loss = max(loss, abs(math.log(ratio)))
    return moved, loss


@pytest.mark.proves("additive-pairs")
@pytest.mark.parametrize("relation", [ADD_REMOVE, REPLACE_ONE])
@pytest.mark.parametrize("channels", [1, 2, 3])
def test_no_record_moves_a_score_farther_and_a_pick_keeps_its_epsilon(
    relation: Relation, channels: int
) -> None:
    made = choice(relation, channels)
    moved, loss = farthest(made, channels, relation)
    assert moved <= made.certificate.sensitivity("linf", relation)
    assert loss <= made.epsilon * (1 + 1e-9)
    if channels == 1:  # of more classes not all corners are tried
        assert moved == relation.edits and loss > 0.6 * made.epsilon


@pytest.mark.refutes("additive-pairs")
def test_a_bound_of_one_for_a_replaced_record_is_caught() -> None:
    made = choice(REPLACE_ONE, 1)
    cheap = {relation: Bounds(2.0, math.sqrt(2.0), 1.0) for relation in made.certificate.bounds}
    planted = replace(made, certificate=replace(made.certificate, bounds=cheap))
    moved, loss = farthest(planted, 1, REPLACE_ONE)
    assert moved > planted.certificate.sensitivity("linf", REPLACE_ONE)
    assert loss > planted.epsilon * 1.02


@pytest.mark.refutes("additive-pairs")
def test_residuals_of_several_classes_that_are_not_halved_are_caught() -> None:
    made = choice(ADD_REMOVE, 3)
    moved, loss = farthest(made, 3, ADD_REMOVE, halved=False)
    assert moved > made.certificate.sensitivity("linf", ADD_REMOVE) and loss > made.epsilon * 1.02


@pytest.mark.refutes("additive-pairs")
def test_what_is_taken_off_scores_may_not_look_at_records() -> None:
    """If it grows with the sums of another pair, scores move apart by more than is priced."""

    class Peeking(ResidualChoice):
        def scores(self, raw_steps: np.ndarray) -> np.ndarray:
            honest = super().scores(raw_steps)
            return np.asarray(honest - honest[::-1])

    made = choice(ADD_REMOVE, 1)
    fields = {name: getattr(made, name) for name in made.__dataclass_fields__}
    moved, _ = farthest(Peeking(**fields), 1, ADD_REMOVE)
    assert moved > made.certificate.sensitivity("linf", ADD_REMOVE)


@pytest.mark.proves("additive-pairs")
@pytest.mark.parametrize("channels", [1, 3])
def test_rows_of_a_person_share_one_record(channels: int) -> None:
    """Weighted residuals, each rounded once more, move scores by one and the steps that are paid."""
    draw = np.random.default_rng(0)
    rows, every = 7, residuals(channels)
    rounded = rows * STEP * channels
    made = choice(ADD_REMOVE, channels)
    proven = certify_residual_scores(TABLES, rounded).sensitivity("linf", ADD_REMOVE)
    for rest in others(channels):
        for _ in range(200):
            weights = draw.dirichlet(np.ones(rows))
            raw = np.zeros((TABLES, CELLS, channels), dtype=np.int64)
            for weight in weights:
                cells = draw.integers(0, CELLS, TABLES)
                residual = every[draw.integers(len(every))]
                raw[np.arange(TABLES), cells] += np.rint(weight * residual / STEP).astype(np.int64)
            moved = np.abs(made.scores(rest + raw.ravel()) - made.scores(rest)).max() * STEP
            assert moved <= proven


@pytest.mark.parametrize("relation", RELATIONS)
def test_several_picks_keep_their_epsilons_together(relation: Relation) -> None:
    made = choice(relation, 1, share=0.75, wanted=2)
    assert made.epsilon == 1.5 and len(made.events) == 2
    assert farthest(made, 1, relation)[1] <= 1.5 * (1 + 1e-9)


def test_a_release_has_the_stated_law_and_names_no_pair_twice() -> None:
    made = residual_choice((2, 2, 2), wanted=2, step=STEP, rounded=0.0, relation=ADD_REMOVE, share=1.0)
    raw, source, draws = np.array([3, -2, 8, 0, -20, 1]), SimulatedNoise(5), 10_000
    orders = list(itertools.permutations(range(3), 2))
    expected = {order: made.probability(raw, order) for order in orders}
    assert sum(expected.values()) == pytest.approx(1.0, abs=1e-12)
    seen = dict.fromkeys(orders, 0)
    for _ in range(draws):
        seen[tuple(made.release(raw, source).astype(int))] += 1
    for order, share in expected.items():  # six standard deviations
        assert abs(seen[order] / draws - share) < 6 * math.sqrt(share * (1 - share) / draws)


def test_more_than_there_are_is_refused() -> None:
    with pytest.raises(ArgumentError, match="wanted must be"):
        residual_choice((2, 2), wanted=3, step=STEP, rounded=0.0, relation=ADD_REMOVE, share=1.0)
