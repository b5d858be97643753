"""The figures of Lange et al. (2024) that ours stand beside: means of ten runs of the authors' code.

Every entry is (generic, specific) for epsilon 0.5, 1, 2, 5, 10; 20 points, 200 subsets. Curves are
measured by MISE, rankings by the share of pairs in the right order. Bounds were read from the rows.
"""

from __future__ import annotations

EPSILONS = (0.5, 1.0, 2.0, 5.0, 10.0)

CURVES: dict[tuple[str, str, str], tuple[tuple[float, float], ...]] = {
    ("ALE", "census", "age"): (
        (0.307, 2.67e-4),
        (0.0647, 1.63e-4),
        (0.0157, 1.11e-4),
        (2.98e-3, 1.15e-4),
        (8.7e-4, 1.01e-4),
    ),
    ("ALE", "census", "capital-gain"): (
        (0.318, 0.079),
        (0.103, 0.090),
        (0.071, 0.083),
        (0.042, 0.062),
        (0.041, 0.059),
    ),
    ("ALE", "bike", "hr"): ((2.9e5, 3889), (6.6e4, 742), (1.35e4, 242), (3030, 209), (1166, 222)),
    ("PDP", "census", "age"): (
        (0.077, 3.76e-5),
        (0.016, 3.64e-5),
        (4.1e-3, 3.55e-5),
        (6.9e-4, 3.57e-5),
        (2.2e-4, 3.56e-5),
    ),
    ("PDP", "census", "capital-gain"): (
        (0.073, 2.25e-3),
        (0.017, 2.25e-3),
        (7.9e-3, 2.25e-3),
        (2.47e-3, 2.25e-3),
        (1.94e-3, 2.25e-3),
    ),
    ("PDP", "bike", "hr"): ((7.3e4, 53.2), (1.6e4, 45.6), (3268, 42.5), (731, 42.6), (257, 42.2)),
}
CONCORDANCE: dict[str, tuple[tuple[float, float], ...]] = {
    "census": ((0.864, 0.978), (0.914, 0.987), (0.972, 0.997), (0.986, 0.996), (0.994, 1.00)),
    "bike": ((0.842, 0.811), (0.911, 0.860), (0.913, 0.884), (0.958, 0.911), (0.953, 0.920)),
}
REFERENCE_FEATURES = {"census": ("age", "capital-gain"), "bike": ("hr",)}


def published_curve(
    explainer: str, task: str, feature: str, epsilon: float
) -> tuple[float, float] | tuple[None, None]:
    """Return the authors' generic and specific MISE, if they are known."""
    found = CURVES.get((explainer, task, feature))
    return (None, None) if found is None else found[EPSILONS.index(epsilon)]


def published_concordance(task: str, epsilon: float) -> tuple[float, float]:
    """Return the authors' generic and specific concordance."""
    return CONCORDANCE[task][EPSILONS.index(epsilon)]
