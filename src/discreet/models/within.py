"""Do a model's answers lie where its bounds say? Public rows tell, before anything is spent.

Records' answers are clipped to the bounds, never refused: an error would tell of a row. Public rows may
be refused. Narrow bounds are a choice of the user's, who trades a bias for less noise, and rows drawn
from wide ranges are farther out than records, so that answers outside are told and not refused; but
answers that all lie beyond one end are the same once they are clipped, and a probability outside [0, 1]
is none.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from discreet.errors import ModelError
from discreet.privacy.certificate import Box
from discreet.schema import FloatArray

_ROUNDING = 2.0**-20
"""How far outside an answer may be, of the width: as far as single precision is off."""

_CERTAIN = Box(0.0, 1.0)


@dataclass(frozen=True)
class PublicAnswers:
    """What a model answers to public rows: how many there are, how many outside, and the farthest."""

    bounds: Box
    rows: int = 0
    outside: int = 0
    least: float = 0.0
    greatest: float = 0.0

    @classmethod
    def of(cls, answers: FloatArray, bounds: Box) -> PublicAnswers:
        """Compare answers with bounds; NaN is left out, as it is filled."""
        said = answers[~np.isnan(answers)]
        if not len(said):
            return cls(bounds)
        slack = _ROUNDING * bounds.width
        outside = (said < bounds.low - slack) | (said > bounds.high + slack)
        return cls(bounds, len(said), int(outside.sum()), float(said.min()), float(said.max()))

    def check(self, output: str) -> None:
        """Refuse answers that are all beyond one end, and probabilities that are none.

        Raises:
          ModelError: names the bounds, what public rows were answered, and what to do.
        """
        if output == "probability" and not self._inside(_CERTAIN):
            raise ModelError(
                f"model must answer probabilities between 0 and 1, got {self._range} on public rows. "
                "Use output='margin' or 'value' with bounds=(low, high)."
            )
        slack = _ROUNDING * self.bounds.width
        low, high = self.bounds.low - slack, self.bounds.high + slack
        if self.rows and (self.greatest < low or self.least > high):
            raise ModelError(
                f"bounds must hold some of the model's answers, got {self._limits} and answers of "
                f"{self._range} on public rows: clipped, all of them would be the same. {self._widen}"
            )

    def check_scores(self) -> None:
        """Refuse scores of which some are outside: what is told of a model is told of its own scores.

        Raises:
          ModelError: names the bounds, what public rows were answered, and what to do.
        """
        if self.outside:
            raise ModelError(
                f"bounds must hold every score of a model that is evaluated, got {self._limits} and "
                f"scores of {self._range} on public rows. {self._widen}"
            )

    def told(self) -> tuple[str, ...]:
        """Return in words that answers are clipped, if some are."""
        if not self.outside:
            return ()
        return (f"answers outside {self._limits} are clipped: {self._share} of those to public rows",)

    def _inside(self, box: Box) -> bool:
        return box.low - _ROUNDING <= self.least and self.greatest <= box.high + _ROUNDING

    @property
    def _share(self) -> str:
        percent = 100 * self.outside / self.rows
        return f"{percent:.0f} %" if percent >= 1 else "less than 1 %"

    @property
    def _limits(self) -> str:
        return f"{self.bounds.low:g} to {self.bounds.high:g}"

    @property
    def _range(self) -> str:
        if self.least == self.greatest:
            return f"{self.least:.6g}"
        return f"{self.least:.6g} to {self.greatest:.6g}"

    @property
    def _widen(self) -> str:
        return "Widen bounds, or clip inside the function."
