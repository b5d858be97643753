"""Gradient boosters on columns of texts: fitted as usual, explained on private rows as they are.

Run with ``python examples/boosters_with_categories.py``. Boosters that are not installed are left out.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from sklearn.ensemble import HistGradientBoostingClassifier

import discreet as dc

SCHEMA = dc.Schema(
    {
        "age": dc.Number(18, 90),
        "income": dc.Number(0, 200),
        "home type": dc.Category("rent", "own", "mortgage", "with parents"),
        "region": dc.Category("north", "east", "south", "west", "abroad"),
        "defaulted": dc.Category(0, 1, missing=False, other=False),
    },
    target="defaulted",
)
TEXTS = ["home type", "region"]
FEATURES = list(SCHEMA.features)


def draw(rows: int, seed: int) -> pd.DataFrame:
    """Return records drawn from a seed; some incomes and homes are missing."""
    rng = np.random.default_rng(seed)
    frame = pd.DataFrame(
        {
            "age": rng.uniform(18, 90, rows),
            "income": rng.gamma(3.0, 20.0, rows).clip(0, 200),
            "home type": rng.choice(["rent", "own", "mortgage", "with parents"], rows),
            "region": rng.choice(["north", "east", "south", "west"], rows),
        }
    )
    risk = (
        1.2 * (frame["home type"] == "rent") - 0.03 * frame["income"] + frame["region"].isin(["east"])
    )
    frame["defaulted"] = (rng.random(rows) < 1 / (1 + np.exp(-risk))).astype(int)
    frame.loc[rng.random(rows) < 0.1, "income"] = np.nan
    frame.loc[rng.random(rows) < 0.05, "home type"] = None
    return frame


def as_categories(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the features with texts as pandas' categories, in an order that is not the schema's."""
    return frame[FEATURES].astype(dict.fromkeys(TEXTS, "category"))


def as_texts(frame: pd.DataFrame) -> pd.DataFrame:
    """Return the features with texts, as CatBoost takes them."""
    return frame[FEATURES].fillna(dict.fromkeys(TEXTS, "rent"))


def histogram_boosting(frame: pd.DataFrame, target: Any) -> Any:
    """Fit scikit-learn's booster."""
    model = HistGradientBoostingClassifier(max_iter=40, categorical_features="from_dtype")
    return model.fit(as_categories(frame), target)


def xgboost(frame: pd.DataFrame, target: Any) -> Any:
    """Fit XGBoost's."""
    from xgboost import XGBClassifier

    model = XGBClassifier(n_estimators=40, max_depth=4, n_jobs=1, enable_categorical=True)
    return model.fit(as_categories(frame), target)


def lightgbm(frame: pd.DataFrame, target: Any) -> Any:
    """Fit LightGBM's."""
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_estimators=40, n_jobs=1, verbose=-1).fit(as_categories(frame), target)


def catboost(frame: pd.DataFrame, target: Any) -> Any:
    """Fit CatBoost's; splits on single categories instead of statistics of the target."""
    from catboost import CatBoostClassifier

    model = CatBoostClassifier(
        iterations=40, one_hot_max_size=20, cat_features=TEXTS, thread_count=1, verbose=False
    )
    return model.set_params(allow_writing_files=False).fit(as_texts(frame), target)


BOOSTERS: dict[str, Callable[[pd.DataFrame, Any], Any]] = {
    "histogram boosting": histogram_boosting,
    "XGBoost": xgboost,
    "LightGBM": lightgbm,
    "CatBoost": catboost,
}


def main() -> dict[str, dc.Release]:
    """Release, for every booster, how its answers depend on the home type."""
    public, private = draw(4_000, seed=1), draw(20_000, seed=2)
    session = dc.protect(private, SCHEMA, dataset="loans", epsilon=4.0, ledger=":memory:")
    releases = {}
    for name, fit in BOOSTERS.items():
        try:
            fitted = fit(public, public["defaulted"])
        except ImportError:
            print(f"{name} is not installed\n")
            continue
        model = dc.Model(fitted)
        print(f"{name} gets\n  " + model.inputs(SCHEMA).replace("\n", "\n  "))
        releases[name] = session.release(dc.partial_dependence(model, "home type", epsilon=0.5))
        print(releases[name].value.to_frame().round(3).to_string(index=False))
        print(f"grade {releases[name].guarantee.grade}; {releases[name].guarantee}\n")
    return releases


if __name__ == "__main__":
    main()
