"""Accumulated effects: the curve below the noise, few records, honest bands, prices."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import discreet as dc
from discreet.data import PrivateTable, Summand, add_up
from discreet.errors import ArgumentError
from discreet.explain.ale.contribution import certify_intervals
from discreet.explain.ale.plan import accumulated_effects
from discreet.explain.ale.question import EffectsQuestion, Layout, even_error
from discreet.explain.ale.release import NoisySteps, accumulate
from discreet.mechanisms import LaplaceNoise
from discreet.plans import Setting, Stage
from discreet.randomness import SimulatedNoise
from tests.laws.examples import Example
from tests.laws.world import FORMS

RELATIONS = ("replace-one", "add-remove")


class FreshReleaser:
    """Seeded noise on sums that are taken anew: edges differ from draw to draw."""

    def __init__(self, table: PrivateTable, seed: int) -> None:
        self._table, self._noise = table, SimulatedNoise(seed)

    def answer(self, *stages: Stage) -> list[np.ndarray]:
        sums = add_up(self._table, [Summand(s.contribution, s.noise.step) for s in stages])
        return [stage.noise.release(raw, self._noise) for stage, raw in zip(stages, sums, strict=True)]


# Below the noise: a straightforward curve of our own.


def plain_intervals(predict: Any, frame: pd.DataFrame, feature: str, edges: np.ndarray) -> np.ndarray:
    """Return what PyALE does: bins (a, b], the least value in the first, means of moving averages."""
    bins = pd.cut(frame[feature], edges, include_lowest=True, labels=False).to_numpy()
    low, high = (frame.assign(**{feature: edges[bins + side]}) for side in (0, 1))
    moves = pd.Series(predict(high) - predict(low)).groupby(bins)
    size = moves.size().reindex(range(len(edges) - 1), fill_value=0)
    curve = np.r_[0.0, moves.mean().reindex(size.index, fill_value=0.0).cumsum()]
    return curve - np.average((curve[1:] + curve[:-1]) / 2, weights=size)


def plain_categories(predict: Any, frame: pd.DataFrame, feature: str, order: list[Any]) -> np.ndarray:
    """Return what ALEPlot does: a step is answered by the records of both its categories."""
    curve = [0.0]
    for before, after in itertools.pairwise(order):
        near = frame[frame[feature].isin([before, after])]
        moves = [predict(near.assign(**{feature: value})) for value in (before, after)]
        curve.append(curve[-1] + float(np.mean(moves[1] - moves[0])) if len(near) else curve[-1])
    shares = [np.mean(frame[feature] == value) for value in order]
    return np.array(curve) - np.dot(shares, curve)


NUMBERS = ["age", "income", "credit_score", "late_payments"]


@pytest.fixture(scope="module")
def loans() -> pd.DataFrame:
    return dc.samples.loans(3_000)


def numbers_schema() -> dc.Schema:
    full = dc.samples.loan_schema()
    return dc.Schema({name: full[name] for name in [*NUMBERS, "defaulted"]}, target="defaulted")


def released(frame: pd.DataFrame, schema: dc.Schema, plan: Any, **options: Any) -> dc.Curve:
    terms = {
        "dataset": "d",
        "epsilon": 1e5,
        "delta": 1e-6,
        "ledger": ":memory:",
        "seed": 1,
        "workers": 1,
    }
    return dc.protect(frame, schema, **{**terms, **options}).release(plan).value


MODELS = {
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "forest": RandomForestClassifier(10, max_depth=4, random_state=0),
}


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("edges", ["quantile", "uniform"])
@pytest.mark.parametrize("feature", ["income", "late_payments", "age"])
def test_equals_a_plain_computation_below_the_noise(
    loans: pd.DataFrame, kind: str, relation: str, edges: str, feature: str
) -> None:
    model = MODELS[kind].fit(loans[NUMBERS].astype(float), loans["defaulted"])
    plan = accumulated_effects(model, feature, edges=edges, limit=None, epsilon=2e4)
    curve = released(loans, numbers_schema(), plan, relation=relation)
    plain = plain_intervals(
        lambda rows: model.predict_proba(rows)[:, 1],
        loans[NUMBERS].astype(float),
        feature,
        np.array(curve.x),
    )
    assert curve.y == pytest.approx(plain, abs=6 * curve.noise_std) and curve.noise_std < 1e-3
    assert curve.quantity == "accumulated effect on probability"
    ends = numbers_schema()[feature].grid(2)
    assert (curve.x[0], curve.x[-1]) == tuple(ends) and np.all(np.diff(curve.x) > 0)


def test_edges_are_quantiles_of_the_records(loans: pd.DataFrame) -> None:
    model = MODELS["logistic"].fit(loans[NUMBERS].astype(float), loans["defaulted"])
    curve = released(
        loans, numbers_schema(), accumulated_effects(model, "income", intervals=8, epsilon=2e4)
    )
    wanted = np.quantile(loans["income"], np.arange(1, 8) / 8)
    assert len(curve.x) == 9 and np.abs(np.array(curve.x[1:-1]) - wanted).max() < 400


@pytest.mark.parametrize("smooth", [False, True])
def test_smoothing_fades_with_the_noise(loans: pd.DataFrame, smooth: bool) -> None:
    model = MODELS["forest"].fit(loans[NUMBERS].astype(float), loans["defaulted"])
    plan = accumulated_effects(model, "credit_score", edges="uniform", smooth=smooth, epsilon=2e4)
    curve = released(loans, numbers_schema(), plan)
    plain = plain_intervals(
        lambda rows: model.predict_proba(rows)[:, 1],
        loans[NUMBERS].astype(float),
        "credit_score",
        np.array(curve.x),
    )
    known = np.array(curve.high) - np.array(curve.low) < 0.1  # beyond empty intervals nothing is known
    assert np.array(curve.y)[known] == pytest.approx(plain[known], abs=1e-3)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("order", [None, np.array(["own", "rent", "mortgage"])])
def test_categories_equal_a_plain_computation(
    loans: pd.DataFrame, relation: str, order: np.ndarray | None
) -> None:
    def predict(rows: np.ndarray) -> np.ndarray:
        home = rows[:, 6]
        return 1.0 / (1.0 + np.exp(-rows[:, 0] / 30 * (home == 1) - rows[:, 5] * (home == 2)))

    schema = dc.samples.loan_schema()
    model = dc.Model(predict, bounds=(0, 1), name="homes")
    curve = released(
        loans, schema, accumulated_effects(model, "home", order=order, epsilon=2e4), relation=relation
    )
    names = list(dc.samples.HOMES) if order is None else order.tolist()
    codes = {name: float(code) for code, name in enumerate(dc.samples.HOMES)}
    inputs = loans[list(schema.features)].assign(
        home=loans["home"].map(codes), purpose=pd.factorize(loans["purpose"])[0]
    )
    plain = plain_categories(
        lambda rows: predict(rows.to_numpy(float)), inputs, "home", [codes[name] for name in names]
    )
    assert curve.labels == tuple(names) and curve.x == tuple(codes[name] for name in names)
    assert curve.y == pytest.approx(plain, abs=6 * curve.noise_std) and curve.noise_std < 1e-3
    assert curve.rug is not None and curve.rug.labels == (tuple(names),)
    assert curve.rug.counts == pytest.approx(
        [np.sum(loans["home"] == name) for name in names], abs=0.01
    )


def test_fused_compiled_and_opaque_agree(loans: pd.DataFrame) -> None:
    for kind in MODELS:
        model = MODELS[kind].fit(loans[NUMBERS].to_numpy(float), loans["defaulted"])
        opaque = dc.Model(lambda rows, m=model: m.predict_proba(rows)[:, 1], bounds=(0, 1))
        ours, theirs = (
            released(loans, numbers_schema(), accumulated_effects(m, "age", epsilon=2e4))
            for m in (model, opaque)
        )
        assert ours.x == theirs.x and ours.y == pytest.approx(theirs.y, abs=1e-4)


# Few records, no records, one interval.

SHORT = dc.Schema(
    {
        "size": dc.Number(0, 10, missing=False),
        "kind": dc.Category(*(f"k{i}" for i in range(24)), missing=False, other=False),
    }
)


def lines(rows: np.ndarray) -> np.ndarray:
    return 0.06 * rows[:, 0] + 0.01 * rows[:, 1] + 0.0


_CORNERS = np.array([[0.0, 0.0], [10.0, 0.0], [0.0, 23.0], [10.0, 23.0]])
STEEP = dc.Model(LinearRegression().fit(_CORNERS, lines(_CORNERS)), bounds=(0, 1))


def short_table(rows: int = 600) -> pd.DataFrame:
    rng = np.random.default_rng(5)
    kinds = np.where(rng.random(rows) < 0.9, 3, rng.integers(0, 24, rows))
    return pd.DataFrame({"size": rng.beta(2, 3, rows) * 10, "kind": [f"k{k}" for k in kinds]})


def draws(
    feature: str, relation: str, times: int, frame: pd.DataFrame, **options: Any
) -> list[dc.Curve]:
    rows = len(frame) if relation == "replace-one" else None
    program = accumulated_effects(STEEP, feature, rug=False, **options).prepare(
        Setting(SHORT, relation, rows)
    )
    releaser = FreshReleaser(PrivateTable(frame, SHORT, relation), seed=7)
    return [program.finish(releaser) for _ in range(times)]


def test_rare_categories_stay_finite_and_near() -> None:
    """Quotients by noisy counts explode here; the curve must not leave the truth for it."""
    frame = short_table()
    truth = 0.01 * np.arange(24)
    truth -= np.mean(0.01 * frame["kind"].str[1:].astype(int))
    curves = draws("kind", "replace-one", 100, frame, epsilon=0.5)
    errors = [np.mean((np.array(curve.y) - truth) ** 2) for curve in curves]
    assert np.median(errors) < 0.02 and max(errors) < 0.5  # the published design: 17.2 on average
    bands = np.array([(curve.low, curve.high) for curve in curves])
    assert np.all(np.isfinite(bands)) and np.abs(bands).max() <= 23 * 1.5


def test_one_interval_and_constant_features() -> None:
    frame = short_table()
    (line,) = draws("size", "replace-one", 1, frame, intervals=1, epsilon=2e4)
    assert line.x == (0.0, 10.0) and line.y == pytest.approx([-0.3, 0.3], abs=1e-4)
    constant = frame.assign(size=4.0)
    for relation in RELATIONS:
        for curve in draws("size", relation, 5, constant, epsilon=1.0):
            assert np.all(np.isfinite([curve.y, curve.low, curve.high]))
            assert np.all(np.abs(curve.y) <= 20)
    (empty,) = draws("size", "add-remove", 1, frame[:0], epsilon=1.0)
    assert np.all(np.isfinite([empty.y, empty.low, empty.high]))


def test_unclipped_steps_may_leave_the_models_range() -> None:
    noise = LaplaceNoise(certify_intervals(2, 1.0, 0.25), "replace-one", 1e6, 2.0**-30, 2**33)
    noisy = NoisySteps(np.array([30.0, 1.0]), np.array([10.0, 10.0]), noise, 0.25, 1.0)
    layout = Layout.of_intervals(np.array([0.0, 1.0, 2.0]))
    free, kept = (
        accumulate(noisy, layout, level=0.95, smooth=False, clip=clip).values for clip in (False, True)
    )
    assert free[1] - free[0] == pytest.approx(3.0, abs=1e-3) and np.ptp(kept) <= np.ptp(free)


# Bands.


def coverage(curves: list[dc.Curve], exact: Any) -> float:
    inside = []
    for curve in curves:
        truth = exact(curve)
        inside.append((np.array(curve.low) <= truth) & (truth <= np.array(curve.high)))
    return float(np.mean(np.concatenate(inside)))


def exact_line(frame: pd.DataFrame) -> Any:
    def exact(curve: dc.Curve) -> np.ndarray:
        return plain_intervals(lambda rows: 0.06 * rows["size"], frame, "size", np.array(curve.x))

    return exact


@pytest.mark.once_per("relation")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("epsilon", [0.5, 4.0])
def test_bands_of_intervals_cover_as_often_as_they_say(
    relation: str, mechanism: str, epsilon: float
) -> None:
    frame = short_table(2_000)
    curves = draws(
        "size", relation, 150, frame, intervals=6, epsilon=epsilon, delta=1e-5, mechanism=mechanism
    )
    share = coverage(curves, exact_line(frame))
    assert share > 0.92  # 150 independent curves of seven points at 0.95 or more
    if epsilon == 4.0:  # counts stand out: bands are not wider than they need to be
        assert share < 0.99


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_bands_of_categories_cover_where_records_are_few(mechanism: str) -> None:
    frame = short_table()
    truth = 0.01 * np.arange(24)
    truth -= np.mean(0.01 * frame["kind"].str[1:].astype(int))
    curves = draws("kind", "replace-one", 100, frame, epsilon=2.0, delta=1e-5, mechanism=mechanism)
    assert coverage(curves, lambda curve: truth) > 0.94


def test_bands_cover_smoothed_curves_and_even_edges() -> None:
    frame = short_table(2_000)
    curves = draws("size", "add-remove", 100, frame, edges="uniform", smooth=True, epsilon=1.0)
    assert coverage(curves, exact_line(frame)) > 0.94
    rough = draws("size", "add-remove", 100, frame, edges="uniform", epsilon=1.0)
    exact = exact_line(frame)(rough[0])
    off = [np.mean([(np.array(c.y) - exact) ** 2 for c in some]) for some in (curves, rough)]
    assert off[0] < 0.7 * off[1]


def test_one_term_is_farther_out_than_many_of_the_same_length() -> None:
    """The band takes the single term's width for every weighted sum of Laplace noise."""
    rng = np.random.default_rng(0)
    single = np.log(20)
    for terms in (1, 2, 3, 5, 20):
        for weights in (np.ones(terms), 2.0 ** -np.arange(terms)):
            sums = rng.laplace(size=(200_000, terms)) @ (weights / np.linalg.norm(weights))
            assert np.quantile(np.abs(sums), 0.95) < single * 1.01


# Asking.


def test_price_covers_all_stages_and_errors_spend_nothing(loans: pd.DataFrame) -> None:
    model = MODELS["logistic"].fit(loans[NUMBERS].astype(float), loans["defaulted"])
    session = dc.protect(
        loans,
        numbers_schema(),
        dataset="d",
        epsilon=3.0,
        delta=1e-5,
        ledger=":memory:",
        seed=1,
        workers=1,
    )
    plan = accumulated_effects(model, "income", epsilon=1.0, delta=1e-6)
    price = session.price(plan)
    assert [stage["name"] for stage in price.plans[0].stages] == ["effects", "edges", "rug"]
    assert price.cost.amount.loss == 10**12 and list(price.plans[0].expected_error) == [
        "curve, records spread evenly"
    ]
    released = session.release(plan)
    assert released.guarantee.delta <= 1e-6
    assert {"ale", "quantiles", "histogram"} <= set(released.guarantee.statements)
    left = session.remaining.amount
    for wrong in (
        accumulated_effects(model, "home", epsilon=1.0),
        accumulated_effects(model, "income", order=("a",), epsilon=1.0),
        accumulated_effects(model, "income", mechanism="gaussian", epsilon=1.0),
    ):
        with pytest.raises(ArgumentError):
            session.release(wrong)
    assert session.remaining.amount == left


def test_private_edges_and_rug_are_left_out_where_they_are_public(loans: pd.DataFrame) -> None:
    model = MODELS["logistic"].fit(loans[NUMBERS].astype(float), loans["defaulted"])
    setting = Setting(numbers_schema(), "replace-one", 3_000)

    def stages(feature: str, **options: Any) -> list[str]:
        program = accumulated_effects(model, feature, epsilon=1.0, **options).prepare(setting)
        assert sum(stage.noise.epsilon for stage in program.stages) == pytest.approx(1.0)
        return [stage.name for stage in program.stages]

    assert stages("income") == ["effects", "edges", "rug"]
    assert stages("income", rug=False) == ["effects", "edges"]
    assert stages("income", edges="uniform") == stages("late_payments") == ["effects"]
    assert stages("late_payments", intervals=5) == ["effects", "edges", "rug"]
    curve = released(loans, numbers_schema(), accumulated_effects(model, "late_payments", epsilon=2e4))
    assert curve.rug is not None and curve.x == tuple(range(13))
    assert curve.rug.labels[0][:2] == ("[0, 1]", "(1, 2]") and sum(curve.rug.counts) == pytest.approx(
        3000
    )
    assert (
        released(loans, numbers_schema(), accumulated_effects(model, "age", rug=False, epsilon=1.0)).rug
        is None
    )


def test_auto_takes_the_less_noisy_law(loans: pd.DataFrame) -> None:
    model = MODELS["logistic"].fit(loans[NUMBERS].astype(float), loans["defaulted"])
    setting = Setting(numbers_schema(), "replace-one", 3_000)
    for delta in (0.0, 1e-9, 0.1):
        noises = {
            mechanism: accumulated_effects(model, "age", epsilon=0.1, delta=delta, mechanism=mechanism)
            .prepare(setting)
            .stages[0]
            .noise
            for mechanism in ("auto", "laplace", *(("gaussian",) if delta else ()))
        }
        auto = noises.pop("auto")
        assert auto.std == min(noise.std for noise in noises.values())
    assert auto.name == "gaussian"
    # Gaussian noise has no lattice fine enough for so great an epsilon; then there is no choice.
    great = accumulated_effects(model, "age", epsilon=100.0, delta=1e-6).prepare(setting)
    assert great.stages[0].noise.name == "laplace"
    pure = accumulated_effects(model, "age", epsilon=0.1, delta=1e-6, mechanism="laplace").prepare(
        setting
    )
    assert all(stage.noise.delta == 0 for stage in pure.stages)


@pytest.mark.parametrize(
    ("feature", "options", "sentence"),
    [
        ("mass", {}, r"features must be among those the model uses \(size, kind\), got 'mass'"),
        ("size", {"intervals": 0}, "intervals must be a whole number of at least 1 and at most 1000"),
        ("size", {"edges": "even"}, "edges must be one of quantile, uniform, got 'even'"),
        ("size", {"order": (1, 2)}, r"order must be left out for a number, got \(1, 2\)"),
        ("kind", {"order": ("k1", "k2")}, r"order must hold each of .* once, got \('k1', 'k2'\)"),
        ("kind", {"order": "k1"}, "order must be a list of the category's values, got 'k1'"),
        ("kind", {"order": 3}, "order must be a list of the category's values, got 3"),
        ([3], {}, "features must be the name of a column, a list of these, or 'all', got 3 for one"),
        ((), {}, "features must be the name of a column"),
        (["size", "size"], {}, "features must be different ones"),
        (["size", ("kind", "size")], {}, "features must be the name of a column, a list"),
        ("size", {"mechanism": "gaussian"}, "delta must be positive for the Gaussian mechanism"),
        ("kind", {"mechanism": "gaussian"}, "delta must be positive for the Gaussian mechanism"),
        ("size", {"mechanism": "cauchy"}, "mechanism must be one of auto, laplace, linf, gaussian"),
    ],
)
def test_bad_questions_are_answered_with_a_sentence(
    feature: Any, options: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        accumulated_effects(STEEP, feature, epsilon=1.0, **options).prepare(
            Setting(SHORT, "replace-one", 100)
        )


@pytest.mark.parametrize("limit", [5e-324, 1e-200, 1e-60, 1e-12])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_limit_that_leaves_no_move_is_refused_before_a_charge(limit: float, relation: Any) -> None:
    session = dc.protect(
        short_table(), SHORT, dataset="d", epsilon=2.0, relation=relation, ledger=":memory:"
    )
    plan = dc.accumulated_effects(STEEP, "size", limit=limit, epsilon=1.0)
    with pytest.raises(ArgumentError, match="limit must be at least"):
        session.release(plan)
    assert session.balance.remaining == session.balance.budget


def test_a_category_with_one_value_is_refused() -> None:
    schema = dc.Schema(
        {
            "size": dc.Number(0, 1, missing=False),
            "kind": dc.Category("only", missing=False, other=False),
        }
    )
    with pytest.raises(ArgumentError, match="at least two values"):
        accumulated_effects(STEEP, "kind", epsilon=1.0).prepare(Setting(schema, "replace-one", 10))


def test_result_is_drawn_with_band_and_rug() -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    frame = short_table()
    for feature in SHORT:
        curve = released(frame, SHORT, accumulated_effects(STEEP, feature, epsilon=1.0))
        display = curve.plot()
        assert display.ax_.get_ylabel() == "accumulated effect on value"
        assert display.rug_ax_ is not None
    plt.close("all")


def test_a_limit_from_public_rows_lowers_the_noise_and_hardly_moves_the_curve(loans: Any) -> None:
    forest = MODELS["forest"].fit(loans[NUMBERS].astype(float), loans["defaulted"])
    curves = {}
    for limit in ("auto", None):
        plan = accumulated_effects(
            forest, "credit_score", intervals=8, edges="uniform", limit=limit, epsilon=2e4
        )
        curves[limit] = released(loans, numbers_schema(), plan)
    exact = np.array(curves[None].y)
    assert np.abs(np.array(curves["auto"].y) - exact).max() < 0.1 * np.ptp(exact)
    setting = Setting(numbers_schema(), "replace-one", 1_000)
    stds = [
        accumulated_effects(forest, "credit_score", edges="uniform", limit=limit, epsilon=1.0)
        .prepare(setting)
        .stages[0]
        .noise.std
        for limit in ("auto", 0.05, None)
    ]
    assert stds[1] < stds[0] < 0.8 * stds[2]


def test_nothing_is_clipped_that_does_not_have_to_be(loans: Any) -> None:
    """The limit rises with the number of records while noise is harmless to a curve of this size."""
    forest = MODELS["forest"].fit(loans[NUMBERS].astype(float), loans["defaulted"])
    schema, limits, errors = numbers_schema(), [], []
    model, points = dc.Model(forest).bind(schema), schema["credit_score"].grid(9)
    for rows in (100, 3_000, 10**6):
        setting = Setting(schema, "replace-one", rows)
        question = EffectsQuestion("credit_score", setting, model, points, 8)
        question = question.limited("auto", (1.0, 0.0, "auto"))
        noise = question.stage(1.0, 0.0, "auto").noise.std
        limits.append(question.radius)
        errors.append(even_error(question.layout(points), noise) / rows / question.size[0])
    assert limits[0] < limits[1] < limits[2] == pytest.approx(limits[0] * 2 / 1.25)
    assert errors[1] == pytest.approx(0.01, rel=1e-3)
    assert errors[0] > errors[1] > errors[2]
    private = Setting(schema, "add-remove", None)
    unknown = EffectsQuestion("credit_score", private, model, points, 8)
    assert unknown.limited("auto", (1.0, 0.0, "auto")).radius == limits[0]


@pytest.mark.parametrize("rows", [500, 20_000, 10**6])
def test_a_public_number_of_records_does_not_cost_noise(rows: int) -> None:
    """The same plan has twice the noise if a record may be replaced, and a little for less bias."""
    flat = dc.Model(
        lambda r: 0.1 * np.asarray(r)[:, 0] + 0.8 * np.asarray(r)[:, 1], bounds=(0, 1), name="f"
    )
    schema = dc.Schema({"a": dc.Number(0, 1, missing=False), "b": dc.Number(0, 1, missing=False)})
    plan = accumulated_effects(flat, "a", edges="uniform", intervals=8, epsilon=1.0)
    replaced = plan.prepare(Setting(schema, "replace-one", rows)).stages[0].noise.std
    added = plan.prepare(Setting(schema, "add-remove", None)).stages[0].noise.std
    assert 1.9 < replaced / added < 3.3


@pytest.mark.parametrize("accountant", ["basic", "zcdp"])
@pytest.mark.parametrize("delta", [1e-4, 1e-6])
def test_private_edges_keep_the_law_that_was_priced(accountant: str, delta: float) -> None:
    """A clip that is known later must not change what delta the release spends."""

    def single(rows: Any) -> Any:
        rows = np.asarray(rows)
        return (0.02 * rows[:, 0] + 0.9 * (rows[:, 1] > 0.5)).astype(np.float32)

    schema = dc.Schema({"a": dc.Number(0, 1, missing=False), "b": dc.Number(0, 1, missing=False)})
    frame = pd.DataFrame(np.random.default_rng(0).random((2_000, 2)), columns=["a", "b"])
    session = dc.protect(
        frame,
        schema,
        dataset="t",
        ledger=":memory:",
        epsilon=10,
        delta=1e-3,
        accountant=accountant,
    )
    model = dc.Model(single, bounds=(0, 1), name="single")
    release = session.release(dc.accumulated_effects(model, "a", rug=False, epsilon=1.0, delta=delta))
    together = "joint-stages" in release.guarantee.statements
    each = sum(stage["delta"] for stage in release.stages)
    assert release.guarantee.delta == (delta if together else each) <= delta
    effects = next(stage for stage in release.stages if stage["name"] == "effects")
    assert effects["noise_std"] < 5.0, "the stage that was drawn, with its clip, is the one recorded"


EXAMPLES = [
    Example(
        "accumulated_effects",
        lambda model: dc.accumulated_effects(model, "income", intervals=4, epsilon=1.0),
        FORMS,
    ),
    Example(
        "accumulated_effects",
        lambda model: dc.accumulated_effects(
            model,
            "income",
            intervals=4,
            edges="uniform",
            limit=None,
            mechanism="gaussian",
            epsilon=1.0,
            delta=1e-5,
        ),
        ("linear", "opaque"),
    ),
    Example(
        "accumulated_effects",
        lambda model: dc.accumulated_effects(
            model, "home", rug=False, epsilon=1.0, mechanism="laplace"
        ),
        ("trees", "opaque"),
    ),
]
