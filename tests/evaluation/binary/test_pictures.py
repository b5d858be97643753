"""Pictures of evaluations: of few bins and of many groups, on axes, on pages and on cards."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import discreet as dc

WARDS = tuple(f"w{place}" for place in range(18))
SCHEMA = dc.Schema(
    {
        "x": dc.Number(-3, 3, missing=False),
        "ward": dc.Category(*WARDS, missing=False, other=False),
        "sex": dc.Category("F", "M", missing=False, other=False),
        "y": dc.Category(0, 1, missing=False, other=False),
    },
    target="y",
)
FOREST = "Groups beside all records"
KINDS = ("roc", "precision_recall", "calibration", "lift")


def frame(rows: int) -> pd.DataFrame:
    draw = np.random.default_rng(4)
    made = pd.DataFrame({"x": draw.normal(0, 1, rows).clip(-3, 3), "ward": draw.choice(WARDS, rows)})
    made["sex"] = draw.choice(["F", "M"], rows)
    odds = 1.2 * made.x + 0.5 * (made.sex == "M")
    return made.assign(y=(draw.random(rows) < 1 / (1 + np.exp(-odds))).astype(int))


def model() -> LogisticRegression:
    records = frame(500)
    return LogisticRegression().fit(records[["x"]], records.y)


def released(plan: Any, rows: int) -> dc.Release:
    terms: Any = {"dataset": "d", "epsilon": 4e6, "ledger": ":memory:"}
    return dc.protect(frame(rows), SCHEMA, **terms).release(plan)


@pytest.fixture(autouse=True)
def closed() -> Iterator[None]:
    import matplotlib.pyplot as plt

    yield
    plt.close("all")


FEW = {
    "two bins": ({"bins": 2, "epsilon": 1.0}, 2_000, 2),
    "five bins": ({"bins": 5, "epsilon": 1.0}, 2_000, 5),
    "few records": ({"epsilon": 0.25}, 300, 8),
    "many groups": ({"by": "ward", "epsilon": 1.0}, 3_000, 8),
    "enough": ({"bins": 14, "epsilon": 1.0}, 2_000, 14),
}


@pytest.mark.parametrize("case", FEW)
def test_every_picture_is_drawn_however_few_the_bins(case: str) -> None:
    asked, rows, bins = FEW[case]
    release = released(dc.evaluate(model(), **asked), rows)
    value = release.value
    assert isinstance(value, dc.BinaryEvaluation) and len(value.knots) == bins + 1
    curve = value.calibration_curve()
    assert 2 <= len(curve) <= min(10, bins) and curve.score_high.iloc[-1] == 1.0
    for kind in KINDS:
        assert value.plot(kind=kind).ax_.get_xlabel(), kind
    html = dc.report(release).html
    assert html.count("<svg") == len(value.pictures()) and "is not drawn" not in html


@pytest.mark.parametrize("by", [None, "ward"])
def test_a_card_of_few_records_is_drawn(by: str | None) -> None:
    release = released(dc.model_card(model(), by=by, curves=1, epsilon=0.5), 300)
    value = release.value
    assert isinstance(value, dc.ModelCard)
    display = value.plot(title="Card")
    fields = [name for name in value.pictures() if not name.endswith("of every group")]
    assert len(display.figure_.axes) > len(fields)
    assert dc.report(release).html.count("<svg") == len(value.pictures())


def test_a_page_tells_of_a_picture_that_cannot_be_drawn_and_draws_the_others(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    from discreet.errors import ArgumentError
    from discreet.evaluation.binary.pictures import EvaluationDisplay

    def refuse(self: Any) -> None:
        raise ArgumentError("bins must be more <than> these.")

    monkeypatch.setattr(EvaluationDisplay, "_draw_calibration", refuse)
    release = released(dc.evaluate(model(), bins=5, epsilon=1.0), 300)
    html = dc.report(release).html
    assert "Calibration is not drawn: bins must be more &lt;than&gt; these." in html
    assert html.count("<svg") == len(release.value.pictures()) - 1


def test_scores_that_are_no_probabilities_have_no_line_of_perfect_calibration() -> None:
    margin = dc.Model(model(), output="margin", bounds=(-4, 4))
    value = released(dc.evaluate(margin, epsilon=1.0), 2_000).value
    lines = value.plot(kind="calibration").ax_.lines
    assert [line.get_label() for line in lines] == ["released"]


@pytest.fixture(scope="module")
def by_ward() -> dc.Release:
    """Eighteen groups, none of them small."""
    return released(dc.evaluate(model(), by="ward", bins=8, epsilon=1e4), 3_000)


@pytest.mark.parametrize("kind", KINDS)
def test_every_group_has_a_small_picture_with_its_band(by_ward: dc.Release, kind: str) -> None:
    value: Any = by_ward.value
    display = value.plot_groups(kind, title="Wards")
    head, *tiles = display.figure_.axes
    assert len(tiles) == len(WARDS) and "Wards" in head.texts[0].get_text()
    assert [tile.get_title(loc="left").split(",")[0] for tile in tiles] == list(WARDS)
    assert all(tile.collections for tile in tiles), "each has a band"
    assert len({(tile.get_xlim(), tile.get_ylim()) for tile in tiles}) == 1, "one scale for all"
    told = [text.get_text() for text in head.get_legend().get_texts()]
    assert any("95%" in text for text in told) and "released" in told


def test_a_group_has_one_colour_in_all_pictures_of_an_evaluation() -> None:
    value: Any = released(dc.evaluate(model(), by="sex", bins=8, epsilon=1e4), 2_000).value
    curve, forest = (value.pictures()[name].plot().ax_ for name in ("ROC curve", FOREST))
    lines = {line.get_label(): line.get_color() for line in curve.lines}
    rows = [line.get_color() for line in forest.lines if len(line.get_xdata()) == 1]
    assert set(rows) == {lines["F"], lines["M"]} and lines["F"] != lines["M"]
    assert rows[:2] == [lines["F"], lines["M"]]
    assert any(text.get_text() == "AUC" for text in forest.texts)


def test_many_groups_are_not_lines_and_the_picture_says_where_they_are(by_ward: dc.Release) -> None:
    value: Any = by_ward.value
    ax = value.plot().ax_
    assert "18 groups have pictures of their own" in ax.texts[0].get_text()
    assert len(ax.get_legend_handles_labels()[1]) == 2
    few: Any = released(dc.evaluate(model(), by="sex", bins=8, epsilon=1e4), 3_000).value
    for kind in KINDS:
        assert {"F", "M"} <= set(few.plot(kind=kind).ax_.get_legend_handles_labels()[1])


def test_the_curve_of_one_group_has_its_own_band(by_ward: dc.Release) -> None:
    value: Any = by_ward.value
    for kind in KINDS:
        ax = value.plot(kind=kind, group="w3").ax_
        assert len(ax.collections) == 1 and "F" not in ax.get_legend_handles_labels()[1]
    from discreet.errors import ArgumentError

    with pytest.raises(ArgumentError, match="group must be one of"):
        value.plot(group="w99")
    with pytest.raises(ArgumentError, match="kind must be one of"):
        value.plot_groups("pie")


def test_small_groups_have_no_picture_but_a_word() -> None:
    value: Any = released(dc.evaluate(model(), by="ward", bins=8, epsilon=0.5), 900).value
    large = [group for group in value.groups if not value.small(group)]
    head, *tiles = value.plot_groups("roc").figure_.axes
    if large:
        assert len(tiles) == len(large)
        assert (len(large) < 18) == ("of few records" in head.texts[0].get_text())
    else:
        assert len(tiles) == 18


def test_pages_and_names_offer_every_picture(by_ward: dc.Release) -> None:
    from discreet.plans.showing import drawings_of, views_of

    value: Any = by_ward.value
    assert {"ROC curve", "Lift", "Calibration of every group"} <= set(value.pictures())
    offered = drawings_of(value)
    assert set(KINDS) < set(offered) and {f"{kind}_by_group" for kind in KINDS} < set(offered)
    assert set(drawings_of(value, "w3")) == set(KINDS)
    for name, make in views_of(value, threshold=0.3).items():
        assert len(make()), name
    assert "by_group" not in views_of(value, group="w3")
