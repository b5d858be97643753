"""Prices say beforehand whether an answer is usable, in the language of the band that comes with it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable
from discreet.plans import Plan, Setting
from discreet.plans.expected import USABLE, Expected, least_usable, usable_without_rows

Open = Callable[..., dc.Session]

SCHEMA = dc.Schema(
    {
        "u": dc.Number(0, 1, missing=False),
        "v": dc.Number(0, 1, missing=False),
        "k": dc.Category("x", "y", "z", missing=False, other=False),
        "t": dc.Category(0, 1, missing=False, other=False),
    },
    target="t",
)


def frame(rows: int = 800) -> pd.DataFrame:
    draw = np.random.default_rng(0)
    made = pd.DataFrame(draw.random((rows, 2)), columns=["u", "v"])
    made["k"] = draw.choice(["x", "y", "z"], rows)
    made["t"] = (made["u"] + 0.3 * made["v"] > 0.6).astype(int)
    return made


def logistic(rows: Any) -> np.ndarray:
    table = np.asarray(rows, dtype=object)
    return 1 / (1 + np.exp(-4 * (table[:, 0].astype(float) - 0.5) - table[:, 1].astype(float)))


def compiled(regularised: float) -> dc.Model:
    rows = frame(200)
    fitted = LogisticRegression(C=regularised).fit(rows[["u", "v"]].to_numpy(), rows["t"])
    return dc.Model(fitted, columns=["u", "v"])


MODEL = dc.Model(logistic, bounds=(0, 1), name="logistic")
ROWS = frame(30)[["u", "v", "k"]]
TERMS: Any = {"epsilon": 1.0}

PLANS: dict[str, Callable[[], Plan]] = {
    "histogram": lambda: dc.histogram("u", bins=8, **TERMS),
    "ranges": lambda: dc.histogram("u", ranges=True, **TERMS),
    "partial_dependence": lambda: dc.partial_dependence(MODEL, "u", **TERMS),
    "surface": lambda: dc.partial_dependence(MODEL, ("u", "v"), resolution=4, **TERMS),
    "accumulated_effects": lambda: dc.accumulated_effects(MODEL, "u", intervals=6, **TERMS),
    "shap_values": lambda: dc.shap_values(MODEL, ROWS.iloc[[0]], coalitions=8, **TERMS),
    "shap_ranking": lambda: dc.shap_ranking(MODEL, ROWS.iloc[[0]], coalitions=8, **TERMS),
    "shap_importance": lambda: dc.shap_importance(MODEL, background=ROWS, coalitions=8, **TERMS),
    "shap_dependence": lambda: dc.shap_dependence(
        MODEL, "u", background=ROWS, coalitions=8, bins=4, **TERMS
    ),
    "permutation_importance": lambda: dc.permutation_importance(MODEL, sampling="marginal", **TERMS),
    "permutation_ranking": lambda: dc.permutation_importance(
        MODEL, sampling="marginal", release="ranking", **TERMS
    ),
    "feature_interaction": lambda: dc.feature_interaction(MODEL, subsets=20, points=4, **TERMS),
    "evaluate": lambda: dc.evaluate(MODEL, bins=6, **TERMS),
    "any_curve": lambda: dc.any_curve(
        lambda table: np.zeros(4),
        feature="u",
        resolution=4,
        bounds=(0, 1),
        subsets=50,
        name="f",
        **TERMS,
    ),
    "any_ranking": lambda: dc.any_ranking(
        lambda table: ["a", "b", "c"], items=["a", "b", "c"], subsets=50, name="g", **TERMS
    ),
    "background": lambda: dc.background("mean", **TERMS),
    "sample": lambda: dc.background("sample", bins=4, **TERMS),
    "synthesize": lambda: dc.synthesize(bins=4, **TERMS),
    "functional_mean": lambda: dc.functional_mean(["u", "v"], delta=1e-6, **TERMS),
    "mean": lambda: dc.mean("u", **TERMS),
    "total": lambda: dc.total("u", **TERMS),
    "variance": lambda: dc.variance("u", **TERMS),
    "cdf": lambda: dc.cdf("u", bins=16, **TERMS),
    "std": lambda: dc.std("u", **TERMS),
    "covariance": lambda: dc.covariance(["u", "v"], **TERMS),
    "correlation": lambda: dc.correlation(["u", "v"], **TERMS),
    "linear_regression": lambda: dc.linear_regression("u", ["v"], **TERMS),
    "proportion": lambda: dc.proportion("k", "x", **TERMS),
    "entropy": lambda: dc.entropy("k", **TERMS),
    "mutual_information": lambda: dc.mutual_information("k", "t", **TERMS),
    "percentile": lambda: dc.percentile("u", 50, **TERMS),
    "quantiles": lambda: dc.quantiles("u", [0.25, 0.5], **TERMS),
    "most_frequent": lambda: dc.most_frequent("k", **TERMS),
    "choose": lambda: dc.choose(
        lambda rows, candidates: np.ones((len(rows["u"]), len(candidates))),
        [1, 2],
        bounds=(0, 1),
        name="c",
        **TERMS,
    ),
    "additive_model": lambda: dc.additive_model("t", delta=1e-6, **TERMS),
    "decision_tree": lambda: dc.decision_tree("t", **TERMS),
    "random_forest": lambda: dc.random_forest("t", trees=4, depth=3, **TERMS),
    "fit": lambda: dc.fit("t", model="tree", **TERMS),
    "data_shapley": lambda: dc.data_shapley(test=frame(10), method="tknn", **TERMS),
    "source_values": lambda: dc.source_values("k", test=frame(100), **TERMS),
    "compare": lambda: dc.compare(compiled(1.0), compiled(0.01), **TERMS),
    "drift": lambda: dc.drift(
        dc.Histogram(("k",), (("x", "y", "z"),), (None,), (5.0, 3.0, 2.0), 0.0, 0.0, 0.95), **TERMS
    ),
}
ONLY_PUBLIC: dict[str, Callable[[], Plan]] = {
    "deniable_rows": lambda: dc.deniable_rows(5, bins=4, delta=1e-4, **TERMS),
    "shap_baseline": lambda: dc.shap_baseline(
        MODEL, ROWS.iloc[[0]], clip=1.0, coalitions=8, delta=1e-5, **TERMS
    ),
}


@pytest.mark.parametrize("name", [*PLANS, *ONLY_PUBLIC])
def test_every_plan_says_from_where_on_it_is_usable(name: str) -> None:
    plan = {**PLANS, **ONLY_PUBLIC}[name]()
    session = dc.protect(frame(), SCHEMA, dataset="d", epsilon=9, delta=1e-3, ledger=":memory:")
    price = session.price(plan).plans[0]
    first = next(iter(price.expected_error.values()))
    assert 0 < first.error < np.inf and first.size > 0 and first.of
    assert first.relative() == pytest.approx(first.error / first.size)
    assert first.level == 0.95 or (first.level is None and first.measure == "on average")
    if price.usable.epsilon is None:  # trees grow with epsilon
        assert name in ("decision_tree", "fit", "random_forest", "shap_baseline")
        return
    at = plan.at(float(f"{price.usable.epsilon:.3g}")).prepare(session._setting).expected_error
    share = max(error.relative() for error in at.values())
    assert share <= USABLE and share > 0.5 * USABLE


@pytest.mark.parametrize("name", PLANS)
def test_without_a_public_number_of_records_it_is_a_function_of_n(name: str) -> None:
    plan = PLANS[name]()
    private = Setting(SCHEMA, "add-remove", None)
    errors = plan.prepare(private).expected_error
    known = plan.prepare(replace(private, relation="replace-one", rows=4_000)).expected_error
    first, public = next(iter(errors.values())), next(iter(known.values()))
    if first.unknown is None:
        assert name in (
            "any_curve",
            "any_ranking",
            "feature_interaction",
            "entropy",
            "mutual_information",
        )
        return
    usable = usable_without_rows(errors, plan.epsilon)
    assert usable.rows is not None and usable.epsilon == pytest.approx(usable.rows, abs=1.0)
    assert max(error.relative(usable.rows) for error in errors.values()) <= USABLE
    if name not in ("decision_tree", "fit", "random_forest"):  # their depth follows n
        # Half the noise of replacing a record, but for what a private n takes for itself.
        assert first.relative(4_000) < 1.5 * public.relative()


def test_the_price_is_half_of_the_band_that_comes_back(open_session: Open) -> None:
    model = dc.Model(lambda rows: np.asarray(rows)[:, 1] / 100, bounds=(0, 1), name="income")
    session = open_session()
    plain = dc.histogram("age", consistent=False, epsilon=0.1)  # mended counts widen their band
    for plan in (plain, dc.partial_dependence(model, "income", epsilon=0.1)):
        priced = next(iter(session.price(plan).plans[0].expected_error.values()))
        value: Any = session.release(plan).value
        half = getattr(value, "half_width", None) or (value.high[0] - value.low[0]) / 2
        assert half == pytest.approx(priced.error, rel=1e-9)


def test_texts_and_json_name_the_measure(open_session: Open) -> None:
    session = open_session()
    plans = [dc.histogram("age", bins=4, epsilon=0.1), dc.most_frequent("home", epsilon=0.1)]
    text, told = str(session.price(plans)), session.price(plans).to_json()
    assert "count ± 43 (95% band, each value), 286.67% of a cell's even share of the records" in text
    assert "(on average)" in text and "5% from epsilon = 4.76 or n = 3,511 on" in text
    histogram, choice = (next(iter(plan["expected_error"].values())) for plan in told["plans"])
    assert (histogram["error"], histogram["size"], histogram["level"]) == (43.0, 15.0, 0.95)
    assert histogram["relative"] == pytest.approx(43 / 15) and histogram["private_rows"] is None
    assert choice["level"] is None and choice["measure"] == "on average"
    assert told["plans"][0]["usable"]["rows"] == pytest.approx(3_511, rel=0.03)
    json.dumps(told)


def test_a_private_number_of_records_stays_a_letter(open_session: Open) -> None:
    session = open_session(relation="add-remove")
    text = str(session.price(dc.histogram("age", bins=4, epsilon=0.1)))
    assert "count ± 30 (95% band, each value), 120 / n of a cell's" in text
    assert "5% from epsilon = 240 / n or n = 2,400 on" in text
    told = session.price(dc.histogram("age", bins=4, epsilon=0.1)).to_json()["plans"][0]
    assert told["expected_error"]["count"]["private_rows"] == "multiply size"
    assert told["usable"]["epsilon_over_private_rows"] is True


def test_a_clip_that_is_too_short_is_part_of_the_price() -> None:
    setting = Setting(SCHEMA, "replace-one", 10**6)
    table = PrivateTable(frame(), SCHEMA)
    for plan, whole in (
        (
            dc.shap_values(MODEL, ROWS.iloc[[0]], coalitions=8, clip=0.05, epsilon=1e4),
            dc.shap_values(MODEL, ROWS.iloc[[0]], coalitions=8, clip=None, epsilon=1e4),
        ),
        (
            dc.shap_importance(MODEL, background=ROWS, coalitions=8, clip=0.05, epsilon=1e4),
            dc.shap_importance(MODEL, background=ROWS, coalitions=8, clip=None, epsilon=1e4),
        ),
    ):
        priced = plan.prepare(setting).expected_error
        error = next(iter(priced.values()))
        own = Setting(SCHEMA, "replace-one", 800)
        found, exact = (
            np.array(p.prepare(own).finish(SimulatedReleaser(table, seed=0)).values)  # type: ignore[attr-defined]
            for p in (plan, whole)
        )
        # Rows of the table are spread as those drawn from the schema are.
        real = np.abs(found - exact).max()
        assert 0.8 * real < error.bias < 3 * real and error.error > error.bias > 0.02
        assert next(iter(whole.prepare(setting).expected_error.values())).bias == 0


def test_shortened_rows_and_curves_are_part_of_the_price() -> None:
    setting = Setting(SCHEMA, "replace-one", 10**6)
    for plan in (dc.background, dc.functional_mean):
        args: Any = ("mean",) if plan is dc.background else (["u", "v"],)
        short, whole = (
            next(
                iter(
                    plan(*args, clip=clip, delta=1e-6, **TERMS).prepare(setting).expected_error.values()
                )
            )
            for clip in (0.1, None)
        )
        assert short.bias > 0.1 > whole.bias == 0
        assert short.noise < whole.noise and short.error > whole.error


def test_the_search_finds_falling_shares_and_gives_up_on_flat_ones() -> None:
    assert least_usable(lambda x: 1 / x, 1.0, 1.0) == pytest.approx(20, rel=0.12)
    assert least_usable(lambda x: 1 / x**2, 1.0, 1.0) == pytest.approx(20**0.5, rel=0.12)
    assert least_usable(lambda x: 0.04 + 1 / x, 1e3, 0.041) == pytest.approx(130, rel=0.3)
    assert least_usable(lambda x: max(1 / x - 0.01, 0.0), 1e3, 0.0) == pytest.approx(16.7, rel=0.12)
    assert least_usable(lambda x: 0.2, 1.0, 0.2) is None
    assert least_usable(lambda x: 0.06 + 1 / x, 1.0, 1.06) is None
    assert least_usable(lambda x: float("inf"), 1.0, 0.3) is None


def test_a_bias_above_the_aim_is_out_of_reach() -> None:
    error = Expected(3.0, 1.0, "one", bias=0.06, unknown="noise")
    assert str(usable_without_rows({"curve": error}, 1.0)) == "5% out of reach"
    assert (
        error.tell("curve")
        == "curve ± 3 / n (95% band, each value, and 0.06 by clipping), 3 / n of one"
    )
