"""Moments of columns: no two records are further apart than certified; the nearest matrix is nearer."""

from __future__ import annotations

import itertools

import numpy as np
import pytest

from discreet.privacy.certificate import NORMS, Box
from discreet.privacy.relation import ADD_REMOVE, RELATIONS, REPLACE_ONE
from discreet.statistics.moments import certify_moments, moments_of, nearest_covariance
from tests.statistics.test_shares import moved

BOX = Box(-1.0, 1.0)


def vectors(columns: int, sized: bool) -> np.ndarray:
    """Return the vectors of records on a grid, with the places where a pair is farthest apart."""
    grid = [-1.0, -0.15, 0.0, 0.15, 1.0] if columns > 1 else np.linspace(-1, 1, 201)
    points = np.array(list(itertools.product(grid, repeat=columns)))
    found = moments_of(list(points.T), [BOX] * columns, sized)
    return np.vstack([found, np.zeros(found.shape[1])]) if sized else found


@pytest.mark.proves("moments")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("sized", [False, True])
@pytest.mark.parametrize("columns", [1, 2, 3])
def test_records_stay_within_the_certificate(columns: int, sized: bool, relation: str) -> None:
    found, proven = vectors(columns, sized), certify_moments(columns, sized=sized)
    assert found.shape[1] == proven.size and np.abs(found).max() <= 1
    for norm in NORMS:
        bound = proven.sensitivity(norm, relation)
        assert 0.75 * bound <= moved(found, relation, norm) <= bound


@pytest.mark.proves("moments")
def test_the_constants_of_one_column_are_above_their_exact_maxima() -> None:
    """At r = (24 - sqrt 32) / 16 the square is greatest; at 5/4 the sum."""
    from decimal import Decimal, localcontext

    from discreet.statistics.moments import _L1_EACH, _L2_EACH

    with localcontext(prec=40):
        r = (24 - Decimal(32).sqrt()) / 16
        assert r**2 * (1 + 4 * (2 - r) ** 2) < Decimal(_L2_EACH)
    assert Decimal("1.25") * (1 + 2 * Decimal("0.75")) <= Decimal(_L1_EACH)


@pytest.mark.proves("moments")
def test_a_climber_finds_nothing_further() -> None:
    draw, proven = np.random.default_rng(3), certify_moments(4, sized=False)
    for norm, order in (("l1", 1), ("l2", 2)):
        best, pair = 0.0, draw.uniform(-1, 1, (2, 4))
        for _ in range(4_000):
            other = np.clip(
                pair + draw.normal(0, 0.3, pair.shape) * (draw.random(pair.shape) < 0.4), -1, 1
            )
            a, b = moments_of(list(other.T), [BOX] * 4, False)
            if (far := float(np.linalg.norm(a - b, order))) > best:
                best, pair = far, other
        assert 0.8 * proven.sensitivity(norm, REPLACE_ONE) < best  # type: ignore[arg-type]
        assert best <= proven.sensitivity(norm, REPLACE_ONE)  # type: ignore[arg-type]


@pytest.mark.refutes("moments")
def test_bounds_of_corners_alone_are_caught() -> None:
    """Planted: 2 d + floor(d^2 / 2), which holds at the corners of the ranges; the worst is inside."""
    for columns in (1, 2, 3):
        corners = 2 * columns + 2 * (columns**2 // 4)
        assert moved(vectors(columns, False), REPLACE_ONE, "l1") > corners


@pytest.mark.refutes("moments")
def test_a_size_for_free_is_caught() -> None:
    free = certify_moments(2, sized=False).sensitivity("l1", ADD_REMOVE)
    assert moved(vectors(2, True), ADD_REMOVE, "l1") > free


@pytest.mark.proves("nearest-psd")
def test_the_nearest_matrix_is_never_further_from_a_covariance() -> None:
    draw = np.random.default_rng(5)
    for _ in range(200):
        rows = draw.normal(size=(4, 3))
        exact = rows.T @ rows
        noisy = exact + (noise := draw.normal(0, 2.0, (3, 3))) + noise.T
        mended = nearest_covariance(noisy)
        assert np.linalg.eigvalsh(mended)[0] >= -1e-9
        assert np.linalg.norm(mended - exact) <= np.linalg.norm(noisy - exact) + 1e-9


@pytest.mark.refutes("nearest-psd")
def test_absolute_eigenvalues_are_caught() -> None:
    """Planted: eigenvalues turned to positive ones are further off where noise made them negative."""
    exact, noisy = np.zeros((2, 2)), np.diag([-1.0, 0.5])
    values, axes = np.linalg.eigh(noisy)
    turned = (axes * np.abs(values)) @ axes.T
    assert np.linalg.norm(turned - exact) == pytest.approx(np.linalg.norm(noisy - exact))
    assert np.linalg.norm(nearest_covariance(noisy) - exact) < np.linalg.norm(turned - exact)
