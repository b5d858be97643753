"""What one record adds to the tables of a classifier: which class it has, which one it is given.

| part | cells, in the block of the record's group | what they are for |
|---|---|---|
| confusion | true class x given class | accuracy, precision, recall, F1 |
| calibration | right or wrong x bins of the highest score | whether the highest score can be believed |
| rest | for every class, if asked: of it or not x bins of its score | one against the rest: areas |

The class that is given is the one with the highest score. Where scores may move with the rows beside
them, that is a hard edge; there a record whose two highest scores are nearly equal is shared among
them: with m the highest score, class k has max(0, s_k - m + ``TIE``), over the sum of these.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from discreet.data import ModelCalls, VectorContribution
from discreet.data.blocks import Block
from discreet.data.calls import ThirdParty
from discreet.evaluation.bins import SplitBins, answers_exactly, model_answers
from discreet.models import BoundModel
from discreet.numerics import up
from discreet.plans import Setting
from discreet.plans.parts.membership import Membership
from discreet.privacy.certificate import Bounds, Box, Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from discreet.schema import FloatArray

TIE = 2.0**-12
"""Scores this near to the highest are given a part, where last bits are not known."""

SHARES = {"confusion": 0.6, "calibration": 0.4}
SHARES_WITH_REST = {"confusion": 0.35, "calibration": 0.15, "rest": 0.5}
"""How a record's whole weight, and so the budget, is split."""


@dataclass(frozen=True)
class ClassTable:
    """The public layout of the tables of a classifier.

    Args:
      setting: what is public of the table.
      models: the scores of every class, bound to the schema.
      target: the column with the truth, a category.
      truths: how many values it has.
      groups: of which every record is in one.
      bins: of the highest score.
      rest: of the score of each class against the rest; None if it is not asked for.
    """

    setting: Setting
    models: tuple[BoundModel, ...]
    target: str
    truths: int
    places: tuple[int, ...]
    groups: Membership
    bins: SplitBins
    rest: SplitBins | None

    @property
    def given(self) -> int:
        """How many classes the model knows."""
        return len(self.models)

    @property
    def soft(self) -> bool:
        """Whether records with nearly equal scores are shared."""
        return not all(answers_exactly(model, self.setting.relation) for model in self.models)

    @cached_property
    def shapes(self) -> dict[str, tuple[int, ...]]:
        """The parts of a block and their axes."""
        found = {"confusion": (self.truths, self.given), "calibration": (2, self.bins.size)}
        return found | ({} if self.rest is None else {"rest": (self.given, 2, self.rest.size)})

    @cached_property
    def parts(self) -> dict[str, slice]:
        """Where every part of a block stands."""
        ends = np.cumsum([0, *(math.prod(shape) for shape in self.shapes.values())]).tolist()
        return {name: slice(ends[i], ends[i + 1]) for i, name in enumerate(self.shapes)}

    @property
    def block(self) -> int:
        """How many numbers a group has."""
        return sum(math.prod(shape) for shape in self.shapes.values())

    @property
    def weights(self) -> dict[str, float]:
        """What a record adds to every part; to that of the rest once for every class."""
        shares = SHARES if self.rest is None else SHARES_WITH_REST
        return {n: share / self.given if n == "rest" else share for n, share in shares.items()}

    def certify(self) -> Certificate:
        """Certify the sums of all tables.

        Guarantees:
          - A record has weight w_i in all cells of a table together: added or removed it moves L1 by
            the sum of the weights, L2 by the root of their squares, Linf by the greatest; replaced L1
            by twice, L2 by sqrt 2 times and Linf by as much. [class-tables]
        """
        weights = [w for name, w in self.weights.items() for _ in range(self._tables(name))]
        l1, l2 = math.fsum(weights), math.sqrt(math.fsum(w * w for w in weights))
        alone = Bounds(up(l1, 8), up(l2, 8), up(max(weights), 8))
        moved = Bounds(up(2 * l1, 16), up(math.sqrt(2) * l2, 16), alone.linf)
        size = self.block * self.groups.groups
        return Certificate(("class-tables",), size, {REPLACE_ONE: moved, ADD_REMOVE: alone})

    def _tables(self, part: str) -> int:
        return self.given if part == "rest" else 1

    @cached_property
    def contribution(self) -> VectorContribution:
        """Every record's cells; none for a record without a target or a group.

        Guarantees:
          - Shared classes move by 2 K / ``TIE`` with scores, hats by their steepness; products of both
            by the sum. [class-tables] [lattice]
        """
        columns = (*self.models[0].columns, self.target, *self.groups.columns)
        proven, code = self.certify(), self._code()
        lipschitz, together = self._steepness()
        return VectorContribution(
            columns=tuple(dict.fromkeys(columns)),
            size=proven.size,
            region=Box(0.0, max(self.weights.values())),
            fill=0.0,
            compute=self._compute,
            proven=proven,
            calls=ModelCalls(code, lipschitz=lipschitz, together=together),
        )

    def _code(self) -> ThirdParty | None:
        """Return what is known of the scores that move farthest."""
        relation = self.setting.relation
        known = [model.third_party for model in self.models if model.third_party is not None]
        return max(known, key=lambda code: code.under(relation).batch_error, default=None)

    def _steepness(self) -> tuple[float, float]:
        """Return how far one cell moves with the scores, and all cells of a record together."""
        classes, weights = self.given, self.weights
        turn, hat = 2 * classes / TIE, self.bins.steepness
        single = [weights["confusion"] * turn, weights["calibration"] * (turn + hat)]
        together = weights["confusion"] * 2 * turn + weights["calibration"] * 2 * (turn + hat)
        if self.rest is not None:
            single.append(weights["rest"] * self.rest.steepness)
            together += classes * weights["rest"] * 2 * self.rest.steepness
        return max(single), together

    def _compute(self, block: Block) -> FloatArray:
        scores = np.column_stack([model_answers(model)(block) for model in self.models])
        truth = np.asarray(block[self.target]).astype(np.int64)
        known = truth < self.truths
        truth = np.where(known, truth, 0)
        own = self._own(scores, truth) * known[:, None]
        if self.groups.groups == 1:
            return own
        out, place = np.zeros((len(block), self.groups.groups, self.block)), self.groups.place(block)
        out[np.arange(len(block)), np.maximum(place, 0)] = own * (place >= 0)[:, None]
        return out.reshape(len(block), -1)

    def _own(self, scores: FloatArray, truth: NDArray[np.int64]) -> FloatArray:
        """Return the cells of records inside their own blocks."""
        rows, weights = np.arange(len(scores)), self.weights
        own = np.zeros((len(scores), self.block))
        given = shared_classes(scores) if self.soft else one_class(scores)
        confusion = _part(own, self.parts["confusion"], self.shapes["confusion"])
        confusion[rows, truth] = weights["confusion"] * given
        right = self._right(given, truth)
        first, second = self.bins.share(scores.max(axis=1))
        calibration = _part(own, self.parts["calibration"], self.shapes["calibration"])
        for outcome, share in enumerate((1.0 - right, right)):
            calibration[rows, outcome, first] = weights["calibration"] * share * (1.0 - second)
            calibration[rows, outcome, first + 1] = weights["calibration"] * share * second
        if self.rest is not None:
            table = _part(own, self.parts["rest"], self.shapes["rest"])
            for place, code in enumerate(self.places):
                first, second = self.rest.share(scores[:, place])
                of_it = (truth == code).astype(np.int64)
                table[rows, place, of_it, first] = weights["rest"] * (1.0 - second)
                table[rows, place, of_it, first + 1] = weights["rest"] * second
        return own

    def _right(self, given: FloatArray, truth: NDArray[np.int64]) -> FloatArray:
        """Return how much of a record is given its true class; none if the model does not know it."""
        column = np.full(self.truths, -1)
        column[list(self.places)] = np.arange(self.given)
        place = column[truth]
        found = given[np.arange(len(truth)), np.maximum(place, 0)]
        return np.where(place >= 0, found, 0.0)


def one_class(scores: FloatArray) -> FloatArray:
    """Return one for the class with the highest score; of equal ones for the first."""
    given = np.zeros_like(scores)
    given[np.arange(len(scores)), scores.argmax(axis=1)] = 1.0
    return given


def shared_classes(scores: FloatArray) -> FloatArray:
    """Return how much of a record every class is given, steady in the scores."""
    near = np.maximum(scores - scores.max(axis=1, keepdims=True) + TIE, 0.0)
    total = np.zeros(len(near))
    for column in near.T:
        total += column
    return np.asarray(near / total[:, None])


def _part(own: FloatArray, part: slice, shape: tuple[int, ...]) -> FloatArray:
    return own[:, part].reshape(len(own), *shape)
