"""Pure noise on a lattice: what laws that need no delta have in common."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Self

from discreet.errors import CertificateError
from discreet.mechanisms.additive.noise import Noise, Query
from discreet.mechanisms.lattice import SHARE, certify_rounded, lattice_step
from discreet.numerics import check_positive, check_whole, up
from discreet.privacy.accounting import PureEvent
from discreet.privacy.certificate import Certificate
from discreet.privacy.relation import Relation
from discreet.randomness import check_scale


@dataclass(frozen=True)
class PureNoise(Noise):
    """Noise whose law changes by at most exp(1 / scale) for a query that moves a step in ``norm``."""

    certificate: Certificate
    relation: Relation
    epsilon: float
    step: float
    sensitivity: int
    delta: float = 0.0

    needs_delta = False

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_positive("step", self.step)
        check_whole("sensitivity", self.sensitivity, 1)
        check_scale(self.scale)
        moved = self.moved(self.certificate, self.relation) / self.step
        if self.sensitivity < math.floor(moved):  # a query moves by whole steps
            raise CertificateError(
                f"{self.sensitivity} steps of {self.step!r} are less than the certificate's "
                f"{self.norm.capitalize()} bound."
            )

    @classmethod
    def for_counts(cls, query: Query) -> Self:
        """See ``Noise``."""
        # Whole counts move by a whole number, so what a bound has beyond one is rounding.
        moved = max(1, math.floor(cls.moved(query.certificate, query.relation)))
        return cls(query.certificate, query.relation, query.epsilon, 1.0, moved)

    @classmethod
    def for_shares(cls, query: Query) -> Self:
        """See ``Noise``."""
        moved = math.ceil(cls.moved(query.certificate, query.relation) / SHARE)
        return cls(query.certificate, query.relation, query.epsilon, SHARE, moved)

    @classmethod
    def for_sums(cls, query: Query) -> Self:
        """See ``Noise``.

        Guarantees:
          - Pays one step per coordinate for the record's own rounding and one for every row of its
            batch. [lattice]
        """
        wide = cls.coarsening(query.certificate.size)
        ideal = cls.moved(query.certificate, query.relation) / query.epsilon
        step = lattice_step(wide * ideal, query.largest_sum)
        rounded = certify_rounded(query.certificate, step, query.batch_rows)
        moved = math.ceil(cls.moved(rounded, query.relation) / step)
        return cls(rounded, query.relation, query.epsilon, step, moved)

    @classmethod
    def moved(cls, certificate: Certificate, relation: Relation) -> float:
        """Return how far neighbours are from each other, in the norm that the noise is made for."""
        return certificate.sensitivity(cls.norm, relation)

    @classmethod
    def coarsening(cls, size: int) -> float:
        """Return how many times as coarse a lattice so many coordinates need for noise to fit it."""
        return 1.0

    @property
    def scale(self) -> float:
        """The noise scale in steps, rounded up."""
        return up(self.sensitivity / self.epsilon)

    @property
    def event(self) -> PureEvent:
        """What the accountant is told."""
        return PureEvent(self.epsilon, self.name)

    @property
    def events(self) -> tuple[PureEvent]:
        """The one event, as a stage tells it."""
        return (self.event,)
