"""What models see of missing and unlisted values: NaN if they take it, else a value that is named."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import (
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    RandomForestRegressor,
)
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder

import discreet as dc
from discreet.engines.curves import cells_of
from discreet.engines.table import engine_for
from discreet.schema import MISSING

SCHEMA = dc.Schema({"a": dc.Number(-3, 3), "b": dc.Number(-3, 3, step=0.5), "c": dc.Category(0, 1, 2)})
PLACES = [SCHEMA.position(name) for name in SCHEMA]
ROWS = np.asfortranarray(SCHEMA.draw(300)[:, PLACES])


def training(missing: bool) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(0)
    x = np.column_stack([draw.normal(size=400), draw.normal(size=400), draw.integers(0, 3, 400)])
    if missing:
        x[draw.random(x.shape) < 0.2] = np.nan
    return x, np.nan_to_num(x, nan=1.5) @ [1.0, -0.5, 0.7] + draw.normal(0, 0.1, 400)


def fitted(name: str) -> Any:
    x, y = training(name in ("histogram", "forest", "imputed"))
    models: dict[str, Any] = {
        "histogram": HistGradientBoostingClassifier(max_iter=15),
        "forest": RandomForestRegressor(8, max_depth=5, random_state=0),
        "imputed": make_pipeline(SimpleImputer(), LogisticRegression()),
        "boosted": GradientBoostingRegressor(n_estimators=8),
        "linear": LinearRegression(),
        "logistic": LogisticRegression(),
    }
    classes = name in ("histogram", "imputed", "logistic")
    return models[name].fit(x, (y > 0.5).astype(int) if classes else y)


def bound(name: str) -> tuple[Any, Any]:
    model = fitted(name)
    limits = None if hasattr(model, "predict_proba") else (-9.0, 9.0)
    return model, dc.Model(model, bounds=limits).bind(SCHEMA)


def said(model: Any, rows: np.ndarray) -> np.ndarray:
    classes = hasattr(model, "predict_proba")
    return np.asarray(model.predict_proba(rows)[:, 1] if classes else model.predict(rows))


@pytest.mark.parametrize(
    ("name", "takes"),
    [
        ("histogram", True),
        ("forest", True),
        ("imputed", True),
        ("boosted", False),
        ("linear", False),
        ("logistic", False),
    ],
)
def test_answers_are_those_of_the_model_itself(name: str, takes: bool) -> None:
    model, known = bound(name)
    assert known.sight.takes_missing is takes
    wanted = ROWS.copy()
    reserved = (ROWS == MISSING) | ((np.arange(3) == 2) & (ROWS > 2))
    wanted[reserved] = np.nan if takes else 0.0
    assert reserved[:, 0].any() and reserved[:, 2].any()
    assert known.predict(ROWS) == pytest.approx(said(model, wanted), abs=1e-9)


@pytest.mark.parametrize("name", ["histogram", "forest", "boosted", "linear", "logistic", "imputed"])
def test_engines_set_features_to_missing(name: str) -> None:
    """A grid's point for missing values, alone and beside a category, against the model itself."""
    model, known = bound(name)
    grids = [np.append(SCHEMA["a"].grid(5), MISSING), SCHEMA["c"].grid(0)]
    got = engine_for("curve", known, [0, 2], grids).predict(ROWS)
    for place, cell in enumerate(cells_of(grids)):
        made = ROWS.copy()
        made[:, [0, 2]] = cell
        assert got[:, place] == pytest.approx(said(model, known.sight(made)), abs=1e-9)
    steps = engine_for("steps", known, 0).predict(ROWS, (np.full(300, MISSING), ROWS[:, 0]))
    assert steps[1] == pytest.approx(known.predict(ROWS), abs=1e-9)


def test_a_function_that_hands_nan_on_gets_a_fill() -> None:
    hands_on = dc.Model(lambda x: x.sum(axis=1) / 20 + 0.5, bounds=(0, 1), name="sum")
    takes = dc.Model(lambda x: np.nansum(x, axis=1) / 20 + 0.5, bounds=(0, 1), name="nansum")
    assert not hands_on.bind(SCHEMA).sight.takes_missing
    assert takes.bind(SCHEMA).sight.takes_missing


def test_encoders_of_frames_know_missing_and_unlisted_texts() -> None:
    schema = dc.Schema({"home": dc.Category("rent", "own"), "size": dc.Number(0, 9)})
    frame = pd.DataFrame({"home": ["rent", "own"] * 50, "size": np.arange(100) % 9.0})
    encode = make_column_transformer((OneHotEncoder(handle_unknown="ignore"), ["home"]))
    model = make_pipeline(encode, LogisticRegression()).fit(frame, np.arange(100) % 3 == 0)
    known = dc.Model(model).bind(schema)
    codes = np.array([[0, 1.0], [1, 1.0], [2, 1.0], [3, 1.0]])
    texts = pd.DataFrame({"home": ["rent", "own", "castle", None], "size": 1.0})
    assert known.predict(codes) == pytest.approx(model.predict_proba(texts)[:, 1])


def test_the_guarantee_names_the_fill() -> None:
    frame = pd.DataFrame({"a": [0.0, np.nan, 1.0], "b": [0.0, 1.0, np.nan], "c": [0, 1, 2]})
    session = dc.protect(frame, SCHEMA, dataset="d", epsilon=9, ledger=":memory:")
    model = dc.Model(fitted("linear"), bounds=(-9, 9))
    promise = session.release(dc.partial_dependence(model, "a", epsilon=1)).guarantee
    assert str(promise).endswith(
        "the model is shown missing and unlisted values of a as 0, b as 0, c as 0"
    )
    takes = session.release(dc.partial_dependence(fitted("histogram"), "a", epsilon=1)).guarantee
    assert "missing" not in str(takes)


def test_a_curve_has_a_point_for_missing_values() -> None:
    draw = np.random.default_rng(1)
    frame = pd.DataFrame(draw.normal(size=(500, 2)), columns=["a", "b"]).assign(c=0)
    frame.loc[:99, "a"] = np.nan
    session = dc.protect(frame, SCHEMA, dataset="d", epsilon=3e6, ledger=":memory:", seed=1)
    model = fitted("histogram")
    curve = session.release(dc.partial_dependence(model, "a", epsilon=1e6, resolution=5)).value
    assert curve.missing is not None and len(curve.x) == 5
    gone = frame.assign(a=np.nan, b=SCHEMA["b"].encode(frame["b"].to_numpy()))
    assert curve.missing.y == pytest.approx(model.predict_proba(gone.to_numpy())[:, 1].mean(), abs=1e-4)
    table = curve.to_frame()
    assert len(table) == 6 and np.isnan(table["a"].iloc[-1])
    assert type(curve).read(curve.to_json()) == curve
    effects = session.release(dc.accumulated_effects(model, "a", epsilon=1e6)).value
    assert sum(effects.rug.counts[:-1]) == pytest.approx(400, abs=1)
