"""What an audit of a model found, question by question."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Literal

if TYPE_CHECKING:
    import pandas as pd

Precision = Literal["double", "single", "short"]
"""Short answers, as labels and simple fractions, have no precision that could be told."""


@dataclass(frozen=True)
class AnsweredQuestion:
    """One question about a model.

    Args:
      question: in words.
      yes: the answer.
      needed: whether a certificate rests on it; the others are told for information.
      figure: how far answers moved, or what else was measured.
      allowed: how much of it is paid for.
      where: the batch that moved an answer farthest, or the like.
    """

    question: str
    yes: bool
    needed: bool
    figure: float
    allowed: float
    where: str = ""

    def __str__(self) -> str:
        where = f": {self.where}" if self.where else ""
        return (
            f"  {'yes' if self.yes else 'NO '} {self.question} "
            f"({self.figure:.4g}, {self.allowed:.4g} allowed){where}"
        )


@dataclass(frozen=True)
class ModelAudit:
    """Whether a model answers each row by itself, always alike, and as it is declared.

    Args:
      model: its text.
      form: what it was recognised as.
      questions: all of them.
      precision: of its answers.
      least: answer, before it is clipped.
      greatest: see ``least``.
      bounds: to which answers are clipped.
      batches: that were asked.
      calls: of the model, repeated ones included.
      rows: that it was asked about.
      refused: why a plan would not take it; empty if it would.
      seconds: that it took.
      partial: whether it was interrupted before its time.
    """

    model: str
    form: str
    questions: tuple[AnsweredQuestion, ...]
    precision: Precision
    least: float
    greatest: float
    bounds: tuple[float, float]
    batches: int
    calls: int
    rows: int
    refused: str
    seconds: float
    partial: bool = False

    @property
    def held(self) -> bool:
        """Whether a plan takes it, and all on which a certificate rests was answered with yes."""
        return not self.refused and all(one.yes for one in self.questions if one.needed)

    @property
    def share(self) -> float:
        """How much of what is paid for was used, by the question that used most of it."""
        return max((_share(one) for one in self.questions if one.needed), default=0.0)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per question."""
        import pandas as pd

        return pd.DataFrame([asdict(one) for one in self.questions])

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        made = asdict(self) | {"bounds": list(self.bounds), "held": self.held}
        made["questions"] = [_plain(asdict(one)) for one in self.questions]
        return _plain(made)

    def _range(self) -> str:
        if self.least > self.greatest:
            return "were never numbers"
        return f"from {self.least:.6g} to {self.greatest:.6g} in {self.precision} precision"

    def __str__(self) -> str:
        end = ", interrupted" if self.partial else ""
        low, high = self.bounds
        lines = [
            f"{self.model}, {self.form}: {self.batches} batches, {self.calls} calls, {self.rows} rows "
            f"in {self.seconds:.1f} s{end}.",
            *map(str, self.questions),
            f"  Answers {self._range()}, bounds {low:g} to {high:g}.",
        ]
        return "\n".join([*lines, f"  A plan refuses it: {self.refused}"] if self.refused else lines)


def _share(one: AnsweredQuestion) -> float:
    if one.allowed > 0:
        return one.figure / one.allowed
    return 0.0 if one.yes else math.inf


def _plain(made: dict[str, Any]) -> dict[str, Any]:
    """Return numbers as JSON has them; it has no infinity."""
    return {
        name: str(value) if isinstance(value, float) and not math.isfinite(value) else value
        for name, value in made.items()
    }
