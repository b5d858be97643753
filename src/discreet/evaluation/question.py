"""What is evaluated, whatever the kind of target: a model, a target, groups, a promise.

A kind of target (two classes, numbers, many classes) is a module with a function
``prepare(question) -> Program`` and a ``Result``; ``plan.PREPARE`` knows all of them.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import product
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.data.blocks import Block
from discreet.errors import ArgumentError
from discreet.evaluation.classes.models import ClassModels
from discreet.mechanisms import NoiseName
from discreet.models import BoundModel, Model
from discreet.plans import Setting
from discreet.schema import Category, Schema

TargetKind = Literal["binary", "regression", "classes"]
CutsName = Literal["public", "quantile"]

MOST_GROUPS = 200


@dataclass(frozen=True)
class Grouping:
    """Who a record belongs to: one group per combination of some categories' values.

    Missing and unlisted values are groups of their own, so that every record is in exactly one.

    Args:
      columns: the categories; none make one group of all records.
      labels: the names of every column's values.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]

    @classmethod
    def of(cls, schema: Schema, columns: Sequence[str]) -> Grouping:
        """Return the groups of some columns, or raise a sentence."""
        for name in columns:
            fit = [n for n in schema.features if isinstance(schema[n], Category)]
            if name not in fit:
                raise ArgumentError(
                    f"by must name categories of the schema other than the target "
                    f"({', '.join(fit) or 'there are none'}), got {name!r}."
                )
        grouping = cls(tuple(columns), tuple(schema[n].bins(1).labels for n in columns))
        if len(grouping) > MOST_GROUPS:
            raise ArgumentError(
                f"by must make at most {MOST_GROUPS} groups, got {len(grouping)}. Name fewer columns."
            )
        return grouping

    def __len__(self) -> int:
        return math.prod(len(names) for names in self.labels)

    @cached_property
    def names(self) -> tuple[tuple[str, ...], ...]:
        """The groups in order, each by its value of every column."""
        return tuple(product(*self.labels))

    def index(self, block: Block) -> NDArray[np.int64]:
        """Return the group of every record of a block."""
        places = np.zeros(len(block), dtype=np.int64)
        for name, labels in zip(self.columns, self.labels, strict=True):
            places = places * len(labels) + block[name].astype(np.int64)
        return places


@dataclass(frozen=True)
class EvaluationQuestion:
    """An evaluation, made ready for a table's public facts.

    Args:
      setting: of the table.
      model: bound to the schema; ``output`` says what its answers are.
      output: ``probability``, ``margin`` or ``value``.
      target: the column with the truth.
      groups: whose figures are told apart.
      bins: how many bins of scores or residuals; None for as many as suit.
      cuts: where bins come from: public rows, or private quantiles.
      epsilon: the whole budget.
      delta: zero for a pure guarantee.
      mechanism: of the noise.
      clip: the greatest error of a number that is told apart.
      residuals: columns by whose cells mean residuals are told.
      models: the scores of every class, for a classifier of many.
      names: what the classifier calls these.
      one_vs_rest: whether every class's scores are told against the rest.
    """

    setting: Setting
    model: BoundModel
    output: str
    target: str
    groups: Grouping
    bins: int | None
    cuts: CutsName
    epsilon: float
    delta: float
    mechanism: NoiseName
    clip: float | None = None
    residuals: tuple[str, ...] = ()
    models: tuple[BoundModel, ...] = ()
    names: tuple[Any, ...] = ()
    one_vs_rest: bool = False

    @property
    def columns(self) -> tuple[str, ...]:
        """All columns that are read: the model's, the target's, the groups'."""
        return tuple(dict.fromkeys((*self.model.columns, self.target, *self.groups.columns)))


def target_of(schema: Schema) -> str:
    """Return the target answers are compared with, or raise a sentence."""
    if schema.target is None:
        raise ArgumentError(
            "schema must name a target that answers are compared with, got none. "
            "Use dc.Schema(columns, target=...)."
        )
    return schema.target


def kind_of(model: Model | ClassModels, schema: Schema) -> TargetKind:
    """Return which kind of evaluation suits a model's output and the schema's target.

    A probability or a margin speaks of one class, against all others; a value of a number, or, where
    the target is a category of two values, it is a score of the second of them.
    """
    column = schema[target_of(schema)]
    if isinstance(model, ClassModels):
        return "classes"
    two = isinstance(column, Category) and len(column.values) == 2
    return "binary" if model.output != "value" or two else "regression"
