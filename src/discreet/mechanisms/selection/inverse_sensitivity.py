"""Choose by distance: how many edits would make a candidate the answer (Asi and Duchi 2020).

A distance moves by at most one per edit whatever the question is, so it needs no sensitivity analysis.
"""

from __future__ import annotations

import numpy as np

from discreet.errors import ArgumentError
from discreet.mechanisms.selection.basic import ExponentialMechanism
from discreet.mechanisms.selection.pick import FloatArray
from discreet.randomness import IntArray, NoiseSource


class InverseSensitivity:
    """Pick r with probability proportional to exp(-epsilon distance_r / 2).

    Guarantees:
      - epsilon-differentially private and epsilon-bounded range. [inverse-sensitivity]
    """

    name = "inverse sensitivity"

    def __init__(self, epsilon: float) -> None:
        self.epsilon = epsilon
        self.step = ExponentialMechanism(1, epsilon)
        self.event = self.step.event

    def probabilities(self, distances: IntArray) -> FloatArray:
        """Return the exact law of the chosen index."""
        return self.step.probabilities(-_distances(distances))

    def release(self, raw_distances: IntArray, source: NoiseSource) -> int:
        """Return the chosen index."""
        return self.step.release(-_distances(raw_distances), source)


def signed_distances(raw_distances: IntArray, leave: int) -> IntArray:
    """Return scores that also say how safe the answer is: it gets leave - 1, others minus distance.

    ``leave`` is the least number of edits after which the answer is another one, or there is none.
    This is shifted local dampening of the 0/1 utility with its element-wise sensitivity.

    Guarantees:
      - One edit moves every score by at most one. [signed-distance]
      - Against plain distances only the answer gains. [signed-distance]
    """
    distances = _distances(raw_distances)
    return np.where(distances == 0, leave - 1, -distances)


def _distances(raw_distances: IntArray) -> IntArray:
    distances = np.asarray(raw_distances)
    if distances.ndim != 1 or len(distances) == 0 or distances.dtype.kind not in "iu":
        raise ArgumentError("distances must be a non-empty vector of whole numbers of edits.")
    return distances.astype(np.int64, copy=False)
