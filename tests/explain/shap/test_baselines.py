"""The published mechanisms: certified where they can be, refused and stamped where they cannot."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

import discreet as dc
from discreet.engines.shapley.coalitions import sample_masks
from discreet.engines.shapley.kernel import kernel_values
from discreet.errors import ArgumentError, CertificateError
from discreet.plans import Setting
from discreet.privacy.certificate import Ball
from tests.laws.examples import Example
from tests.laws.world import query

D = 6
SCHEMA = dc.Schema({f"f{i}": dc.Number(-4, 4, missing=False) for i in range(D)})
OPTIONS = {"clip": 3.0, "coalitions": 40, "epsilon": 1.0, "delta": 1e-5}


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    values, _ = make_classification(200, D, n_informative=4, random_state=0)
    return pd.DataFrame(np.clip(values, -4, 4), columns=list(SCHEMA))


@pytest.fixture(scope="module")
def models(frame: pd.DataFrame) -> dict:
    label = frame["f0"] - frame["f1"] > 0
    return {
        "logistic": LogisticRegression().fit(frame.to_numpy(), label),
        "forest": RandomForestClassifier(5, max_depth=3, random_state=0).fit(frame.to_numpy(), label),
        "opaque": dc.Model(lambda r: np.tanh(r.sum(axis=1)), bounds=(-1, 1), name="tanh"),
    }


def exact_values(model, rows: np.ndarray, query: np.ndarray) -> np.ndarray:
    clipped = Ball(3.0, "l2").clip(rows)
    bound = dc.Model(model).bind(SCHEMA) if not isinstance(model, dc.Model) else model.bind(SCHEMA)
    masks = sample_masks(D, 40)
    return kernel_values(bound.predict, query[None, :], clipped, masks, value="mean")[0]


@pytest.mark.parametrize("kind", ["logistic", "forest", "opaque"])
def test_the_certified_baseline_covers_every_neighbour_tried(frame, models, kind: str) -> None:
    model, rng = models[kind], np.random.default_rng(0)
    plan = dc.shap_baseline(model, frame.to_numpy()[0], **OPTIONS)
    (stage,) = plan.prepare(Setting(SCHEMA, "replace-one", 20)).stages
    bound = stage.certificate.sensitivity("l2", "replace-one")
    rows = frame.to_numpy()[:20].copy()
    before = stage.contribution.compute(rows)
    assert before == pytest.approx(exact_values(model, rows, frame.to_numpy()[0]), abs=1e-9)
    for _ in range(50):
        other = rows.copy()
        other[rng.integers(20)] = rng.choice([-4.0, 4.0], D)
        assert np.linalg.norm(stage.contribution.compute(other) - before) <= bound


def test_trees_need_noise_that_does_not_shrink(frame, models) -> None:
    query = frame.to_numpy()[0]

    def noise(kind: str, rows: int) -> float:
        plan = dc.shap_baseline(models[kind], query, **OPTIONS)
        return plan.prepare(Setting(SCHEMA, "replace-one", rows)).stages[0].noise.std

    assert noise("forest", 20) == pytest.approx(noise("forest", 20_000))
    assert noise("logistic", 20) > 500 * noise("logistic", 20_000)
    ours = dc.shap_values(models["forest"], query, epsilon=1.0, delta=1e-5)
    better = ours.prepare(Setting(SCHEMA, "replace-one", 20_000)).expected_error["attribution"].error
    assert better < noise("forest", 20_000) / 5_000


@pytest.mark.parametrize("kind", ["logistic", "forest"])
def test_the_bootstrap_is_refused_and_never_certified(frame, models, kind: str) -> None:
    plan = dc.shap_baseline(
        models[kind], frame.to_numpy()[0], method="bootstrap", resamples=20, **OPTIONS
    )
    closed = dc.protect(frame, SCHEMA, dataset="t", ledger=":memory:", epsilon=9, delta=1e-3)
    with pytest.raises(CertificateError, match="got a heuristic one"):
        closed.release(plan)
    assert closed.remaining.loss == 9.0
    allowed = dc.protect(
        frame, SCHEMA, dataset="t", ledger=":memory:", epsilon=9, delta=1e-3, heuristics=True
    )
    release = allowed.release(plan)
    assert release.guarantee.certified is False and "NOT certified" in str(release.guarantee)
    assert np.isfinite(release.value.to_array()).all() and allowed.remaining.loss == 8.0
    assert release.to_json()["guarantee"]["certified"] is False


def test_gaussian_then_argmax_is_a_ranking_of_the_release(frame, models) -> None:
    session = dc.protect(frame, SCHEMA, dataset="t", ledger=":memory:", epsilon=9, delta=1e-3, seed=0)
    release = session.release(dc.shap_baseline(models["logistic"], frame.to_numpy()[0], **OPTIONS))
    assert release.value.ranking(1)[0] in SCHEMA.features
    assert "baseline" in release.value.quantity


def test_wrong_arguments_are_one_clear_sentence(frame, models) -> None:
    query = frame.to_numpy()[0]
    with pytest.raises(ArgumentError, match="delta must be a positive"):
        dc.shap_baseline(models["logistic"], query, clip=1.0, epsilon=1.0, delta=0.0)
    with pytest.raises(ArgumentError, match="method must be one of"):
        dc.shap_baseline(models["logistic"], query, method="hope", **OPTIONS)
    with pytest.raises(ArgumentError, match="x must be one query"):
        dc.shap_baseline(models["logistic"], frame.to_numpy()[:2], **OPTIONS)
    plan = dc.shap_baseline(models["logistic"], query, **OPTIONS)
    with pytest.raises(ArgumentError, match="must know the number of records"):
        plan.prepare(Setting(SCHEMA, "add-remove", None))


EXAMPLES = [
    Example(
        "shap_baseline",
        lambda model: dc.shap_baseline(
            model, query(), clip=1.0, coalitions=8, resamples=2, epsilon=1.0, delta=1e-5
        ),
        ("linear", "opaque"),
        relations=("replace-one",),
    ),
]
