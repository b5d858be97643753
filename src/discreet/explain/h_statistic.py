"""Friedman's H-statistic: how much of a model's answer is not a sum of its parts. Not private.

With centred partial dependences PD over the rows themselves,

    total:  H_j^2  = sum_i (f(x_i) - PD_j(x_ij) - PD_rest(x_i,rest))^2 / sum_i f(x_i)^2
    pair:   H_jk^2 = sum_i (PD_jk(x_ij, x_ik) - PD_j(x_ij) - PD_k(x_ik))^2 / sum_i PD_jk(x_ij, x_ik)^2

For s rows all of it comes from exchanges F_j[i, k] = f(row i with feature j of row k): columns average
to PD_j, rows to PD_rest, the diagonal is f itself. A *design* is the s^2 rows of one such table;
designs of many subsets go to the model in one call.

Reference: Friedman and Popescu (2008), "Predictive Learning via Rule Ensembles", equations 44 to 46.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

import numpy as np

from discreet.schema import FloatArray

Predict = Callable[[FloatArray], FloatArray]

_CALL_ROWS = 2**16
_NOTHING = 1e-12
"""Less than this share of the variance is rounding, and counts as none."""

_LEAST = 1e-300


def total_designs(rows: FloatArray) -> Iterator[FloatArray]:
    """Yield the rows whose predictions ``total_scores`` needs."""
    for feature in range(rows.shape[1]):
        yield exchanged(rows, (feature,))


def total_scores(answers: Iterator[FloatArray], rows: FloatArray) -> FloatArray:
    """Return H^2 of every feature against all others, from the predictions of the designs."""
    tables = (_table(answers, len(rows)) for _ in range(rows.shape[1]))
    return np.array([_total(table) for table in tables])


def pair_designs(rows: FloatArray, feature: int) -> Iterator[FloatArray]:
    """Yield the rows whose predictions ``pair_scores`` needs."""
    yield exchanged(rows, (feature,))
    for other in _others(rows, feature):
        yield exchanged(rows, (other,))
        yield exchanged(rows, (feature, other))


def pair_scores(answers: Iterator[FloatArray], rows: FloatArray, feature: int) -> FloatArray:
    """Return H^2 of one feature with every other, from the predictions of the designs."""
    own = _table(answers, len(rows))
    spread = float(np.sum(_centred(np.diagonal(own)) ** 2))
    return np.array([_pair(own, answers, spread) for _ in _others(rows, feature)])


def exchanged(rows: FloatArray, features: tuple[int, ...]) -> FloatArray:
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


def _table(answers: Iterator[FloatArray], rows: int) -> FloatArray:
    return np.array(next(answers)).reshape(rows, rows)


def _total(table: FloatArray) -> float:
    whole = _centred(np.diagonal(table))
    rest = whole - _centred(table.mean(axis=0)) - _centred(table.mean(axis=1))
    return _ratio(rest, whole, float(np.sum(whole**2)))


def _pair(own: FloatArray, answers: Iterator[FloatArray], spread: float) -> float:
    other, both = (_centred(_table(answers, len(own)).mean(axis=0)) for _ in range(2))
    return _ratio(both - _centred(own.mean(axis=0)) - other, both, spread)


def _ratio(rest: FloatArray, whole: FloatArray, spread: float) -> float:
    left, nothing = float(np.sum(rest**2)), _NOTHING * spread
    return 0.0 if left <= nothing else left / max(float(np.sum(whole**2)), nothing, _LEAST)


def _centred(values: FloatArray) -> FloatArray:
    return np.asarray(values - values.mean())


def _others(rows: FloatArray, feature: int) -> list[int]:
    return [place for place in range(rows.shape[1]) if place != feature]
