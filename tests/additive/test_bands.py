"""Noise bands of an additive model against the same fit without noise, on tables made for it."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.additive.released.result import AdditiveModel
from discreet.randomness import IntArray

SEEDS = 6
CASES = {
    "two classes": ("classes", 4000, 1.0, 1e-6),
    "few records": ("classes", 1500, 0.3, 1e-6),
    "three classes": ("three", 4000, 1.0, 1e-6),
    "a number": ("number", 4000, 1.0, 1e-6),
    "laplace": ("classes", 8000, 4.0, 0.0),
}


class Silent:
    """A source of noise that is always zero: the same fit, calibrated alike, without noise."""

    simulation = True

    def laplace(self, scale: float, size: int) -> IntArray:
        return np.zeros(size, dtype=np.int64)

    gaussian = laplace


def table(kind: str, records: int) -> tuple[pd.DataFrame, dc.Schema]:
    """Return records whose numbers go together; on a grid of few steps bins are always the same."""
    draw = np.random.default_rng(7)
    common = draw.normal(size=records)
    columns = {
        name: np.clip(np.round(6 + 2.5 * (0.8 * draw.normal(size=records) + 0.6 * common)), 0, 11)
        for name in "abc"
    }
    margin = 0.4 * (columns["a"] - 6) - 0.06 * (columns["b"] - 6) ** 2
    home = draw.integers(0, 3, records)
    margin += 0.8 * (home == 2)
    if kind == "number":
        target: Any = margin + draw.normal(0, 0.5, records)
        of_target: Any = dc.Number(-6, 6, missing=False)
    else:
        names = ("u", "v", "w") if kind == "three" else ("u", "v")
        margins = np.column_stack([0 * margin, margin, -0.5 * margin][: len(names)])
        shares = np.exp(margins) / np.exp(margins).sum(axis=1, keepdims=True)
        chosen = (shares.cumsum(axis=1) < draw.random(records)[:, None]).sum(axis=1)
        target = np.array(names)[np.minimum(chosen, len(names) - 1)]
        of_target = dc.Category(*names, missing=False, other=False)
    frame = pd.DataFrame({**columns, "home": np.array(["x", "y", "z"])[home], "t": target})
    known = {name: dc.Number(0, 11, step=1, missing=False) for name in "abc"}
    home_kind = dc.Category("x", "y", "z", missing=False, other=False)
    return frame, dc.Schema({**known, "home": home_kind, "t": of_target}, target="t")


@cache
def fits(case: str) -> tuple[AdditiveModel, list[AdditiveModel]]:
    """Return the fit without noise, and some with it."""
    kind, records, epsilon, delta = CASES[case]
    frame, schema = table(kind, records)

    def fit(seed: int | None) -> AdditiveModel:
        session = dc.protect(
            frame, schema, dataset="d", ledger=":memory:", epsilon=100.0, delta=0.1,
            progress=False, seed=seed or 1, workers=1,
        )  # fmt: skip
        if seed is None:
            session._noise = Silent()  # type: ignore[assignment]
        made = session.release(dc.additive_model("t", epsilon=epsilon, delta=delta)).value
        assert isinstance(made, AdditiveModel)
        return made

    return fit(None), [fit(seed) for seed in range(11, 11 + SEEDS)]


def _classes(made: AdditiveModel) -> tuple[Any, ...]:
    return (made.classes or ()) if len(made.intercept) > 1 else (None,)


@pytest.mark.parametrize("case", CASES)
def test_bands_hold_the_scores_of_the_fit_without_noise(case: str) -> None:
    exact, noisy = fits(case)
    inside, far, claimed = [], [], []
    for made in noisy:
        for name in ("a", "b", "c", "home"):
            for class_ in _classes(made):
                truth, shape = (
                    np.array(exact.shape(name, class_=class_).scores),
                    made.shape(name, class_=class_),
                )
                low, high = shape.band("each")
                inside.append((low <= truth) & (truth <= high))
                far.append((truth - np.array(shape.scores)) ** 2)
                claimed.append((high - low) / (2 * 1.96))
    coverage = np.concatenate(inside).mean()
    assert coverage > 0.9, f"bands of 95 % hold {coverage:.0%}"
    wide = np.mean(np.concatenate(claimed)) / np.sqrt(np.mean(np.concatenate(far)))
    assert wide < 3.0, f"bands are {wide:.1f} times as wide as they need be"


@pytest.mark.parametrize("case", ["two classes", "a number"])
def test_edited_bands_hold_the_edited_scores(case: str) -> None:
    exact, noisy = fits(case)
    held = []
    for made in noisy:
        edited = made.monotone("a").smoothed("b", width=1.5)
        for name, change in (("a", exact.monotone("a")), ("b", exact.smoothed("b", width=1.5))):
            shape, truth = edited.shape(name), np.array(change.shape(name).scores)
            low, high = shape.band("all")
            held.append(bool(((low <= truth + 0.02) & (truth - 0.02 <= high)).all()))
    assert np.mean(held) > 0.8


def test_bands_shrink_as_epsilon_grows() -> None:
    frame, schema = table("classes", 4000)

    def width(epsilon: float) -> float:
        session = dc.protect(
            frame, schema, dataset="d", ledger=":memory:", epsilon=100.0, delta=0.1,
            progress=False, seed=5, workers=1,
        )  # fmt: skip
        made = session.release(dc.additive_model("t", epsilon=epsilon, delta=1e-6)).value
        return float(
            np.mean([np.mean(shape.band()[1] - shape.band()[0]) for shape in made.shapes().values()])
        )

    assert width(8.0) < 0.5 * width(1.0)
