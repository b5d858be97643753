"""All selections by the names that users write and releases say, and what choosing between them needs.

Selections on scores stay near the best whatever the scores are, so that they have an error bound;
selections on stability take the winner or any other candidate, and need none of the scores.
"""

from __future__ import annotations

from collections.abc import Mapping

from discreet.mechanisms.selection.basic import ExponentialMechanism, NoisyMax, PermuteAndFlip
from discreet.mechanisms.selection.pick import Pick
from discreet.mechanisms.smooth.tables import TableName
from discreet.numerics import check_positive, float_of_units, to_budget_units
from discreet.privacy.accounting.conversion import zcdp_budget

ON_SCORES: Mapping[str, type[Pick]] = {
    "permute-and-flip": PermuteAndFlip,
    "exponential": ExponentialMechanism,
    "laplace": NoisyMax,
}
"""Those that choose by scores; of two that are equally good ``auto`` takes the first."""

ON_STABILITY: Mapping[str, TableName] = {
    "stability": "stability",
    "smooth-student-t": "student-t",
    "smooth-laplace": "laplace",
    "smooth-laplace-log-normal": "laplace-log-normal",
}
"""Those that choose by the winner and its stability, with the table of chances of each."""


def tells_gap(mechanism: str) -> bool:
    """Say whether what was asked for tells the winner's noisy gap as well."""
    return mechanism in ON_SCORES and ON_SCORES[mechanism].tells_gap


def pick_share(kind: str, epsilon: float, delta: float, picks: int) -> tuple[float, float]:
    """Return the epsilon of one of several picks that together keep the promise, and delta's use.

    Guarantees:
      - picks * share <= epsilon, or the sum of rhos converts to (epsilon, delta). [top-k]
    """
    pure = float_of_units(to_budget_units(epsilon) // picks)
    check_positive("epsilon of one pick", pure, "Ask for a larger epsilon or for fewer picks.")
    if delta == 0 or picks == 1:
        return pure, 0.0
    rho, cost = zcdp_budget(epsilon, delta) / picks * (1 - 1e-9), ON_SCORES[kind].rho
    low, high = 0.0, epsilon
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if cost(middle) <= rho else (low, middle)
    return (low, delta) if low > pure else (pure, 0.0)
