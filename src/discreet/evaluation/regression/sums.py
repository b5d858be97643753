"""What one record adds to the errors of a regressor: one vector, in the block of its group.

| part | coordinates | what they are for |
|---|---|---|
| size | 1 | the number of records, where it is private |
| moments | u, abs(u), u^2, v, v^2 | bias, mean absolute error, RMSE, R2 |
| distribution | one cell of residuals, or two neighbouring hats | how errors are spread |
| per feature | 1, u and u^2 in the feature's cell | the mean residual of every cell, and its spread |

u is the residual over the greatest one, v the target scaled to [-1, 1]. All of it is released as one
vector: its parts have weights, which split the budget. Where a model's answers may move with the rows
beside them, a hard edge would turn a last bit into a whole count; there, cells are hat functions.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from discreet.data import ModelCalls, VectorContribution
from discreet.data.blocks import Block
from discreet.evaluation.bins import answers_exactly, model_answers
from discreet.evaluation.question import EvaluationGroups
from discreet.evaluation.regression.bounds import PowerCurve, add_bounds, times
from discreet.models import BoundModel
from discreet.plans import Setting
from discreet.plans.stages.parts import has_value, may_lack
from discreet.privacy.certificate import Bounds, Box, Certificate
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from discreet.schema import Bins, FloatArray, Number

RESIDUAL = PowerCurve(1.0, (1.0, 2.0), (1, 2), (2 / 3, 2 / 3))
"""Squares are small where errors are, so that they get twice the weight."""

TARGET = PowerCurve(0.5, (0.5,), (2,), (7 / 8,))
CENTRES = (0.0, *RESIDUAL.centres, 0.0, *TARGET.centres)
WEIGHTS = (RESIDUAL.odd, *RESIDUAL.even, TARGET.odd, *TARGET.even)

_CELL = Bounds(2.0, math.sqrt(2.0), 1.0), Bounds(1.0, 1.0, 1.0)
_BESIDE = 0.5
"""The weight of a cell's count and of its squares: the mean residual is near zero, so that its noise
is that of the sum."""

_FEATURE = Bounds(4.0, 2.0, 2.0), Bounds(2.0, math.sqrt(1.5), 1.0)
_SHARES = {"size": 0.25, "moments": 0.4, "distribution": 0.15, "residuals": 0.2}
"""A private number of records is in every mean, by the distance of the mean from its centre."""


@dataclass(frozen=True)
class ErrorSums:
    """The errors of a model on a target, laid out as one vector.

    Args:
      model: bound to the schema.
      setting: what is public of the table.
      length: the greatest residual; longer ones are shortened to it.
      edges: of the cells of residuals, ascending, from ``-length`` to ``length``.
      features: whose cells residuals are averaged in.
      groups: of which every record is in one.
    """

    model: BoundModel
    setting: Setting
    length: float
    edges: tuple[float, ...]
    features: Mapping[str, Bins]
    groups: EvaluationGroups

    @property
    def target(self) -> str:
        """The column that answers are compared with."""
        assert self.setting.schema.target is not None
        return self.setting.schema.target

    @property
    def soft(self) -> bool:
        """Whether cells of residuals are hat functions."""
        return not answers_exactly(self.model, self.setting.relation)

    @property
    def counted(self) -> bool:
        """Whether the number of records of a group is private, and so part of the vector."""
        lacks = may_lack(self.setting.schema[self.target])
        return self.setting.rows is None or lacks or self.groups.groups > 1

    @property
    def scale(self) -> tuple[float, float]:
        """The middle of the target's range and half its width."""
        column = self.setting.schema[self.target]
        assert isinstance(column, Number)
        return column.low / 2 + column.high / 2, column.high / 2 - column.low / 2

    @cached_property
    def parts(self) -> dict[str, slice]:
        """Where every part of a block stands."""
        sizes = {"size": int(self.counted), "moments": 5, "distribution": len(self.edges) - 1}
        sizes["distribution"] += self.soft
        for name, cells in self.features.items():
            sizes[f"residuals of {name}"] = 3 * len(cells)
        ends = np.cumsum([0, *sizes.values()]).tolist()
        return {name: slice(ends[i], ends[i + 1]) for i, name in enumerate(sizes)}

    @property
    def block(self) -> int:
        """How many numbers a group has."""
        return max(int(part.stop) for part in self.parts.values())

    @cached_property
    def weights(self) -> dict[str, float]:
        """What the parts are multiplied with: each gets its share of what a record may move."""
        costs = {"size": 2.0, "moments": self._moments[0].l1, "distribution": 2.0}
        shares = {name: share for name, share in _SHARES.items() if name != "residuals"}
        if not self.counted:
            del shares["size"]
        for name in self.features:
            costs[f"residuals of {name}"] = _FEATURE[0].l1
            shares[f"residuals of {name}"] = _SHARES["residuals"] / len(self.features)
        total = math.fsum(shares.values())
        return {name: share / total / costs[name] for name, share in shares.items()}

    @cached_property
    def scales(self) -> FloatArray:
        """What every number of a block was multiplied with before noise was added."""
        return self._part_weights * self._inner_weights

    @cached_property
    def _part_weights(self) -> FloatArray:
        found = np.ones(self.block)
        for name, weight in self.weights.items():
            found[self.parts[name]] = weight
        return found

    @cached_property
    def _inner_weights(self) -> FloatArray:
        found = np.ones(self.block)
        found[self.parts["moments"]] = WEIGHTS
        for name, cells in self.features.items():
            start, count = self.parts[f"residuals of {name}"].start, len(cells)
            found[start : start + count] = found[start + 2 * count : start + 3 * count] = _BESIDE
        return found

    @property
    def _moments(self) -> tuple[Bounds, Bounds]:
        curves = (RESIDUAL, TARGET)
        return add_bounds([c.apart() for c in curves]), add_bounds([c.from_centre() for c in curves])

    def certify(self) -> Certificate:
        """Certify the sums of all groups.

        Guarantees:
          - Inside a group a replacement moves no part farther than its own points are apart, and leaves
            the size; from one group to another, into or out of the part, twice or once as far as they
            are from their centres, the size included. [residual-sums] [part]
        """
        bounds = {"size": (Bounds(0, 0, 0), Bounds(1, 1, 1)), "moments": self._moments}
        bounds["distribution"] = _CELL
        bounds |= {f"residuals of {name}": _FEATURE for name in self.features}
        weighted = [(bounds[name], weight) for name, weight in self.weights.items()]
        inside = add_bounds([times(apart, weight) for (apart, _), weight in weighted])
        alone = add_bounds([times(own, weight) for (_, own), weight in weighted])
        replaced = inside
        if self.groups.groups > 1:
            moved = Bounds(2 * alone.l1, math.sqrt(2) * alone.l2 * (1 + 1e-15), alone.linf)
            replaced = _either(inside, moved)
        elif self.counted:
            replaced = _either(inside, alone)
        size = self.block * self.groups.groups
        return Certificate(("residual-sums", "part"), size, {REPLACE_ONE: replaced, ADD_REMOVE: alone})

    @cached_property
    def contribution(self) -> VectorContribution:
        """Every record's vector; zero for a record without a target or a group.

        Guarantees:
          - No coordinate moves with an answer faster than its weight times the steepest hat. [lattice]
        """
        columns = (*self.model.columns, self.target, *self.features, *self.groups.columns)
        proven = self.certify()
        most = float(proven.sensitivity("linf", ADD_REMOVE))
        single, together = self._steepness()
        return VectorContribution(
            columns=tuple(dict.fromkeys(columns)),
            size=self.block * self.groups.groups,
            region=Box(-most, most),
            fill=0.0,
            compute=self._compute,
            proven=proven,
            calls=ModelCalls(self.model.third_party, lipschitz=single, together=together),
        )

    def _steepness(self) -> tuple[float, float]:
        """Return how far one number moves with an answer, and all numbers of a record together."""
        moments, per_unit = self.weights["moments"], 1.0 / self.length
        linear, square = RESIDUAL.odd + RESIDUAL.even[0], 2 * RESIDUAL.even[1]
        single = [square * moments * per_unit]
        together = [(linear + square) * moments * per_unit]
        if self.soft:
            single.append(self.weights["distribution"] / float(np.diff(self.edges).min()))
            together.append(2 * single[-1])
        for name in self.features:
            single.append(self.weights[f"residuals of {name}"] * per_unit)
            together.append((1 + 2 * _BESIDE) * single[-1])
        return max(single), math.fsum(together)

    def _compute(self, block: Block) -> FloatArray:
        target = np.asarray(block[self.target])
        known = has_value(self.setting.schema[self.target], target)
        middle, half = self.scale
        target = np.where(known, target, middle)
        residual = np.clip(target - model_answers(self.model)(block), -self.length, self.length)
        own = self._own(block, residual, np.clip((target - middle) / half, -1.0, 1.0))
        own *= np.where(known, 1.0, 0.0)[:, None]
        if self.groups.groups == 1:
            return own
        out, place = np.zeros((len(block), self.groups.groups, self.block)), self.groups.place(block)
        out[np.arange(len(block)), np.maximum(place, 0)] = own * (place >= 0)[:, None]
        return out.reshape(len(block), -1)

    def _own(self, block: Block, residual: FloatArray, target: FloatArray) -> FloatArray:
        """Return the vectors of records inside their own blocks."""
        own, parts = np.zeros((len(residual), self.block)), self.parts
        u = residual / self.length
        own[:, parts["size"]] = 1.0
        here = own[:, parts["moments"]]
        here[:, :3], here[:, 3:] = RESIDUAL.points(u), TARGET.points(target)
        self._spread(residual, own[:, parts["distribution"]])
        for name, cells in self.features.items():
            place, rows = cells.index(block[name]), np.arange(len(u))
            part = own[:, parts[f"residuals of {name}"]].reshape(len(u), 3, len(cells))
            part[rows, 0, place], part[rows, 1, place] = _BESIDE, u
            part[rows, 2, place] = _BESIDE * (u * u)
        return own * self._part_weights

    def _spread(self, residual: FloatArray, out: FloatArray) -> None:
        """Put every residual into its cell, or share it among the two knots around it."""
        edges, rows = np.asarray(self.edges), np.arange(len(residual))
        cell = np.clip(np.searchsorted(edges, residual, side="right") - 1, 0, len(edges) - 2)
        if not self.soft:
            out[rows, cell] = 1.0
            return
        share = np.clip((residual - edges[cell]) / (edges[cell + 1] - edges[cell]), 0.0, 1.0)
        out[rows, cell], out[rows, cell + 1] = 1.0 - share, share


def _either(first: Bounds, second: Bounds) -> Bounds:
    return Bounds(max(first.l1, second.l1), max(first.l2, second.l2), max(first.linf, second.linf))
