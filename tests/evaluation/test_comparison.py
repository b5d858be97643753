"""Figures of groups beside each other: any pair, all pairs, with intervals that hold."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import ArgumentError
from discreet.evaluation.figures import difference
from tests.evaluation.classes import cases as classes
from tests.evaluation.regression.cases import identity, schema
from tests.evaluation.regression.test_release import draw as draw_numbers
from tests.evaluation.regression.test_release import exact as exact_errors
from tests.evaluation.regression.test_release import released as released_errors
from tests.evaluation.test_binary_intervals import CASES, LEAST, draw, evaluations, held

METRICS = ("selection_rate", "true_positive_rate", "accuracy")


def population_gaps() -> dict[str, float]:
    group, score, truth = draw(1_000_000, np.random.default_rng(2))
    gaps = {}
    for metric in METRICS:
        sides = []
        for one in (0, 1):
            chosen = (group == one) & ((truth == 1) | (metric != "true_positive_rate"))
            hit = (score >= 0.5) == truth if metric == "accuracy" else score >= 0.5
            sides.append(float(hit[chosen].mean()))
        gaps[metric] = sides[0] - sides[1]
    return gaps


@pytest.mark.parametrize("kind", ["plain", "anchored"])
@pytest.mark.parametrize("case", CASES)
def test_a_difference_of_two_named_groups_holds_the_population(case: str, kind: str) -> None:
    for metric, truth in population_gaps().items():
        found = [
            value.by_group().difference_between(metric, "a", "b") for value in evaluations(case, kind)
        ]
        assert held(found, truth) >= LEAST, metric
        assert all(figure.noise > 0 for figure in found)


def test_a_group_of_which_nobody_is_selected_leaves_room_for_the_error_of_the_other() -> None:
    """A rate of exactly zero is where its interval is cut off; the other's error is there as well."""
    found, shares = [], [0.3, 0.3, 0.0, 0.0, 0.2, 0.2, 0.0, 0.0]
    for seed in range(300):
        generator = np.random.default_rng(seed)
        few = generator.multinomial(500, shares)
        many = generator.multinomial(20_000, [0.3, 0.28, 0.01, 0.01, 0.19, 0.19, 0.01, 0.01])
        noisy = np.stack([few, many]) + generator.laplace(0, 4, (2, 8))
        counts = tuple(noisy.ravel().tolist())
        value = dc.BinaryEvaluation(
            ("g",), (("a",), ("b",)), (0.0, 0.5, 1.0), False, counts, 4 * 2**0.5, 12.0, "laplace",
            20_500, "probability", "y", 0.95,
        )  # fmt: skip
        found.append(value.by_group().difference_between("selection_rate", "a", "b"))
    assert held(found, -0.04) >= LEAST


@pytest.mark.parametrize(("case", "part"), [("many", "noise"), ("few", "sampling")])
def test_noise_or_sampling_alone_would_hold_less_often(case: str, part: str) -> None:
    truth = population_gaps()["true_positive_rate"]
    found = [
        value.by_group().difference_between("true_positive_rate", "a", "b")
        for value in evaluations(case, "anchored" if part == "noise" else "plain")
    ]
    alone = [abs(figure.value - truth) <= getattr(figure, part) for figure in found]
    assert np.mean(alone) < LEAST


def test_pairs_are_those_of_the_groups_that_are_compared() -> None:
    metrics = evaluations("many", "plain")[0].by_group(metrics=METRICS)
    frame = metrics.pairs()
    assert frame.index.names == ["metric", "first", "second"] and len(frame) == 3
    apart = metrics.difference_between("accuracy", "a", "b")
    assert frame.loc[("accuracy", "a", "b"), "value"] == pytest.approx(apart.value)
    assert frame.loc[("accuracy", "a", "b"), "low"] == pytest.approx(apart.low)  # one pair: no more
    turned = metrics.difference_between("accuracy", "b", "a")
    assert (turned.low, turned.high) == pytest.approx((-apart.high, -apart.low))
    with pytest.raises(ArgumentError, match="group must be one of"):
        metrics.difference_between("accuracy", "a", "z")
    with pytest.raises(ArgumentError, match="must be one of"):
        metrics.difference_between("gini", "a", "b")


def three_groups(seed: int, rows: int = 900) -> dc.BinaryEvaluation:
    """Return a table of three groups that do not differ."""
    generator = np.random.default_rng(seed)
    cells = generator.multinomial(rows, [0.2, 0.05, 0.15, 0.1, 0.05, 0.15, 0.1, 0.2], size=3)
    noisy = cells.reshape(3, 2, 4) + generator.laplace(0, 2, (3, 2, 4))
    names: Any = (("a",), ("b",), ("c",))
    counts = tuple(noisy.ravel().tolist())
    return dc.BinaryEvaluation(
        ("g",), names, (0.0, 0.5, 1.0), False, counts, 2 * 2**0.5, 6.0, "laplace", 3 * rows,
        "probability", "y", 0.95,
    )  # fmt: skip


@pytest.mark.slow
def test_all_pairs_hold_at_once_if_asked() -> None:
    together, alone = [], []
    for seed in range(300):
        metrics = three_groups(seed).by_group(metrics=["selection_rate"])
        for wide, into in ((True, together), (False, alone)):
            frame = metrics.pairs(together=wide)
            assert len(frame) == 3
            into.append(bool(((frame.low <= 0) & (frame.high >= 0)).all()))
    assert np.mean(together) >= LEAST > 0.5 and np.mean(together) >= np.mean(alone)
    first = three_groups(0).by_group(metrics=["selection_rate"])
    wide, narrow = first.pairs(), first.pairs(together=False)
    assert ((wide.high - wide.low) > (narrow.high - narrow.low)).all()


@pytest.mark.parametrize("of", ["regression", "classes"])
def test_groups_of_other_targets_have_the_same_frames(of: str) -> None:
    if of == "regression":
        value: Any = released_errors(draw_numbers(0), identity(), schema(), by=("ward",), epsilon=3.0)
        names = ("a", "b")
    else:
        value = classes.released(classes.draw(0), classes.forest(), by="sex", epsilon=3.0)
        names = ("F", "M")
    metrics = value.by_group()
    assert list(metrics.by_group.index) == list(names) and not metrics.to_frame().small.any()
    assert set(metrics.metrics) == set(metrics.overall.index) == set(metrics.difference().index)
    for metric in metrics.metrics:
        apart = metrics.difference_between(metric, *names)
        one, other = (metrics.figure(metric, name) for name in names)
        assert apart == difference(one, other) and apart.low < apart.value < apart.high
        farthest = metrics.difference_of(metric)
        assert farthest.value == pytest.approx(abs(apart.value))
        assert metrics.difference_of(metric, "to_overall").value <= farthest.value
    assert {"difference", "ratio"} == set(metrics.differences().index.get_level_values("of"))
    assert len(metrics.pairs()) == len(metrics.metrics)
    assert "small" in value.to_frame() and not value.small(names[0])
    display = metrics.plot(title="Groups")
    assert display.ax_.get_xlabel().startswith("distance from all records")
    against = metrics.plot(against=names[0])
    assert "distance from " + names[0] in against.ax_.get_xlabel()
    import matplotlib.pyplot as plt

    plt.close("all")


def test_groups_of_few_records_are_marked_and_not_compared() -> None:
    frame = draw_numbers(0)
    frame.loc[8:, "ward"] = "a"
    frame.loc[:7, "ward"] = "b"
    value = released_errors(frame, identity(), schema(), by=("ward",), epsilon=1.0)
    metrics = value.by_group()
    assert value.small("b") and metrics.compared == (("a",),)
    assert metrics.to_frame().small.tolist() == [False, True]
    none = metrics.difference_of("mae")
    assert np.isnan(none.value) and (none.low, none.high) == (0.0, np.inf)
    assert metrics.pairs().empty
    assert metrics.plot(against="a").ax_.get_xlabel().startswith("no group is large")


def test_what_is_not_there_is_said() -> None:
    value = released_errors(draw_numbers(0), identity(), schema(), epsilon=1.0)
    with pytest.raises(ArgumentError, match="by must have been given"):
        value.by_group()
    grouped = released_errors(draw_numbers(0), identity(), schema(), by=("ward",), epsilon=1.0)
    with pytest.raises(ArgumentError, match="metrics must be one of"):
        grouped.by_group(metrics=["auc"])
    with pytest.raises(ArgumentError, match="never negative"):
        grouped.by_group().ratio_of("bias")
    old: Any = grouped.to_json()
    for report in (old["overall"], *old["groups"]):
        del report["together"]
    del old["nested"]
    from discreet.plans.results.result import Result

    earlier: Any = Result.read(old)
    assert earlier.by_group().difference_between("mae", "a", "b").value != 0
    with pytest.raises(ArgumentError, match="intervals of all pairs"):
        earlier.by_group().difference_of("mae", comparisons=3)


@pytest.mark.slow
@pytest.mark.parametrize("asked", [{"epsilon": 1.0}, {"epsilon": 0.5, "relation": "add-remove"}])
def test_differences_of_errors_hold_the_population(asked: dict[str, Any]) -> None:
    """Of 100 draws a 95 % interval that holds misses more than 15 once in ten thousand times."""
    many = draw_numbers(99, 400_000)
    a, b = (exact_errors(many[many.ward == ward]) for ward in ("a", "b"))
    counts = dict.fromkeys(a, 0)
    farthest = dict.fromkeys(a, 0)
    for seed in range(100):
        found = released_errors(
            draw_numbers(seed), identity(), schema(), seed=seed, by=("ward",), **asked
        )
        metrics = found.by_group()
        for name in a:
            apart = metrics.difference_between(name, "a", "b")
            counts[name] += apart.low <= a[name] - b[name] <= apart.high
            widest = metrics.difference_of(name)
            farthest[name] += widest.low <= abs(a[name] - b[name]) <= widest.high
    assert min(*counts.values(), *farthest.values()) >= 85, (counts, farthest)


@pytest.mark.slow
@pytest.mark.parametrize("asked", [{"epsilon": 1.0}, {"epsilon": 0.5, "relation": "add-remove"}])
def test_differences_of_classes_hold_the_population(asked: dict[str, Any]) -> None:
    """Of 60 draws a 95 % interval that holds misses more than 11 once in ten thousand times."""
    from tests.evaluation.classes.test_release import exact

    many = classes.draw(99, 200_000)
    truths = {sex: exact(classes.forest(), many[many.sex == sex]) for sex in ("F", "M")}
    names: dict[str, Any] = {
        "accuracy": "accuracy",
        "macro_recall": "macro recall",
        "macro_precision": "macro precision",
        "recall of a": ("recall", "a"),
    }
    counts = dict.fromkeys(names, 0)
    for seed in range(60):
        found = classes.released(classes.draw(seed), classes.forest(), seed=seed, by="sex", **asked)
        for name, key in names.items():
            apart = found.by_group().difference_between(name, "F", "M")
            counts[name] += apart.low <= truths["F"][key] - truths["M"][key] <= apart.high
    assert min(counts.values()) >= 49, counts


@pytest.mark.parametrize("of", ["regression", "classes"])
def test_pages_and_names_offer_every_picture_of_other_targets(of: str) -> None:
    import matplotlib.pyplot as plt

    from discreet.plans.showing import chosen, drawings_of, views_of

    if of == "regression":
        asked: Any = {"by": ("ward",), "residuals": ("x",), "epsilon": 3.0}
        value: Any = released_errors(draw_numbers(0), identity(), schema(), **asked)
        wanted, group = {"spread", "residuals_of_x", "groups", "residuals_of_x_by_group"}, "a"
        titles = {"How errors are spread", "Mean residuals by x", "Mean residuals by x of every group"}
    else:
        value = classes.released(classes.draw(0), classes.forest(), by="sex", epsilon=3.0)
        wanted, group = {"confusion", "calibration", "groups"}, "F"
        titles = {"Given and true classes", "How often the highest score is right"}
    assert titles | {"Groups beside all records"} <= set(value.pictures())
    for one in (*value.pictures().values(), *drawings_of(value).values()):
        assert one.plot(title="Picture").figure_.axes
        plt.close("all")
    assert wanted <= set(drawings_of(value)) and "groups" not in drawings_of(value, group)
    for named in drawings_of(value, group).values():
        assert named.plot().figure_.axes
        plt.close("all")
    for name, make in (views_of(value) | views_of(value, group=group)).items():
        assert len(make()), name
    with pytest.raises(ArgumentError, match="threshold must be left out"):
        views_of(value, threshold=0.5)
    with pytest.raises(ArgumentError, match="--kind must be one that this answer has"):
        chosen("--kind", "roc", drawings_of(value))
