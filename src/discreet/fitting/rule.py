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


@dataclass(frozen=True)
class Facts:
    """What is public about a question of a model.

    Attributes:
      classes: of the target; zero if it is a number.
      numbers: how many features are numbers.
      categories: how many are categories.
    """

    classes: int
    numbers: int
    categories: int

    @classmethod
    def of(cls, setting: Setting, target: str, features: tuple[str, ...]) -> Facts:
        """Return the facts of a schema's columns."""
        schema = setting.schema
        column = schema[target]
        categories = sum(isinstance(schema[name], Category) for name in features)
        classes = len(column.values) if isinstance(column, Category) else 0
        return cls(classes, len(features) - categories, categories)


def suited(facts: Facts) -> tuple[ModelName, str]:
    """Return the model that suits public facts, and the reason in words."""
    if facts.classes == 0:
        return "additive", "the target is a number, which trees and forests of classes do not predict"
    return "forest", "there is no other model yet"
