"""Example records with a known truth: loans that were paid back or not.

The records are drawn from a seed and describe nobody, so pages and tests may show what on real data
nobody may see: the exact answer beside the released one.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from discreet.randomness import public_generator
from discreet.schema import Category, Number, Schema

if TYPE_CHECKING:
    import pandas as pd

HOMES = ("rent", "mortgage", "own")
PURPOSES = ("car", "education", "medical", "business", "renovation")


def loan_schema() -> Schema:
    """Return the public facts about the loan records."""
    return Schema(
        {
            "age": Number(18, 90, step=1, missing=False),
            "income": Number(0, 200_000, missing=False),
            "loan": Number(500, 50_000, missing=False),
            "credit_score": Number(300, 850, step=1, missing=False),
            "years_employed": Number(0, 40, step=1, missing=False),
            "late_payments": Number(0, 12, step=1, missing=False),
            "home": Category(*HOMES, missing=False, other=False),
            "purpose": Category(*PURPOSES, missing=False, other=False),
            "defaulted": Category(0, 1, missing=False, other=False),
        },
        target="defaulted",
    )


def loans(rows: int = 20_000, *, seed: int = 2026) -> pd.DataFrame:
    """Return loan records drawn from a seed.

    >>> loans(3)["age"].tolist() == loans(3)["age"].tolist()
    True
    """
    import pandas as pd

    draw = public_generator(seed)
    age = np.clip(np.rint(18 + draw.gamma(3.2, 8.0, rows)), 18, 90)
    years_employed = np.clip(np.rint(draw.uniform(0, 0.7, rows) * (age - 18)), 0, 40)
    income = np.clip(draw.lognormal(10.55 + 0.015 * years_employed, 0.45), 0, 200_000)
    late_payments = np.minimum(draw.poisson(draw.gamma(0.9, 0.9, rows)), 12)
    noise = draw.normal(0, 55, rows)
    score = 640 + 0.9 * (age - 40) - 38 * late_payments + 0.0006 * (income - 45_000) + noise
    frame = pd.DataFrame(
        {
            "age": age.astype(int),
            "income": np.round(income, 2),
            "loan": np.round(np.clip(draw.lognormal(9.1, 0.7, rows), 500, 50_000), 2),
            "credit_score": np.clip(np.rint(score), 300, 850).astype(int),
            "years_employed": years_employed.astype(int),
            "late_payments": late_payments.astype(int),
            "home": draw.choice(HOMES, rows, p=[0.45, 0.35, 0.2]),
            "purpose": draw.choice(PURPOSES, rows, p=[0.3, 0.15, 0.15, 0.2, 0.2]),
        }
    )
    frame["defaulted"] = (draw.random(rows) < default_probability(frame)).astype(int)
    return frame


def default_probability(frame: pd.DataFrame) -> NDArray[np.float64]:
    """Return the true probability that a loan defaults: the law the records were drawn from."""
    burden = frame["loan"].to_numpy() / np.maximum(frame["income"].to_numpy(), 5_000)
    home = frame["home"].map({"rent": 0.35, "mortgage": 0.0, "own": -0.3}).to_numpy(float)
    purpose = frame["purpose"].map(
        {"car": 0.0, "education": 0.1, "medical": 0.5, "business": 0.45, "renovation": -0.2}
    )
    late = frame["late_payments"].to_numpy()
    score = frame["credit_score"].to_numpy()
    logit = (
        -1.9
        - 0.011 * (score - 640)
        + 1.6 * np.minimum(burden, 2.0)
        + 0.45 * np.minimum(late, 4)
        + home
        + purpose.to_numpy(float)
    )
    return np.asarray(1.0 / (1.0 + np.exp(-logit)))
