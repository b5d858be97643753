"""Clipping, rounding, overflow and noise on a lattice, for all numbers."""

from __future__ import annotations

import itertools
from decimal import Decimal
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import z3

from discreet.data.kernels import round_and_add
from discreet.mechanisms.additive.laplace import LaplaceNoise
from discreet.mechanisms.additive.linf import draw_half_width
from discreet.mechanisms.additive.pure import PureNoise
from discreet.mechanisms.lattice import LARGEST_SUM, certify_rounded, lattice_step
from discreet.privacy.certificate import Certificate, certify_cells
from discreet.privacy.relation import REPLACE_ONE
from discreet.randomness import LARGEST_SCALE
from tests.proofs.machine.cases import code_agrees, every_case, failing_case, small_floats
from tests.proofs.machine.reading import Symbols, Told
from tests.proofs.machine.solver import Vector, counterexample, proved, rounded, size_of

HALVES = np.arange(2**16, dtype=np.uint16).view(np.float16).astype(np.float64)
"""Every number of 16 bits: infinities, numbers that are none, and zeros of both signs included."""


def clipped(value: Any, low: Any, high: Any, fill: Any) -> Any:
    """Return what the summing loop makes of a float: the filled value, then its ``min`` and ``max``."""
    filled = z3.If(z3.fpIsNaN(value), fill, value)
    raised = z3.If(z3.fpGT(low, filled), low, filled)
    return z3.If(z3.fpLT(high, raised), high, raised)


def some_floats() -> tuple[list[Any], list[Any]]:
    """Return four floats of 64 bits: a value, two ends and a filling between them."""
    value, low, high, fill = (z3.FP(name, z3.Float64()) for name in ("value", "low", "high", "fill"))
    return [value, low, high, fill], [z3.fpLT(low, high), z3.fpLEQ(low, fill), z3.fpLEQ(fill, high)]


@pytest.mark.checks("clip-predictions")
def test_every_float_ends_up_between_the_bounds() -> None:
    (value, low, high, fill), given = some_floats()
    inside = clipped(value, low, high, fill)
    proved(z3.And(z3.fpLEQ(low, inside), z3.fpLEQ(inside, high)), *given)
    proved(inside == fill, *given, z3.fpIsNaN(value))
    kept = z3.And(z3.fpLEQ(low, value), z3.fpLEQ(value, high))
    proved(z3.fpEQ(inside, value), *given, kept)
    # The loop itself, on all numbers of 16 bits.
    totals = np.zeros(len(HALVES), dtype=np.int64)
    round_and_add(np.asfortranarray(HALVES[None, :]), -1.25, 2.5, 0.5, 4.0, totals)
    pairs = zip(HALVES.tolist(), totals.tolist(), strict=True)
    code_agrees(pairs, lambda pair: model_step(pair[0]) == pair[1])


def model_step(x: float) -> int:
    """Return the whole number of quarters nearest to x in [-5/4, 5/2], half steps to even ones."""
    number = Fraction(1, 2) if x != x else Fraction(min(max(x, -1.25), 2.5))
    return round(number * 4)


@pytest.mark.refutes("clip-predictions")
def test_clipping_without_a_filling_lets_what_is_no_number_through() -> None:
    (value, low, high, _), given = some_floats()
    inside = z3.If(z3.fpLT(high, value), high, z3.If(z3.fpGT(low, value), low, value))
    found = counterexample(z3.And(z3.fpLEQ(low, inside), z3.fpLEQ(inside, high)), *given)
    assert "NaN" in str(found.eval(value))


def read_widening(symbols: Symbols, given: Told, size: Any, more: int) -> Told:
    """Return the bounds of a certificate that is widened by so much per coordinate."""
    told = SimpleNamespace(size=size, statements=(), bounds={"any": given})
    return symbols.read(Certificate.widen, replace=lambda _, bounds, **__: bounds)(told, more)["any"]


def rounded_apart(before: Any, after: Any, step: Any) -> tuple[Any, list[Any]]:
    """Return how far apart two numbers are after rounding, and what rounding is."""
    first, first_is = rounded(before / step, "first")
    second, second_is = rounded(after / step, "second")
    return size_of(step * first - step * second), [first_is, second_is, step > 0]


@pytest.mark.checks("lattice")
def test_rounding_costs_a_step_for_a_record_and_for_each_of_its_batch() -> None:
    before, after, step, rows, moved = z3.Reals("before after step rows moved")
    kept = SimpleNamespace(widen=lambda more, *_: more)
    apart, facts = rounded_apart(before, after, step)
    proved(apart <= size_of(before - after) + certify_rounded(kept, step, 0), *facts)
    # Induction over the rows of a batch, whose own values stay: each adds one step at most.
    paid, more_paid = (certify_rounded(kept, step, count) for count in (rows, rows + 1))
    proved(moved + apart <= more_paid, *facts, before == after, moved <= paid, rows >= 0)
    # In steps, so that a coordinate may move by one more.
    vector, extra, product = Vector.any("v"), Vector.any("e"), z3.Real("product")
    symbols, given = Symbols(), Told(*z3.Reals("l1 l2 linf"))
    told = read_widening(symbols, given, vector.size, 1)
    facts = [*vector.facts, *extra.facts, *symbols.facts, vector.within(given), given.l2 >= 0]
    facts += [extra.size == vector.size, extra.linf <= 1]
    proved(vector.l1 + extra.l1 <= told.l1, *facts)
    proved(vector.linf + extra.linf <= told.linf, *facts)
    length, other = z3.Reals("length other")
    lengths = [length >= 0, length <= given.l2, other >= 0, other**2 <= vector.size, given.l2 >= 0]
    together = length**2 + other**2 + 2 * product
    proved(together <= told.l2**2, *lengths, *symbols.facts, product <= length * other)


@pytest.mark.checks("lattice")
def test_no_sum_wraps_and_steps_are_powers_of_two() -> None:
    rows, most, step, total = z3.Reals("rows most step total")
    each = most / step + z3.Q(1, 2)
    fine = step >= rows * most / z3.RealVal(int(LARGEST_SUM))
    sized = [rows >= 1, rows <= 2**60, most > 0, step > 0, size_of(total) <= rows * each]
    proved(size_of(total) <= 2**62, *sized, fine)
    counterexample(size_of(total) <= 2**62, *sized)
    a, b = z3.BitVecs("a b", 64)
    low, high = -(2**62), 2**62
    inside = [a >= low, a <= high, b > low, b < high]
    proved(z3.And(z3.BVAddNoOverflow(a, b, True), z3.BVAddNoUnderflow(a, b)), *inside)
    assert 2**62 / LARGEST_SCALE == 2**12  # noise would have to be so many scales long
    pairs = itertools.product(small_floats(-3, 3, 2), small_floats(-3, 3, 2))
    code_agrees(pairs, lambda pair: is_right_step(pair[0] * 2.0**-40, pair[1] * 2.0**-40))


def is_right_step(noise: float, largest: float) -> bool:
    step, least = lattice_step(noise, largest), max(noise * 2.0**-46, largest / LARGEST_SUM)
    power = Fraction(step)
    return 1 in (power.numerator, power.denominator) and least <= step <= 2 * least


@pytest.mark.refutes("lattice")
def test_a_sum_whose_rounding_nobody_pays_for_is_refuted() -> None:
    before, after, step, rows = z3.Reals("before after step rows")
    nothing = certify_rounded(SimpleNamespace(widen=lambda more, *_: more), z3.RealVal(0), rows)
    apart, facts = rounded_apart(before, after, step)
    counterexample(apart <= size_of(before - after) + nothing, *facts)


def log_ratio(place: Any, query: Any, other: Any) -> Any:
    """Return, in noise scales, how much likelier a place is for one query than for another."""
    return size_of(place - other) - size_of(place - query)


@pytest.mark.checks("laplace")
def test_laplace_noise_loses_epsilon_at_every_integer() -> None:
    place, query, other = z3.Ints("place query other")
    proved(log_ratio(place, query, other) <= size_of(query - other))
    # Coordinates add up: what is lost in all of them is at most the L1 distance, over the scale.
    lost, distance, moved, epsilon = z3.Reals("lost distance moved epsilon")
    scale = Symbols().read(PureNoise.scale)(SimpleNamespace(sensitivity=moved, epsilon=epsilon))
    facts = [lost <= distance, distance <= moved, moved > 0, epsilon > 0]
    proved(lost / scale <= epsilon, *facts)
    one = z3.ToReal(log_ratio(place, query, other))
    proved(lost + one <= distance + z3.ToReal(size_of(query - other)), *facts)
    pairs = itertools.product(small_floats(-12, 4), (1, 2, 3, 7, 2**40 + 1))
    code_agrees(pairs, lambda pair: keeps_its_epsilon(*pair))


def keeps_its_epsilon(epsilon: float, moved: int) -> bool:
    """Say whether the float that is the scale loses no more than epsilon, as it is and as written."""
    noise = SimpleNamespace(sensitivity=moved, epsilon=epsilon)
    loss = Fraction(moved) / Fraction(PureNoise.scale.fget(noise))
    return loss <= Fraction(epsilon) and loss <= Fraction(Decimal(repr(epsilon)))


@pytest.mark.refutes("laplace")
def test_noise_for_one_count_loses_more_where_two_move() -> None:
    noise = LaplaceNoise(certify_cells(2), REPLACE_ONE, 1.0, 1.0, 2)
    places, queries, others = (z3.Ints(f"{name}0 {name}1") for name in ("place", "query", "other"))
    lost = sum(log_ratio(*three) for three in zip(places, queries, others, strict=True))
    moved = sum(size_of(q - o) for q, o in zip(queries, others, strict=True))
    proved(lost <= noise.sensitivity, moved <= 2)
    counterexample(lost <= noise.sensitivity - 1, moved <= 2)


class RejectedError(Exception):
    """A half width was drawn anew."""


class OneWidth:
    """A source whose geometric variables add up to a given number, once."""

    simulation = True

    def __init__(self, total: int, choices: tuple[int, ...]) -> None:
        self.totals, self.choices = [total], iter(choices)

    def laplace(self, scale: float, size: int) -> Any:
        if not self.totals:
            raise RejectedError
        return np.array([self.totals.pop()] + [0] * (size - 1))

    def below(self, count: int) -> int:
        return next(self.choices)


def kept_share(size: int, half: int) -> Fraction:
    """Return how often a sum of geometric variables is kept, over all uniform choices."""
    kept = total = 0
    for choices in itertools.product(*(range(2 * (half + i)) for i in range(1, size + 1))):
        total += 1
        try:
            kept += draw_half_width(size, 1.0, OneWidth(half, choices)) == half
        except RejectedError:
            continue
    return Fraction(kept, total)


def width_weight(size: int, half: int) -> Fraction:
    """Return the weight of a half width beside exp(-half / scale), as it is drawn."""
    sums = 1
    for i in range(1, size + 1):
        sums *= half + i
    return kept_share(size, half) * sums


WIDTHS = [(size, half) for size in (1, 2, 3) for half in range(5)]


@pytest.mark.checks("box")
def test_linf_noise_loses_epsilon_and_cubes_are_drawn_by_their_points() -> None:
    place, query, other, norm, moved = z3.Ints("place query other norm moved")
    # The coordinate that is farthest from the other query; the norm is no less than its own distance.
    facts = [norm >= size_of(place - query), size_of(query - other) <= moved]
    proved(size_of(place - other) - norm <= moved, *facts)
    every_case(WIDTHS, lambda w: width_weight(*w) * 2 ** w[0] == (2 * w[1] + 1) ** w[0])


@pytest.mark.refutes("box")
def test_half_widths_without_their_power_are_refuted() -> None:
    assert failing_case(WIDTHS, lambda w: width_weight(*w) == width_weight(w[0], 0)) == (1, 1)
    place, query, other, norm, moved = z3.Ints("place query other norm moved")
    facts = [norm >= size_of(place - query), size_of(query - other) <= 2 * moved, moved >= 1]
    counterexample(size_of(place - other) - norm <= moved, *facts)
