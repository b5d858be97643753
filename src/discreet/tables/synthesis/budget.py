"""How one promise is shared by the stages of synthetic records: as a rho, or as an epsilon.

With a delta all stages are Gaussian sums and exponential choices under one rho; without one, and where
few tables are measured, pure noise under one epsilon has less of it.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from discreet.errors import ArgumentError
from discreet.mechanisms import NoiseName
from discreet.mechanisms.selection.pairs.more_pairs import MoreChoice, more_choice
from discreet.mechanisms.selection.pairs.spanning_tree import TreeChoice, count_picks, tree_choice
from discreet.numerics import float_of_units, to_budget_units
from discreet.plans import Setting, Stage, share_out
from discreet.plans.stages.marginals import PairTables
from discreet.plans.stages.weighted_tables import (
    WeightedNoise,
    weighted_noise,
    weighted_rho_noise,
)
from discreet.privacy.accounting.joint import joint_rho

_MOST_BY_RHO = 500.0
"""The greatest epsilon at which Gaussian noise is thought of: exp of it is a float."""

_SPARE = 1 - 1e-9
"""Of a rho: the rest is for rounding."""


@dataclass(frozen=True)
class RowBudget:
    """One promise, and the layout whose tables it is spent on."""

    layout: PairTables
    setting: Setting
    epsilon: float
    delta: float
    mechanism: NoiseName

    @property
    def by_rho(self) -> bool:
        """Whether stages share a rho."""
        return self.mechanism == "gaussian"

    def divide(self, first: float, others: Sequence[float], *, choices: bool) -> list[float]:
        """Return what the first stage gets and what the others do: a rho each, or an epsilon.

        Args:
          first: its share; the same amount, however the rest is divided.
          others: their shares; together with the first they are one.
          choices: whether some stages choose, which rho alone has a price for.
        """
        if self.by_rho:
            rho = joint_rho(self.epsilon, self.delta, choices=choices) * _SPARE
            return [rho * share for share in (first, *others)]
        units = to_budget_units(self.epsilon)
        own = int(units * first)
        rest = float_of_units(units - own)
        return [float_of_units(own), *(share_out(rest, tuple(others)) if any(others) else others)]

    def about(self, share: float) -> float:
        """Return about what a share is."""
        return self.divide(share, (1 - share,), choices=True)[0]

    @property
    def joint(self) -> tuple[float, float] | None:
        """What all stages keep together; None if their promises add up to it."""
        return (self.epsilon, self.delta) if self.by_rho else None

    def noise(self, tables: int, size: int, amount: float) -> WeightedNoise:
        """Return noise for tables worth so many units, for a rho or an epsilon."""
        if self.by_rho:
            return weighted_rho_noise(tables, size, self.setting, rho=amount, delta=self.delta)
        return weighted_noise(tables, size, self.setting, epsilon=amount, mechanism=self.mechanism)

    def tables(self, name: str, tables: int, size: int, amount: float) -> Stage[WeightedNoise]:
        """Return the stage that measures tables worth so many units."""
        return Stage(name, self.layout.contribution, self.noise(tables, size, amount))

    def tree(self, amount: float) -> Stage[TreeChoice]:
        """Return the stage that chooses a tree."""
        epsilon = self._picks(amount, count_picks(self.layout.pairs))
        choice = tree_choice(*self._candidates, relation=self.setting.relation, epsilon=epsilon)
        return Stage("tree", self.layout.contribution, choice)

    def more(self, name: str, wanted: int, amount: float) -> Stage[MoreChoice]:
        """Return the stage that chooses ``wanted`` more pairs."""
        epsilon, relation = self._picks(amount, wanted), self.setting.relation
        choice = more_choice(*self._candidates, wanted=wanted, relation=relation, epsilon=epsilon)
        return Stage(name, self.layout.contribution, choice)

    @property
    def _candidates(self) -> tuple[Sequence[tuple[int, int]], Sequence[int], int]:
        return self.layout.pairs, self.layout.pair_sizes, sum(self.layout.sizes)

    def _picks(self, amount: float, picks: int) -> float:
        """Return the epsilon of so many picks: under rho each has epsilon^2 / 8 of it."""
        if not self.by_rho:
            return amount
        return picks * float_of_units(to_budget_units(math.sqrt(8 * amount / picks)))


def choose_budget(
    layout: PairTables, setting: Setting, *, epsilon: float, delta: float, mechanism: NoiseName
) -> RowBudget:
    """Return how a promise is shared: by rho, or by epsilon where a tree has less noise so."""
    pure = RowBudget(layout, setting, epsilon, delta, mechanism)
    no_rho = delta == 0 or epsilon > _MOST_BY_RHO
    if mechanism not in ("auto", "gaussian") or (mechanism == "auto" and no_rho):
        return pure
    if delta == 0:
        raise ArgumentError(
            "delta must be positive for the Gaussian mechanism, got 0. Give a delta, or use "
            "mechanism='laplace'."
        )
    shared = RowBudget(layout, setting, epsilon, delta, "gaussian")
    if mechanism == "gaussian":
        return shared
    try:
        return shared if _noise(shared) < _noise(pure) else pure
    except ArgumentError:  # too large an epsilon for Gaussian noise on this lattice
        return pure


def _noise(budget: RowBudget) -> float:
    """Return the noise of columns times that of a tree's pairs, if there are no others."""
    layout, picks = budget.layout, count_picks(budget.layout.pairs)
    if not picks:
        return budget.noise(len(layout.sizes), sum(layout.sizes), budget.about(1.0)).std
    columns = budget.noise(len(layout.sizes), sum(layout.sizes), budget.about(0.25)).std
    largest = sum(sorted(layout.pair_sizes)[-picks:])
    return columns * budget.noise(picks, largest, budget.about(0.65)).std
