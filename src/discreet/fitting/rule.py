"""Which private model suits a table: a rule of public facts, and why it says what it says.

Tuned and reported by ``benchmarks.glass_box_rule``, one table left out at a time.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from discreet.plans import Setting
from discreet.schema import Category

ModelName = Literal["additive", "forest", "tree"]
MODELS: tuple[ModelName, ...] = ("additive", "forest", "tree")

_MANY_CLASSES = 4
_LITTLE = 0.3


@dataclass(frozen=True)
class Facts:
    """What is public about a question of a model.

    Attributes:
      classes: of the target; zero if it is a number.
      numbers: how many features are numbers.
      categories: how many are categories.
      epsilon: of a record that comes or goes.
      pure: whether there is no delta.
    """

    classes: int
    numbers: int
    categories: int
    epsilon: float
    pure: bool

    @classmethod
    def of(
        cls, setting: Setting, target: str, features: tuple[str, ...], *, epsilon: float, delta: float
    ) -> Facts:
        """Return the facts of a schema's columns and of a promise."""
        schema = setting.schema
        column = schema[target]
        categories = sum(isinstance(schema[name], Category) for name in features)
        classes = len(column.values) if isinstance(column, Category) else 0
        per_edit = epsilon / setting.relation.edits
        return cls(classes, len(features) - categories, categories, per_edit, delta == 0)


def suited(facts: Facts) -> tuple[ModelName, str]:
    """Return the model that suits public facts, and the reason in words.

    An additive model had the greater AUC in nearly all cells of ``benchmarks.glass_box``, at every
    epsilon. It asks about all features and classes at once, which Laplace noise forgives less than
    Gaussian noise does: without a delta it was behind a forest where there were many classes or little
    epsilon.
    """
    if facts.classes == 0:
        return "additive", "the target is a number, which trees and forests do not predict"
    if facts.pure and facts.classes > _MANY_CLASSES:
        return "forest", f"without a delta an additive model of {facts.classes} classes has much noise"
    if facts.pure and facts.epsilon < _LITTLE:
        return "forest", "without a delta an additive model has much noise at so small an epsilon"
    return "additive", "on most tables it predicts better than a forest, and it explains itself"
