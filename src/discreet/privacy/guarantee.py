"""What a release promises, with what it rests on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from discreet.markup import card, soft
from discreet.privacy.certificate import GRADES, NOT_PROVEN, Grade
from discreet.privacy.relation import Relation
from discreet.privacy.statements import statements_html

_GRADES_TOLD: Mapping[Grade, str] = {
    "proven": "all code that was asked is known to answer each row by itself",
    "isolated": "a model was asked for one record at a time",
    "probed": "a model was tried on public rows alone",
}

FILLED = "the model is shown missing and unlisted values of"
"""How a text begins that names what a model without NaN is shown instead."""

CODED = "the model is shown codes of"
"""How a text begins that tells the codes of categories, of which a model knows no more."""

ANSWERED = "answered by"
"""How a text begins that names the question that was asked in place of another, and why."""

MODEL_DEAD = "the model failed on public rows, too: all answers were filled, and speak of no record"


@dataclass(frozen=True)
class Guarantee:
    """What a release promises: (epsilon, delta)-differential privacy of one record.

    ``grade`` says how much is known of a model or a function that was asked: ``proven`` (our own code,
    or parts of scikit-learn that are known to answer every row by itself), ``isolated`` (asked for one
    record at a time; it must keep nothing between calls), ``probed`` (tried on public rows). [grades]
    ``rho`` is stated where the data set counts it: the release is rho-zero-concentrated private as
    well. It speaks of this release; what all releases keep together is the registered budget.
    """

    epsilon: float
    delta: float
    relation: Relation
    statements: tuple[str, ...] = ()
    assumptions: tuple[str, ...] = ()
    certified: bool = True
    simulation: bool = False
    protects: str = "one record of the table"
    grade: Grade = "proven"
    rho: float | None = None

    def __post_init__(self) -> None:
        if self.grade not in GRADES:
            raise ValueError(f"grade must be one of {', '.join(GRADES)}, got {self.grade!r}.")

    def __str__(self) -> str:
        if self.simulation:
            return "simulation with seeded noise: no privacy"
        kind = f"epsilon={self.epsilon:.12g}"
        kind += f", delta={self.delta:.12g}" if self.delta else " (pure)"
        if self.rho is not None:
            kind = f"rho={self.rho:.6g} and {kind}"
        proof = "certified" if self.certified else "NOT certified"
        if self.certified and self.grade != "proven":
            told = [text for text in self.assumptions if text.endswith(NOT_PROVEN)]
            proof = "provided " + ("; ".join(told) or f"its assumptions hold{NOT_PROVEN}")
        shown = (ANSWERED, MODEL_DEAD, FILLED, CODED)
        named = [text for text in self.assumptions if text.startswith(shown)]
        beside = "".join(f"; {text}" for text in named)
        return f"{kind} for {self.protects}, {self.relation}, {proof}{beside}"

    def __repr__(self) -> str:
        return f"Guarantee({self})"

    def _repr_html_(self) -> str:
        told = [soft(f"assumes: {text}") for text in self.assumptions]
        grade = soft(f"{self.grade}: {_GRADES_TOLD[self.grade]}")
        return card(str(self), grade, *told, statements_html(self.statements))

    def to_json(self) -> dict[str, Any]:
        """Return the promise as plain data."""
        told = {} if self.rho is None else {"rho": self.rho}
        return {
            **told,
            "epsilon": self.epsilon,
            "delta": self.delta,
            "relation": self.relation,
            "statements": list(self.statements),
            "assumptions": list(self.assumptions),
            "certified": self.certified,
            "simulation": self.simulation,
            "protects": self.protects,
            "grade": self.grade,
        }

    @classmethod
    def from_json(cls, plain: Mapping[str, Any]) -> Guarantee:
        """Read a promise back; one from before there were grades has what its assumptions tell."""
        fields = dict(plain)
        for name in ("statements", "assumptions"):
            fields[name] = tuple(fields[name])
        if "grade" not in fields:
            probed = any("rows beside it" in text for text in fields["assumptions"])
            fields["grade"] = "probed" if probed else "proven"
        return cls(**fields)
