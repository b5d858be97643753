"""Partial dependence: the bound over all neighbours, the curve below the noise, honest bands."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import make_column_transformer
from sklearn.ensemble import RandomForestClassifier
from sklearn.inspection import partial_dependence as sklearn_partial_dependence
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable, Summand, add_up
from discreet.errors import ArgumentError
from discreet.explain.pdp.grids import quantile_grid
from discreet.explain.pdp.plan import curve_contribution
from discreet.explain.smoothing import smooth_curve
from discreet.numerics import to_units
from discreet.plans import Setting, Stage
from discreet.plans.results.result import Result, Surface
from tests.laws.examples import Example
from tests.laws.world import FORMS

TINY = dc.Schema(
    {
        "size": dc.Number(0, 2, step=1, missing=False),
        "kind": dc.Category("a", "b", missing=False, other=False),
    }
)
ROWS = list(itertools.product([0, 1, 2], ["a", "b"]))
WILD = dc.Schema(
    {
        "size": dc.Number(0, 2, step=1, missing=False),
        "kind": dc.Category("low", "high", "nan", missing=False, other=False),
    }
)
WILD_ROWS = list(itertools.product([0, 1, 2], ["low", "high", "nan"]))


def wild(rows: np.ndarray) -> np.ndarray:
    """Answers far outside its bounds, and NaN for one kind of row."""
    return np.where(rows[:, 1] == 2, np.nan, 40.0 * rows[:, 1] - 20.0)


def curve_stage(relation: str, mechanism: str, rows: int | None) -> Stage:
    plan = dc.partial_dependence(
        dc.Model(wild, bounds=(-1, 2)), "size", rug=False, epsilon=1.0, delta=1e-6, mechanism=mechanism
    )
    return plan.prepare(Setting(WILD, relation, rows)).stages[0]


def raw_steps(stage: Stage, rows: list[tuple[int, str]]) -> np.ndarray:
    table = PrivateTable(pd.DataFrame(rows, columns=list(WILD)), WILD, "add-remove")
    return add_up(table, [Summand(stage.contribution, stage.noise.step)])[0]


def worst_move(stage: Stage, relation: str, norm: int) -> float:
    """Return the greatest change, in steps, between neighbours among all tables of two rows."""
    worst = 0.0
    for kept, changed in itertools.product(WILD_ROWS, WILD_ROWS):
        before = raw_steps(stage, [kept, changed])
        neighbours = [[kept, row] for row in WILD_ROWS] if relation == "replace-one" else [[kept]]
        for after in neighbours:
            moved = np.abs(before - raw_steps(stage, after)).astype(float)
            worst = max(worst, float(np.linalg.norm(moved, norm)))
    return worst


@pytest.mark.proves("pdp")
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize(("mechanism", "norm"), [("laplace", 1), ("gaussian", 2)])
def test_no_neighbour_moves_the_sum_further(relation: str, mechanism: str, norm: int) -> None:
    stage = curve_stage(relation, mechanism, 2 if relation == "replace-one" else None)
    bound = stage.certificate.sensitivity("l1" if norm == 1 else "l2", relation) / stage.noise.step
    worst = worst_move(stage, relation, norm)
    assert worst <= bound
    assert worst > 0.99 * bound  # attained: a third less would already be a lie


@pytest.mark.refutes("pdp")
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_wider_answers_than_certified_are_caught(relation: str) -> None:
    stage = curve_stage(relation, "laplace", 2 if relation == "replace-one" else None)
    wider = dc.Model(wild, bounds=(-1.5, 2.5)).bind(WILD)
    planted = Stage("curve", curve_contribution(wider, "size", np.arange(3.0)), stage.noise)
    bound = stage.certificate.sensitivity("l1", relation) / stage.noise.step
    assert worst_move(planted, relation, 1) > bound


def surface_stage(relation: str, mechanism: str) -> Stage:
    plan = dc.partial_dependence(
        dc.Model(wild, bounds=(-1, 2)),
        ("size", "spare"),
        epsilon=1.0,
        delta=1e-6,
        mechanism=mechanism,
    )
    schema = dc.Schema(
        {
            **{name: WILD[name] for name in WILD},
            "spare": dc.Category("x", "y", missing=False, other=False),
        }
    )
    rows = 2 if relation == "replace-one" else None
    return plan.prepare(Setting(schema, relation, rows)).stages[0]


def worst_surface(stage: Stage, relation: str, norm: int) -> float:
    schema = dc.Schema(
        {
            **{name: WILD[name] for name in WILD},
            "spare": dc.Category("x", "y", missing=False, other=False),
        }
    )
    vectors = []
    for row in itertools.product([0, 1, 2], ["low", "high", "nan"], ["x", "y"]):
        frame = pd.DataFrame([row], columns=list(schema))
        table = PrivateTable(frame, schema, "add-remove")
        vectors.append(add_up(table, [Summand(stage.contribution, stage.noise.step)])[0])
    single = np.array(vectors, dtype=float)
    apart = (single[:, None] - single[None]).reshape(-1, single.shape[1])
    moves = single if relation == "add-remove" else apart
    return float(np.linalg.norm(moves, norm, axis=1).max())


@pytest.mark.proves("pdp")
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize(("mechanism", "norm"), [("laplace", 1), ("gaussian", 2)])
def test_no_neighbour_moves_a_surface_further(relation: str, mechanism: str, norm: int) -> None:
    stage = surface_stage(relation, mechanism)
    bound = stage.certificate.sensitivity("l1" if norm == 1 else "l2", relation) / stage.noise.step
    assert 0.99 * bound < worst_surface(stage, relation, norm) <= bound


@pytest.mark.refutes("pdp")
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_surface_at_the_price_of_a_curve_is_caught(relation: str) -> None:
    surface = surface_stage(relation, "laplace")
    curve = curve_stage(relation, "laplace", 2 if relation == "replace-one" else None)
    price = curve.certificate.sensitivity("l1", relation) / surface.noise.step
    assert worst_surface(surface, relation, 1) > price


@pytest.fixture(scope="module")
def loans() -> pd.DataFrame:
    return dc.samples.loans(3_000)


def released(frame: pd.DataFrame, schema: dc.Schema, plan: Any, **options: Any) -> dc.Curve:
    terms = {
        "dataset": "d",
        "epsilon": 1e4,
        "delta": 1e-6,
        "ledger": ":memory:",
        "seed": 1,
        "workers": 1,
    }
    return dc.protect(frame, schema, **{**terms, **options}).release(plan).value


NUMBERS = ["age", "income", "credit_score", "late_payments"]


def numbers_schema() -> dc.Schema:
    full = dc.samples.loan_schema()
    return dc.Schema({name: full[name] for name in [*NUMBERS, "defaulted"]}, target="defaulted")


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize(
    "estimator",
    [
        LogisticRegression(),
        make_pipeline(StandardScaler(), LogisticRegression()),
        RandomForestClassifier(10, max_depth=4, random_state=0, n_jobs=2),
    ],
    ids=["logistic", "scaled logistic", "forest"],
)
def test_equals_scikit_learn_below_the_noise(
    loans: pd.DataFrame, estimator: Any, relation: str
) -> None:
    model = (
        make_pipeline(StandardScaler(), estimator)
        if isinstance(estimator, LogisticRegression)
        else estimator
    )
    model.fit(loans[NUMBERS], loans["defaulted"])
    plan = dc.partial_dependence(model, "credit_score", epsilon=1e4)
    curve = released(loans, numbers_schema(), plan, relation=relation)
    expected = sklearn_partial_dependence(
        model,
        loans[NUMBERS].astype(float),
        ["credit_score"],
        custom_values={"credit_score": np.array(curve.x)},
        method="brute",
    )["average"][0]
    assert curve.y == pytest.approx(expected, abs=1e-5)
    assert all(low <= y <= high for low, y, high in zip(curve.low, curve.y, curve.high, strict=True))


def test_fused_and_opaque_agree(loans: pd.DataFrame) -> None:
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(
        loans[NUMBERS].to_numpy(float), loans["defaulted"]
    )
    opaque = dc.Model(lambda rows: model.predict_proba(rows)[:, 1], bounds=(0, 1))
    curves = [
        released(loans, numbers_schema(), dc.partial_dependence(m, "income", epsilon=1e4))
        for m in (model, opaque)
    ]
    assert curves[0].y == pytest.approx(curves[1].y, abs=1e-5)


def test_categories_and_pipelines(loans: pd.DataFrame) -> None:
    inputs = loans.drop(columns="defaulted")
    encode = make_column_transformer((OneHotEncoder(), ["home", "purpose"]), remainder="passthrough")
    model = make_pipeline(encode, RandomForestClassifier(10, max_depth=4, random_state=0)).fit(
        inputs, loans["defaulted"]
    )
    curve = released(loans, dc.samples.loan_schema(), dc.partial_dependence(model, "home", epsilon=1e4))
    expected = [model.predict_proba(inputs.assign(home=home))[:, 1].mean() for home in dc.samples.HOMES]
    assert curve.labels == dc.samples.HOMES
    assert curve.y == pytest.approx(expected, abs=1e-5)
    assert curve.rug is not None and curve.rug.labels == (dc.samples.HOMES,)


def test_grid_follows_the_step_and_bounds_clip(loans: pd.DataFrame) -> None:
    model = Ridge().fit(loans[NUMBERS], loans["income"])
    narrow = dc.Model(model, bounds=(20_000, 30_000))
    curve = released(
        loans,
        numbers_schema(),
        dc.partial_dependence(narrow, "late_payments", resolution=50, epsilon=1e4),
    )
    assert curve.x == tuple(float(number) for number in range(13))
    assert min(curve.y) >= 20_000 and max(curve.y) <= 30_000


@pytest.mark.once_per("relation")
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_bands_cover_at_least_as_often_as_they_say(relation: str, mechanism: str) -> None:
    frame = pd.DataFrame([ROWS[number % 6] for number in range(300)], columns=list(TINY))
    steep = dc.Model(
        lambda rows: 0.2 + 0.2 * rows[:, 0] + 0.3 * rows[:, 1], bounds=(0, 1), name="steep"
    )
    plan = dc.partial_dependence(
        steep, "size", clip=False, epsilon=1.0, delta=1e-5, mechanism=mechanism
    )
    exact = 0.2 + 0.2 * np.arange(3) + 0.3 * (frame["kind"] == "b").mean()
    program = plan.prepare(Setting(TINY, relation, 300 if relation == "replace-one" else None))
    releaser = SimulatedReleaser(PrivateTable(frame, TINY), seed=0)
    curves = [program.finish(releaser) for _ in range(2_000)]
    inside = np.mean([(np.array(c.low) <= exact) & (exact <= np.array(c.high)) for c in curves])
    assert inside > 0.94  # 6,000 draws at 0.95 or more
    if relation == "replace-one":
        assert inside < 0.96


def test_smoothing_knows_the_noise() -> None:
    x = np.linspace(0, 1, 40)
    truth = np.sin(3 * x)
    draw = np.random.default_rng(0)
    errors = []
    for _ in range(100):
        noisy = truth + draw.normal(0, 0.3, len(x))
        errors.append(
            [np.mean((noisy - truth) ** 2), np.mean((smooth_curve(x, noisy, 0.3) - truth) ** 2)]
        )
    raw, smooth = np.mean(errors, axis=0)
    assert smooth < 0.3 * raw
    assert smooth_curve(x, truth, 1e-9) == pytest.approx(truth, abs=1e-6)
    assert np.array_equal(smooth_curve(x[:3], truth[:3], 0.3), truth[:3])


def test_smooth_is_free_and_only_for_numbers() -> None:
    frame = pd.DataFrame([ROWS[number % 6] for number in range(60)], columns=list(TINY))
    model = dc.Model(lambda rows: rows[:, 1], bounds=(0, 1), name="kind")
    rough, smooth = (
        released(frame, TINY, dc.partial_dependence(model, "kind", smooth=flag, epsilon=1.0))
        for flag in (False, True)
    )
    assert rough.y == smooth.y


def test_gaussian_noise_wins_on_many_points() -> None:
    model = dc.Model(lambda rows: rows[:, 1], bounds=(0, 1), name="kind")
    schema = dc.Schema(
        {
            "mass": dc.Number(0, 1, missing=False),
            "kind": dc.Category("a", "b", missing=False, other=False),
        }
    )
    setting = Setting(schema, "replace-one", 1000)
    plan = dc.partial_dependence(model, "mass", resolution=100, epsilon=1.0, delta=1e-6)
    price = plan.prepare(setting)
    assert price.stages[0].noise.name == "gaussian"
    box = dc.partial_dependence(model, "mass", resolution=100, epsilon=1.0).prepare(setting)
    assert box.stages[0].noise.name == "linf"
    assert price.stages[0].noise.std < 0.9 * box.stages[0].noise.std
    terms = {"resolution": 100, "mechanism": "laplace", "epsilon": 1.0}
    laplace = dc.partial_dependence(model, "mass", **terms).prepare(setting)
    assert box.stages[0].noise.std < 0.45 * laplace.stages[0].noise.std
    priced = price.expected_error["curve"]
    assert math.isclose(priced.error, price.stages[0].noise.half_width(0.95) / 1000)


def test_picture_with_band_and_rug() -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    frame = pd.DataFrame([ROWS[number % 6] for number in range(60)], columns=list(TINY))
    model = dc.Model(lambda rows: rows[:, 1], bounds=(0, 1), name="kind")
    for feature in TINY:
        display = released(frame, TINY, dc.partial_dependence(model, feature, epsilon=1.0)).plot()
        assert display.ax_.get_xlabel() == feature and len(display.rug_ax_.patches) in (2, 3)
    plain = released(frame, TINY, dc.partial_dependence(model, "size", rug=False, epsilon=1.0))
    assert plain.plot().rug_ax_ is None and list(plain.to_frame().columns) == [
        "size",
        "value",
        "low",
        "high",
    ]
    plt.close("all")


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("curve", ["whole", "centred"])
@pytest.mark.parametrize("kind", ["logistic", "forest", "function"])
def test_surfaces_equal_predictions_below_the_noise(
    loans: pd.DataFrame, relation: str, curve: str, kind: str
) -> None:
    frame = loans.head(400)
    rows = frame[NUMBERS].to_numpy(float)
    forest = RandomForestClassifier(10, max_depth=4, random_state=0)
    estimator = forest if kind == "forest" else make_pipeline(StandardScaler(), LogisticRegression())
    estimator.fit(rows, frame["defaulted"])
    model: Any = estimator
    if kind == "function":
        model = dc.Model(lambda r: estimator.predict_proba(r)[:, 1], bounds=(0, 1))
    plan = dc.partial_dependence(
        model,
        ("credit_score", "late_payments"),
        resolution=(6, 4),
        curve=curve,
        shape_clip=0.5,
        epsilon=1e4,
    )
    surface = released(frame, numbers_schema(), plan, relation=relation)
    expected = np.empty((6, 4))
    for (i, x), (j, y) in itertools.product(enumerate(surface.x), enumerate(surface.y)):
        changed = rows.copy()
        changed[:, 2:] = x, y
        expected[i, j] = estimator.predict_proba(changed)[:, 1].mean()
    np.testing.assert_allclose(surface.to_array(), expected, atol=1e-3)
    low, high = np.array(surface.low), np.array(surface.high)
    assert np.all(low <= high) and high.shape == (6, 4)


def test_surfaces_of_numbers_and_categories(loans: pd.DataFrame) -> None:
    frame = loans.head(300)
    inputs = frame.drop(columns="defaulted")
    encode = make_column_transformer((OneHotEncoder(), ["home", "purpose"]), remainder="passthrough")
    model = make_pipeline(encode, RandomForestClassifier(5, max_depth=3, random_state=0)).fit(
        inputs, frame["defaulted"]
    )
    for pair in (("home", "late_payments"), ("late_payments", "home"), ("home", "purpose")):
        plan = dc.partial_dependence(model, pair, resolution=3, epsilon=1e4)
        surface = released(frame, dc.samples.loan_schema(), plan)
        first, second = pair
        points = [surface.labels[k] or (surface.x, surface.y)[k] for k in (0, 1)]
        expected = [
            model.predict_proba(inputs.assign(**{first: x, second: y}))[:, 1].mean()
            for x, y in itertools.product(*points)
        ]
        assert surface.to_array().ravel() == pytest.approx(expected, abs=1e-4)
        frame_ = surface.to_frame()
        assert list(frame_.columns) == [first, second, "value", "low", "high"]
        assert frame_[first].tolist() == [x for x, _ in itertools.product(*points)]
        assert Result.read(surface.to_json()) == surface


def test_picture_of_a_surface_states_the_noise() -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    frame = pd.DataFrame([ROWS[number % 6] for number in range(60)], columns=list(TINY))
    model = dc.Model(lambda rows: rows[:, 1], bounds=(0, 1), name="kind")
    surface = released(frame, TINY, dc.partial_dependence(model, ("size", "kind"), epsilon=5.0))
    assert isinstance(surface, Surface)
    display = surface.plot(title="a title")
    label = display.colorbar_.ax.get_ylabel()
    assert label.startswith("mean value (noise ± ") and "95% of the time" in label
    assert display.ax_.get_xlabel() == "size" and display.ax_.get_ylabel() == "kind"
    assert [text.get_text() for text in display.ax_.get_yticklabels()] == ["a", "b"]
    lone = Surface(("a", "b"), (0.0,), (0.0, 1.0), (("x",), None), *[((0.1, 0.2),)] * 3, 0.95, 0.1, "q")
    assert lone.plot().figure_ is not None
    plt.close("all")


GAINS = dc.Schema(
    {"gain": dc.Number(0, 1_000, step=1, missing=False), "other": dc.Number(0, 1, missing=False)}
)


def gains(count: int) -> pd.DataFrame:
    draw = np.random.default_rng(0)
    crowded = np.where(draw.random(count) < 0.5, 0, draw.exponential(30, count).round())
    return pd.DataFrame({"gain": crowded, "other": draw.random(count)})


def kinked(rows: np.ndarray) -> np.ndarray:
    return np.minimum(rows[:, 0] / 50, 1.0) * 0.8 + 0.1 * rows[:, 1]


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("curve", ["whole", "auto"])
def test_quantile_grids_follow_the_records(relation: str, curve: str) -> None:
    frame, model = gains(4_000), dc.Model(kinked, bounds=(0, 1), name="kinked")
    options = {"resolution": 12, "curve": curve, "epsilon": 50.0}
    plans = [
        dc.partial_dependence(model, "gain", grid=grid, **options) for grid in ("uniform", "quantile")
    ]
    even, private = (released(frame, GAINS, plan, relation=relation) for plan in plans)
    assert len(private.x) == len(even.x) == 12 and private.x[0] == 0 and private.x[-1] == 1_000
    assert list(private.x) == sorted(set(private.x)) and all(x == round(x) for x in private.x)
    assert sum(x < 100 for x in private.x) >= 6 > sum(x < 100 for x in even.x)
    exact = [np.mean(kinked(np.column_stack([np.full(4_000, x), frame["other"]]))) for x in private.x]
    assert private.y == pytest.approx(exact, abs=0.06)
    fine = np.linspace(0, 1_000, 1_001)
    truth = np.minimum(fine / 50, 1.0)
    losses = [np.mean((np.interp(fine, c.x, c.y) - 0.8 * truth - 0.05) ** 2) for c in (even, private)]
    assert losses[1] < losses[0]


def test_the_whole_plan_stays_within_its_epsilon() -> None:
    model = dc.Model(kinked, bounds=(0, 1), name="kinked")
    for relation, feature in itertools.product(
        ("replace-one", "add-remove"), ("gain", ("gain", "other"))
    ):
        plan = dc.partial_dependence(model, feature, grid="quantile", epsilon=0.7, delta=1e-6)
        program = plan.prepare(Setting(GAINS, relation, 500 if relation == "replace-one" else None))
        assert sum(to_units(stage.noise.epsilon) for stage in program.stages) <= to_units(0.7)
        assert sum(to_units(stage.noise.delta) for stage in program.stages) <= to_units(1e-6)
        names = [stage.name for stage in program.stages]
        assert ("grid of gain" in names) and ("grid of other" in names) == (feature != "gain")


def test_nothing_is_paid_for_that_the_schema_says() -> None:
    model = dc.Model(lambda rows: rows[:, 1], bounds=(0, 1), name="kind")
    for feature in TINY:
        plan = dc.partial_dependence(model, feature, grid="quantile", rug=False, epsilon=1.0)
        assert len(plan.prepare(Setting(TINY, "replace-one", 10)).stages) == 1


def test_quantile_grids_keep_their_size() -> None:
    stepped = dc.Number(0, 10, step=1, missing=False)
    assert quantile_grid(stepped, np.full(4, 3.0), 6).tolist() == [0, 2, 3, 6, 8, 10]
    crowded = quantile_grid(stepped, np.zeros(8), 10).tolist()
    assert len(crowded) == len(set(crowded)) == 10 and set(crowded) < set(range(11))
    assert len(quantile_grid(dc.Number(0, 1, missing=False), np.zeros(18), 20)) == 20


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ({"features": ("size", "size")}, "features must be two different columns for a surface"),
        (
            {"features": ("size", "kind", "size")},
            "features must be two different columns for a surface",
        ),
        (
            {"features": 3},
            "features must be the name of a column, a pair of them for a surface, a list of",
        ),
        ({"features": []}, "features must be the name of a column"),
        ({"features": ["size", 3]}, "or 'all', got 3 for one"),
        ({"features": ["size", "kind", "size"]}, "features must be different ones"),
        ({"features": ["size", ("size", "kind")], "smooth": True}, "smooth must be left out"),
        (
            {"features": ["size", "kind"]},
            r"features must be those of one answer here, got \['size', 'kind'\]",
        ),
        ({"features": "all"}, "features must be those of one answer here, got 'all'"),
        ({"features": ("size", "colour")}, "features must be among those the model uses"),
        ({"resolution": (3, 3)}, "resolution must be one number, or one for each of 1 features"),
        (
            {"features": ("size", "kind"), "resolution": (200, 200)},
            "resolution must give at most 10000",
        ),
        ({"features": ("size", "kind"), "resolution": (2, 1)}, "resolution must be a whole number"),
        ({"features": ("size", "kind"), "rug": True}, "rug must be left out for two features"),
        ({"features": ("size", "kind"), "smooth": True}, "smooth must be left out for two features"),
        ({"grid": "random"}, "grid must be one of auto, uniform, quantile"),
        ({"curve": "bent"}, "curve must be one of whole, centred, auto"),
        ({"shape_clip": 0}, "shape_clip must be a positive finite number"),
    ],
)
def test_wrong_questions_are_one_sentence(options: dict[str, Any], sentence: str) -> None:
    model = dc.Model(lambda rows: rows[:, 1], bounds=(0, 1), name="kind")
    asked = {"features": "size", "epsilon": 1.0, **options}
    with pytest.raises(ArgumentError, match=sentence):
        dc.partial_dependence(model, **asked).prepare(Setting(TINY, "replace-one", 10))


def test_plans_say_all_they_ask_for() -> None:
    model = dc.Model(lambda rows: rows[:, 1], bounds=(0, 1), name="kind")
    pair = dc.partial_dependence(model, ("size", "kind"), resolution=(3, 2), epsilon=1.0).arguments()
    assert pair["features"] == ["size", "kind"] and pair["resolution"] == [3, 2] and not pair["rug"]
    alone = dc.partial_dependence(model, "size", epsilon=1.0).arguments()
    assert alone["features"] == "size" and alone["resolution"] == 20 and alone["rug"]
    assert (alone["grid"], alone["curve"], alone["shape_clip"]) == ("auto", "whole", "auto")


def several(features: Any, **options: Any) -> Any:
    model = dc.Model(lambda rows: rows[:, 1], bounds=(0, 1), name="kind")
    return dc.partial_dependence(model, features, **{"epsilon": 1.0, "delta": 3e-6, **options})


def test_a_list_of_one_is_that_one() -> None:
    assert several("size", resolution=[5]) == several("size", resolution=5)
    assert several(["size"]) == several("size") and several([("size", "kind")]) == several(
        ("size", "kind")
    )
    assert several(["all"]).arguments()["features"] == "all", "a column of that name"


@pytest.mark.parametrize("features", ["all", ["size", "kind"], ["size", ("size", "kind"), "kind"]])
def test_several_features_are_plans_of_their_own_within_the_budget(features: Any) -> None:
    plan = several(features)
    assert dc.plan_from_json(plan.to_json(), {_fingerprint(plan): plan.model}) == plan
    parts = plan.parts(TINY)
    asked = ["size", "kind"] if features == "all" else features
    share, delta = (float(f"{1 / len(asked):.12f}"[:14]), 3e-6 / len(asked))
    assert parts == [several(one, epsilon=share, delta=delta) for one in asked]
    assert several(parts[0].features).parts(TINY) == (several(parts[0].features),)


def _fingerprint(plan: Any) -> str:
    return str(plan.arguments()["model"]["fingerprint"])


def test_several_curves_are_one_reservation_all_or_nothing() -> None:
    frame = pd.DataFrame(ROWS * 20, columns=list(TINY))
    terms = {
        "dataset": "d",
        "epsilon": 2.0,
        "delta": 1e-5,
        "ledger": ":memory:",
        "seed": 1,
        "workers": 1,
    }
    session = dc.protect(frame, TINY, **terms)  # type: ignore[arg-type]
    with pytest.raises(dc.errors.BudgetExhausted):
        session.release(several("all", epsilon=2.5))
    with pytest.raises(ArgumentError, match="features must be among those the model uses"):
        session.release(several(["size", "colour"]))
    assert session.remaining.loss == 2.0
    priced = session.price(several("all"))
    assert len(priced.plans) == 2 and priced.cost.loss == 1.0
    curves = session.release(several("all"))
    assert [release.value.feature for release in curves] == ["size", "kind"]
    assert session.remaining.loss == 1.0
    again = session.release([several("kind", epsilon=0.5, delta=1.5e-6), several(["size", "kind"])])
    assert [release.id for release in again] == [curves[1].id, curves[0].id, curves[1].id]
    assert session.remaining.loss == 1.0


EXAMPLES = [
    Example(
        "partial_dependence",
        lambda model: dc.partial_dependence(model, "income", resolution=4, epsilon=1.0),
        FORMS,
    ),
    Example(
        "partial_dependence",
        lambda model: dc.partial_dependence(
            model,
            "income",
            curve="centred",
            mechanism="gaussian",
            epsilon=1.0,
            delta=1e-5,
        ),
        FORMS,
    ),
    Example(
        "partial_dependence",
        lambda model: dc.partial_dependence(
            model, "age", resolution=3, grid="uniform", curve="whole", rug=False, epsilon=1.0
        ),
        ("linear", "opaque"),
    ),
    Example(
        "partial_dependence",
        lambda model: dc.partial_dependence(
            model, ("income", "home"), resolution=3, mechanism="laplace", epsilon=1.0
        ),
        ("trees", "opaque"),
    ),
]
