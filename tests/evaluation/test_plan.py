from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import discreet as dc
from discreet.errors import ArgumentError
from discreet.plans import Setting
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from tests.laws import world
from tests.laws.examples import Example
from tests.laws.world import FORMS

EXAMPLES = [
    Example("evaluate", lambda model: dc.evaluate(model, epsilon=1.0), FORMS),
    Example(
        "evaluate",
        lambda model: dc.evaluate(
            model, by="home", bins=8, mechanism="gaussian", epsilon=1.0, delta=1e-5
        ),
        FORMS,
    ),
    Example(
        "evaluate", lambda model: dc.evaluate(model, bins=6, cuts="quantile", epsilon=1.0), ("trees",)
    ),
    Example("evaluate", lambda model: dc.evaluate(model, by="age >= 40", epsilon=1.0), ("trees",)),
]


def frame(rows: int, seed: int = 0) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    made = pd.DataFrame({"x": draw.normal(0, 1, rows).clip(-3, 3), "g": draw.choice(["a", "b"], rows)})
    odds = 1.2 * made.x + 0.5 * (made.g == "b")
    return made.assign(y=(draw.random(rows) < 1 / (1 + np.exp(-odds))).astype(int))


SCHEMA = dc.Schema(
    {
        "x": dc.Number(-3, 3, missing=False),
        "g": dc.Category("a", "b", "c", missing=False, other=False),
        "y": dc.Category(0, 1, missing=False, other=False),
    },
    target="y",
)


def model() -> LogisticRegression:
    records = frame(500, 9)
    return LogisticRegression().fit(records[["x"]], records.y)


def scores(records: pd.DataFrame) -> np.ndarray:
    return np.asarray(model().predict_proba(records[["x"]])[:, 1])


def released(records: pd.DataFrame, **arguments: Any) -> dc.BinaryEvaluation:
    session = dc.protect(records, SCHEMA, dataset="d", epsilon=4e6, ledger=":memory:")
    value = session.release(dc.evaluate(model(), **{"epsilon": 1e6, **arguments})).value
    assert isinstance(value, dc.BinaryEvaluation)
    return value


def test_with_hardly_any_noise_every_figure_is_that_of_scikit_learn() -> None:
    from sklearn import metrics

    records = frame(4_000)
    truth, score = records.y.to_numpy(), scores(records)
    value, selected = released(records), scores(records) >= 0.5
    expected = {
        "accuracy": metrics.accuracy_score(truth, selected),
        "precision": metrics.precision_score(truth, selected),
        "true_positive_rate": metrics.recall_score(truth, selected),
        "f1": metrics.f1_score(truth, selected),
        "balanced_accuracy": metrics.balanced_accuracy_score(truth, selected),
        "selection_rate": selected.mean(),
        "mean_score": score.mean(),
    }
    for name, exact in expected.items():
        assert value.metric(name).value == pytest.approx(exact, abs=1e-3), name
    for name, exact in {
        "auc": metrics.roc_auc_score(truth, score),
        "brier": metrics.brier_score_loss(truth, score),
        "log_loss": metrics.log_loss(truth, score.clip(0.01, 0.99)),
    }.items():
        figure = value.metric(name)
        assert abs(figure.value - exact) <= figure.binning + 1e-3, name
        assert figure.value == pytest.approx(exact, abs=2e-3), name
    matrix = value.confusion_matrix().to_numpy()
    assert matrix == pytest.approx(metrics.confusion_matrix(truth, selected), abs=1.0)


def test_any_threshold_can_be_asked_afterwards_and_is_between_its_bounds() -> None:
    records = frame(4_000)
    value, score = released(records, bins=12), scores(records)
    for threshold in (0.0, 0.13, 0.41, 0.77, 1.0):
        figure = value.metric("selection_rate", threshold=threshold)
        exact = (score >= threshold).mean()
        assert abs(figure.value - exact) <= figure.binning + 1e-3
        assert figure.value == pytest.approx(exact, abs=0.02)


def test_groups_are_told_apart_and_an_empty_one_is_an_answer() -> None:
    records = frame(4_000)
    value = released(records, by="g")
    assert value.columns == ("g",) and value.groups == (("a",), ("b",), ("c",))
    for group in ("a", "b"):
        own = records[records.g == group]
        figure = value.metric("selection_rate", group=group)
        assert figure.value == pytest.approx((scores(own) >= 0.5).mean(), abs=1e-3)
    assert value.small("c") and not value.small("a")
    empty = value.metric("true_positive_rate", group="c")
    assert (empty.low, empty.high) == (0.0, 1.0)
    assert value.metric("auc", group="c").high == 1.0
    assert not value.to_frame().isna().any().any()


def test_a_class_nobody_has_is_an_answer() -> None:
    records = frame(400).assign(y=0)
    value = released(records, epsilon=1.0)
    for name in ("true_positive_rate", "auc"):
        figure = value.metric(name)
        assert np.isfinite(figure.value) and figure.low <= 0.3 and figure.high >= 0.7
    assert value.metric("prevalence").value < 0.2
    assert not value.to_frame().isna().any().any()


def test_cuts_at_private_quantiles_spread_the_records() -> None:
    records = frame(4_000)
    value = released(records, bins=10, cuts="quantile")
    inside = np.histogram(scores(records), value.knots)[0]
    assert inside.max() < 3 * inside.mean()
    assert value.metric("accuracy").value == pytest.approx(
        ((scores(records) >= 0.5) == records.y).mean(), abs=2e-3
    )


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_models_whose_answers_may_move_get_hats(relation: str) -> None:
    def answer(rows: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-rows[:, 0]))

    opaque = dc.Model(answer, output="probability", columns=["x"], name="f")
    records = frame(3_000)
    session = dc.protect(
        records, SCHEMA, dataset="d", epsilon=4e6, ledger=":memory:", relation=relation
    )
    release = session.release(dc.evaluate(opaque, epsilon=1e5, bins=20))
    value = release.value
    assert value.shared and release.guarantee.grade == "probed"
    exact = (answer(records[["x"]].to_numpy()) >= 0.5) == records.y
    figure = value.metric("accuracy")
    assert abs(figure.value - exact.mean()) <= figure.binning + 1e-3
    with pytest.raises(ArgumentError, match="cuts must be 'public'"):
        session.price(dc.evaluate(opaque, epsilon=1.0, cuts="quantile"))


def test_isolated_models_get_cells_of_their_own() -> None:
    def answer(rows: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp(-rows[:, 0]))

    alone = dc.Model(answer, output="probability", columns=["x"], name="f", isolated=True)
    session = dc.protect(frame(100), SCHEMA, dataset="d", epsilon=9, ledger=":memory:")
    release = session.release(dc.evaluate(alone, epsilon=1.0))
    assert not release.value.shared and release.guarantee.grade == "isolated"


def test_records_without_an_outcome_are_in_no_cell_and_their_number_is_private() -> None:
    schema = dc.Schema({"x": dc.Number(-3, 3, missing=False), "y": dc.Category(0, 1)}, target="y")
    records = frame(2_000)[["x", "y"]].astype(object)
    records.loc[:499, "y"] = None
    session = dc.protect(records, schema, dataset="d", epsilon=4e6, ledger=":memory:")
    value = session.release(dc.evaluate(model(), epsilon=1e6)).value
    assert value.rows is None and value.tally().size.value == pytest.approx(1_500, abs=1)


def test_the_price_of_groups_is_that_of_the_whole() -> None:
    for relation in (REPLACE_ONE, ADD_REMOVE):
        setting = Setting(SCHEMA, relation, 1_000 if relation.rows_public else None)
        programs = [
            dc.evaluate(model(), bins=10, by=by, epsilon=1.0).prepare(setting) for by in (None, "g")
        ]
        stds = [program.stages[0].noise.std for program in programs]
        assert stds[0] == pytest.approx(stds[1])


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        ({"by": "age"}, "by must name categories"),
        ({"by": "y"}, "by must name categories"),
        ({"by": "x"}, "by must name categories"),
        ({"bins": 1}, "bins must be"),
        ({"cuts": "even"}, "cuts must be one of"),
        ({"mechanism": "linf"}, "mechanism must be one of"),
    ],
)
def test_wrong_arguments_get_a_sentence_and_cost_nothing(arguments: Any, told: str) -> None:
    session = dc.protect(frame(50), SCHEMA, dataset="d", epsilon=1.0, ledger=":memory:")
    with pytest.raises(ArgumentError, match=told):
        session.release(dc.evaluate(model(), **arguments, epsilon=0.5))
    assert float(session.remaining.loss) == 1.0


def test_a_schema_without_a_target_is_refused() -> None:
    columns = {name: SCHEMA[name] for name in SCHEMA}
    session = dc.protect(frame(50), dc.Schema(columns), dataset="d", epsilon=1.0, ledger=":memory:")
    with pytest.raises(ArgumentError, match="schema must name a target"):
        session.price(dc.evaluate(dc.Model(model(), columns=["x"]), epsilon=0.5))


def test_numbers_are_scores_of_the_second_of_two_values() -> None:
    numbers = dc.Model(lambda rows: rows[:, 0], bounds=(-3, 3), columns=["x"], name="v")
    records = frame(2_000)
    session = dc.protect(records, SCHEMA, dataset="d", epsilon=4e6, ledger=":memory:")
    value = session.release(dc.evaluate(numbers, epsilon=1e5)).value
    assert value.output == "score" and value.default_threshold == 0.0
    exact = (records.x >= 0).mean()
    figure = value.metric("selection_rate")
    assert abs(figure.value - exact) <= figure.binning + 1e-3
    assert abs(value.auc.value - released(records).auc.value) <= value.auc.binning
    with pytest.raises(ArgumentError, match="needs probabilities"):
        value.metric("log_loss")


def test_margins_have_thresholds_in_their_own_unit_and_no_calibration() -> None:
    margin = dc.Model(model(), output="margin", bounds=(-4, 4))
    session = dc.protect(frame(2_000), SCHEMA, dataset="d", epsilon=4e6, ledger=":memory:")
    value = session.release(dc.evaluate(margin, epsilon=1e6)).value
    assert value.default_threshold == 0.0
    records = frame(2_000)
    exact = (scores(records) >= 0.5).mean()
    assert value.metric("selection_rate").value == pytest.approx(exact, abs=2e-3)
    assert value.metric("auc").value == pytest.approx(released(records).auc.value, abs=0.01)
    with pytest.raises(ArgumentError, match="needs probabilities"):
        value.metric("brier")


def test_the_worlds_models_are_evaluated_under_both_relations() -> None:
    for relation in ("replace-one", "add-remove"):
        session = dc.protect(
            world.table(),
            world.SCHEMA,
            dataset="d",
            epsilon=9,
            ledger=":memory:",
            relation=relation,  # type: ignore[arg-type]
        )
        assert session.release(dc.evaluate(world.model("trees"), epsilon=1.0)).value.auc.low >= 0.0


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_a_part_of_the_table_is_evaluated_as_if_it_were_all(relation: Any) -> None:
    records = frame(3_000)
    session = dc.protect(
        records, SCHEMA, dataset="d", epsilon=4e6, ledger=":memory:", relation=relation
    )
    own = records[records.x >= 0.5]
    for cuts in ("public", "quantile"):
        plan = dc.evaluate(model(), by="g", where="x >= 0.5", bins=12, cuts=cuts, epsilon=1e5)
        value = session.release(plan).value
        assert value.rows is None
        assert value.tally().size.value == pytest.approx(len(own), abs=1)
        mine = own[own.g == "a"]
        found = value.metric("selection_rate", group="a", threshold=value.knots[8])
        assert found.value == pytest.approx((scores(mine) >= value.knots[8]).mean(), abs=2e-3)


def test_models_in_single_precision_pay_for_hats_together_not_for_every_cell() -> None:
    """A cell may move by a sixth of a record, all cells together by a third."""
    setting = Setting(SCHEMA, REPLACE_ONE, 5_000)

    def single(rows: np.ndarray) -> np.ndarray:
        return (1 / (1 + np.exp(-rows[:, 0].astype(np.float32)))).astype(np.float32)

    plan = dc.evaluate(
        dc.Model(single, bounds=(0, 1), columns=["x"], name="single"), bins=20, epsilon=1.0
    )
    (stage,) = plan.prepare(setting).stages
    assert stage.certificate.sensitivity("l1", REPLACE_ONE) < 3.0
    assert stage.certificate.sensitivity("l1", REPLACE_ONE) > 2.0
