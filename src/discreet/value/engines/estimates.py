"""What an estimator found: a value for every record it was asked about, with its own uncertainty.

Nothing here is private: whoever sees exact values learns of other records.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.errors import ArgumentError
from discreet.numerics import check_probability
from discreet.randomness import IntArray
from discreet.schema import FloatArray

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Estimates:
    """Values of records (or groups), not private.

    Attributes:
      records: which players were valued.
      values: their values; NaN for those that an interruption left without one.
      errors: standard errors of sampling, 0 for exact methods.
      evaluations: how many coalitions were valued.
      method: the estimator's name.
      finished: False after an interruption; pass the whole as ``continue_from`` to go on.
      stated: (alpha, beta): a value is more than alpha off with probability at most beta; None if the
        estimator promises nothing.
      work: what was computed, for ``continue_from``.
    """

    records: IntArray
    values: FloatArray
    errors: FloatArray
    evaluations: int
    method: str
    finished: bool = True
    stated: tuple[float, float] | None = None
    work: Any = field(default=None, repr=False, compare=False)

    def interval(self, confidence: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return both ends of normal confidence intervals from the standard errors.

        >>> one = Estimates(np.array([0]), np.array([1.0]), np.array([0.1]), 9, "permutation")
        >>> [round(float(end[0]), 3) for end in one.interval()]
        [0.804, 1.196]
        """
        check_probability("confidence", confidence)
        far = NormalDist().inv_cdf((1 + confidence) / 2) * self.errors
        return self.values - far, self.values + far

    def ranking(self) -> IntArray:
        """Return the records from the most to the least valuable; those without a value come last."""
        return np.asarray(self.records[np.argsort(-self.values, kind="stable")])

    def to_frame(self) -> pd.DataFrame:
        """Return one row per record, in their order, the record as index: value, standard error."""
        import pandas as pd

        return pd.DataFrame(
            {"value": self.values, "standard_error": self.errors},
            index=pd.Index(self.records, name="record"),
        )


def resumed(earlier: Estimates | None, key: tuple[Any, ...]) -> Any:
    """Return the work of earlier estimates, or None; raise if they answered another question."""
    if earlier is None:
        return None
    if earlier.work is None or earlier.work[0] != key:
        raise ArgumentError(
            f"continue_from must be estimates of the same question, got those of {earlier.method!r} "
            "with other arguments. Call with the arguments of the first run."
        )
    return earlier.work[1]
