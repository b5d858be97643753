"""What is charged: whole units of loss and of delta, so that sums are exact."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.numerics import format_units, to_budget_units, to_units


@dataclass(frozen=True, slots=True)
class Amount:
    """A charge or a budget, in units of 1e-12.

    ``loss`` is epsilon for the accountant ``basic`` and rho for ``zcdp``; ``delta`` is a probability.
    """

    loss: int = 0
    delta: int = 0

    @classmethod
    def charge(cls, loss: float, delta: float = 0.0) -> Amount:
        """Return a charge: both parts rounded up."""
        return cls(to_units(loss), to_units(delta))

    @classmethod
    def budget(cls, loss: float, delta: float = 0.0) -> Amount:
        """Return a budget: both parts rounded down."""
        return cls(to_budget_units(loss), to_budget_units(delta))

    def __add__(self, other: Amount) -> Amount:
        return Amount(self.loss + other.loss, self.delta + other.delta)

    def __sub__(self, other: Amount) -> Amount:
        return Amount(self.loss - other.loss, self.delta - other.delta)

    def fits(self, budget: Amount) -> bool:
        """Say whether this amount is within ``budget`` in both parts."""
        return self.loss <= budget.loss and self.delta <= budget.delta

    def to_json(self) -> dict[str, str]:
        """Return both parts as exact decimal texts."""
        return {"loss": format_units(self.loss), "delta": format_units(self.delta)}
