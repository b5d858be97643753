"""Gaussian noise: calibration and lattice over whole ranges, algebra for all numbers."""

from __future__ import annotations

import itertools
import math
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
import z3
from flint import arb

from discreet.privacy.accounting import gaussian_multiplier
from discreet.privacy.accounting.conversion import gaussian_delta
from discreet.privacy.accounting.discrete import count_gaussian_delta, lattice_slack
from discreet.privacy.accounting.events import CountGaussianEvent, GaussianEvent
from tests.proofs.machine.balls import fails_somewhere, holds_everywhere, normal_below
from tests.proofs.machine.cases import code_agrees, every_case, failing_case, small_floats
from tests.proofs.machine.reading import Symbols, read_over_balls
from tests.proofs.machine.solver import counterexample, proved

BALL_NORMAL = SimpleNamespace(ndtr=normal_below, log_ndtr=lambda x: normal_below(x).log())

plain_delta = read_over_balls(
    gaussian_delta, imports={"scipy.special": BALL_NORMAL}, _RELATIVE_ERROR=0, _LEAST=0
)
"""The code's delta over balls, without what it adds for the rounding of special functions."""


def read_ends(epsilon: Any, multiplier: Any) -> tuple[Any, Any]:
    """Return the two places at which the code asks for the normal law, as symbols."""
    asked = []
    normal = SimpleNamespace(
        ndtr=lambda x: asked.append(x) or 0.5, log_ndtr=lambda x: asked.append(x) or 0.0
    )
    math_ = SimpleNamespace(exp=lambda _: 0.0)
    read = Symbols().read(gaussian_delta, imports={"scipy.special": normal}, math=math_)
    read(epsilon, multiplier)
    near, far = asked
    return near, far


def classical(epsilon: Any, log_delta: Any) -> Any:
    """Return the multiplier of the rule that is proved for epsilon below one."""
    return (2 * (arb(1.25).log() - log_delta)).sqrt() / epsilon


@pytest.mark.checks("gauss-analytic")
def test_the_analytic_condition_is_the_loss_of_the_worst_shift() -> None:
    epsilon, sigma, cut = z3.Reals("epsilon sigma cut")
    near, far = read_ends(epsilon, sigma)
    given = [sigma > 0, epsilon >= 0, cut == epsilon * sigma**2 + z3.Q(1, 2)]
    # Where noise shifted by one is exp(epsilon) times as likely, and how far that is from both means.
    proved((2 * cut - 1) / (2 * sigma**2) == epsilon, *given)
    proved(z3.And(near * sigma == 1 - cut, far * sigma == -cut), *given)
    # Both densities agree there, so that delta's slope in sigma is minus a density over sigma^2.
    proved(far**2 - near**2 == 2 * epsilon, *given)
    near_slope, far_slope = -1 / (2 * sigma**2) - epsilon, 1 / (2 * sigma**2) - epsilon
    proved(z3.And(near_slope - far_slope == -1 / sigma**2, near_slope - far_slope < 0), *given)
    # The classical rule, over its whole range, and the analytic condition is met by it.
    holds_everywhere(
        lambda e, log_delta: log_delta.exp() - plain_delta(e, classical(e, log_delta)),
        (0.2, 0.99),
        (-18.0, -4.0),
    )
    pairs = itertools.product(small_floats(-4, 4, 1), (1e-12, 1e-6, 0.01))
    code_agrees(
        pairs, lambda pair: plain_delta(arb(pair[0]), arb(gaussian_multiplier(*pair))) <= arb(pair[1])
    )


@pytest.mark.refutes("gauss-analytic")
def test_the_classical_rule_is_too_small_for_large_epsilon() -> None:
    log_delta = arb(1e-5).log()
    point = fails_somewhere(
        lambda e: log_delta.exp() - plain_delta(e, classical(e, log_delta)), (8.0, 20.0)
    )
    assert 8.0 < point[0] < 9.0


ball_slack = read_over_balls(lattice_slack)
TINY = arb(10) ** -130


@pytest.mark.checks("gauss-lattice")
def test_a_fine_lattice_costs_a_tenth_over_the_square_of_its_scale() -> None:
    def spare(sigma: Any) -> Any:
        wider = 1 / (1 - 1 / (12 * sigma * sigma)).sqrt()
        return ball_slack(sigma, 1) - (wider * (1 + TINY) - 1 / (1 + TINY))

    holds_everywhere(spare, (4.0, 2.0**55))
    # Poisson summation: what the sum of a density differs from one by, and it falls with sigma.
    holds_everywhere(lambda s: TINY - 3 * (-2 * arb.pi() ** 2 * s * s).exp(), (4.0, 100.0))
    # sinh(x) / x <= exp(x^2 / 6): every term of one series is at most that of the other.
    every_case(range(60), lambda n: math.factorial(2 * n + 1) >= 6**n * math.factorial(n))
    n = z3.Real("n")
    proved((2 * n + 3) * (2 * n + 2) >= 6 * (n + 1), n >= 0)
    code_agrees((4.0, 4.5, 6.0, 9.0), lambda s: distance(arb(s)) <= arb(lattice_slack(s, 1)))


def distance(sigma: Any) -> Any:
    """Return the total variation distance between discrete and rounded normal noise."""
    places = range(-60, 61)
    weights = [(-(arb(k) ** 2) / (2 * sigma * sigma)).exp() for k in places]
    rounded = [
        normal_below((k + arb(0.5)) / sigma) - normal_below((k - arb(0.5)) / sigma) for k in places
    ]
    total = sum(weights, arb(0))
    return sum((abs(p - w / total) for p, w in zip(rounded, weights, strict=True)), arb(0)) / 2


@pytest.mark.refutes("gauss-lattice")
def test_a_sixth_of_the_slack_is_less_than_the_distance() -> None:
    fails_somewhere(lambda sigma: ball_slack(sigma, 1) / 6 - distance(sigma), (4.0, 5.0), places=2)


@pytest.mark.checks("gauss-counts")
def test_the_loss_on_counts_depends_on_the_sum_of_noises_alone() -> None:
    first, second, half = z3.Reals("first second half")  # half is 1 / (2 sigma^2)
    total = first + second
    one = ((first - 1) ** 2 - first**2) * half
    two = one + ((second - 1) ** 2 - second**2) * half
    proved(one == (1 - 2 * first) * half)
    proved(two == (2 - 2 * total) * half)
    # The joint law is a law of the sum times a factor of the place beside half of it.
    proved((first**2 + second**2) * half == (total**2 / 2 + 2 * (first - total / 2) ** 2) * half)
    whole, step = z3.Ints("whole step")
    even = z3.ToReal(whole) - z3.ToReal(2 * step) / 2
    proved(z3.IsInt(even))
    cases = itertools.product((0.1, 0.5, 1.0, 2.5), (0.5, 0.9, 1.7, 3.0), (1, 2))
    code_agrees(cases, lambda case: 0 <= arb(count_gaussian_delta(*case)) - count_delta(*case) < 1e-9)


@cache
def count_delta(epsilon: float, scale: float, moves: int) -> Any:
    """Return delta by going through the noises of all moved counts, one by one."""
    most, half = math.ceil(16 * scale), 1 / (2 * arb(scale) ** 2)
    weight = {k: (-(arb(k) ** 2) * half).exp() for k in range(-most, most + 1)}
    total = sum(weight.values(), arb(0))
    found = arb(0)
    for noises in itertools.product(weight, repeat=moves):
        kept = 1 - (arb(epsilon) - (moves - 2 * sum(noises)) * half).exp()
        if kept > 0:
            found += math.prod((weight[k] / total for k in noises), start=arb(1)) * kept
    return found


@pytest.mark.refutes("gauss-counts")
def test_the_analytic_formula_is_below_the_truth_on_counts() -> None:
    points = [(epsilon / 8, scale / 8, 1) for epsilon in range(4, 20) for scale in range(4, 12)]
    epsilon, scale, _ = failing_case(
        points, lambda p: gaussian_delta(p[0], p[1]) >= float(count_delta(*p))
    )
    assert count_gaussian_delta(epsilon, scale, 1) >= float(count_delta(epsilon, scale, 1))


@pytest.mark.checks("gauss-zcdp")
def test_renyi_divergences_of_discrete_gaussians_are_at_most_those_on_the_line() -> None:
    place, shift, order, length, moved = z3.Reals("place shift order length moved")
    # Completing the square: a shifted Gaussian sum, and the exponent of the divergence.
    left = -order * (place - shift) ** 2 + (order - 1) * place**2
    proved(left == -((place - order * shift) ** 2) + order * (order - 1) * shift**2)
    # By Poisson summation a shifted sum has positive terms times cosines, so it is no greater.
    term, cosine, upto, whole = z3.Reals("term cosine upto whole")
    proved(upto + term * cosine <= whole + term, upto <= whole, term > 0, cosine <= 1)
    sigma = z3.Real("sigma")
    rho = Symbols().read(GaussianEvent.rho)(SimpleNamespace(multiplier=sigma / length))
    bounded = [moved**2 <= length**2, length > 0, sigma > 0, order > 1]
    proved(order * moved**2 / (2 * sigma**2) <= order * rho, *bounded)
    counts = Symbols().read(CountGaussianEvent.rho)
    for moves in (1, 2):
        on_counts = counts(SimpleNamespace(scale=sigma, moves=moves))
        proved(order * moves / (2 * sigma**2) <= order * on_counts, sigma > 0, order > 1)
    floats = itertools.product(small_floats(-6, 6, 3), (1, 2))
    code_agrees(
        floats,
        lambda pair: arb(CountGaussianEvent(*pair).rho) >= arb(pair[1]) / (2 * arb(pair[0]) ** 2),
    )


@pytest.mark.refutes("gauss-zcdp")
def test_the_cost_of_one_moved_count_is_too_small_for_two() -> None:
    sigma, order = z3.Reals("sigma order")
    rho = Symbols().read(CountGaussianEvent.rho)(SimpleNamespace(scale=sigma, moves=1))
    counterexample(order * 2 / (2 * sigma**2) <= order * rho, sigma > 0, order > 1)
