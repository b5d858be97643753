"""Plan a private additive model: counts of bins by class once, then what features explain together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY
from typing import Annotated

from discreet.additive.pairs.cells import MOST_CODES as PAIRED_CODES
from discreet.additive.program import AdditiveProgram
from discreet.additive.stages import AdditiveGround
from discreet.errors import ArgumentError
from discreet.plans import Program, Setting
from discreet.plans.kinds import UNSAID, Column, Columns, Delta, Epsilon, Whole
from discreet.plans.parts import WherePlan
from discreet.schema import Category, Schema

MOST_BINS = 256
MOST_PAIRS = 16
MOST_CELLS = 2**16
MOST_CODES = 4_096


class additive_model(WherePlan):
    """Plan an additive model that predicts a column of the table and is its own explanation.

    Args:
      target: the column to predict: a ``Category`` of the schema, whose values are the classes, or a
        ``Number``, whose bounds its values are clipped to. A record without one is not counted.
      features: the columns to predict from; all others if left out. Missing and unlisted values have
        bins of their own.
      bins: into how many bins a number is divided at most; where there are many records bins are
        narrow.
      interactions: how many pairs of features may add something together, beside what each of them
        adds. They are chosen privately, by what single features leave, and take a quarter of the
        budget: with few records a model is better without.
      epsilon: the whole budget.
      delta: zero for a pure promise, with Laplace noise; with a delta noise is Gaussian and far less,
        because all features are asked about at once.

    Guarantees:
      - A record is in one bin of a feature and in one class; contrasts of counts move by a column
        of a matrix that is at most one long. [additive-counts]
      - Later rounds hold no label, and what a record adds to them is in a unit ball around what
        released scores say. [additive-corrections]
      - Noise of several parts of the budget tells as much as several noises. [additive-pooled]
      - Pairs are chosen by sums of residuals, which a record moves by one, replaced by two; then
        residuals of cells are released as corrections are. [additive-pairs]

    >>> additive_model("income", epsilon=1.0, delta=1e-6)
    additive_model(target='income', features=None, bins=32, interactions=0, epsilon=1, delta=1e-06)
    """

    target: Annotated[str, Column()]
    _: KW_ONLY
    features: Annotated[Sequence[str] | None, Columns(optional=True)] = None
    bins: Annotated[int, Whole(2, MOST_BINS)] = 32
    interactions: Annotated[int, Whole(0, MOST_PAIRS)] = 0
    epsilon: Epsilon = UNSAID
    delta: Delta = 0.0

    def prepare_whole(self, setting: Setting) -> Program:
        """Check the columns and share the budget out."""
        program = AdditiveProgram.of(
            self.ground(setting),
            bins=self.bins,
            epsilon=self.epsilon,
            delta=self.delta,
            interactions=self.interactions,
        )
        self._check_pairs(program)
        kept = program.purse.epsilon
        joint = (kept, self.delta) if self.delta else None
        told = f"noise on a lattice leaves room for epsilon {kept:.4g}, which is all that is spent"
        reasons = ((told,) if kept < self.epsilon else ()) + self._fewer(program)
        return Program(
            program.stages, program.finish, program.expected_error, joint=joint, reasons=reasons
        )

    def _check_pairs(self, program: AdditiveProgram) -> None:
        if self.interactions and not program.pairs.wanted:
            raise ArgumentError(
                f"interactions must be 0 where fewer than two features can go together, got "
                f"{self.interactions} with {len(program.features)} feature(s). Name two features that "
                f"have two values or more; categories of more than {PAIRED_CODES} do not count."
            )

    def _fewer(self, program: AdditiveProgram) -> tuple[str, ...]:
        """Return what is told if there are fewer pairs than were asked for."""
        there = program.pairs.wanted
        told = f"there are {there} pairs of features, so that is how many interactions there are"
        return (told,) if there < self.interactions else ()

    def ground(self, setting: Setting) -> AdditiveGround:
        """Check the columns against the schema."""
        schema = setting.schema
        features = tuple(self.features or (name for name in schema if name != self.target))
        if not features or self.target in features:
            raise ArgumentError(f"features must be columns besides the target {self.target!r}.")
        for name in features:
            column = schema[name]
            if isinstance(column, Category) and len(column) > MOST_CODES:
                raise ArgumentError(
                    f"features must have at most {MOST_CODES} values each, got {len(column)} of "
                    f"{name!r}. Leave it out, or merge its values."
                )
        classes = self._classes(schema)
        cells = max(classes, 2) * sum(_most(schema, name, self.bins) for name in features)
        if cells > MOST_CELLS:
            raise ArgumentError(
                f"features and classes must have at most {MOST_CELLS} cells together, got {cells}. "
                "Name fewer features, or ask for fewer bins."
            )
        return AdditiveGround(setting, features, self.target, classes)

    def _classes(self, schema: Schema) -> int:
        column = schema[self.target]
        if not isinstance(column, Category):
            return 0
        if len(column.values) < 2:
            raise ArgumentError(
                f"target must have at least two classes, got one class of {self.target!r}. "
                "List its classes in the schema."
            )
        return len(column.values)


def _most(schema: Schema, name: str, bins: int) -> int:
    column = schema[name]
    return len(column) if isinstance(column, Category) else bins + 1
