"""Which private model suits a table: a rule on public facts, and the reasons it gives.

With a delta it was tuned and is reported by ``benchmarks.glass_box_rule``, one table left out at a
time; without one it was found on the tables of ``benchmarks.trees``, in the same way.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from discreet.plans import Setting
from discreet.schema import Category
from discreet.trees.shape import records_times_epsilon

ModelName = Literal["additive", "forest", "tree"]
MODELS: tuple[ModelName, ...] = ("additive", "forest", "tree")

_MANY_CLASSES = 4
_PER_CLASS = 15_000.0
"""Without a delta an additive model wants so many records times epsilon for every class."""


@dataclass(frozen=True)
class Facts:
    """What is public about a question of a model.

    Attributes:
      classes: of the target; zero if it is a number.
      power: records times epsilon, of a record that is replaced; 10,000 records are supposed where
        their number is private.
      pure: whether there is no delta.
    """

    classes: int
    power: float
    pure: bool

    @classmethod
    def of(cls, setting: Setting, target: str, *, epsilon: float, delta: float) -> Facts:
        """Return the facts of a schema's target and of a promise."""
        column = setting.schema[target]
        classes = len(column.values) if isinstance(column, Category) else 0
        return cls(classes, records_times_epsilon(setting, epsilon), delta == 0)


def suited(facts: Facts) -> tuple[ModelName, str]:
    """Return the model that suits public facts, and the reason in words.

    With a delta an additive model had the greater AUC in nearly all cells of ``benchmarks.glass_box``,
    at every epsilon. It asks about all features and classes at once, which Laplace noise forgives less
    than Gaussian noise does: without a delta it was behind a forest where there were many classes, or
    few records for the epsilon. A single tree was behind a forest in the mean, and is never taken.
    """
    if facts.classes == 0:
        return "additive", "the target is a number, which trees and forests do not predict"
    if facts.pure and facts.classes > _MANY_CLASSES:
        return "forest", f"without a delta an additive model of {facts.classes} classes has much noise"
    if facts.pure and facts.power < _PER_CLASS * facts.classes:
        return "forest", "without a delta an additive model has much noise for so few records"
    return "additive", "on most tables it predicts better than a forest, and it explains itself"
