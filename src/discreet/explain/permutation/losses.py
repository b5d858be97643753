"""Losses of records: how wrong an answer is, also with one feature's value taken from others.

Every loss has a greatest value, which follows from public bounds:

| scoring | loss of one record | greatest loss |
|---|---|---|
| ``squared_error`` | (answer - target)^2 | of the farthest pair of bounds |
| ``absolute_error`` | abs(answer - target) | of the farthest pair of bounds |
| ``brier`` | (probability - truth)^2 | 1 |
| ``log_loss`` | -log of the true class's probability | log 100, or ``clip`` |
| ``zero_one`` | 1 if the more probable class is wrong | 1 |

Whose values are taken:

* *Partners*: another row of the same block, by a public order. The values of a feature are those of the
  table, each as often as it is there.
* *Draws*: a list of public or released values. A record's draws follow from the record itself, so that
  it adds the same whoever is in the table with it.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from discreet.data.blocks import BLOCK_ROWS
from discreet.engines.permute import Index, PermuteEngine
from discreet.engines.table import engine_for
from discreet.errors import ArgumentError, ModelError
from discreet.models import BoundModel
from discreet.numerics import check_choice, check_positive, up
from discreet.privacy.certificate import Box
from discreet.randomness import GOLDEN, public_generator, row_words
from discreet.schema import MISSING, Category, FloatArray, Number, Schema
from discreet.schema.raw import category_text, plain_text

Scoring = Literal["auto", "squared_error", "absolute_error", "brier", "log_loss", "zero_one"]
_OF_OUTPUT = {
    "value": ("squared_error", "absolute_error"),
    "probability": ("brier", "log_loss", "zero_one"),
    "margin": ("zero_one",),
}
_CODES = {"squared_error": 0, "absolute_error": 1, "brier": 0, "log_loss": 2, "zero_one": 3}
_LOG_CLIP = math.log(100.0)
_TURN = 2.0**-12
"""Answers this near the threshold, of the range, are wrong in part: last bits make no whole loss."""

_MOVED_CELLS = 2**21
"""Scores held at once: 16 MB."""


@dataclass(frozen=True)
class Scorer:
    """A loss between 0 and ``most`` of an answer and an encoded target.

    Args:
      name: the scoring.
      most: the greatest loss; greater ones are lowered to it.
      steepness: how far a loss moves with an answer, at most.
      bounds: of the answers.
      middle: the answer at which a zero-one loss turns.
      values: the truth behind every code of a category.
      positive: the number that stands for the class in question.
    """

    name: str
    most: float
    steepness: float
    bounds: Box
    middle: float
    values: tuple[float, ...] | None
    positive: float | None

    def known(self, encoded: FloatArray) -> NDArray[np.bool_]:
        """Return which records have a target; others are not in the part that is measured."""
        if self.values is not None:
            return np.asarray(encoded < len(self.values))
        return np.asarray(encoded != MISSING)

    def truth(self, encoded: FloatArray) -> FloatArray:
        """Return what an answer is compared with: a number, or 1 for the class in question."""
        if self.values is not None:
            return np.asarray(self.values)[np.where(self.known(encoded), encoded, 0).astype(np.int64)]
        return encoded if self.positive is None else (encoded == self.positive).astype(np.float64)

    def add(self, scores: FloatArray, truth: FloatArray, logistic: bool, totals: FloatArray) -> None:
        """Add the losses of every row of scores (a repeat) to the records' totals."""
        from discreet.engines.kernels.permute import add_losses

        low, high = self.bounds.limits
        terms = np.array([low, high, low / 2 + high / 2, self.most, self.middle, self.steepness])
        add_losses(scores, truth, logistic, _CODES[self.name], terms, totals)


def choose_scorer(
    model: BoundModel, schema: Schema, scoring: Scoring = "auto", clip: float | None = None
) -> Scorer:
    """Return the loss that suits a model's output and the schema's target.

    Args:
      model: bound to the schema.
      schema: with a target.
      scoring: one of the table above; ``auto`` is ``brier`` for probabilities, ``squared_error`` for
        values, ``zero_one`` for margins.
      clip: lower the greatest loss to this.
    """
    if schema.target is None:
        raise ArgumentError(
            "schema must name a target that answers are compared with, got none. "
            "Use dc.Schema(columns, target=...)."
        )
    output = model.call.output
    allowed = _OF_OUTPUT[output]
    check_choice("scoring", scoring, ("auto", *allowed), f"The model's output is a {output}.")
    name = allowed[0] if scoring == "auto" else scoring
    column = schema[schema.target]
    if output == "value":
        values, positive = _numbers(column), None
        ends = (column.low, column.high) if isinstance(column, Number) else (min(values), max(values))
    else:
        values, positive = _classes(column, _label(model, column))
        ends = (0.0, 1.0)
    most, steepness = _bound(name, model.bounds, ends, clip)
    middle = 0.5 if output == "probability" else 0.0
    return Scorer(name, most, steepness, model.bounds, middle, values or None, positive)


def _bound(
    name: str, bounds: Box, ends: tuple[float, float], clip: float | None
) -> tuple[float, float]:
    """Return the greatest loss and how far it moves with an answer."""
    if clip is not None:
        check_positive("clip", clip, "It bounds the loss of one record.")
    lower = math.inf if clip is None else float(clip)
    # As a loss is computed: rounding keeps order, so no loss is greater.
    far = max(bounds.high - ends[0], ends[1] - bounds.low)
    if name == "zero_one":
        return min(1.0, lower), 1 / (_TURN * (bounds.high - bounds.low))
    if name == "log_loss":
        most = min(_LOG_CLIP if clip is None else lower, 700.0)
        return most, up(math.exp(most))
    if name == "absolute_error":
        return min(far, lower), 1.0
    most = min(far**2, lower)
    return most, up(2 * math.sqrt(most))


def _numbers(column: Number | Category) -> tuple[float, ...]:
    """Return the numbers behind a category's codes; none for a number, which is its own code."""
    if isinstance(column, Number):
        return ()
    if any(isinstance(value, str) for value in column.values):
        raise ModelError(
            f"model must have a probability as output for a target with the values "
            f"{', '.join(column.labels)}, got numbers. Explain a classifier, or a numeric target."
        )
    return tuple(float(value) for value in column.values)


def _label(model: BoundModel, column: Number | Category) -> Any:
    """Return the class whose probability is meant; a function's is the second of two, or 1."""
    classes = getattr(model.call.model, "classes_", None)
    if classes is not None:
        return classes[model.call.class_index]
    return column.values[1] if isinstance(column, Category) and len(column.values) == 2 else 1


def _classes(column: Number | Category, label: Any) -> tuple[tuple[float, ...], float | None]:
    """Return the truth of every code of a category, or the number that stands for the class."""
    plain = label.item() if isinstance(label, np.generic) else label
    wanted = plain_text(category_text(plain))
    if isinstance(column, Category):
        found = tuple(float(plain_text(category_text(v)) == wanted) for v in column.values)
        if sum(found) == 1:
            return found, None
    else:
        try:
            number = float(wanted or "")
        except ValueError:
            number = math.nan
        if column.low <= number <= column.high:
            return (), float(column.nearest(np.array([number]))[0])
    raise ModelError(
        f"model must predict a value of the schema's target, got the class {plain!r}. "
        "Give the target the classes the model was fitted on."
    )


def mean_losses(
    engine: PermuteEngine,
    scorer: Scorer,
    rows: FloatArray,
    truth: FloatArray,
    donors: FloatArray,
    index: Index,
) -> FloatArray:
    """Return every row's losses: one column per feature, permuted, and the loss as it is.

    A feature's loss is the mean over the repeats, between zero and the scorer's greatest.
    """
    losses = np.zeros((len(rows), rows.shape[1] + 1), order="F")
    size = max(1, _MOVED_CELLS // max(rows.size, 1))
    for start in range(0, len(index), size):
        base, moved = engine.scores(rows, donors, index[start : start + size])
        for place, scores in moved:
            scorer.add(scores, truth, engine.logistic, losses[:, place])
    losses /= len(index)
    scorer.add(base[None, :], truth, engine.logistic, losses[:, -1])
    for place in set(range(rows.shape[1])) - set(engine.used):
        losses[:, place] = losses[:, -1]
    return np.clip(losses, 0.0, scorer.most)


def partners(seed: int, start: int, rows: int, repeats: int) -> Index:
    """Return who gives its value to whom, for every repeat: nobody to itself, everybody once.

    Rows are put in a random order, and each gets the value of the one ``r`` places behind it. The order
    follows from the seed and the place of the block in the table, which are public.

    Guarantees:
      - Without a fixed point and one to one in every repeat, unless there is one row alone. [pfi]

    >>> index = partners(0, 0, 4, 2)
    >>> np.sort(index).tolist(), bool((index == np.arange(4)).any())
    ([[0, 1, 2, 3], [0, 1, 2, 3]], False)
    """
    order = public_generator((seed << 40) + start).permutation(rows)
    index = np.empty((repeats, rows), dtype=np.uint32)
    for repeat in range(repeats):
        index[repeat, order] = np.roll(order, -1 - repeat % max(1, rows - 1))
    return index


@dataclass(frozen=True)
class Draws:
    """Values to draw replacements from: every column sorted by itself, so that draws can be spread."""

    donors: FloatArray
    seed: int

    @classmethod
    def of(cls, rows: FloatArray, seed: int) -> Draws:
        """Sort the columns of public or released rows; what belonged together does not matter."""
        return cls(np.sort(rows, axis=0), seed)

    def index(self, records: FloatArray, repeats: int) -> Index:
        """Return each record's draws: evenly spread ranks that start where the record's hash says.

        Guarantees:
          - A function of the record and public numbers alone. [pfi-marginal]
        """
        size = len(self.donors)
        repeats = min(repeats, size)
        spread = (np.arange(repeats, dtype=np.uint64) * np.uint64(size)) // np.uint64(repeats)
        begins = row_words(records, self.seed * GOLDEN % 2**64) >> np.uint64(32)
        return ((begins[None, :] + spread[:, None]) % np.uint64(size)).astype(np.uint32)


def permutation_losses(
    model: BoundModel,
    rows: FloatArray,
    target: FloatArray,
    *,
    scorer: Scorer,
    repeats: int = 5,
    seed: int = 0,
) -> FloatArray:
    """Return exact losses of rows that have a target: one per feature, permuted, and the loss itself.

    Not private. The importance of feature j is the mean of column j less the mean of the last. Rows
    are permuted inside canonical blocks, as in a release.

    Args:
      model: bound to the schema.
      rows: encoded, with the model's columns.
      target: encoded.
      scorer: from ``choose_scorer``.
      repeats: how many partners every row has.
      seed: of the order they are taken in.
    """
    engine = engine_for("permute", model)
    parts = []
    for start in range(0, len(rows), BLOCK_ROWS):
        part = np.asarray(rows[start : start + BLOCK_ROWS], dtype=np.float64)
        truth = scorer.truth(np.asarray(target[start : start + BLOCK_ROWS], dtype=np.float64))
        index = partners(seed, start, len(part), repeats)
        parts.append(mean_losses(engine, scorer, part, truth, part, index))
    return np.concatenate(parts)[scorer.known(np.asarray(target, dtype=np.float64))]
