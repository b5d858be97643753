"""Strategies to answer many questions, by which a price tells what is best."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Strategy:
    """One strategy to answer many questions within the same budget, and how good its answers are.

    ``error`` is a mean in the unit ``measure`` names, ``spread`` the standard deviation between the
    public queries it was tried on (zero if it is the same for all); both follow from public facts.
    """

    name: str
    error: float
    measure: str
    recommended: bool = False
    spread: float = 0.0

    def __str__(self) -> str:
        mark = "  <- recommended" if self.recommended else ""
        spread = f" (spread {self.spread:.2g})" if self.spread else ""
        return f"{self.name}: {self.measure} {self.error:.3g}{spread}{mark}"
