from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.errors import ArgumentError
from discreet.evaluation.binary.fairness import CRITERIA, GroupMetrics

SCHEMA = dc.Schema(
    {
        "s": dc.Number(0, 1, missing=False),
        "sex": dc.Category("F", "M", missing=False, other=False),
        "race": dc.Category("p", "q", "r"),
        "y": dc.Category("no", "yes", missing=False, other=False),
    },
    target="y",
)


def frame(rows: int = 6_000) -> pd.DataFrame:
    draw = np.random.default_rng(5)
    made = pd.DataFrame({"s": draw.random(rows), "sex": draw.choice(["F", "M"], rows)})
    made["race"] = draw.choice(["p", "q"], rows, p=[0.7, 0.3])
    made.loc[made.sex == "M", "s"] = made.s**1.4
    made["y"] = np.where(draw.random(rows) < made.s, "yes", "no")
    return made


def model() -> dc.Model:
    linear: Any = dc.Model(lambda rows: rows[:, 0], bounds=(0, 1), columns=["s"], name="s")
    return dc.Model(linear.wrapped, bounds=(0, 1), columns=["s"], name="s", isolated=True)


def released(by: Any, epsilon: float = 1e5, rows: int = 600) -> dc.BinaryEvaluation:
    terms: Any = {"dataset": "d", "epsilon": 4e6, "ledger": ":memory:"}
    session = dc.protect(frame(rows), SCHEMA, **terms)
    value = session.release(dc.evaluate(model(), by=by, bins=20, epsilon=epsilon)).value
    assert isinstance(value, dc.BinaryEvaluation)
    return value


RECORDS = frame(600)
RATES = RECORDS.assign(selected=RECORDS.s >= 0.5).groupby("sex").selected.mean()


@pytest.fixture(scope="module")
def by_sex() -> dc.BinaryEvaluation:
    return released("sex")


def test_it_is_shaped_like_a_metric_frame(by_sex: dc.BinaryEvaluation) -> None:
    metrics = by_sex.by_group(metrics=["selection_rate", "accuracy"])
    assert isinstance(metrics, GroupMetrics)
    assert metrics.by_group.index.name == "sex" and list(metrics.by_group.index) == ["F", "M"]
    assert list(metrics.by_group.columns) == ["selection_rate", "accuracy"]
    assert list(metrics.overall.index) == ["selection_rate", "accuracy"]
    spread = metrics.group_max() - metrics.group_min()
    assert metrics.difference().to_numpy() == pytest.approx(spread.to_numpy())
    assert metrics.ratio().to_numpy() == pytest.approx(
        (metrics.group_min() / metrics.group_max()).to_numpy(), abs=1e-9
    )
    away = (metrics.by_group - metrics.overall).abs().max()
    assert metrics.difference("to_overall").to_numpy() == pytest.approx(away.to_numpy())
    frame = metrics.to_frame()
    assert frame.index.name == "sex" and not frame.small.any() and frame["count"].sum() > 590


def test_with_hardly_any_noise_rates_are_those_of_the_groups(by_sex: dc.BinaryEvaluation) -> None:
    found = by_sex.by_group().by_group.selection_rate
    assert found.to_numpy() == pytest.approx(RATES.to_numpy(), abs=1e-3)
    parity = by_sex.demographic_parity_difference()
    assert parity.value == pytest.approx(abs(RATES["F"] - RATES["M"]), abs=2e-3)
    assert by_sex.demographic_parity_ratio().value == pytest.approx(RATES.min() / RATES.max(), abs=5e-3)


def test_equalised_odds_is_the_farther_of_both_rates(by_sex: dc.BinaryEvaluation) -> None:
    metrics = by_sex.by_group()
    apart = [metrics.difference_of(n).value for n in ("true_positive_rate", "false_positive_rate")]
    assert by_sex.equalized_odds_difference().value == pytest.approx(max(apart))
    assert by_sex.equalized_odds_difference(agg="mean").value == pytest.approx(np.mean(apart))
    assert by_sex.equal_opportunity_difference().value == pytest.approx(apart[0])
    for name in CRITERIA:
        figure = by_sex.fairness(name)
        assert 0 <= figure.low <= figure.value <= figure.high <= 1


def test_several_columns_make_their_combinations() -> None:
    value = released(["sex", "race"])
    assert len(value.groups) == 2 * 5 and ("F", "(missing)") in value.groups
    metrics = value.by_group()
    assert metrics.by_group.index.names == ["sex", "race"]
    assert set(metrics.compared) == {("F", "p"), ("F", "q"), ("M", "p"), ("M", "q")}
    own = RECORDS[(RECORDS.sex == "M") & (RECORDS.race == "p")]
    found = value.metric("selection_rate", group=("M", "p"))
    assert found.value == pytest.approx((own.s >= 0.5).mean(), abs=2e-3)
    assert not metrics.to_frame().isna().any().any()


def test_groups_nobody_is_in_are_marked_and_not_compared() -> None:
    value = released("race", epsilon=1.0)
    metrics = value.by_group()
    marked = metrics.to_frame().small
    assert marked["(missing)"] and marked["(other)"] and marked["r"] and not marked["p"]
    assert metrics.difference_of("selection_rate").high < 1


def test_nothing_to_compare_is_an_answer() -> None:
    value = released("sex", epsilon=0.001)
    figure = value.demographic_parity_difference()
    assert (figure.low, figure.high) == (0.0, 1.0)


def test_thresholds_even_groups_out(by_sex: dc.BinaryEvaluation) -> None:
    metrics = by_sex.by_group()
    even = metrics.even_thresholds("selection_rate", value=0.4)
    for group, threshold in even.threshold.items():
        own = RECORDS[group == RECORDS.sex]
        assert (own.s >= threshold).mean() == pytest.approx(0.4, abs=0.03)
    assert even.threshold["M"] < even.threshold["F"]
    odds = metrics.even_thresholds("equalized_odds")
    assert {"true_positive_rate", "false_positive_rate"} <= set(odds.columns)


def test_the_farthest_pair_of_many_groups_holds_at_once() -> None:
    """Nobody differs: the interval of the greatest difference must begin at zero nearly always."""
    generator, zero = np.random.default_rng(2), []
    knots = (0.0, 0.5, 1.0)
    for _ in range(200):
        cells = generator.multinomial(400, [0.2, 0.05, 0.15, 0.1, 0.05, 0.15, 0.1, 0.2], size=5)
        noisy = cells.reshape(5, 2, 4) + generator.laplace(0, 2, (5, 2, 4))
        value = dc.BinaryEvaluation(
            ("g",),
            tuple((name,) for name in "abcde"),
            knots,
            False,
            tuple(noisy.ravel().tolist()),
            2 * 2**0.5,
            6.0,
            "laplace",
            2_000,
            "probability",
            "y",
            0.95,
        )
        zero.append(value.demographic_parity_difference().low == 0.0)
    assert np.mean(zero) > 0.92


@pytest.mark.parametrize(
    ("ask", "told"),
    [
        (lambda v: v.metric("recall"), "name must be one of"),
        (lambda v: v.metric("accuracy", threshold=1.2), "threshold must be between 0 and 1"),
        (lambda v: v.metric("accuracy", threshold="high"), "threshold must be between"),
        (lambda v: v.metric("accuracy", group="X"), "group must be one of"),
        (lambda v: v.by_group(metrics=["gini"]), "metrics must be one of"),
        (lambda v: v.by_group(threshold=-0.1), "threshold must be between"),
        (lambda v: v.fairness("parity"), "name must be one of"),
        (lambda v: v.by_group().even_thresholds("precision"), "metric must be one of"),
        (lambda v: v.by_group().even_thresholds("equalized_odds", value=0.4), "value must be a rate"),
        (lambda v: v.by_group().difference("pairwise"), "method must be one of"),
        (lambda v: v.calibration_curve(bins=90), "bins must be"),
        (lambda v: v.plot(kind="pie"), "kind must be one of"),
    ],
)
def test_wrong_questions_get_a_sentence(by_sex: dc.BinaryEvaluation, ask: Any, told: str) -> None:
    with pytest.raises(ArgumentError, match=told):
        ask(by_sex)


def test_groups_must_have_been_asked_for() -> None:
    with pytest.raises(ArgumentError, match="by must have been given"):
        released(None).by_group()


def test_pictures_are_drawn_and_curves_are_frames(by_sex: dc.BinaryEvaluation) -> None:
    import matplotlib.pyplot as plt

    for kind in ("roc", "precision_recall", "calibration", "lift"):
        display = by_sex.plot(kind=kind, title="Evaluation")
        assert display.ax_.get_xlabel() and display.ax_.get_ylabel()
        labels = display.ax_.get_legend_handles_labels()[1]
        assert any("95%" in label for label in labels)
        assert kind == "lift" or {"F", "M"} <= set(labels)
        plt.close(display.figure_)
    forest = by_sex.by_group(metrics=["accuracy", "auc"]).plot(title="By sex")
    assert len(forest.ax_.get_yticks()) == 4
    plt.close(forest.figure_)
    roc = by_sex.roc_curve()
    assert (np.diff(roc.true_positive_rate) >= 0).all() and (
        np.diff(roc.false_positive_rate) >= 0
    ).all()
    assert roc.iloc[0, 1] == 0 and roc.true_positive_rate.iloc[-1] == pytest.approx(1.0)
    lift = by_sex.lift_curve()
    assert lift.value.iloc[-1] == pytest.approx(1.0, abs=0.01)
    calibration = by_sex.calibration_curve()
    assert calibration.records.sum() == pytest.approx(600, abs=1) and len(calibration) == 10
    assert (calibration.score.between(calibration.score_low, calibration.score_high)).all()


def test_it_reads_back_and_a_broken_one_does_not(by_sex: dc.BinaryEvaluation) -> None:
    from discreet.errors import ReleaseError
    from discreet.plans.results.result import Result

    plain = by_sex.to_json()
    assert Result.read(plain) == by_sex
    with pytest.raises(ReleaseError, match="fit together"):
        Result.read({**plain, "knots": plain["knots"][:-1]})
