"""Pure noise on a lattice: what Laplace and box noise have in common."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

from discreet.errors import CertificateError
from discreet.numerics import check_positive, check_whole, up
from discreet.privacy.accounting import PureEvent
from discreet.privacy.certificate import Certificate, Norm
from discreet.privacy.relation import Relation
from discreet.randomness import check_scale


@dataclass(frozen=True)
class PureNoise:
    """Noise whose law changes by at most exp(1 / scale) for a query that moves a step in ``norm``."""

    certificate: Certificate
    relation: Relation
    epsilon: float
    step: float
    sensitivity: int
    delta: float = 0.0

    name: ClassVar[str]
    norm: ClassVar[Norm]

    def __post_init__(self) -> None:
        check_positive("epsilon", self.epsilon)
        check_positive("step", self.step)
        check_whole("sensitivity", self.sensitivity, 1)
        check_scale(self.scale)
        moved = self.certificate.sensitivity(self.norm, self.relation) / self.step
        if self.sensitivity < math.floor(moved):  # a query moves by whole steps
            raise CertificateError(
                f"{self.sensitivity} steps of {self.step!r} are less than the certificate's "
                f"{self.norm.capitalize()} bound."
            )

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
