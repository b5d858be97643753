"""Friedman's H-statistic: how much of a model's answer is not a sum of its parts. Not private.

With centred partial dependences PD over the rows themselves,

    total:  H_j^2  = sum_i (f(x_i) - PD_j(x_ij) - PD_rest(x_i,rest))^2 / sum_i f(x_i)^2
    pair:   H_jk^2 = sum_i (PD_jk(x_ij, x_ik) - PD_j(x_ij) - PD_k(x_ik))^2 / sum_i PD_jk(x_ij, x_ik)^2

For s rows all of it comes from mixed rows, F_j[i, k] = f(row i with feature j of row k): columns
average to PD_j, rows to PD_rest, the diagonal is f itself. ``Dependences`` is what makes these means:

* ``NetworkDependences``: linear and logistic models and networks with one hidden layer; the first
  layer moves along one row of its weights.
* ``interact_trees.TreeDependences``: trees of up to 64 leaves; a tree answers alike for all donors
  between two of its thresholds.
* ``CalledDependences`` asks any other model for every one of the s^2 mixed rows.

Compiled code goes through the rows of many subsets, none of which sees another's; a model that is not
ours is called for one subset at a time.

Reference: Friedman and Popescu (2008), "Predictive Learning via Rule Ensembles", equations 44 to 46.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from discreet.data.calls import Pulse
from discreet.models import BoundModel, NetworkForm
from discreet.privacy.certificate import Box
from discreet.randomness import IntArray
from discreet.schema import FloatArray

Predict = Callable[[FloatArray], FloatArray]
Means = tuple[FloatArray, FloatArray, FloatArray]

_CELLS = 2**14
"""Mixed rows of a batch of subsets: few enough for tables of all features to stay in a cache."""

_CALL_ROWS = 2**16
_NOTHING = 1e-12
"""Less than this share of the variance is rounding, and counts as none."""

_LEAST = 1e-26
"""Nor is this square of a distance, where answers lie in -1 .. 1: a constant model has no order."""


class Dependences(ABC):
    """Mean answers of rows that take features from each other, scaled to -1 .. 1, from any zero.

    Rows of several subsets stand one after the other; ``starts`` has where each begins, and the end.
    They take nothing from other subsets.
    """

    pulse: Pulse | None = None

    @abstractmethod
    def singles(self, rows: FloatArray, starts: IntArray) -> Means:
        """Return f (rows), and PD_j and PD_rest of every feature j (features x rows).

        Guarantees:
          - A subset's depend on its own rows alone, to the last bit. [generic-plots]
        """

    @abstractmethod
    def pairs(self, rows: FloatArray, starts: IntArray, pairs: IntArray) -> Means:
        """Return f (rows), PD_j of every feature (features x rows) and PD_jk (pairs x rows).

        PD_j of features in none of the ``pairs`` (a row each) may be anything.

        Guarantees:
          - A subset's depend on its own rows alone, to the last bit. [generic-plots]
        """


def total_scores(dependences: Dependences, parts: Sequence[FloatArray]) -> Iterator[FloatArray]:
    """Yield, for every subset of rows, H^2 of every feature against all others; NaN below two rows."""
    for rows, starts in _joined(parts):
        whole, given, rest = dependences.singles(rows, starts)
        places = np.arange(len(given))
        index = np.column_stack([np.zeros_like(places), places, places])
        yield from _scores(whole[None, :], (given, rest), index, whole, starts)


def pair_scores(
    dependences: Dependences, parts: Sequence[FloatArray], pairs: IntArray
) -> Iterator[FloatArray]:
    """Yield, for every subset of rows, H^2 of every pair of features (a row each); NaN below two."""
    for rows, starts in _joined(parts):
        whole, given, both = dependences.pairs(rows, starts, pairs)
        index = np.column_stack([np.arange(len(pairs)), pairs])
        yield from _scores(both, (given, given), index, whole, starts)


def _scores(
    wholes: FloatArray,
    parts: tuple[FloatArray, FloatArray],
    index: IntArray,
    own: FloatArray,
    starts: IntArray,
) -> FloatArray:
    from discreet.engines.kernels.interact import score

    scores = np.empty((len(starts) - 1, len(index)))
    score(wholes, parts, index, own, starts, (_NOTHING, _LEAST), scores)
    return scores


def pairs_with(feature: int, width: int) -> IntArray:
    """Return the pairs of one feature with every other, in their order."""
    others = np.delete(np.arange(width), feature)
    return np.column_stack([np.full_like(others, feature), others])


def all_pairs(width: int) -> IntArray:
    """Return the pairs of all features with each other."""
    return np.column_stack(np.triu_indices(width, 1)).astype(np.int64)


def _joined(parts: Sequence[FloatArray]) -> Iterator[tuple[FloatArray, IntArray]]:
    """Yield the rows of some subsets at a time, one after the other, and where each begins."""
    sizes = np.array([len(rows) for rows in parts], dtype=np.int64)
    batch = np.cumsum(sizes**2) // _CELLS
    for number in np.unique(batch):
        chosen = np.flatnonzero(batch == number)
        starts = np.concatenate([[0], np.cumsum(sizes[chosen])])
        yield np.concatenate([parts[place] for place in chosen.tolist()]), starts


def _slices(starts: IntArray) -> list[slice]:
    return [slice(first, after) for first, after in pairwise(starts.tolist())]


@dataclass(frozen=True)
class CalledDependences(Dependences):
    """Dependences of a model that is called with every mixed row, for one subset at a time."""

    predict: Predict
    pulse: Pulse | None = None

    def singles(self, rows: FloatArray, starts: IntArray) -> Means:
        """See ``Dependences``."""
        own, given, rest = np.empty(len(rows)), np.empty(rows.shape[::-1]), np.empty(rows.shape[::-1])
        sets: list[tuple[int, ...]] = [(place,) for place in range(rows.shape[1])]
        for part in _slices(starts):
            for place, table in enumerate(self._tables(rows[part], sets)):
                own[part] = np.diagonal(table)
                given[place, part], rest[place, part] = table.mean(axis=0), table.mean(axis=1)
        return own, given, rest

    def pairs(self, rows: FloatArray, starts: IntArray, pairs: IntArray) -> Means:
        """See ``Dependences``."""
        own, given = np.empty(len(rows)), np.zeros(rows.shape[::-1])
        used, both = np.unique(pairs).tolist(), np.empty((len(pairs), len(rows)))
        sets = [(place,) for place in used] + [tuple(pair) for pair in pairs.tolist()]
        for part in _slices(starts):
            for place, table in enumerate(self._tables(rows[part], sets)):
                own[part], mean = np.diagonal(table), table.mean(axis=0)
                if place < len(used):
                    given[used[place], part] = mean
                else:
                    both[place - len(used), part] = mean
        return own, given, both

    def _tables(self, rows: FloatArray, sets: list[tuple[int, ...]]) -> Iterator[FloatArray]:
        if len(rows) < 2:
            return
        designs = (mixed_rows(rows, places) for places in sets)
        for answers in predict_all(self.predict, designs):
            yield answers.reshape(len(rows), len(rows))


def answer_terms(bounds: Box) -> FloatArray:
    """Return the bounds, what NaN becomes, and the unit of answers measured from there.

    In this unit they lie in -1 .. 1: statistics have none, and no square overflows.
    """
    low, high = bounds.limits
    half = high / 2 - low / 2
    return np.array([low, high, low / 2 + high / 2, 1.0 / max(half, 1e-300)])


def mixed_rows(rows: FloatArray, features: tuple[int, ...]) -> FloatArray:
    """Return row i with some features of row k, for every i and k (k changes fastest)."""
    mixed = np.repeat(rows, len(rows), axis=0)
    mixed[:, features] = np.tile(rows[:, features], (len(rows), 1))
    return mixed


def predict_all(predict: Predict, designs: Iterable[FloatArray]) -> Iterator[FloatArray]:
    """Yield the predictions of every design; small designs share a call."""
    waiting: list[FloatArray] = []
    for design in designs:
        waiting.append(design)
        if sum(map(len, waiting)) >= _CALL_ROWS:
            yield from _predict_together(predict, waiting)
            waiting = []
    if waiting:
        yield from _predict_together(predict, waiting)


def _predict_together(predict: Predict, designs: list[FloatArray]) -> Iterator[FloatArray]:
    answers = predict(np.concatenate(designs))
    return iter(np.split(answers, np.cumsum([len(design) for design in designs])[:-1]))


def network_dependences(model: BoundModel, form: NetworkForm) -> Dependences:
    """Return dependences of a network with one hidden layer."""
    return NetworkDependences(form, model.bounds)


def called_dependences(model: BoundModel, _: None = None) -> Dependences:
    """Return dependences by calls, of answers scaled to -1 .. 1: no square may overflow."""
    _, _, fill, scale = answer_terms(model.bounds)

    def predict(rows: FloatArray) -> FloatArray:
        return np.asarray((model.predict(rows, len(rows)) - fill) * scale)  # all of one subset

    return CalledDependences(predict, model.pulse)


@dataclass(frozen=True)
class NetworkDependences(Dependences):
    """A network with one hidden layer; linear and logistic models have one unit."""

    form: NetworkForm
    bounds: Box

    def singles(self, rows: FloatArray, starts: IntArray) -> Means:
        """See ``Dependences``."""
        return self._replace(rows, starts, _alone(np.arange(rows.shape[1])))

    def pairs(self, rows: FloatArray, starts: IntArray, pairs: IntArray) -> Means:
        """See ``Dependences``."""
        used, given = np.unique(pairs), np.zeros(rows.shape[::-1])
        own, means, _ = self._replace(rows, starts, np.concatenate([_alone(used), pairs]))
        given[used] = means[: len(used)]
        return own, given, means[len(used) :]

    def _replace(self, rows: FloatArray, starts: IntArray, sets: IntArray) -> Means:
        from discreet.engines.kernels.interact import replace_in_network

        form, shape = self.form, (len(sets), len(rows))
        own, given, rest = np.empty(len(rows)), np.empty(shape), np.empty(shape)
        replace_in_network(
            *(np.array(rows.T, order="C"), starts, sets),
            *(form.weights, form.bias, form.outer, form.outer_bias),
            *(form.curve, form.rate, form.logistic),
            *(answer_terms(self.bounds), own, given, rest),
        )
        return own, given, rest


def _alone(places: IntArray) -> IntArray:
    """Return sets of one feature each."""
    return np.column_stack([places, np.full_like(places, -1)])
