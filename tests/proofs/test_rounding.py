"""What sums of floats lose: a rounding is a factor within 2^-53 of one, in any order of addition."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import z3

from discreet.engines.shapley.coalitions import all_masks
from discreet.engines.shapley.trees import tree_rounding_error
from discreet.explain.permutation.contribution import certify
from discreet.explain.shap.bounds.records import rounding_error
from discreet.models.bounds import Ranges
from discreet.numerics import UNIT_ROUNDOFF
from discreet.privacy.certificate import Box
from tests.proofs.machine.cases import code_agrees, failing_case, shapley_row, small_floats
from tests.proofs.machine.reading import Symbols, ToldCertificate
from tests.proofs.machine.solver import counterexample, exact, greatest, least, proved, size_of

UNIT = exact(UNIT_ROUNDOFF)
MOST_TERMS = 10**13


def loss(roundings: Any) -> Any:
    """Return the greatest relative error of a number that went through so many roundings."""
    return roundings * UNIT / (1 - roundings * UNIT)


def one_more_rounding() -> tuple[Any, Any, list[Any]]:
    """Return what one more rounding makes of an error, how many there were, and what is known."""
    error, rounding, count = z3.Reals("error rounding count")
    given = [size_of(error) <= loss(count), size_of(rounding) <= UNIT]
    return (1 + error) * (1 + rounding) - 1, count, [*given, count >= 0, count <= MOST_TERMS]


def read_widening(repeats: Any) -> Any:
    """Return what the code adds for means over repeats, for losses up to one."""

    class Recorded(ToldCertificate):
        def widen(self, *terms: Any) -> Any:
            return terms[0]

    read = Symbols().read(certify, Certificate=Recorded, UNIT_ROUNDOFF=UNIT)
    return read(2, z3.RealVal(1), 1, None, repeats=repeats, own=0)


@pytest.mark.checks("pfi-rounding")
def test_means_over_repeats_lose_what_is_paid_for_them() -> None:
    error, count, given = one_more_rounding()
    proved(size_of(error) <= loss(count + 1), *given)
    repeats = z3.Real("repeats")
    # R rows have a mean that moves; each is a sum of R terms and a division, on either table.
    proved(repeats * 2 * loss(repeats) <= read_widening(repeats), repeats >= 1, repeats <= 2**40)
    code_agrees(float_means(), lambda losses: mean_is_near(losses))


def float_means() -> Iterator[tuple[float, ...]]:
    losses = [x for x in small_floats(-3, 0, 1) if x <= 1][::2]
    for repeats in (1, 2, 3, 4):
        yield from itertools.product(losses, repeat=repeats)


def mean_is_near(losses: tuple[float, ...]) -> bool:
    computed, truth = sum(losses) / len(losses), sum(map(Fraction, losses)) / len(losses)
    return abs(Fraction(computed) - truth) <= 2 * (len(losses) + 1) * Fraction(UNIT_ROUNDOFF)


@pytest.mark.refutes("pfi-rounding")
def test_one_rounding_for_all_rows_is_refuted() -> None:
    error, _, given = one_more_rounding()
    counterexample(size_of(error) <= UNIT, *given)
    repeats = z3.Real("repeats")
    counterexample(
        repeats * 2 * loss(repeats) <= read_widening(z3.RealVal(1)), repeats >= 1, repeats <= 99
    )


@pytest.mark.checks("shap-rounding")
def test_attributions_lose_what_is_added_twice() -> None:
    error, count, given = one_more_rounding()
    proved(size_of(error) <= loss(count + 1), *given)
    masks = z3.Real("masks")
    sized = [masks >= 0, masks <= MOST_TERMS]
    # Products and their sum, and what the operator itself has lost: each within 1.01 (K + 8) units.
    each = z3.Q(101, 100) * (masks + 8) * UNIT
    proved(z3.And(loss(masks + 2) <= each, loss(masks + 8) <= each), *sized)
    code_agrees(all_masks_cases(), lambda case: is_within_error(*case))
    code_agrees((2, 3, 4), told_error_is_enough)


def told_error_is_enough(features: int) -> bool:
    masks, box = all_masks(features), Box(-0.75, 0.5)
    heaviest = max(sum(abs(Fraction(x)) for x in row) for row in masks.operator.tolist())
    least_error = 2 * (len(masks) + 8) * Fraction(101, 100) * Fraction(UNIT_ROUNDOFF) * Fraction(3, 4)
    return Fraction(rounding_error(masks, box)) >= least_error * heaviest * (1 - Fraction(1, 10**12))


def all_masks_cases() -> Iterator[tuple[int, tuple[float, ...]]]:
    for features, ends in ((2, (0.1, 1 / 3, -0.7, 1.0)), (3, (1 / 3, -0.7))):
        yield from ((features, values) for values in itertools.product(ends, repeat=2**features))


def float_error(features: int, values: tuple[float, ...]) -> Fraction:
    """Return how far computed attributions are from the exact ones, in the worst coordinate."""
    masks = all_masks(features)
    members = [frozenset(np.flatnonzero(c).tolist()) for c in masks.coalitions]
    lost = Fraction(0)
    for j, computed in enumerate(masks.solve(np.array(values)).tolist()):
        row = shapley_row(j, features)
        truth = sum((row[c] * Fraction(v) for c, v in zip(members, values, strict=True)), Fraction(0))
        lost = max(lost, abs(Fraction(computed) - truth))
    return lost


def is_within_error(features: int, values: tuple[float, ...]) -> bool:
    return float_error(features, values) <= Fraction(
        rounding_error(all_masks(features), Box(-1.0, 1.0))
    )


@pytest.mark.refutes("shap-rounding")
def test_attributions_that_are_taken_as_exact_are_refuted() -> None:
    masks = z3.Real("masks")
    counterexample(loss(masks + 2) <= (masks + 2) * UNIT, masks >= 0, masks <= MOST_TERMS)
    failing_case(all_masks_cases(), lambda case: float_error(*case) == 0)


def read_tree_error(leaves: Any, rows: Any, heights: Any) -> Any:
    """Return the code's error of tree attributions, from the sizes of an ensemble as symbols."""
    greatest_leaves = SimpleNamespace(reduceat=lambda *_: SimpleNamespace(sum=lambda: heights))
    names = {"np": SimpleNamespace(maximum=greatest_leaves, abs=lambda values: values)}
    trees = SimpleNamespace(is_leaf=SimpleNamespace(sum=lambda: leaves), value=None, roots=None)
    read = Symbols().read(
        tree_rounding_error, **names, int=lambda number: number, UNIT_ROUNDOFF=UNIT, _TINY=0
    )
    return read(trees, rows)


def tree_sizes() -> tuple[list[Any], list[Any]]:
    leaves, rows, heights = z3.Reals("leaves rows heights")
    few = MOST_TERMS // 4
    return [leaves, rows, heights], [leaves >= 1, leaves <= few, rows >= 1, rows <= few, heights >= 0]


@pytest.mark.checks("tree-rounding")
def test_attributions_of_trees_lose_what_is_added_twice() -> None:
    error, count, known = one_more_rounding()
    proved(size_of(error) <= loss(count + 1), *known)
    (leaves, rows, heights), given = tree_sizes()
    # Shares of leaves add up to twice the greatest leaf; each goes through so many roundings.
    proved(2 * heights * loss(leaves + rows + 2) <= read_tree_error(leaves, rows, heights), *given)


@pytest.mark.refutes("tree-rounding")
def test_tables_in_single_precision_lose_more() -> None:
    (leaves, rows, heights), given = tree_sizes()
    single = z3.Q(1, 2**24)
    counterexample(2 * heights * single <= read_tree_error(leaves, rows, heights), *given)


def end_of(weight: Any, low: Any, high: Any, *, upper: bool) -> Any:
    """Return the end of a weighted number's range, as the code splits weights by their sign."""
    up, down = greatest(weight, z3.RealVal(0)), least(weight, z3.RealVal(0))
    return high * up + low * down if upper else low * up + high * down


@pytest.mark.checks("fmax")
def test_a_weighted_sum_stays_in_its_interval_however_it_is_added() -> None:
    weight, low, high, x, total, lower, upper = z3.Reals("weight low high x total lower upper")
    given = [low <= x, x <= high, lower <= total, total <= upper]
    proved(total + weight * x <= upper + end_of(weight, low, high, upper=True), *given)
    proved(total + weight * x >= lower + end_of(weight, low, high, upper=False), *given)
    error, count, known = one_more_rounding()
    proved(size_of(error) <= loss(count + 1), *known)
    # Products and sums of m terms and an intercept, once in the model and once in the interval.
    terms = z3.Real("terms")
    slack = 2 * (terms + 3) * exact(2 * UNIT_ROUNDOFF)
    proved(2 * loss(terms + 1) <= slack, terms >= 1, terms <= MOST_TERMS)
    code_agrees(linear_cases(), lambda case: is_inside(*case, narrower=0.0))


def linear_cases() -> Iterator[tuple[tuple[float, ...], tuple[float, ...]]]:
    weights, numbers = (-1 / 3, 0.1, 2.7), (-0.3, 0.1, 1.1)
    yield from itertools.product(
        itertools.product(weights, repeat=3), itertools.product(numbers, repeat=3)
    )


def is_inside(weights: tuple[float, ...], row: tuple[float, ...], *, narrower: float) -> bool:
    """Say whether a computed answer lies in the code's interval, in every order of addition."""
    box = Ranges(np.full(3, -0.3), np.full(3, 1.1))
    found = box.weighted(np.array(weights), np.array(0.7)).widened(-narrower)
    terms = [0.7, *(w * x for w, x in zip(weights, row, strict=True))]
    answers = [sum(order) for order in itertools.permutations(terms)]
    return bool(found.low <= min(answers)) and bool(max(answers) <= found.high)


@pytest.mark.refutes("fmax")
def test_an_interval_a_billionth_narrower_is_refuted() -> None:
    failing_case(linear_cases(), lambda case: is_inside(*case, narrower=1e-9))
    weight, low, high, x = z3.Reals("weight low high x")
    counterexample(weight * x <= weight * high, low <= x, x <= high)
