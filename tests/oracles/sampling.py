"""What secret sampling of coalitions would buy, and why nothing is claimed for it.

Watson et al. (2022) scale noise by an inclusion "probability" that exceeds one at their own setting. A
probability does not; and a Shapley value has a layer that contains everybody.
"""

from __future__ import annotations

import math

import numpy as np

from discreet.numerics import check_positive
from discreet.randomness import IntArray


def inclusion_probability(counts: IntArray) -> float:
    """Return how likely a record is in any of ``counts[k]`` independent coalitions of size k.

    Args:
      counts: coalitions of the layers k = 0..n-1, of k of n - 1 others each.

    It is 1 - prod_k (1 - k / (n - 1))^counts[k]: never above one, and one as soon as the layer of all
    others is drawn.

    >>> round(inclusion_probability(np.array([1, 1, 0, 0])), 3)
    0.333
    """
    sizes = np.arange(len(counts)) / max(1, len(counts) - 1)
    return min(1.0, 1.0 - float(np.prod((1.0 - sizes) ** np.asarray(counts))))


def amplified_epsilon(epsilon: float, inclusion: float) -> float:
    """Return what an epsilon-private answer from one secret coalition costs a record seldom in it.

    It is ln(1 + p (e^epsilon - 1)) with p capped at one: never more than epsilon.

    >>> amplified_epsilon(1.0, 76.0)
    1.0
    """
    check_positive("epsilon", epsilon)
    check_positive("inclusion", inclusion)
    share = min(inclusion, 1.0)
    return min(epsilon, math.log1p(share * math.expm1(epsilon)))
