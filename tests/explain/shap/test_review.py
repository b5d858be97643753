"""Corners in which private SHAP could go wrong: step grids, constant models, thresholds, odd inputs."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.linear_model import LinearRegression, LogisticRegression

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable
from discreet.data.blocks import BLOCK_ROWS
from discreet.errors import ArgumentError
from discreet.plans import Setting

STEPPED = dc.Schema(
    {
        "a": dc.Number(0, 10, step=1, missing=False),
        "b": dc.Number(0, 1, missing=False),
        "c": dc.Category(0, 1, 2, missing=False, other=False),
    }
)


def plane() -> dc.Model:
    rows = np.random.default_rng(0).uniform(0, 2, (50, 3))
    return dc.Model(LinearRegression().fit(rows, rows @ [3.0, 1.0, -2.0]), bounds=STEPPED)


def sealed_values(query: list[float], radius: object) -> tuple[np.ndarray, dc.Certificate]:
    plan = dc.shap_values(
        plane(), query, protects="query", background=[[1.0, 0.5, 0.0]], radius=radius, epsilon=1.0
    )
    (stage,) = plan.prepare(Setting(STEPPED, "replace-one", 9)).stages
    releaser = SimulatedReleaser(None, 0)
    return releaser.exact(stage) * stage.noise.step, stage.certificate


@pytest.mark.proves("shap-linear-query")
@pytest.mark.parametrize(
    ("first", "second"),
    [
        ([4.45, 0.5, 0.0], [4.55, 0.5, 0.0]),  # a tenth apart, and a whole step after rounding
        ([4.0, 0.45, 0.0], [4.0, 0.55, 0.0]),
        ([4.0, 0.5, 0.0], [4.0, 0.5, 2.0]),  # a category may become any other
    ],
)
def test_a_sealed_value_moves_within_its_bound_on_step_grids_and_categories(first, second) -> None:
    before, certificate = sealed_values(first, 0.1)
    after, _ = sealed_values(second, 0.1)
    assert np.abs(after - before).sum() <= certificate.sensitivity("l1", "replace-one")


@pytest.mark.refutes("shap-linear-query")
def test_a_radius_without_rounding_to_steps_is_caught() -> None:
    before, _ = sealed_values([4.45, 0.5, 0.0], 0.1)
    after, _ = sealed_values([4.55, 0.5, 0.0], 0.1)
    assert np.abs(after - before).max() > 3.0 * 0.1 * 1.5


def test_a_radius_must_name_columns_of_the_model() -> None:
    with pytest.raises(ArgumentError, match="radius must name columns"):
        sealed_values([4.0, 0.5, 0.0], {"salary": 1.0})


def test_a_model_that_is_constant_on_public_rows_is_not_clipped_away() -> None:
    names = [f"v{i}" for i in range(12)]
    schema = dc.Schema({name: dc.Number(0, 1000, missing=False) for name in names})

    def normal(rows: np.ndarray) -> np.ndarray:
        return 0.5 + 0.5 * np.all(rows < 100, axis=1)

    rows = np.random.default_rng(0).uniform(0, 120, (500, 12))
    session = dc.protect(rows, schema, dataset="t", ledger=":memory:", epsilon=1e6, seed=0)
    model = dc.Model(normal, bounds=(0, 1), name="normal")
    plans = [
        dc.shap_values(model, np.full(12, 50.0), clip=clip, epsilon=1e4) for clip in ("auto", None)
    ]
    auto, whole = (release.value.to_array() for release in session.release(plans))
    assert auto == pytest.approx(whole, abs=3e-3) and np.abs(whole).max() > 0.01


def test_the_band_of_selected_values_counts_a_private_size() -> None:
    rows = np.random.default_rng(0).normal(0, 1, (300, 3)).clip(-4, 4)
    schema = dc.Schema({name: dc.Number(-4, 4, missing=False) for name in "abc"})
    model = LogisticRegression().fit(rows, rows[:, 0] > 0)
    session = dc.protect(
        rows, schema, dataset="t", ledger=":memory:", epsilon=1e6, relation="add-remove", seed=3
    )
    query = [1.0, -1.0, 0.5]
    whole = session.release(dc.shap_values(model, query, clip=None, epsilon=1e5)).value
    exact = dict(zip("abc", whole.values[0], strict=True))
    plan = dc.shap_ranking(model, query, k=2, magnitudes=True, clip=None, epsilon=0.5)
    program = plan.prepare(Setting(schema, "add-remove", None))
    releaser = SimulatedReleaser(PrivateTable(rows, schema, "add-remove"), 3)
    inside = []
    for _ in range(300):
        found = program.finish(releaser)
        errors = [abs(v - exact[n]) for v, n in zip(found.values[0], found.names, strict=True)]
        inside.append(max(errors) <= found.half_width)
    assert np.mean(inside) > 0.92


def test_thresholds_that_nothing_can_reach_spend_nothing() -> None:
    rows = np.random.default_rng(0).normal(0, 1, (300, 2)).clip(-4, 4)
    schema = dc.Schema({name: dc.Number(-4, 4, missing=False) for name in "ab"})
    model = LogisticRegression().fit(rows, rows[:, 0] > 0)
    session = dc.protect(rows, schema, dataset="t", ledger=":memory:", epsilon=8.0, delta=1e-5)
    for threshold, clip in ((0.2, 0.05), (5.0, "auto")):
        plan = dc.shap_ranking(
            model, [1.0, 1.0], threshold=threshold, clip=clip, epsilon=8.0, delta=1e-6
        )
        with pytest.raises(ArgumentError, match="threshold must be below"):
            session.release(plan)
    assert session.remaining.loss == 8.0


def test_a_sealed_release_names_its_own_relation_and_offers_no_other_way() -> None:
    rows = np.random.default_rng(0).uniform(0, 1, (50, 3))
    session = dc.protect(
        rows, STEPPED, dataset="t", ledger=":memory:", epsilon=9, relation="add-remove"
    )
    plan = dc.shap_values(
        plane(), [4.0, 0.5, 0.0], protects="query", background=[[1.0, 0.5, 0.0]], epsilon=1.0
    )
    assert session.price(plan, queries=5).plans[0].strategies == ()
    guarantee = session.release(plan).guarantee
    assert guarantee.relation == "replace-one" and "value of the query" in guarantee.protects


def test_odd_queries_and_backgrounds_are_read_or_refused_in_a_sentence() -> None:
    frame = pd.DataFrame({"value": [1.0, 2.0, 3.0], "rows": [0.1, 0.2, 0.3]})
    schema = dc.Schema(
        {"value": dc.Number(0, 5, missing=False), "rows": dc.Number(0, 1, missing=False)}
    )
    model = LinearRegression().fit(frame, frame["value"])
    wrapped = dc.Model(model, bounds=schema)
    session = dc.protect(frame, schema, dataset="t", ledger=":memory:", epsilon=1e3, seed=0)
    for background in (frame, pl.DataFrame(frame.to_dict("list"))):
        session.release(dc.shap_importance(wrapped, background=background, epsilon=1.0))
    for query in (
        {"value": Decimal("1.5"), "rows": 0.5},
        {"value": pd.NA, "rows": 0.5},
        np.array([np.nan, 0.5]),
    ):
        session.release(dc.shap_values(wrapped, query, epsilon=1.0))
    for query, sentence in (
        (None, "x must be a mapping"),
        (np.array([np.inf, 0.5]), "finite numbers"),
        (frame[:0], "at least one row"),
    ):
        with pytest.raises(ArgumentError, match=sentence):
            dc.shap_values(wrapped, query, epsilon=1.0)
    with pytest.raises(ArgumentError, match="one plan to be diagnosed"):
        session.diagnose([dc.shap_ranking(wrapped, frame[:1], epsilon=1.0)])  # type: ignore[arg-type]


def test_a_background_of_noise_claims_no_band() -> None:
    frame = pd.DataFrame({"a": np.linspace(0, 5, 40), "b": np.linspace(0, 1, 40)})
    schema = dc.Schema({"a": dc.Number(0, 5, missing=False), "b": dc.Number(0, 1, missing=False)})
    model = dc.Model(LinearRegression().fit(frame, frame["a"]), bounds=schema)
    session = dc.protect(frame, schema, dataset="t", ledger=":memory:", epsilon=1e3, seed=0)
    found = session.release(dc.background(epsilon=1.0)).value.explain(model, frame[:2])
    assert found.half_width is None and "low" not in found.to_frame()
    assert found.to_shap().data.dtype == float and found.plot_waterfall().figure_ is not None


def test_what_a_model_call_moves_is_paid_as_often_as_it_shows() -> None:
    schema = dc.Schema({name: dc.Number(0, 1, missing=False) for name in "abc"})
    model = dc.Model(lambda rows: rows.sum(axis=1) / 3, bounds=(0, 1), name="mean")
    plan = dc.shap_values(model, [0.5, 0.5, 0.5], clip=None, epsilon=1.0)
    contribution = plan.prepare(Setting(schema, "replace-one", 9)).stages[0].contribution
    assert (
        contribution.calls.code is not None and 1.9 < contribution.calls.lipschitz < 2.01
    )  # Shapley's rows sum to two
    assert contribution.batch_rows("replace-one") == BLOCK_ROWS
    assert contribution.batch_error("replace-one") == pytest.approx(2 * 2.0**-40, rel=0.06)
