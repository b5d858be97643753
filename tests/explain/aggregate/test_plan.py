"""Any explainer, made private: right without noise, silent, deterministic, and never in the way."""

from __future__ import annotations

import logging
import sys
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.inspection import partial_dependence, permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeRegressor

import discreet as dc
from discreet.errors import ArgumentError, SchemaError
from discreet.explain.aggregate.answers import Grid, read_curve, read_scores
from discreet.explain.aggregate.plan import any_curve, any_ranking
from discreet.plans import Release
from tests.laws.examples import Example

SCHEMA = dc.Schema(
    {
        "u": dc.Number(-2, 2, missing=False),
        "v": dc.Number(-2, 2, missing=False),
        "w": dc.Number(-2, 2, missing=False),
        "home": dc.Category("rent", "own", "other", missing=False, other=False),
        "label": dc.Category(0, 1, missing=False, other=False),
    },
    target="label",
)
NUMBERS = ["u", "v", "w"]
MARKER = 1.23456789
RELATIONS = ["replace-one", "add-remove"]


@pytest.fixture(scope="module")
def frame() -> pd.DataFrame:
    draw = np.random.default_rng(0)
    table = pd.DataFrame(draw.uniform(-2, 2, (1500, 3)), columns=NUMBERS)
    table["home"] = draw.choice(["rent", "own", "other"], 1500)
    table["label"] = (2 * table["u"] - table["v"] + draw.normal(0, 1, 1500) > 0).astype(int)
    return table


@pytest.fixture(scope="module")
def model(frame: pd.DataFrame) -> LogisticRegression:
    return LogisticRegression(C=10).fit(frame[NUMBERS], frame["label"])


def open_session(frame: pd.DataFrame, **options: Any) -> dc.Session:
    terms = {"dataset": "t", "ledger": ":memory:", "epsilon": 1e6, "delta": 1e-3, "seed": 0}
    return dc.protect(frame, SCHEMA, **{**terms, **options})


def in_subsets(frame: pd.DataFrame, subsets: int) -> list[pd.DataFrame]:
    return [frame.iloc[place::subsets].reset_index(drop=True) for place in range(subsets)]


@pytest.mark.parametrize("relation", RELATIONS)
def test_partial_dependence_of_scikit_learn_as_a_black_box(frame, model, relation: str) -> None:
    grid = SCHEMA["u"].grid(6)

    def dependence(table: pd.DataFrame) -> Any:
        found = partial_dependence(model, table[NUMBERS], ["u"], custom_values={"u": grid})
        return found["grid_values"][0], found["average"][0]

    session = open_session(frame, relation=relation)
    plan = any_curve(dependence, feature="u", resolution=6, bounds=(0, 1), subsets=30, epsilon=1e5)
    release = session.release(plan)
    exact = np.mean([dependence(part)[1] for part in in_subsets(frame, 30)], axis=0)
    tolerance = 1e-3 if relation == "replace-one" else 0.02  # other subsets, the same rows
    assert release.value.y == pytest.approx(exact, abs=tolerance)
    assert release.value.y == pytest.approx(dependence(frame)[1], abs=0.02)
    assert release.value.x == tuple(grid) and release.value.feature == "u"
    assert release.stages[0]["certificate"]["statements"] == ["generic-plots", "lattice"]
    assert release.guarantee.relation == relation
    assert Release.loads(release.dumps()).value == release.value
    assert release.plot().ax_ is not None


def test_shap_as_a_black_box(frame) -> None:
    shap = pytest.importorskip("shap")
    tree = DecisionTreeRegressor(max_depth=4, random_state=0).fit(
        frame[NUMBERS], 3 * frame["u"] - frame["w"]
    )
    explainer = shap.TreeExplainer(tree, frame[NUMBERS].iloc[:20])

    def importance(table: pd.DataFrame) -> pd.Series:
        return pd.Series(np.abs(explainer.shap_values(table[NUMBERS])).mean(axis=0), index=NUMBERS)

    def dependence(table: pd.DataFrame) -> Any:
        return table["u"], explainer.shap_values(table[NUMBERS])[:, 0]

    session = open_session(frame)
    exact = importance(frame).sort_values(ascending=False)
    ranking = session.release(any_ranking(importance, items=NUMBERS, subsets=20, epsilon=1e4)).value
    assert ranking.names == tuple(exact.index) and ranking.values is not None
    plan = any_curve(dependence, feature="u", bounds=(-8, 8), subsets=20, resolution=5, epsilon=1e5)
    curve = session.release(plan).value
    assert np.all(np.diff(curve.y) > 0) and curve.y[2] == pytest.approx(0, abs=1)


@pytest.mark.parametrize(
    "mechanism", ["auto", "laplace", "gaussian", "exponential", "permute-and-flip"]
)
@pytest.mark.parametrize("relation", RELATIONS)
def test_permutation_importance_of_scikit_learn_as_a_black_box(
    frame, model, relation: str, mechanism: str
) -> None:
    def importance(table: pd.DataFrame) -> dict[str, float]:
        found = permutation_importance(model, table[NUMBERS], table["label"], n_repeats=1)
        return dict(zip(NUMBERS, found.importances_mean, strict=True))

    session = open_session(frame, relation=relation)
    plan = any_ranking(
        importance, items=NUMBERS, subsets=8, epsilon=30.0, delta=1e-6, mechanism=mechanism
    )
    first = session.release(plan)
    assert first.value.names == ("u", "v", "w")
    assert "borda" in first.stages[0]["certificate"]["statements"]
    best = any_ranking(importance, items=NUMBERS, k=1, subsets=8, epsilon=30.0, delta=1e-6)
    assert session.release(best).value.names == ("u",)
    assert first.plot().ax_ is not None and len(first.value.to_frame()) == 3


def test_equal_seeds_give_equal_answers(frame) -> None:
    def noisy_mean(table: pd.DataFrame) -> np.ndarray:
        return np.random.normal(table["u"].mean(), 1.0, 20)  # noqa: NPY002

    plan = any_curve(noisy_mean, feature="u", bounds=(-3, 3), subsets=10, epsilon=1.0, name="noisy")
    first, again = (open_session(frame, seed=4).release(plan).value for _ in range(2))
    assert first == again


def test_a_category_is_looked_up_by_its_value(frame) -> None:
    def share(table: pd.DataFrame) -> pd.Series:
        return table.groupby("home", observed=True)["label"].mean()

    session = open_session(frame)
    curve = session.release(
        any_curve(share, feature="home", bounds=(0, 1), subsets=5, epsilon=1e5)
    ).value
    exact = np.mean([share(part)[["rent", "own", "other"]] for part in in_subsets(frame, 5)], axis=0)
    assert curve.labels == ("rent", "own", "other") and curve.y == pytest.approx(exact, abs=1e-3)


def test_grids_of_ones_own_and_smoothing(frame) -> None:
    def square(table: pd.DataFrame) -> np.ndarray:
        return np.linspace(0, 1, 30) ** 2

    grid = np.linspace(0, 1, 30)
    session = open_session(frame)
    options: dict[str, Any] = {"grid": grid, "bounds": (0, 1), "epsilon": 150.0, "subsets": 200}
    rough = session.release(any_curve(square, **options)).value
    smooth = session.release(any_curve(square, smooth=True, feature="time", **options)).value
    assert rough.feature == "x" and smooth.feature == "time" and rough.x == tuple(grid)
    errors = [np.mean((np.array(c.y) - grid**2) ** 2) for c in (rough, smooth)]
    assert errors[1] < errors[0]
    assert all(0 <= y <= 1 for y in rough.y)


@pytest.mark.parametrize("relation", RELATIONS)
def test_a_subset_that_fails_counts_as_the_middle_and_says_nothing(
    frame, relation: str, capfd: pytest.CaptureFixture, caplog: pytest.LogCaptureFixture
) -> None:
    marked = frame.copy()
    marked.loc[7, "u"] = MARKER

    def talkative(table: pd.DataFrame) -> np.ndarray:
        if (table["u"] == MARKER).any():
            print("found", MARKER)
            print("found", MARKER, file=sys.stderr)
            warnings.warn(f"found {MARKER}", stacklevel=1)
            logging.getLogger("talk").critical("found %s", MARKER)
            raise ValueError(f"found {MARKER} in {table}")
        return np.ones(4)

    session = open_session(marked, relation=relation)
    plan = any_curve(talkative, feature="u", resolution=4, bounds=(0, 1), subsets=10, epsilon=1e5)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        release = session.release(plan)
    assert release.value.y == pytest.approx([0.95] * 4, abs=1e-3)
    spoken = capfd.readouterr()
    written = [release.dumps(), repr(plan), session.history().to_string(), *map(str, heard)]
    for text in (spoken.out, spoken.err, caplog.text, *written):
        assert str(MARKER) not in text


NONSENSE: list[Any] = [
    None,
    "text",
    [1.0],
    np.full(4, np.nan),
    {"who": "knows"},
    (1, 2, 3, 4, 5),
    object(),
]


@pytest.mark.parametrize("nonsense", NONSENSE, ids=lambda value: type(value).__name__)
def test_nonsense_counts_as_the_middle_or_as_a_tie(frame, nonsense: Any) -> None:
    def curve(table: pd.DataFrame) -> Any:
        return nonsense if table["u"].iloc[0] == frame["u"].iloc[0] else np.ones(4)

    def ranking(table: pd.DataFrame) -> Any:
        return nonsense if table["u"].iloc[0] == frame["u"].iloc[0] else ["w", "v", "u"]

    session = open_session(frame)
    shape: dict[str, Any] = {"feature": "u", "resolution": 4, "bounds": (0, 1), "subsets": 4}
    released = session.release(any_curve(curve, epsilon=1e5, **shape)).value
    assert released.y == pytest.approx([(3 + 0.5) / 4] * 4, abs=1e-3)
    ranked = session.release(any_ranking(ranking, items=NUMBERS, subsets=4, epsilon=1e5)).value
    assert ranked.names == ("w", "v", "u")
    assert ranked.values[0] == pytest.approx([(3 * points + 1) / 4 for points in (2, 1, 0)], abs=1e-3)


def test_an_empty_table_is_nothing_but_the_middle() -> None:
    empty = pd.DataFrame({name: pd.Series(dtype=object) for name in SCHEMA})
    session = open_session(empty, relation="add-remove")
    called: list[int] = []

    def count(table: pd.DataFrame) -> np.ndarray:
        called.append(len(table))
        return np.ones(3)

    plan = any_curve(count, feature="home", bounds=(0, 1), subsets=5, epsilon=1e5)
    assert session.release(plan).value.y == pytest.approx([0.5] * 3, abs=1e-3)
    assert called == [64, 37, 64]  # public rows alone


def test_a_name_makes_a_release_be_found_again(frame) -> None:
    def ones(table: pd.DataFrame) -> np.ndarray:
        return np.ones(20)

    session = open_session(frame)
    shape: dict[str, Any] = {"feature": "u", "bounds": (0, 1), "epsilon": 1.0}
    first = session.release(any_curve(ones, name="ones", **shape))
    assert session.release(any_curve(ones, name="ones", **shape)).id == first.id
    unnamed = [session.release(any_curve(ones, **shape)).id for _ in range(2)]
    assert unnamed[0] != unnamed[1]


def test_a_price_reads_no_row_and_knows_the_noise(frame) -> None:
    sizes: list[int] = []

    def ones(table: pd.DataFrame) -> np.ndarray:
        sizes.append(len(table))
        return np.ones(20)

    session = open_session(frame, seed=None, epsilon=1.0)
    plan = any_curve(ones, feature="u", bounds=(-1, 1), subsets=100, epsilon=0.5)
    price = session.price(plan)
    assert set(sizes) == {64, 37}  # public rows alone
    # Linf r / l over epsilon, and a point of a box has sqrt((m + 1) (m + 2) / 3) times that
    (stage,), priced = price.plans[0].stages, price.plans[0].expected_error["curve"]
    assert stage["noise_std"] / 100 == pytest.approx(np.sqrt(21 * 22 / 3) * 2 / 100 / 0.5)
    assert priced.error > 1.5 * stage["noise_std"] / 100 and priced.relative() == priced.error / 2
    picks = any_ranking(lambda t: NUMBERS, items=NUMBERS, epsilon=0.5)
    assert session.price(picks).plans[0].expected_error["mean points lost by a wrong choice"].error > 0


def test_an_explainer_that_draws_from_outside_is_refused_for_free(frame) -> None:
    made = np.random.default_rng(0)

    def spread(table: pd.DataFrame) -> dict[str, float]:
        return dict(table.sample(frac=0.5, random_state=made)[list(NUMBERS)].std())

    def mean(table: pd.DataFrame) -> list[float]:
        return [float(table["u"].sample(frac=0.5, random_state=made).mean())] * 2

    session = open_session(frame, seed=None, epsilon=1.0)
    for plan, terms in (
        (any_ranking, {"explainer": spread, "items": NUMBERS}),
        (any_curve, {"explainer": mean, "grid": [0, 1], "bounds": (-9, 9)}),
    ):
        before = session.balance.spent
        with pytest.raises(ArgumentError, match="it keeps something"):
            session.release(plan(**terms, subsets=20, epsilon=0.2))
        assert session.balance.spent == before
        free = plan(**terms, subsets=20, repeatable=False, epsilon=0.2)
        kept = plan(**terms, subsets=20, epsilon=0.2)
        assert free.arguments() != kept.arguments()
        assert any("entropy of the system" in a for a in session.release(free).guarantee.assumptions)


GRID = Grid("u", np.array([0.0, 1.0, 2.0]), None)


@pytest.mark.parametrize(
    ("answer", "curve"),
    [
        ([1, 2, 3], [1, 2, 3]),
        (np.array([1.0, np.nan, 3.0]), [1, np.nan, 3]),
        ((np.array([2.0, 0.0]), np.array([20.0, 0.0])), [0, 10, 20]),
        (([0.5, 1.5], [5.0, 7.0]), [5, 6, 7]),
        ([[0, 1], [1, 3], [2, 5], [9, 9]], [1, 3, 5]),
        (pd.Series([1.0, 5.0], index=[0, 2]), [1, 3, 5]),
        ({0: 1.0, 2: 5.0}, [1, 3, 5]),
        (([0.0, np.nan, 2.0], [1.0, 100.0, 5.0]), [1, 3, 5]),
        (([0.0, 1.0], [4.0, np.nan]), [4, 4, 4]),
        ([1, 2], None),
        (([], []), None),
        (([0.0], [np.nan]), None),
        (np.ones((3, 3)), None),
        (None, None),
    ],
    ids=str,
)
def test_curves_are_read_in_many_forms(answer: Any, curve: Any) -> None:
    found = read_curve(answer, GRID)
    assert found is None if curve is None else np.array_equal(found, curve, equal_nan=True)


@pytest.mark.parametrize(
    ("answer", "curve"),
    [
        ({0: 0.5, 1: 2.0}, [0.5, 2.0]),
        (pd.Series([2.0, 0.5], index=[1.0, 0.0]), [0.5, 2.0]),
        (pd.Series([2.0], index=["1"]), [np.nan, 2.0]),
        ((["1", "0"], [3, 4]), [4, 3]),
        ({"x": 1.0}, None),
    ],
    ids=str,
)
def test_values_of_a_category_are_found_however_they_are_written(answer: Any, curve: Any) -> None:
    found = read_curve(answer, Grid("t", np.arange(2.0), (0, 1)))
    assert found is None if curve is None else np.array_equal(found, curve, equal_nan=True)


@pytest.mark.parametrize(
    ("answer", "scores"),
    [
        ([3.0, 1.0, 2.0], [3, 1, 2]),
        (np.array([np.nan, 1.0, 2.0]), [np.nan, 1, 2]),
        ({"w": 1, "u": 5}, [5, np.nan, 1]),
        (pd.Series({"w": 1.0, "u": 5.0, "else": 9.0}), [5, np.nan, 1]),
        (pd.Series([3.0, 1.0, 2.0]), [3, 1, 2]),
        (["v", "u"], [-1, 0, np.nan]),
        (["v", "nobody", "u", "v"], [-2, 0, np.nan]),
        (np.array(["w", "v", "u"]), [-2, -1, 0]),
        (pd.Series(["w", "v", "u"]), [-2, -1, 0]),
        (pd.Index(["w"]), [np.nan, np.nan, 0]),
        ([1.0, 2.0], None),
        ([], None),
        (None, None),
        ("uvw", [0, -1, -2]),
    ],
    ids=str,
)
def test_rankings_are_read_in_many_forms(answer: Any, scores: Any) -> None:
    found = read_scores(answer, ("u", "v", "w"))
    assert found is None if scores is None else np.array_equal(found, scores, equal_nan=True)


CURVE = {"feature": "u", "bounds": (0, 1), "epsilon": 1.0}
WRONG_CURVES: list[tuple[dict[str, Any], str]] = [
    ({"epsilon": -1}, "epsilon must be a positive"),
    ({"bounds": (1, 0)}, r"bounds must be a finite low below a finite high, got \(1, 0\)"),
    ({"bounds": 3}, "bounds must be"),
    ({"bounds": (0, np.inf)}, "bounds must be"),
    ({"feature": None}, "feature must name a column"),
    ({"feature": 3}, "feature must be the name"),
    ({"grid": [0, 0, 1]}, "grid must be 2 to 10,000 finite numbers that increase"),
    ({"grid": ["a", "b"]}, "grid must be"),
    ({"grid": [1.0]}, "grid must be"),
    ({"subsets": 0}, "subsets must be a whole number"),
    ({"resolution": 1}, "resolution must be"),
    ({"mechanism": "cauchy"}, "mechanism must be one of"),
    ({"name": ""}, "name must be a text"),
    ({"name": 3}, "name must be a text"),
]


@pytest.mark.parametrize(("options", "sentence"), WRONG_CURVES, ids=str)
def test_wrong_curves_are_one_clear_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        any_curve(lambda table: np.ones(20), **{**CURVE, **options})


WRONG_RANKINGS: list[tuple[dict[str, Any], str]] = [
    ({"items": "uvw"}, "items must be a list"),
    ({"items": ["u", "u"]}, "items must be one or more different names"),
    ({"items": [1, 2]}, "items must be one or more different names"),
    ({"items": []}, "items must be one or more different names"),
    ({"items": ["u"]}, "number of items must be"),
    ({"k": 4}, "k must be a whole number of at least 1 and at most 3"),
    ({"k": 0}, "k must be"),
    ({"subsets": 0}, "subsets must be"),
    ({"mechanism": "borda"}, "mechanism must be one of"),
]


@pytest.mark.parametrize(("options", "sentence"), WRONG_RANKINGS, ids=str)
def test_wrong_rankings_are_one_clear_sentence(options: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        any_ranking(lambda table: NUMBERS, **{"items": NUMBERS, "epsilon": 1.0, **options})


def test_what_only_a_schema_can_tell_is_refused_before_anything_is_spent(frame) -> None:
    session = open_session(frame, epsilon=1.0, seed=None)
    with pytest.raises(ArgumentError, match="explainer must be a function"):
        any_curve("shap", **CURVE)
    cases: list[tuple[Any, type[Exception], str]] = [
        (any_curve(lambda t: np.ones(3), **CURVE), ArgumentError, "must return 20 numbers"),
        (any_curve(lambda t: t["colour"], **CURVE), ArgumentError, "KeyError"),
        (any_curve(lambda t: [0] * 20, **{**CURVE, "feature": "x"}), SchemaError, "feature must be"),
        (
            any_curve(lambda t: [0] * 20, subsets=1501, **CURVE),
            ArgumentError,
            "subsets must be at most",
        ),
        (
            any_ranking(lambda t: None, items=NUMBERS, epsilon=1.0),
            ArgumentError,
            "explainer must return scores of the items",
        ),
    ]
    for plan, error, sentence in cases:
        with pytest.raises(error, match=sentence):
            session.release(plan)
    assert session.remaining.loss == 1.0


def mean_line(frame: pd.DataFrame) -> np.ndarray:
    return np.linspace(0, 1, 4) * float(frame["paid"].astype(float).mean())


def spread_scores(frame: pd.DataFrame) -> dict[str, float]:
    numbers = frame[["age", "income", "debt"]].astype(float)
    return dict(numbers.std().fillna(0) / [72, 100, 10])


EXAMPLES = [
    Example(
        "any_curve",
        lambda _: any_curve(
            mean_line, grid=[0, 1, 2, 3], bounds=(0, 1), subsets=12, name="line", epsilon=1.0
        ),
    ),
    Example(
        "any_ranking",
        lambda _: any_ranking(
            spread_scores, items=["age", "income", "debt"], subsets=12, name="spread", epsilon=1.0
        ),
    ),
    Example(
        "any_ranking",
        lambda _: any_ranking(
            spread_scores, items=["age", "income", "debt"], k=1, subsets=12, name="spread", epsilon=1.0
        ),
    ),
]
