"""A frame as it comes from a clinic: NaN, dates, texts, truth values, codes with leading zeros, ids.

A draft of the schema tells what it saw, a person writes down what is public, and every kind of column
is asked about. Run it anywhere: nothing is left behind.
"""

from __future__ import annotations

import numpy as np
import pandas as pd
from sklearn.compose import make_column_transformer
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, OrdinalEncoder

import discreet as dc

FEATURES = ["visit", "bmi", "sex"]


def clinic(rows: int, seed: int) -> pd.DataFrame:
    """Return made-up visits; one in eight has no bmi, one in twenty no date."""
    draw = np.random.default_rng(seed)
    days = pd.Timestamp("2020-01-01") + pd.to_timedelta(draw.integers(0, 1_500, rows), unit="D")
    bmi = draw.normal(27, 4, rows)
    frame = pd.DataFrame(
        {
            "patient": [f"P-{place:06}" for place in draw.permutation(rows)],
            "visit": days,
            "bmi": bmi.round(1),
            "sex": draw.choice(["F", "M", "X"], rows, p=[0.5, 0.49, 0.01]),
            "ward": draw.choice(["007", "012", "101"], rows),
            "smoker": draw.random(rows) < 0.3,
            "stage": draw.choice(["I", "II", "III"], rows),
        }
    )
    frame["ill"] = (bmi + 3 * frame["smoker"] + draw.normal(0, 3, rows) > 29).astype(int)
    frame.loc[draw.random(rows) < 1 / 8, "bmi"] = np.nan
    frame.loc[draw.random(rows) < 1 / 20, "visit"] = pd.NaT
    frame["sex"] = frame["sex"].where(draw.random(rows) < 0.95, None)
    return frame


SCHEMA = dc.Schema(
    {
        "visit": dc.Date("2020-01-01", "2024-12-31", step="month", label="Month of the visit"),
        "bmi": dc.Number(10, 60, unit="kg/m²"),
        "sex": dc.Category(["F", "M"]),  # X is counted as (other)
        "ward": dc.Category(["007", "012", "101"], missing=False),
        "smoker": dc.Boolean(missing=False, other=False),
        "stage": dc.Category(["I", "II", "III"], ordered=True),
        "ill": dc.Category(0, 1, missing=False, other=False),
    },
    target="ill",
    id="patient",
)


def months(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the months since 2020, as a pipeline makes them of dates."""
    visit = frame["visit"].dt
    return pd.DataFrame({"months": 12.0 * (visit.year - 2020) + visit.month})


def fit(train: pd.DataFrame) -> object:
    """Return a pipeline that was fitted on a frame with dates, texts and NaN."""
    parts = make_column_transformer(
        (FunctionTransformer(months), ["visit"]),
        (OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=np.nan), ["sex"]),
        remainder="passthrough",
    )
    booster = HistGradientBoostingClassifier(max_iter=30, random_state=0)
    return make_pipeline(parts, booster).fit(train[FEATURES], train["ill"])


def main() -> None:
    """Draft, protect and ask."""
    records = clinic(5_000, seed=0)
    draft = dc.Schema.sketch(records, target="ill")
    for name, notes in draft.notes.items():
        print(f"{name}: {'; '.join(notes)}")
    print("left out:", draft.left_out)

    session = dc.protect(
        records, SCHEMA, dataset="clinic", epsilon=8.0, ledger=":memory:", seed=1, progress=False
    )
    print(session.check())  # for the curator alone
    for column in ("visit", "sex", "smoker"):
        print(session.release(dc.histogram(column, bins=5, epsilon=0.5)).value.to_frame())
    print(session.release(dc.quantiles("visit", [0.25, 0.5, 0.75], epsilon=0.5)).value.to_frame())
    tree = session.release(dc.decision_tree("ill", epsilon=2.0)).value
    print(tree.split_text(0))
    curve = session.release(dc.partial_dependence(fit(clinic(5_000, seed=1)), "visit", epsilon=1.0))
    print(curve.value.to_frame().tail(3))
    print(session.release(dc.synthesize(epsilon=1.5, rows=5)).value.to_frame())
    print("left:", session.remaining)


if __name__ == "__main__":
    main()
