"""Noisy sums of vectors that records contribute, with everything a model call adds to the bound.

``TableNoise`` perturbs the cells of tables of counts, some of which were chosen after a release.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, TypedDict

import numpy as np

from discreet.data import (
    SealedContribution,
    VectorContribution,
    WholeContribution,
)
from discreet.data.contributions import certify_tables
from discreet.errors import ArgumentError, ModelError
from discreet.mechanisms import Noise, NoiseName, count_noise, sum_noise
from discreet.mechanisms.additive.wrapped import CountsNoise
from discreet.mechanisms.lattice import SHARE, WEIGHED_RECORDS
from discreet.numerics import up
from discreet.plans import Setting, Stage
from discreet.privacy.certificate import Certificate
from discreet.privacy.relation import REPLACE_ONE, Relation
from discreet.randomness import IntArray, NoiseSource
from discreet.schema import FloatArray

_MOST_BATCH_ROWS = 2**30
"""Of so many rows the roundings that one record may flip are worth the whole range of a record."""


class SumTerms(TypedDict):
    """What every mechanism on a sum has to know of it besides the certificate."""

    relation: Relation
    largest_sum: float
    batch_rows: int


def sum_terms(
    contribution: VectorContribution | SealedContribution | WholeContribution,
    setting: Setting,
    *,
    statement: str,
) -> tuple[Certificate, SumTerms]:
    """Return the certificate of a sum of contributions, and the terms of noise on it.

    Guarantees:
      - The only payer for what a model's answers move with the rows of their batch: for each of those
        rows one step and its batch error times the Lipschitz constant; nothing where answers are known
        not to move. One step for every partner, and for every row that shares a record. [lattice]
        [pfi-rounding] [person-weights]
    """
    if not isinstance(contribution, VectorContribution):
        magnitude = contribution.region.magnitude
        return contribution.proven, SumTerms(relation=REPLACE_ONE, largest_sum=magnitude, batch_rows=0)
    rows = contribution.batch_rows(setting.relation, setting.most_rows)
    _check_batch(rows)
    paid = rows * contribution.batch_error(setting.relation)
    exact = contribution.certificate
    if not setting.relation.keeps_places and paid > exact.sensitivity("linf", setting.relation):
        raise ModelError(
            "model must answer in double precision under add-remove, where a person has several rows "
            "and where a value decides in which file a row is (keyed files, a shuffle), got answers "
            "that may move so far with the rows beside them that noise would have to hide that alone. "
            "Use replace-one and records in files without keys, convert it, or ask for one record at a "
            "time: dc.Model(..., isolated=True)."
        )
    certificate = _certify(contribution, setting, rows, statement)
    own = setting.relation.rounded_rows
    records = setting.most_rows if own == 1 else max(setting.most_rows, WEIGHED_RECORDS)
    largest = records * contribution.region.magnitude
    # Under add-remove rows are limited, however many share a record; else persons are.
    flipped = rows * (own if setting.relation.edits == 2 else 1)
    moved = flipped + contribution.partners + own - 1
    return certificate, SumTerms(relation=setting.relation, largest_sum=largest, batch_rows=moved)


def sum_stage(
    name: str,
    contribution: VectorContribution | SealedContribution | WholeContribution,
    setting: Setting,
    *,
    statement: str,
    epsilon: float,
    delta: float = 0.0,
    mechanism: NoiseName = "auto",
    joint: bool = False,
) -> Stage[Noise]:
    """Return the stage that adds up a contribution of every record; ``joint`` as in ``sum_noise``.

    Guarantees:
      - Pays for rounding, and for everything ``sum_terms`` names. [lattice]
    """
    certificate, terms = sum_terms(contribution, setting, statement=statement)
    promise = {"epsilon": epsilon, "delta": delta}
    noise = sum_noise(certificate, mechanism=mechanism, joint=joint, **promise, **terms)
    return Stage(name, contribution, noise)


def _certify(
    contribution: VectorContribution, setting: Setting, rows: int, statement: str
) -> Certificate:
    paid = rows * contribution.batch_error(setting.relation)
    calls = contribution.calls
    each = None if calls is None else calls.batch_error_together(setting.relation)
    together = None if each is None else up(rows * each)
    certificate = contribution.evidence(setting.relation).mark(
        contribution.certificate.widen(paid, statement, together=together)
    )
    return assume_rows(certificate, setting)


def _check_batch(rows: int) -> None:
    if rows > _MOST_BATCH_ROWS:
        raise ModelError(
            "model must be proven or isolated where a table may have more than 2^30 rows under "
            f"add-remove, got one whose answers may move with the rows beside it and {rows} rows: that "
            "could cost a record's whole range. Use replace-one, register fewer rows (most_rows=), or "
            "ask for one record at a time: dc.Model(..., isolated=True)."
        )


def assume_rows(certificate: Certificate, setting: Setting) -> Certificate:
    """Return the certificate, with what it takes on trust where the number of rows is private."""
    if setting.rows is not None:
        return certificate
    return certificate.assume(f"the table has at most {setting.most_rows} rows")


def records_noise(
    certificate: Certificate, setting: Setting, *, epsilon: float, delta: float, mechanism: NoiseName
) -> Noise:
    """Return noise on numbers of records, none of them greater than that of all."""
    return sum_noise(
        assume_rows(certificate, setting),
        relation=setting.relation,
        epsilon=epsilon,
        delta=delta,
        mechanism=mechanism,
        largest_sum=float(setting.most_rows),
    )


@dataclass(frozen=True)
class TableNoise(CountsNoise):
    """Noise on the cells at ``places`` of a sum of counts; the places are public by now.

    Counts are whole, so they are multiples of the noise's finer lattice, and nothing is rounded.

    Guarantees:
      - As private as ``noise``, whatever earlier release chose the tables. [marginals] [laplace]
    """

    noise: Noise
    places: tuple[int, ...] = ()
    step: float = 1.0

    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the counts at the places with noise."""
        raw_counts = np.asarray(raw_steps)[list(self.places)]
        return self.noise.release(raw_counts * round(self.step / self.noise.step), source)


def table_noise(
    tables: int,
    size: int,
    setting: Setting,
    *,
    epsilon: float,
    delta: float = 0.0,
    mechanism: NoiseName = "auto",
) -> TableNoise:
    """Return noise for any so many tables with at most ``size`` cells together.

    Guarantees:
      - One record is in one cell of every table. [marginals]
      - Gaussian noise lives on a lattice far finer than a record. [gauss-lattice]
    """
    certificate = certify_tables(tables, size)
    promise: Any = {"epsilon": epsilon, "delta": delta, "mechanism": mechanism}
    if not setting.relation.whole:
        return TableNoise(count_noise(certificate, relation=setting.relation, **promise), step=SHARE)
    noise = records_noise(certificate, setting, **promise)
    if noise.step > 1:
        raise ArgumentError(f"epsilon must give noise below 2^45 records, got {epsilon!r} for tables.")
    return TableNoise(noise)
