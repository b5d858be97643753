"""The figures of Alissaiei (2026), by table, and the row that sets ours beside one; keys are ours."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

Rows = list[dict[str, Any]]

LOCAL_SENSITIVITY_COUNTS = (100, 200, 400, 800)

TABLE_3 = {
    "MLP": (0.082, 0.085, 0.085, 0.086),
    "RF": (0.048, 0.051, 0.050, 0.051),
    "GB": (0.072, 0.075, 0.075, 0.076),
}
"""Mean local sensitivity by number of coalitions."""

TABLE_7 = {
    ("MLP", 1): {"LS mean": 0.013, "sigma A": 10.02, "sigma B": 0.42, "ratio": 24.12, "top-5": 0.27},
    ("MLP", 5): {"LS mean": 0.013, "sigma A": 2.00, "sigma B": 0.083, "ratio": 24.12, "top-5": 0.40},
    ("RF", 1): {"LS mean": 0.047, "sigma A": 293.92, "sigma B": 6.07, "ratio": 48.42, "top-5": 0.25},
    ("RF", 5): {"LS mean": 0.047, "sigma A": 58.78, "sigma B": 1.21, "ratio": 48.58, "top-5": 0.26},
    ("GB", 1): {"LS mean": 0.071, "sigma A": 1024.04, "sigma B": 17.68, "ratio": 57.92, "top-5": 0.25},
    ("GB", 5): {"LS mean": 0.071, "sigma A": 204.80, "sigma B": 3.54, "ratio": 57.85, "top-5": 0.25},
}
"""The Gaussian baseline (A) and Algorithm 1 (B) by model and epsilon."""

TABLE_9 = {
    "MLP": {"D mean": 0.379, "D p95": 0.570, "gap mean": 0.150, "gap p95": 0.484, "D/g": 2.5},
    "RF": {"D mean": 0.462, "D p95": 0.747, "gap mean": 0.341, "gap p95": 0.709, "D/g": 1.4},
    "GB": {"D mean": 0.443, "D p95": 0.654, "gap mean": 0.316, "gap p95": 0.653, "D/g": 1.4},
}

TABLE_10_COLUMNS = ("sigma A", "sigma B", "ratio", "D mean", "gap mean", "D/g")
TABLE_10 = {
    ("adult_pilot", "RF"): (65.1, 21.8, 2.98, 0.0003, 0.090, 0.004),
    ("adult_pilot", "GB"): (376.6, 120.2, 3.13, 0.092, 0.075, 1.23),
    ("german", "RF"): (58.7, 18.7, 3.13, 0.128, 0.066, 1.94),
    ("german", "GB"): (348.1, 110.9, 3.14, 0.171, 0.019, 8.86),
}

TABLE_11_COLUMNS = ("D/g", "top-1 e=1", "top-1 e=10", "top-5 e=1", "tau e=1")
TABLE_11 = {
    ("synth_additive", "LR"): (0.64, 0.18, 0.91, 0.35, 0.05),
    ("synth_additive", "MLP"): (1.60, 0.10, 0.79, 0.33, 0.00),
    ("synth_additive", "RF"): (1.89, 0.16, 0.84, 0.31, 0.03),
    ("synth_additive", "GB"): (1.84, 0.15, 0.81, 0.31, 0.01),
    ("synth_interaction", "LR"): (1.48, 0.10, 0.83, 0.29, 0.01),
    ("synth_interaction", "MLP"): (1.87, 0.11, 0.78, 0.31, 0.00),
    ("synth_interaction", "RF"): (1.44, 0.13, 0.84, 0.37, 0.01),
    ("synth_interaction", "GB"): (1.93, 0.09, 0.68, 0.32, 0.01),
    ("adult", "LR"): (9.26, 0.04, 0.31, 0.08, 0.01),
    ("adult", "MLP"): (9.68, 0.01, 0.23, 0.06, 0.00),
    ("adult", "RF"): (0.33, 0.39, 0.99, 0.41, 0.00),
    ("adult", "GB"): (4.75, 0.03, 0.51, 0.06, -0.01),
    ("default_credit", "LR"): (5.14, 0.10, 0.51, 0.25, 0.00),
    ("default_credit", "MLP"): (6.46, 0.04, 0.38, 0.26, 0.00),
    ("default_credit", "RF"): (1.03, 0.09, 0.68, 0.24, 0.00),
    ("default_credit", "GB"): (5.30, 0.07, 0.33, 0.24, 0.01),
}

TABLE_12_COLUMNS = ("D med", "gap med", "D/g", "top-1 e=1")
TABLE_12 = {
    25: (0.74, 0.21, 2.15, 0.15),
    50: (0.86, 0.72, 1.19, 0.20),
    100: (1.67, 0.46, 2.88, 0.07),
    200: (2.01, 0.47, 4.30, 0.12),
    500: (0.50, 0.57, 0.58, 0.30),
}
"""By size of the background."""

TABLE_13_COLUMNS = ("jitter", "D/g", "top-1 e=1", "seconds")
TABLE_13 = {
    100: (0.0, 1.91, 0.13, 0.4),
    200: (0.0, 2.51, 0.10, 0.8),
    400: (0.0, 1.79, 0.07, 1.5),
    800: (0.0, 2.05, 0.05, 3.0),
    1600: (0.0, 2.02, 0.07, 6.1),
}
"""By number of coalitions."""

TABLE_14 = {
    "random": 0.075,
    "non-private": 1.000,
    "exponential": 0.096,
    "Gaussian, then top-1": 0.063,
    "Laplace noisy max": 0.100,
    "above threshold": 0.508,
}
TABLE_14_SIGMA = 437.6


def row(
    table: int, setting: str, quantity: str, published: float, sets: Iterable[float]
) -> dict[str, Any]:
    """Return one figure: the paper's, ours on the first set, and the range over all sets."""
    ours = [float(value) for value in sets]
    several = len(ours) > 1
    return {
        "table": table,
        "setting": setting,
        "quantity": quantity,
        "paper": published,
        "ours": round(ours[0], 5),
        "low": round(min(ours), 5) if several else None,
        "high": round(max(ours), 5) if several else None,
    }


def rows_of(
    table: int, setting: str, published: dict[str, float], sets: list[dict[str, float]]
) -> Rows:
    """Return one row per published quantity."""
    return [
        row(table, setting, key, value, [one[key] for one in sets]) for key, value in published.items()
    ]
