"""What is known of third-party code that is asked for several rows at once, and what that costs.

Libraries do not promise that a row's answer is the same to the last bit whatever rows share its call:
matrix products are tiled, sums vectorised. How far it may move is its *batch error*. A contribution
that calls such code says how far a coordinate moves per unit of an answer, its *Lipschitz constant*;
``plans.stages.sums`` pays for the product, once for every row of a batch.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from discreet.data.calls import Pulse
from discreet.numerics import check_positive, up
from discreet.privacy.certificate import NOT_PROVEN, Certificate, Grade
from discreet.privacy.relation import Relation


@dataclass(frozen=True)
class Evidence:
    """How much is known, and how far an answer may move with the rows of its batch.

    Args:
      grade: see ``Guarantee``.
      batch_error: how far another row's answer may move; zero where it cannot, to the last bit.
      assumptions: what is taken on trust, in words.
    """

    grade: Grade = "proven"
    batch_error: float = 0.0
    assumptions: tuple[str, ...] = ()

    def mark(self, certificate: Certificate) -> Certificate:
        """Return the certificate of a sum over records whose vectors are made of such answers."""
        return certificate.graded(self.grade, *self.assumptions)


PROVEN = Evidence()


@dataclass(frozen=True)
class ThirdParty:
    """What is known where rows keep their places in a call (replace-one) and where they may not.

    ``moved`` is asked for only if it is needed: it may have to try a model out. ``pulse`` tells whether
    the code still answers.
    """

    kept: Evidence
    moved: Callable[[], Evidence]
    pulse: Pulse = field(default_factory=Pulse)

    @classmethod
    def of(cls, evidence: Evidence, pulse: Pulse | None = None) -> ThirdParty:
        """Return what is the same under both relations."""
        return cls(evidence, lambda: evidence, pulse or Pulse())

    def under(self, relation: Relation) -> Evidence:
        """Return what is known under a relation."""
        return self.kept if Relation(relation).keeps_places else self.moved()


@dataclass(frozen=True)
class ModelCalls:
    """The calls of a model that a contribution makes, and what they may do to one coordinate.

    Args:
      code: what is known of the model; None if code of ours evaluates it, row by row.
      lipschitz: how far a coordinate moves per unit by which all answers of its record move, at most:
        1 for an answer, 2 for a difference of two, twice the greatest answer for a square.
    """

    code: ThirdParty | None
    lipschitz: float

    def __post_init__(self) -> None:
        check_positive("lipschitz", self.lipschitz, "It is how far a coordinate moves with an answer.")

    def evidence(self, relation: Relation) -> Evidence:
        """Return what is known of the answers under a relation."""
        return PROVEN if self.code is None else self.code.under(relation)

    def batch_error(self, relation: Relation) -> float:
        """Return how far a coordinate of another record may move with a record of its batch."""
        moved = self.evidence(relation).batch_error
        return up(moved * self.lipschitz) if moved else 0.0


def probed(batch_error: float, batches: int, whose: str = "model") -> Evidence:
    """Return the standing of code that was tried on so many public batches."""
    return Evidence(
        "probed",
        batch_error,
        (
            f"the {whose} answers each row by itself: probed on {batches} public batches{NOT_PROVEN}",
            f"an answer of the {whose} moves by at most {batch_error:.6g} with the rows beside it",
        ),
    )


def isolated(batch_error: float = 0.0) -> Evidence:
    """Return the standing of code that is asked for one record at a time."""
    return Evidence(
        "isolated",
        batch_error,
        (f"the model keeps nothing from one call to the next: tried on public rows{NOT_PROVEN}",),
    )
