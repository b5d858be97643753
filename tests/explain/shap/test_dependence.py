"""SHAP dependence: bounds over all neighbours, and the binned mean of SHAP values below the noise."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LinearRegression, LogisticRegression

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable
from discreet.engines.shapley.coalitions import all_masks
from discreet.engines.shapley.kernel import kernel_values
from discreet.errors import ArgumentError
from discreet.explain.aggregate.plan import any_curve
from discreet.explain.shap.dependence import certify_one_cell, shap_dependence
from discreet.plans import Release, Setting, Stage
from discreet.privacy.certificate import Bounds, Certificate
from tests.explain.shap.cases import TINY, TINY_ROWS, keeps, tiny_models, worst_moves
from tests.laws.examples import Example
from tests.laws.world import FORMS, public_rows

SCHEMA = dc.Schema(
    {
        "u": dc.Number(-2, 2, missing=False),
        "v": dc.Number(0, 3, step=1, missing=False),
        "home": dc.Category("a", "b", "c", missing=False, other=False),
    }
)
MODELS = tiny_models()
DRAW = np.random.default_rng(2)
ENCODED = np.column_stack(
    [DRAW.uniform(-2, 2, 2000), DRAW.integers(0, 4, 2000), DRAW.integers(0, 3, 2000)]
).astype(float)
FRAME = pd.DataFrame(
    {
        "u": ENCODED[:, 0],
        "v": ENCODED[:, 1],
        "home": np.array(["a", "b", "c"])[ENCODED[:, 2].astype(int)],
    }
)
LABELS = (ENCODED[:, 0] * (ENCODED[:, 1] - 1) + 0.5 * ENCODED[:, 2] > 0).astype(int)
FOREST = RandomForestClassifier(10, max_depth=4, random_state=0).fit(ENCODED, LABELS)
BACKGROUND = ENCODED[:25]


def sums_stage(model: Any, feature: str, relation: str, **options: Any) -> Stage:
    plan = shap_dependence(
        model, feature, background=np.array(TINY_ROWS[:3]), epsilon=1.0, bins=3, **options
    )
    setting = Setting(TINY, relation, 2 if relation == "replace-one" else None)
    return plan.prepare(setting).stages[0]


@pytest.mark.proves("shap-dependence")
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("clip", [None, 0.1])
@pytest.mark.parametrize("feature", ["a", "b"])
@pytest.mark.parametrize("name", list(MODELS))
def test_no_neighbour_moves_the_sums_further(
    name: str, feature: str, clip: float | None, relation: str
) -> None:
    assert keeps(sums_stage(MODELS[name], feature, relation, clip=clip), relation)


@pytest.mark.refutes("shap-dependence")
def test_lesser_bounds_are_caught() -> None:
    def with_bounds(stage: Stage, relation: str, bounds: Bounds) -> Stage:
        certificate = Certificate(("x",), stage.certificate.size, {relation: bounds})
        noise = replace(stage.noise, certificate=certificate)
        return replace(stage, noise=noise)

    stage = sums_stage(MODELS["opaque"], "a", "replace-one", clip=0.1)
    found = worst_moves(stage, "replace-one")
    assert found.l1 == pytest.approx(0.2) and found.linf == pytest.approx(0.2)  # attained, in one cell
    for claim in (Bounds(0.1, 0.1, 0.1), Bounds(0.2, 0.1415, 0.1415)):  # one reach; two cells for sure
        assert not keeps(with_bounds(stage, "replace-one", claim), "replace-one")
    alone = sums_stage(MODELS["opaque"], "a", "add-remove", clip=0.1)
    assert not keeps(with_bounds(alone, "add-remove", Bounds(0.05, 0.05, 0.05)), "add-remove")


def test_the_bound_does_not_grow_with_the_cells() -> None:
    for size in (1, 2, 50):
        found = certify_one_cell(size, 0.5)
        assert found.sensitivity("l1", "replace-one") == 1.0
        assert found.sensitivity("l2", "add-remove") == 0.5


def exact_means(place: int, cells: np.ndarray, model: Any) -> np.ndarray:
    values = kernel_values(dc.Model(model).bind(SCHEMA).predict, ENCODED, BACKGROUND, all_masks(3))
    return np.array([values[cells == cell, place].mean() for cell in range(cells.max() + 1)])


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_without_noise_it_is_the_mean_of_every_cell(relation: str) -> None:
    session = dc.protect(
        FRAME, SCHEMA, dataset="t", ledger=":memory:", epsilon=1e6, relation=relation, seed=0
    )
    model = FOREST
    numbers = session.release(
        shap_dependence(model, "u", background=BACKGROUND, bins=8, epsilon=1e5)
    ).value
    cells = np.minimum((ENCODED[:, 0] + 2) // 0.5, 7).astype(int)
    assert numbers.y == pytest.approx(exact_means(0, cells, model), abs=1e-3)
    assert numbers.x == pytest.approx(np.arange(-1.75, 2, 0.5)) and numbers.labels is None
    assert numbers.rug.counts == pytest.approx(np.bincount(cells), abs=0.5)
    assert all(
        low <= y <= high for low, y, high in zip(numbers.low, numbers.y, numbers.high, strict=True)
    )
    stepped = session.release(shap_dependence(model, "v", background=BACKGROUND, epsilon=1e5)).value
    assert stepped.x == pytest.approx([0, 1, 2, 3])
    assert stepped.y == pytest.approx(exact_means(1, ENCODED[:, 1].astype(int), model), abs=1e-3)
    homes = session.release(shap_dependence(model, "home", background=BACKGROUND, epsilon=1e5))
    assert homes.value.labels == ("a", "b", "c")
    assert homes.value.y == pytest.approx(exact_means(2, ENCODED[:, 2].astype(int), model), abs=1e-3)
    assert Release.loads(homes.dumps()).value == homes.value and homes.plot().ax_ is not None


def test_it_agrees_with_shap() -> None:
    shap = pytest.importorskip("shap")
    linear = LinearRegression().fit(ENCODED, ENCODED[:, 0] * 2 - ENCODED[:, 1])
    values = shap.LinearExplainer(linear, BACKGROUND).shap_values(ENCODED)
    session = dc.protect(FRAME, SCHEMA, dataset="t", ledger=":memory:", epsilon=1e6, seed=0)
    plan = shap_dependence(dc.Model(linear, bounds=(-9, 9)), "v", background=BACKGROUND, epsilon=1e5)
    exact = [values[ENCODED[:, 1] == value, 1].mean() for value in range(4)]
    assert session.release(plan).value.y == pytest.approx(exact, abs=1e-3)


def test_bands_hold_and_empty_cells_say_so() -> None:
    half = FRAME[FRAME["u"] < 0]
    session = dc.protect(half, SCHEMA, dataset="t", ledger=":memory:", epsilon=1e6, seed=0)
    plan = shap_dependence(FOREST, "u", background=BACKGROUND, bins=4, epsilon=1.0)
    exact = session.release(replace_epsilon(plan, 1e5)).value.y
    program = plan.prepare(Setting(SCHEMA, "replace-one", len(half)))
    releaser = SimulatedReleaser(PrivateTable(half, SCHEMA), 0)
    hits = total = 0
    for _ in range(60):
        curve: Any = program.finish(releaser)
        reach = max(curve.high)
        for cell in range(2):
            hits += curve.low[cell] <= exact[cell] <= curve.high[cell]
            total += 1
        assert curve.high[3] - curve.low[3] > reach  # nothing is there: nothing is known
        assert all(abs(y) <= reach for y in curve.y)
    assert hits / total >= 0.95 - 3 * np.sqrt(0.05 * 0.95 / total)


def replace_epsilon(plan: Any, epsilon: float) -> Any:
    return shap_dependence(FOREST, plan.feature, background=BACKGROUND, bins=plan.bins, epsilon=epsilon)


def test_it_needs_far_less_noise_than_subsets() -> None:
    direct = shap_dependence(FOREST, "u", background=BACKGROUND, epsilon=1.0)
    generic = any_curve(lambda t: np.zeros(20), feature="u", bounds=(-1, 1), epsilon=1.0)
    setting = Setting(SCHEMA, "replace-one", 20_000)
    per_cell = direct.prepare(setting).stages[0].noise.std / (20_000 / 20)
    assert 20 * per_cell < generic.prepare(setting).expected_error["curve"].error


def test_a_linear_feature_is_charged_for_what_it_can_reach() -> None:
    schema = dc.Schema(
        {"big": dc.Number(0, 1000, missing=False), "small": dc.Number(0, 1, missing=False)}
    )
    rows = np.random.default_rng(0).uniform(0, 1, (50, 2)) * [1000, 1]
    linear = dc.Model(LinearRegression().fit(rows, rows.sum(axis=1)), bounds=schema)
    stds = [
        shap_dependence(linear, name, background=rows, epsilon=1.0)
        .prepare(Setting(schema, "replace-one", 50))
        .stages[0]
        .noise.std
        for name in schema
    ]
    assert stds[0] > 900 * stds[1]


def test_wrong_arguments_are_one_clear_sentence() -> None:
    model = LogisticRegression().fit(ENCODED, LABELS)
    session = dc.protect(FRAME, SCHEMA, dataset="t", ledger=":memory:", epsilon=1.0)
    cases: list[tuple[dict[str, Any], str]] = [
        ({"feature": "x"}, "feature must be among those the model uses"),
        ({"feature": ["u"]}, "feature must be the name of one column"),
        ({"background": None}, "background must be public rows"),
        ({"bins": 0}, "bins must be"),
        ({"clip": 0.0}, "clip must be"),
        ({"coalitions": 0}, "coalitions must be"),
        ({"seed": -1}, "seed must be"),
        ({"mechanism": "x"}, "mechanism must be"),
    ]
    for options, sentence in cases:
        asked = {"feature": "u", "background": BACKGROUND, "epsilon": 1.0, **options}
        with pytest.raises(ArgumentError, match=sentence):
            session.release(shap_dependence(model, **asked))
    assert session.remaining.loss == 1.0


EXAMPLES = [
    Example(
        "shap_dependence",
        lambda model: dc.shap_dependence(
            model, "income", background=public_rows(), bins=3, epsilon=1.0
        ),
        FORMS,
    ),
    Example(
        "shap_dependence",
        lambda model: dc.shap_dependence(
            model,
            "home",
            background=public_rows(),
            coalitions=8,
            clip=0.3,
            mechanism="gaussian",
            epsilon=1.0,
            delta=1e-5,
        ),
        ("linear", "opaque"),
    ),
]
