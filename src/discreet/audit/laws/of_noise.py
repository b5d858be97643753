"""Noise on counts and on sums, and randomised response: exact laws on a window, for every move.

An input is how far the query has moved, in steps: the noise does not depend on where it starts.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from functools import cache

import numpy as np

from discreet.audit.laws.divergence import FloatArray, Law
from discreet.audit.laws.subject import Promise, Subject
from discreet.errors import ArgumentError
from discreet.mechanisms import GaussianNoise, LaplaceNoise, LinfNoise, Noise
from discreet.mechanisms.additive.balanced import BalancedLaplaceNoise
from discreet.numerics import check_positive, check_whole
from discreet.privacy.accounting import PureEvent
from discreet.randomness import IntArray

Move = tuple[int, ...]
LawOf = Callable[[Move], Law]

_TAIL = 30.0
"""Windows hold so many noise scales on each side: exp(-30) is left out."""

_NEAR = 10.0
"""Windows of several coordinates at once hold so many; what lies beyond is one outcome."""

_FINE = 1_024
"""Runs of steps per noise scale into which a fine lattice is divided."""


def noise_subject(noise: Noise) -> Subject:
    """Return noise with its exact law, for all moves that its certificate allows at most.

    A query on a coarse lattice is laid out step by step, for up to two coordinates (K-norm noise:
    three). On a fine lattice one coordinate is laid out, in runs of steps.
    """
    make = _balanced if isinstance(noise, BalancedLaplaceNoise) else LAWS.get(noise.name)
    if make is None:
        raise ArgumentError(
            f"noise must be one of {', '.join(LAWS)}, got {noise.name!r}. A new noise needs an "
            "entry in LAWS of discreet.audit.laws.of_noise."
        )
    law, moves = make(noise)
    promise = Promise(noise.epsilon, noise.delta, tuple(noise.events))
    rest = (0,) * len(moves[0])
    size = f"{len(rest)} coordinate" + "s" * (len(rest) > 1)
    where = "on a lattice" if _fine(noise) else "of counts"
    name = f"{noise.name} noise, {noise.relation}, {size} {where}"
    return Subject(name, law, promise, lambda: [(rest, move) for move in moves])


def _fine(noise: Noise) -> bool:
    return noise.scale > 16


def _independent(noise: Noise) -> tuple[LawOf, list[Move]]:
    """Return the joint law of independent noises, and the moves of the certificate."""
    assert isinstance(noise, LaplaceNoise | GaussianNoise)
    if _fine(noise):
        return _in_runs(noise), [(_most_steps(noise),)]
    moved = math.floor(noise.certificate.sensitivity("l1", noise.relation))
    size = min(noise.certificate.size, 2)
    window = np.arange(-math.ceil(_TAIL * noise.scale), math.ceil(_TAIL * noise.scale) + 1)

    def law(move: Move) -> FloatArray:
        each = [noise.probabilities(window - m) for m in move]
        return each[0] if len(each) == 1 else np.multiply.outer(each[0], each[1])

    # A replaced record leaves one cell for another; one that comes or goes is in one of them.
    return law, list(_signed(moved, size))


def _signed(moved: int, size: int) -> Iterator[Move]:
    """Yield the moves of whole counts, each by one at most, that add up to ``moved`` in all."""
    for move in itertools.product((-1, 0, 1), repeat=size):
        if sum(map(abs, move)) == min(moved, size):
            yield move


def _most_steps(noise: Noise) -> int:
    """Return how many steps the one coordinate that is laid out moves by."""
    return math.floor(noise.certificate.sensitivity(noise.norm, noise.relation) / noise.step)


def _in_runs(noise: Noise) -> LawOf:
    """Return the law of one coordinate on a fine lattice, rounded down to runs of steps.

    Rounding what is released loses nothing but what differs inside a run.
    """
    run, below = noise.scale / _FINE, _BELOW[noise.name]
    edges = np.rint(run * np.arange(-_TAIL * _FINE, _TAIL * _FINE + 1))

    def law(move: Move) -> FloatArray:
        low, high = (edges[:-1] - move[0]) / noise.scale, (edges[1:] - move[0]) / noise.scale
        # Above the middle differences of tails, which keep the digits that those of chances lose.
        inside = np.where(low >= 0, below(-low) - below(-high), below(high) - below(low))
        return np.concatenate([below(low[:1]), np.maximum(inside, 0.0), below(-high[-1:])])

    return law


def _laplace_cdf(z: FloatArray) -> FloatArray:
    return np.asarray(np.where(z < 0, 0.5 * np.exp(-np.abs(z)), 1 - 0.5 * np.exp(-np.abs(z))))


def _normal_cdf(z: FloatArray) -> FloatArray:
    from scipy.special import ndtr

    return np.asarray(ndtr(z))


_BELOW = {"laplace": _laplace_cdf, "linf": _laplace_cdf, "gaussian": _normal_cdf}
"""P(Z < z scales) on a fine lattice; K-norm noise on one coordinate is Laplace noise."""


def _balanced(noise: Noise) -> tuple[LawOf, list[Move]]:
    """Return the law of noise that adds up to nothing, of two cells or three; the last is left out."""
    size = 2 if _fine(noise) else min(max(noise.certificate.size, 2), 3)
    half = math.ceil(_TAIL * noise.scale / size)
    free = np.stack(np.meshgrid(*[np.arange(-half, half + 1)] * (size - 1)))

    def law(move: Move) -> FloatArray:
        away = sum(np.abs(part - m) for part, m in zip(free, move[:-1], strict=True))
        weights = np.exp(-(away + np.abs(free.sum(axis=0) + move[-1])) / noise.scale)
        return np.asarray(weights / weights.sum()).ravel()

    moves = itertools.permutations((1, -1) + (0,) * (size - 2))
    return law, sorted(set(moves))


def _cubes(noise: Noise) -> tuple[LawOf, list[Move]]:
    """Return the law of K-norm noise: that of the cubes it is drawn from, rounded as a release is."""
    assert isinstance(noise, LinfNoise)
    moved, size = _most_steps(noise), noise.certificate.size
    if _fine(noise):
        check_whole("the number of coordinates on a fine lattice", size, 1, 1)
        return _in_runs(noise), [(moved,)]
    check_whole("the number of coordinates", size, 1, 3, "More have too many outcomes to lay out.")
    known = rounded_cubes(noise, size) if size < 3 else whole_cubes(noise)
    moves = itertools.combinations_with_replacement((moved, 0, -moved), size)
    return known, [move for move in moves if any(move)]


def whole_cubes(noise: LinfNoise) -> LawOf:
    """Return P(z) proportional to exp(-max|z| / scale) of three coordinates, on whole steps."""
    line = _line(noise)
    widths = np.arange(8 * len(line))
    shells = (2.0 * widths + 1) ** 3 - np.maximum(2.0 * widths - 1, 0) ** 3
    normal = math.fsum(shells * np.exp(-widths / noise.scale))

    def law(move: Move) -> FloatArray:
        x, y, z = (np.abs(line - m) for m in move)
        greatest = np.maximum(np.maximum.outer(x, y)[:, :, None], z)
        return _with_rest(np.exp(-greatest / noise.scale) / normal)

    return law


def rounded_cubes(noise: LinfNoise, size: int) -> LawOf:
    """Return the law of K-norm noise that is drawn on a finer lattice and rounded to whole steps.

    Cubes of half width r have weight exp(-r / fine scale) per point; a cell of whole steps gets the
    points of it that a cube has, coordinate by coordinate.
    """
    parts, line = noise.parts, _line(noise)
    radii = np.arange(parts * noise.scale * (_NEAR + _TAIL))
    weight = np.exp(-radii / (noise.scale * parts))
    normal = math.fsum((2.0 * radii + 1) ** size * weight)

    @cache
    def shares(move: int) -> FloatArray:
        first = (parts * (line - move) - parts // 2)[:, None].astype(np.float64)
        return np.asarray(np.clip(radii + 1 - first, 0, parts) - np.clip(-radii - first, 0, parts))

    def law(move: Move) -> FloatArray:
        # No matrix product: where many processes share few cores, its threads wait for each other.
        weighed = shares(move[0]) * weight
        whole = weighed.sum(axis=1) if size == 1 else np.einsum("ir,jr->ij", weighed, shares(move[1]))
        return _with_rest(np.asarray(whole / normal))

    return law


def _line(noise: LinfNoise) -> IntArray:
    half = math.ceil(_NEAR * noise.scale)
    return np.arange(-half, half + 1)


def _with_rest(window: FloatArray) -> FloatArray:
    """Return the law on a window, and all that lies beyond it as one outcome."""
    return np.append(window.ravel(), max(0.0, 1.0 - math.fsum(window.ravel().tolist())))


LAWS: Mapping[str, Callable[[Noise], tuple[LawOf, list[Move]]]] = {
    "laplace": _independent,
    "gaussian": _independent,
    "linf": _cubes,
}
"""How the exact law of each noise is laid out, by the names of the registry of noises."""


def response_subject(epsilon: float, values: int = 2) -> Subject:
    """Return randomised response over some values: all of its loss is known in closed form."""
    check_positive("epsilon", epsilon)
    check_whole("values", values, 2)
    lie = 1 / (math.exp(epsilon) + values - 1)

    def law(answer: int) -> FloatArray:
        found = np.full(values, lie)
        found[answer] = 1 - (values - 1) * lie
        return found

    promise = Promise(epsilon, 0.0, (PureEvent(epsilon, "randomised response"),))
    pairs = list(itertools.combinations(range(values), 2))
    return Subject(f"randomised response, {values} values", law, promise, lambda: pairs)
