"""How good class probabilities are: accuracy, AUC and log loss. Needs numpy alone."""

from __future__ import annotations

from typing import Any

import numpy as np

MEASURES = ("accuracy", "AUC", "log loss")
_LEAST = 1e-3
"""No probability is taken as less: a forest that votes says zero, which would cost infinitely much."""


def measures(shares: Any, classes: Any) -> dict[str, float]:
    """Return all measures of probabilities, rows x classes."""
    kept = np.clip(shares, _LEAST, 1.0)
    kept /= kept.sum(axis=1, keepdims=True)
    return {
        "accuracy": float(np.mean(shares.argmax(axis=1) == classes)),
        "AUC": auc(shares, classes),
        "log loss": float(-np.log(kept[np.arange(len(classes)), classes]).mean()),
    }


def auc(shares: Any, classes: Any) -> float:
    """Return the area under the ROC curve, ties counted half; the mean over classes if there are more.

    >>> auc(np.array([[0.9, 0.1], [0.4, 0.6], [0.4, 0.6]]), np.array([0, 0, 1]))
    0.75
    """
    places = (1,) if shares.shape[1] == 2 else range(shares.shape[1])
    own = [_two(shares[:, place], classes == place) for place in places]
    return float(np.mean([area for area in own if area == area]))


def _two(scores: Any, positive: Any) -> float:
    _, place, size = np.unique(scores, return_inverse=True, return_counts=True)
    ranks = (np.cumsum(size) - (size - 1) / 2)[place]
    first = positive.sum()
    both = first * (len(positive) - first)
    return float((ranks[positive].sum() - first * (first + 1) / 2) / both) if both else float("nan")
