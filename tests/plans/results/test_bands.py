"""Bands of each value and of all at once: both hold as often as they say, on every kind of result.

A band of 95 % that holds falls below .92 of 400 draws with a probability of one in a hundred; draws are
seeded.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable
from discreet.errors import ArgumentError
from discreet.plans import Result, Setting
from discreet.plans.results.bands import at_once

FEATURES = ("a", "b", "c")
SCHEMA = dc.Schema(
    {
        **{name: dc.Number(-2, 2, missing=False) for name in FEATURES},
        "y": dc.Category(0, 1, missing=False, other=False),
    },
    target="y",
)
DRAWS, LEAST = 400, 0.92
PUBLIC = pd.DataFrame(np.random.default_rng(9).uniform(-2, 2, (5, 3)), columns=list(FEATURES))


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    rows = pd.DataFrame(np.random.default_rng(0).uniform(-2, 2, (80, 3)), columns=list(FEATURES))
    return rows.assign(y=(rows @ [2.0, -1.0, 0.2] > 0).astype(int))


@pytest.fixture(scope="module")
def model(frame: pd.DataFrame) -> LogisticRegression:
    return LogisticRegression().fit(frame[list(FEATURES)].to_numpy(), frame["y"])


QUESTIONS: dict[str, Callable[[Any, float], dc.Plan]] = {
    "curve": lambda m, e: dc.partial_dependence(m, "a", curve="whole", smooth=False, epsilon=e),
    "surface": lambda m, e: dc.partial_dependence(
        m, ("a", "b"), resolution=5, curve="whole", epsilon=e
    ),
    "effects": lambda m, e: dc.accumulated_effects(
        m, "a", edges="uniform", limit=None, intervals=6, smooth=False, epsilon=e
    ),
    "dependence": lambda m, e: dc.shap_dependence(
        m, "a", background=PUBLIC, clip=None, bins=4, epsilon=e
    ),
    "values": lambda m, e: dc.shap_values(m, [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0]], clip=None, epsilon=e),
    "importance": lambda m, e: dc.shap_importance(m, background=PUBLIC, clip=None, epsilon=e),
    "permutation": lambda m, e: dc.permutation_importance(m, clip=None, epsilon=e),
    "sorted": lambda m, e: dc.shap_ranking(
        m, [1.0, 1.0, 0.0], k=3, clip=None, mechanism="sorted", epsilon=e
    ),
    "histogram": lambda m, e: dc.histogram("a", bins=12, epsilon=e),
}


def draw(plan: dc.Plan, frame: pd.DataFrame, count: int) -> list[Any]:
    program = plan.prepare(Setting(SCHEMA, "replace-one", len(frame)))
    releaser = SimulatedReleaser(PrivateTable(frame, SCHEMA), 11)
    return [program.finish(releaser) for _ in range(count)]


def values_of(result: Result) -> np.ndarray:
    for name in ("values", "y", "counts"):
        if hasattr(result, name):
            return np.array(getattr(result, name), dtype=float)
    raise AssertionError("a result without values")


def in_order(result: Any) -> np.ndarray:
    """Return where a ranking's values belong; other results have an order of their own."""
    if not isinstance(result, dc.Ranking):
        return np.s_[:]
    return np.s_[:, [result.features.index(name) for name in result.names]]


@pytest.mark.parametrize("name", list(QUESTIONS))
def test_both_bands_hold_as_often_as_they_say(frame, model, name: str) -> None:
    ask = QUESTIONS[name]
    (truth,) = draw(ask(model, 1e6), frame, 1)
    exact = values_of(truth)
    exact[in_order(truth)] = exact.copy()
    found, holds = draw(ask(model, 2.0), frame, DRAWS), {"each": [], "all": []}
    for result in found:
        for of, seen in holds.items():
            low, high = (end.reshape(exact.shape) for end in result.band(of))
            own = exact[in_order(result)]
            seen.append((low <= own + 1e-4) & (own - 1e-4 <= high))
    assert np.mean(np.array(holds["each"]), axis=0).min() > LEAST
    assert np.mean([seen.all() for seen in holds["all"]]) > LEAST
    wide, own = (
        np.mean([np.ptp(one.band(of), axis=0).mean() for one in found]) for of in ("all", "each")
    )
    assert wide > own


def test_twenty_bands_of_each_do_not_hold_at_once(frame, model) -> None:
    """What a reader would get wrong, and the planted fault of bands at once."""
    ask = QUESTIONS["curve"]
    exact = values_of(draw(ask(model, 1e6), frame, 1)[0])
    together = []
    for result in draw(ask(model, 2.0), frame, DRAWS):
        low, high = result.band("each")
        together.append(np.all((low <= exact) & (exact <= high)))
    assert np.mean(together) < LEAST


def test_pictures_and_docstrings_name_the_band(frame, model) -> None:
    import matplotlib.pyplot as plt

    for name, default in (("curve", "each"), ("values", "all")):
        (result,) = draw(QUESTIONS[name](model, 2.0), frame, 1)
        for band, words in (("each", "each value by itself"), ("all", "all at once")):
            texts = result.plot(band=band).ax_.get_legend().get_texts()
            assert any(words in text.get_text() for text in texts)
        shown = [text.get_text() for text in result.plot().ax_.get_legend().get_texts()]
        assert any(("each value" if default == "each" else "all at once") in text for text in shown)
    plt.close("all")


def test_results_keep_both_bands_and_older_ones_are_read(frame, model) -> None:
    for name in QUESTIONS:
        (result,) = draw(QUESTIONS[name](model, 2.0), frame, 1)
        plain = result.to_json()
        assert Result.read(plain) == result
        for field in ("ends_all", "half_width_all", "half_width_each"):
            plain.pop(field, None)
        older = Result.read(plain)
        with pytest.raises(ArgumentError, match="of must name a band this result has"):
            older.band("each" if isinstance(older, dc.Attribution | dc.Ranking) else "all")
    with pytest.raises(ArgumentError, match="of must be one of each, all"):
        result.band("both")


def test_the_union_bound_is_what_it_says() -> None:
    assert at_once(0.95, 1) == pytest.approx(0.95) and at_once(0.95, 50) == pytest.approx(0.999)
