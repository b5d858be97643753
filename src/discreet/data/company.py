"""What is known of answers that code which is not ours gives to several rows at once."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from discreet.data.calls import Pulse
from discreet.privacy.certificate import NOT_PROVEN, Certificate, Grade
from discreet.privacy.relation import Relation


@dataclass(frozen=True)
class Standing:
    """How much is known, and how far an answer may move with the rows beside it.

    Args:
      grade: see ``Guarantee``.
      drift: how far another row's answer may move; zero where it cannot, to the last bit.
      assumptions: what is taken on trust, in words.
    """

    grade: Grade = "proven"
    drift: float = 0.0
    assumptions: tuple[str, ...] = ()

    def mark(self, certificate: Certificate) -> Certificate:
        """Return the certificate of a sum over records whose vectors are made of such answers."""
        return certificate.graded(self.grade, *self.assumptions)


PROVEN = Standing()


@dataclass(frozen=True)
class Company:
    """What is known where rows keep their places in a call (replace-one) and where they may not.

    ``moved`` is asked for only if it is needed: it may have to try a model out. ``pulse`` tells whether
    the code still answers.
    """

    kept: Standing
    moved: Callable[[], Standing]
    pulse: Pulse = field(default_factory=Pulse)

    @classmethod
    def of(cls, standing: Standing, pulse: Pulse | None = None) -> Company:
        """Return what is the same under both relations."""
        return cls(standing, lambda: standing, pulse or Pulse())

    def under(self, relation: Relation) -> Standing:
        """Return what is known under a relation."""
        return self.kept if Relation(relation).keeps_places else self.moved()


def probed(drift: float, batches: int, whose: str = "model") -> Standing:
    """Return the standing of code that was tried on so many public batches."""
    return Standing(
        "probed",
        drift,
        (
            f"the {whose} answers each row by itself: probed on {batches} public batches{NOT_PROVEN}",
            f"an answer of the {whose} moves by at most {drift:.6g} with the rows beside it",
        ),
    )


def isolated(drift: float = 0.0) -> Standing:
    """Return the standing of code that is asked for one record at a time."""
    return Standing(
        "isolated",
        drift,
        (f"the model keeps nothing from one call to the next: tried on public rows{NOT_PROVEN}",),
    )
