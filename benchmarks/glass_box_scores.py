"""How good predictions are, told alike of ours and of peers; needs numpy alone."""

from __future__ import annotations

from typing import Any

import numpy as np

_LEAST = 1e-6
"""Probabilities are kept so far from zero and one: a peer that is certain and wrong is not infinite."""
_BINS = 10


def class_scores(chances: Any, classes: Any) -> dict[str, float]:
    """Return AUC (of several classes the mean against the rest), log loss, accuracy and calibration.

    Calibration is the mean distance of the likeliest class's probability (of two classes: of the
    second's) and its share, over ten groups of equal size.
    """
    chances = np.clip(np.nan_to_num(np.asarray(chances, dtype=float)), _LEAST, 1 - _LEAST)
    chances /= chances.sum(axis=1, keepdims=True)
    present = np.unique(classes)
    areas = [
        _area(chances[:, one], classes == one)
        for one in (present[1:] if chances.shape[1] == 2 else present)
    ]
    likeliest = chances.argmax(axis=1)
    told = (
        (chances[:, 1], classes == 1)
        if chances.shape[1] == 2
        else (chances.max(axis=1), likeliest == classes)
    )
    return {
        "auc": float(np.mean(areas)),
        "log loss": float(-np.mean(np.log(chances[np.arange(len(classes)), classes]))),
        "accuracy": float(np.mean(likeliest == classes)),
        "calibration": _calibration(*told),
    }


def number_scores(predictions: Any, values: Any) -> dict[str, float]:
    """Return the root mean squared error."""
    return {"rmse": float(np.sqrt(np.mean((np.asarray(predictions) - values) ** 2)))}


def _area(scores: Any, positive: Any) -> float:
    """Return the chance that a positive row is above a negative one, ties counted half."""
    _, place, counts = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = np.cumsum(counts) - (counts - 1) / 2
    own, number = int(positive.sum()), len(scores)
    return float((ranks[place][positive].sum() - own * (own + 1) / 2) / (own * (number - own)))


def _calibration(chances: Any, happened: Any) -> float:
    groups = np.array_split(np.argsort(chances, kind="stable"), _BINS)
    gaps = [len(g) * abs(chances[g].mean() - happened[g].mean()) for g in groups if len(g)]
    return float(sum(gaps) / len(chances))
