"""What every noise on sums and counts can be asked, whatever its law.

A query arrives as whole numbers of a lattice step, noise is a whole number of steps, the sum is
released times the step. Counts have step 1; real-valued sums have a step so fine that the noise has a
density for every purpose but one: no output of a table is impossible for its neighbour. [lattice]

A law is one module with one class. It is calibrated by ``for_counts`` and ``for_sums`` and answers for
itself what others need of it, so that nobody asks for its name; ``registry`` knows all of them.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar, Literal

import numpy as np
from numpy.random import Generator
from numpy.typing import NDArray

from discreet.errors import ArgumentError
from discreet.privacy.accounting import Event
from discreet.privacy.certificate import Certificate, Norm
from discreet.privacy.relation import MOST_GROUPS, Relation
from discreet.randomness import IntArray, NoiseSource

FloatArray = NDArray[np.float64]

LawName = Literal["laplace", "linf", "gaussian"]
"""The names of the registry, for readers of signatures."""


@dataclass(frozen=True)
class Query:
    """What noise is calibrated to: what was proven of a query, and the promise.

    Args:
      certificate: bounds on the exact sum.
      relation: the neighbouring relation.
      epsilon: the promise.
      delta: zero for a pure promise.
      largest_sum: no coordinate of a real-valued sum exceeds this in absolute value (public).
      batch_rows: rows whose rounding may flip with a record: those that share a model call with it.
    """

    certificate: Certificate
    relation: Relation
    epsilon: float
    delta: float = 0.0
    largest_sum: float = 0.0
    batch_rows: int = 0

    def sensitivity(self, norm: Norm) -> float:
        """Return how far neighbours move the exact sum."""
        return self.certificate.sensitivity(norm, self.relation)

    @property
    def moved_coordinates(self) -> int:
        """How many coordinates neighbours can move, those of all groups together.

        Rows that share a model call with a record may be in any group, and move its coordinates too; so
        may rows that share a record.
        """
        relation = Relation(self.relation)
        touched = relation.groups_touched if relation.whole else MOST_GROUPS
        groups = 1 if touched == 1 else min(MOST_GROUPS, touched + self.batch_rows)
        return self.certificate.size * groups


class Noise(ABC):
    """Noise of one law, calibrated: on each coordinate of a sum, in ``scale`` steps of a lattice.

    ``name`` is what users ask for and releases say; ``norm`` that of the sensitivity the scale is
    proportional to; ``needs_delta`` whether there is none without a delta; ``independent`` whether the
    noises of different coordinates have nothing to do with each other; ``normal`` whether noises add
    up to noise of the same law, the normal one.
    """

    name: ClassVar[LawName]
    norm: ClassVar[Norm]
    needs_delta: ClassVar[bool]
    independent: ClassVar[bool] = True
    normal: ClassVar[bool] = False

    certificate: Certificate
    relation: Relation
    epsilon: float
    delta: float
    step: float

    if TYPE_CHECKING:  # a field of one law, a property of another

        @property
        def scale(self) -> float:
            """The parameter of the law, in steps."""

    @classmethod
    @abstractmethod
    def for_counts(cls, query: Query) -> Noise:
        """Calibrate for whole counts, on the lattice of step one."""

    @classmethod
    @abstractmethod
    def for_shares(cls, query: Query) -> Noise:
        """Calibrate for counts of parts of records, on the lattice of parts.

        Guarantees:
          - Parts are whole and those of a person add up to one record: nothing is rounded, and her
            cells move as far as a record's. [person-weights]
        """

    @classmethod
    @abstractmethod
    def for_sums(cls, query: Query) -> Noise:
        """Calibrate for real contributions, rounded row by row to a lattice.

        Guarantees:
          - The certificate that is used is that of the rounded sum: one step per coordinate for the
            record's own rounding and one for every row of its batch. [lattice]
        """

    @property
    @abstractmethod
    def events(self) -> Sequence[Event]:
        """What the accountant is told."""

    @property
    @abstractmethod
    def std(self) -> float:
        """The standard deviation of one released value."""

    @property
    @abstractmethod
    def mean_deviation(self) -> float:
        """The mean absolute value of the noise, in standard deviations."""

    @abstractmethod
    def half_width(self, level: float) -> float:
        """Return h such that a released value is within h of the exact one with probability level."""

    def half_width_of_sums(self, level: float) -> float:
        """Return such an h for all sums of released values with weights of length one.

        Of all such sums of independent noises a single term is the farthest out.
        """
        return self.half_width(level)

    def half_width_of_two(self, weight: float, level: float) -> float:
        """Return such an h for one released value plus ``weight`` times another."""
        if weight == 0:
            return self.half_width(level)
        return self.half_width_of_sums(level) * math.sqrt(1 + weight**2)

    @abstractmethod
    def mean_greatest(self, size: int) -> float:
        """Return a bound on the mean of the greatest of so many noises."""

    @abstractmethod
    def mean_farthest(self, size: int) -> float:
        """Return a bound on the mean of the greatest absolute value of so many noises."""

    @abstractmethod
    def simulate(self, generator: Generator, draws: int, size: int) -> FloatArray:
        """Return draws x size noises from a public generator: for rehearsals, never for releases."""

    @abstractmethod
    def release(self, raw_steps: IntArray, source: NoiseSource) -> FloatArray:
        """Return the query with noise, as values."""


def whole_steps(raw_steps: IntArray) -> IntArray:
    """Return a query as whole lattice steps, or raise."""
    steps = np.asarray(raw_steps)
    if steps.ndim != 1 or steps.dtype.kind not in "iu":
        raise ArgumentError("A query must be a vector of whole lattice steps.")
    return steps.astype(np.int64, copy=False)
