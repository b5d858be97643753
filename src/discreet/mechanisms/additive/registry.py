"""All noises for sums and counts, by the names that users write and releases say.

A new one is a module with a class of the ``Noise`` kind, and its line here.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Literal

from discreet.errors import ArgumentError
from discreet.mechanisms.additive.gaussian import GaussianNoise
from discreet.mechanisms.additive.laplace import LaplaceNoise
from discreet.mechanisms.additive.linf import LinfNoise
from discreet.mechanisms.additive.noise import LawName, Noise, Query
from discreet.numerics import check_choice, check_positive, check_probability, check_whole
from discreet.privacy.certificate import Certificate
from discreet.privacy.relation import Relation

NoiseName = Literal["auto"] | LawName

NOISES: Mapping[LawName, type[Noise]] = {
    "laplace": LaplaceNoise,
    "linf": LinfNoise,
    "gaussian": GaussianNoise,
}
"""All there are; of two that are equally good ``auto`` takes the first."""


def noise_names() -> tuple[str, ...]:
    """Return what may be asked for."""
    return ("auto", *NOISES)


def laws_for(mechanism: NoiseName, delta: float, *, joint: bool = False) -> tuple[LawName, ...]:
    """Return the laws to compare: the one that was asked for, or those ``auto`` may take.

    Args:
      mechanism: what was asked for.
      delta: zero leaves the pure ones.
      joint: whether noises of different coordinates may have to do with each other.
    """
    check_choice("mechanism", mechanism, noise_names())
    if mechanism != "auto":
        return (mechanism,)
    return tuple(
        name
        for name, law in NOISES.items()
        if (law.independent or joint) and (delta > 0 or not law.needs_delta)
    )


def asks_for_pure(mechanism: NoiseName) -> bool:
    """Say whether a law was asked for that has no use for a delta."""
    return mechanism != "auto" and not NOISES[mechanism].needs_delta


def count_noise(
    certificate: Certificate,
    *,
    relation: Relation,
    epsilon: float,
    delta: float = 0.0,
    mechanism: NoiseName = "auto",
) -> Noise:
    """Return noise for whole counts: discrete Laplace, or discrete Gaussian if delta allows.

    ``auto`` takes the one with the smaller standard deviation. Where the rows of a person share one
    record, parts of records are counted, on a lattice of parts.
    """
    query, whole = Query(certificate, relation, epsilon, delta), Relation(relation).whole
    made: Callable[[type[Noise]], Noise] = (
        (lambda law: law.for_counts(query)) if whole else (lambda law: law.for_shares(query))
    )
    return _least(query, mechanism, False, made)


def sum_noise(
    certificate: Certificate,
    *,
    relation: Relation,
    epsilon: float,
    delta: float = 0.0,
    mechanism: NoiseName = "auto",
    largest_sum: float,
    batch_rows: int = 0,
    joint: bool = False,
) -> Noise:
    """Return noise for a sum of real contributions, rounded row by row to a lattice.

    Args:
      certificate: bounds on the exact sum.
      relation: the neighbouring relation.
      epsilon: the promise.
      delta: zero for a pure promise.
      mechanism: a law, or ``auto``: the smaller standard deviation.
      largest_sum: no coordinate of the sum exceeds this in absolute value (public).
      batch_rows: rows whose rounding may flip with a record: those that share a model call with it.
      joint: whether ``auto`` may take the K-norm (L-infinity) mechanism, on all coordinates at once:
        half the width of Laplace noise where a record moves many coordinates as far as any.

    Guarantees:
      - The certificate that is used is that of the rounded sum: one step per coordinate for the
        record's own rounding and one for every row of its batch. [lattice]
    """
    check_positive("largest_sum", largest_sum)
    check_whole("batch_rows", batch_rows, 0)
    query = Query(certificate, relation, epsilon, delta, largest_sum, batch_rows)
    return _least(query, mechanism, joint, lambda law: law.for_sums(query))


def rho_noise(
    certificate: Certificate,
    *,
    relation: Relation,
    rho: float,
    delta: float,
    largest_sum: float | None = None,
    batch_rows: int = 0,
) -> GaussianNoise:
    """Return Gaussian noise of so much rho: for a stage that is promised with others.

    Args:
      certificate: bounds on the exact sum.
      relation: the neighbouring relation.
      rho: its part of ``joint_rho``.
      delta: that of the plan: at some epsilon, which it tells, the noise keeps it by itself.
      largest_sum: see ``sum_noise``; None for counts, on the lattice of parts of records.
      batch_rows: see ``sum_noise``.
    """
    check_positive("rho", rho)
    query = Query(certificate, relation, 1.0, delta, largest_sum or 0.0, batch_rows)
    return GaussianNoise.of_rho(query, rho)


def _least(
    query: Query, mechanism: NoiseName, joint: bool, calibrate: Callable[[type[Noise]], Noise]
) -> Noise:
    """Return the law with the smallest standard deviation of those to compare."""
    check_choice("mechanism", mechanism, noise_names())
    check_positive("epsilon", query.epsilon)
    check_probability("delta", query.delta)
    found: list[Noise] = []
    for name in laws_for(mechanism, query.delta, joint=joint):
        law = NOISES[name]
        if law.needs_delta and query.delta == 0:
            raise ArgumentError(
                f"delta must be positive for the {name.capitalize()} mechanism, got 0. "
                "Give a delta, or use mechanism='laplace'."
            )
        try:
            found.append(calibrate(law))
        except ArgumentError:  # too much moves, delta is too small, or noise would be too wide
            if not found:
                raise
    return min(found, key=lambda noise: noise.std)
