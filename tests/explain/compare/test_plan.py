"""``compare``: exact differences below the noise, clips that pay, and what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable
from discreet.errors import ArgumentError
from discreet.plans import Release, Setting
from tests.laws import world
from tests.laws.examples import Example

FRAME = world.draw_rows(4_000, 3)


def fitted(kind: str) -> Any:
    train = world.draw_rows(500, 8)
    made = {"tree": DecisionTreeClassifier(max_depth=3), "line": LogisticRegression(max_iter=2_000)}[
        kind
    ]
    return made.fit(world.encoded(train), train.paid.to_numpy())


TREE, LINE = fitted("tree"), fitted("line")


def ask(plan: Any, relation: str = "replace-one", seed: int = 0) -> Any:
    setting = Setting(world.SCHEMA, relation, len(FRAME) if relation == "replace-one" else None)  # type: ignore[arg-type]
    table = PrivateTable(FRAME, world.SCHEMA, relation)  # type: ignore[arg-type]
    return plan.prepare(setting).finish(SimulatedReleaser(table, seed))


def brier(model: Any) -> np.ndarray:
    rows = world.encoded(FRAME)
    return np.asarray((model.predict_proba(rows)[:, 1] - FRAME.paid.to_numpy()) ** 2)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_the_difference_of_losses_is_the_plain_one(relation: str) -> None:
    exact = float((brier(TREE) - brier(LINE)).mean())
    value = ask(dc.compare(TREE, LINE, clip=None, epsilon=1e5), relation)
    assert value.value == pytest.approx(exact, abs=2e-3) and value.clip is None
    assert ask(dc.compare(LINE, TREE, clip=None, epsilon=1e5)).value == pytest.approx(-exact, abs=2e-3)


def test_the_difference_of_curves_is_the_plain_one() -> None:
    curve = ask(dc.compare(TREE, LINE, feature="debt", resolution=5, clip=None, epsilon=1e5))
    rows = world.encoded(FRAME)
    for x, y in zip(curve.x, curve.y, strict=True):
        moved = rows.copy()
        moved[:, 2] = x
        gap = TREE.predict_proba(moved)[:, 1] - LINE.predict_proba(moved)[:, 1]
        assert y == pytest.approx(gap.mean(), abs=2e-3)
    by_home = ask(dc.compare(TREE, LINE, feature="home", epsilon=1e5))
    assert by_home.labels == world.HOMES


def test_intervals_hold_and_clipping_pays() -> None:
    exact = float((brier(TREE) - brier(LINE)).mean())
    plans = {clip: dc.compare(TREE, LINE, clip=clip, epsilon=0.05) for clip in ("auto", None)}
    found = {clip: [ask(plan, seed=s) for s in range(60)] for clip, plan in plans.items()}
    for values in found.values():
        assert np.mean([v.low <= exact <= v.high for v in values]) > 0.88
    errors = {clip: np.mean([abs(v.value - exact) for v in values]) for clip, values in found.items()}
    assert errors["auto"] <= 1.05 * errors[None]
    assert found["auto"][0].bias is not None and found["auto"][0].noise_std <= found[None][0].noise_std


def test_a_model_does_not_differ_from_itself() -> None:
    same = dc.compare(TREE, TREE, epsilon=1.0)
    assert abs(ask(same).value) < 0.01 and ask(same).clip[1] < 0.01


def test_one_sum_of_differences_has_less_noise_than_two_releases() -> None:
    setting = Setting(world.SCHEMA, "replace-one", len(FRAME))
    whole = dc.compare(TREE, LINE, feature="debt", clip=None, epsilon=1.0).prepare(setting).stages[0]
    each = dc.partial_dependence(TREE, "debt", grid="uniform", rug=False, epsilon=0.5)
    assert whole.noise.std < np.sqrt(2) * each.prepare(setting).stages[0].noise.std


def test_a_release_is_saved_drawn_and_asked_of_groups() -> None:
    session = dc.protect(FRAME, world.SCHEMA, dataset="d", epsilon=50, delta=1e-3, ledger=":memory:")
    for plan in (
        dc.compare(TREE, LINE, epsilon=1.0),
        dc.compare(TREE, LINE, feature="age", epsilon=1.0),
    ):
        release = session.release(plan)
        assert Release.loads(release.dumps()) == release and release.plot().figure_ is not None
        assert "mean-replace" in release.guarantee.statements
    groups = session.release(dc.compare(TREE, LINE, by="home", epsilon=5.0)).value
    assert len(groups.to_frame()) == 3


def opaque(shift: float) -> dc.Model:
    def score(rows: Any) -> Any:
        return np.clip(world.smooth_score(rows) / 4 + shift, 0.0, 1.0)

    return dc.Model(score, bounds=(0, 1), output="probability", name=f"shifted by {shift}")


OPAQUE: dict[str, Any] = {"first": opaque(0.4), "second": opaque(0.5)}


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_two_functions_are_compared_by_two_releases(relation: str) -> None:
    rows, truth = world.encoded(FRAME), FRAME.paid.to_numpy()
    scores = [np.clip(world.smooth_score(rows) / 4 + shift, 0, 1) for shift in (0.4, 0.5)]
    exact = float(((scores[0] - truth) ** 2 - (scores[1] - truth) ** 2).mean())
    value = ask(dc.compare(**OPAQUE, epsilon=1e5), relation)
    assert value.value == pytest.approx(exact, abs=2e-3)
    assert value.method == "two releases" and "known by their answers alone" in value.why
    curve = ask(dc.compare(**OPAQUE, feature="home", epsilon=1e5), relation)
    assert max(curve.y) < 0.0 and min(curve.y) == pytest.approx(-0.1, abs=0.03)


def test_what_bands_are_of_is_told_where_the_number_of_records_is_private() -> None:
    plan = dc.compare(TREE, LINE, epsilon=1.0)
    assert "of sums: how many records" in ask(plan, "add-remove").why
    assert "of sums" not in ask(plan).why


def test_the_guarantee_says_which_way_was_taken() -> None:
    session = dc.protect(FRAME, world.SCHEMA, dataset="d", epsilon=50, ledger=":memory:")
    told = [
        str(session.release(dc.compare(**models, epsilon=1.0)).guarantee.assumptions)
        for models in (OPAQUE, {"first": TREE, "second": LINE})
    ]
    assert "compared by two releases" in told[0] and "compared by differences" in told[1]


@pytest.mark.parametrize("method", ["differences", "two releases"])
def test_intervals_of_either_way_hold(method: Any) -> None:
    exact = float((brier(TREE) - brier(LINE)).mean())
    plan = dc.compare(TREE, LINE, clip=None, method=method, epsilon=0.05)
    found = [ask(plan, seed=seed) for seed in range(60)]
    assert found[0].method == method and found[0].why == "asked for"
    assert np.mean([v.low <= exact <= v.high for v in found]) > 0.88
    assert 0.2 < np.mean([abs(v.value - exact) for v in found]) / found[0].noise_std < 1.5


def importances(kind: str, model: Any, **told: Any) -> np.ndarray:
    plan = {"shap": dc.shap_importance, "permutation": dc.permutation_importance}[kind]
    return np.array(ask(plan(model, epsilon=1e5, clip=None, **told)).values[0])


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("method", ["auto", "two releases"])
def test_differences_of_shap_importances_are_the_plain_ones(method: Any, relation: str) -> None:
    told: Any = {"background": world.public_rows()}
    first, second = (importances("shap", model, **told) for model in (TREE, LINE))
    plan = dc.compare(TREE, LINE, importance="shap", method=method, clip=None, epsilon=1e5, **told)
    found = ask(plan, relation)
    assert np.array(found.values[0]) == pytest.approx(first - second, abs=2e-3)
    assert found.half_width < 0.01 and "first minus second" in found.quantity


def test_one_sum_of_differences_of_importances_has_less_noise_than_two() -> None:
    setting = Setting(world.SCHEMA, "replace-one", len(FRAME))
    asked: Any = {"importance": "shap", "background": world.public_rows(), "epsilon": 1.0}
    stages = {
        method: dc.compare(TREE, LINE, method=method, **asked).prepare(setting).stages  # type: ignore[arg-type]
        for method in ("auto", "two releases")
    }
    assert len(stages["auto"]) == 1
    both = np.hypot(*(stage.noise.std for stage in stages["two releases"]))
    assert stages["auto"][0].noise.std < both


def test_differences_of_permutation_importances_are_the_plain_ones() -> None:
    first, second = (importances("permutation", model) for model in (TREE, LINE))
    plan = dc.compare(TREE, LINE, importance="permutation", clip=None, epsilon=1e5)
    found = ask(plan)
    assert np.array(found.values[0]) == pytest.approx(first - second, abs=2e-3)
    wide = dc.compare(TREE, LINE, importance="permutation", epsilon=0.5)
    told = [ask(wide, seed=seed) for seed in range(40)]
    inside = [np.abs(np.array(v.values[0]) - (first - second)) <= v.half_width_each for v in told]
    assert np.mean(inside) > 0.9


def test_importances_of_two_parts_of_the_table_are_subtracted() -> None:
    plan = dc.shap_importance(TREE, background=world.public_rows(), by=dc.col("age") >= 40, epsilon=1e4)
    groups = ask(plan)
    apart = groups.difference(*(label[0] for label in groups.labels))
    values = [np.array(result.values[0]) for result in groups.results]
    found = apart.set_index("feature")["difference"].loc[list(groups.results[0].features)]
    assert found.to_numpy() == pytest.approx(values[0] - values[1])
    assert (apart["low"] <= apart["difference"]).all() and (apart["difference"] <= apart["high"]).all()


FUNCTION = dc.Model(world.smooth_score, bounds=(0, 1), name="smooth")
WRONG: list[tuple[dict[str, Any], str]] = [
    ({"feature": "paid"}, "feature must be one both models use, got 'paid'"),
    ({"scoring": "squared_error"}, "scoring must be one of"),
    ({"first": FUNCTION}, "second must have the output of first"),
    (OPAQUE | {"method": "differences"}, "method must be 'two releases' for two models"),
    ({"importance": "shap"}, "background must be public rows"),
    ({"importance": "permutation", "feature": "debt"}, "feature must be left out of importances"),
    ({"importance": "permutation", "method": "differences"}, "method must be 'two releases' for perm"),
    ({"background": world.public_rows()}, "background must be left out unless importance"),
    ({"first": LINE}, "second must be a model that may answer otherwise than first"),
    ({"first": LINE, "feature": "income"}, "second must be a model that may answer otherwise"),
]


@pytest.mark.parametrize(("given", "sentence"), WRONG, ids=[text for _, text in WRONG])
def test_what_cannot_be_compared_is_refused(given: Any, sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        ask(dc.compare(**{"first": TREE, "second": LINE, "epsilon": 1.0} | given))


def compared(**options: Any) -> dc.Plan:
    return dc.compare(world.model("trees"), world.model("linear"), epsilon=1.0, **options)


EXAMPLES = [
    Example("compare", lambda _: compared(feature="income", resolution=3)),
    Example("compare", lambda _: compared(feature="home", clip=0.25)),
    Example("compare", lambda _: compared()),
    Example("compare", lambda _: compared(method="two releases")),
    Example("compare", lambda _: compared(importance="shap", background=world.public_rows())),
    Example("compare", lambda _: dc.compare(**OPAQUE, feature="home", epsilon=1.0)),
    Example(
        "compare",
        lambda _: compared(importance="permutation", background=world.public_rows()),
    ),
]
