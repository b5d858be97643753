"""Edits after training: a derived model that names its parent, and a release that stays as it is."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.additive.released.edited import EditedModel, _averaged, _isotonic
from discreet.additive.released.result import AdditiveModel, Term
from discreet.errors import ArgumentError, ReleaseError
from discreet.models.released import model_facts
from discreet.plans import Result
from tests.additive.hand import model, rows


def test_a_monotone_term_never_falls_and_keeps_its_mean() -> None:
    made = model()
    for increasing in (True, False):
        edited = made.monotone("age", increasing=increasing)
        scores = np.array(edited.term("age").scores[0])
        steps = np.diff(scores[:4])
        assert (steps >= 0).all() if increasing else (steps <= 0).all()
        assert scores[4] == made.term("age").scores[0][4], "missing values have no place in the order"
        weights = np.maximum(np.array(made.term("age").counts)[:4], 1.0)
        before = np.array(made.term("age").scores[0][:4])
        assert scores[:4] @ weights == pytest.approx(before @ weights)


@pytest.mark.parametrize("classes", [0, 2])
def test_the_whole_margin_goes_one_way_once_the_pair_is_taken_away(classes: int) -> None:
    edited, asked = model(classes).without("income", "job").monotone("income"), rows(50)
    margins = [edited.margins(asked.assign(income=income)) for income in range(0, 101, 5)]
    assert (np.diff(margins, axis=0) >= 0).all()


def test_a_smoothed_term_is_an_average_of_its_neighbours() -> None:
    made = model()
    edited = made.smoothed("income", width=100.0)
    term = made.term("income")
    weights = np.maximum(term.counts, 1.0)
    np.testing.assert_allclose(
        edited.term("income").scores[0], np.average(term.scores[0], weights=weights), atol=1e-3
    )
    slight = made.smoothed("income", width=0.05)
    np.testing.assert_allclose(slight.term("income").scores[0], term.scores[0])


def test_an_expert_sets_scores() -> None:
    made = model()
    edited = made.with_score("job", "nurse", 0.5, why="too few records")
    assert edited.term("job").scores[0][1] == 0.5
    assert edited.with_score("job", [None, "king"], 0.0).term("job").scores[0][3:] == (0.0, 0.0)
    middle = made.with_score("age", (35, 59), -1.0).term("age").scores[0]
    assert middle[1:3] == (-1.0, -1.0) and middle[0] == made.term("age").scores[0][0]
    assert made.with_score("age", [None], 2.0).term("age").scores[0][-1] == 2.0


@pytest.mark.parametrize(("increasing", "sign"), [(True, 1.0), (False, -1.0)])
def test_a_score_that_undoes_monotonicity_is_refused(increasing: bool, sign: float) -> None:
    made = model().monotone("age", increasing=increasing).smoothed("age", width=0.7)
    word = "never falls" if increasing else "never rises"
    with pytest.raises(ArgumentError, match=f"score must keep .*'age: {word}'.* ask monotone after it"):
        made.with_score("age", (35, 59), -100.0 * sign)
    kept = made.with_score("age", [90], 100.0 * sign).with_score("age", [None], -100.0 * sign)
    assert (np.diff(kept.term("age").scores[0][:4]) * sign >= -1e-12).all()
    assert len(made.with_score("job", "nurse", -100.0).edits) == 3, "of another column"
    first = model().with_score("age", (35, 59), -100.0 * sign).monotone("age", increasing=increasing)
    assert (np.diff(first.term("age").scores[0][:4]) * sign >= 0).all()


def test_only_the_class_that_is_monotone_is_held_to_it() -> None:
    made = model(3).monotone("age", class_="a")
    assert len(made.with_score("age", [20], 100.0, class_="b").edits) == 2
    with pytest.raises(ArgumentError, match="score must keep"):
        made.with_score("age", [20], 100.0)


def test_an_expert_sets_cells_of_a_pair_in_either_order() -> None:
    made = model()
    edited = made.with_score(("income", "job"), ((50, 90), ["clerk", "smith"]), 9.5, why="known")
    turned = made.with_score(("job", "income"), (["clerk", "smith"], (50, 90)), 9.5, why="known")
    assert edited == turned and edited.edits[0].columns == ("income", "job")
    table = edited.term("income", "job").table[0].reshape(2, 5)
    before = made.term("income", "job").table[0].reshape(2, 5)
    assert table[1, [0, 2]].tolist() == [9.5, 9.5]
    assert (table[0] == before[0]).all() and (table[1, [1, 3, 4]] == before[1, [1, 3, 4]]).all()
    assert (edited.margins(rows(20)) != made.margins(rows(20))).any()


@pytest.mark.parametrize("ask", [lambda m: m.monotone("grade"), lambda m: m.smoothed("grade")])
def test_an_ordered_category_has_neighbours(ask: Any) -> None:
    grade = dc.Category("a", "b", "c", ordered=True)
    target = dc.Category("no", "yes", missing=False, other=False)
    schema = dc.Schema({"grade": grade, "bad": target}, target="bad")
    scores = (0.5, -0.5, 0.4, -0.2, -0.1)
    bins = grade.bins(len(grade))
    own = Term(("grade",), (bins,), (scores,), (10.0,) * 5, ((0.1,) * 5,))
    made = AdditiveModel(
        "bad", ("no", "yes"), ("grade",), (0.0,), (own,), 50.0, model_facts(schema, ("grade",), "bad")
    )
    edited = ask(made).term("grade").table[0]
    assert edited[3:].tolist() == list(scores[3:]) and edited[:3].tolist() != list(scores[:3])


def test_a_removed_term_adds_nothing() -> None:
    made = model()
    edited = made.without("job", "income")
    assert [term.name for term in edited.terms] == ["age", "job", "income"]
    difference = made.margins(rows())[:, 0] - edited.margins(rows())[:, 0]
    pair = made.term("income", "job")
    np.testing.assert_allclose(difference, pair.table[0][made.cells(pair, made.encode(rows()))])


def test_edits_of_one_class_leave_the_others() -> None:
    made = model(3)
    edited = made.monotone("age", class_="b")
    assert edited.term("age").scores[0] == made.term("age").scores[0]
    assert edited.term("age").scores[1] != made.term("age").scores[1]
    every = made.monotone("age", increasing=False)
    assert all(np.diff(scores[:4]).max() <= 0 for scores in every.term("age").scores)


def test_the_release_is_never_altered() -> None:
    made = model()
    before = json.dumps(made.to_json())
    edited = made.monotone("age").smoothed("income").with_score("job", "clerk", 1.0).without("age")
    assert json.dumps(made.to_json()) == before
    assert edited.parent == made.digest and edited.release == made
    assert [edit.kind for edit in edited.edits] == ["monotone", "smooth", "score", "remove"]
    assert "age: removed" in repr(edited) and "never falls" in repr(edited)
    assert type(edited.release) is type(made) and edited != made


def test_it_is_saved_with_its_parent_and_its_edits(tmp_path: Path) -> None:
    edited = (
        model(3).monotone("age", why="law").without("income", "job").with_score("job", "clerk", 1.0)
    )
    again = EditedModel.load(edited.save(tmp_path / "edited.json"))
    assert again == edited and again.edits[0].why == "law"
    assert Result.read(json.loads(json.dumps(edited.to_json()))) == edited
    np.testing.assert_array_equal(again.predict_proba(rows()), edited.predict_proba(rows()))


@pytest.mark.parametrize(
    "change",
    [
        lambda plain: plain["edits"][0].update(columns=["nothing"]),
        lambda plain: plain["edits"][0].update(margins=[1]),
        lambda plain: plain["edits"][1].update(cells=[99]),
        lambda plain: plain["edits"][0].update(kind="unknown"),
        lambda plain: plain.update(parent="0" * 64),
        lambda plain: plain["released"][0]["scores"][0].__setitem__(0, 9.0),
        lambda plain: plain.pop("released"),
    ],
)
def test_a_file_that_was_changed_is_refused(change: Any, tmp_path: Path) -> None:
    edited = model().monotone("age").with_score("job", "clerk", 1.0)
    plain = json.loads(json.dumps(edited.to_json()))
    change(plain)
    path = tmp_path / "changed.json"
    path.write_text(json.dumps(plain))
    with pytest.raises(ReleaseError):
        EditedModel.load(path)


def test_what_is_no_edited_model_is_refused(tmp_path: Path) -> None:
    with pytest.raises(ReleaseError, match="cannot be read"):
        EditedModel.load(tmp_path / "none.json")
    path = tmp_path / "other.json"
    path.write_text(json.dumps(model().to_json()))
    with pytest.raises(ReleaseError, match="must be an edited model, got a AdditiveModel"):
        EditedModel.load(path)


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (
            lambda m: m.monotone("job"),
            "monotone must be asked of a number or .*, got the category 'job'",
        ),
        (
            lambda m: m.monotone("income"),
            "in no pair, got 'income', which is in 'income x job'.*by without.'income', 'job'.",
        ),
        (lambda m: m.smoothed("job"), "smoothed must be asked of a number"),
        (lambda m: m.smoothed("age", width=0), "width must be a positive finite number, got 0"),
        (lambda m: m.with_score("age", 30, float("nan")), "score must be a finite number, got nan"),
        (lambda m: m.with_score("age", (50, 30), 0.0), "values must be a pair"),
        (lambda m: m.with_score("age", [], 0.0), "values must be values of 'age', got none"),
        (
            lambda m: m.with_score(("income", "job"), 50, 0.0),
            "values must be a pair, those of 'income' and",
        ),
        (lambda m: m.without("age", "job"), "column must have a term of its own, got 'age x job'"),
    ],
)
def test_an_edit_that_cannot_be_done_is_told(ask: Any, message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        ask(model())


def test_edited_bands_hold_edited_scores_whenever_the_released_bands_hold() -> None:
    """Isotonic regression and averages keep the order, so edited ends are ends of the edited."""
    draw = np.random.default_rng(5)
    for _ in range(200):
        low = draw.normal(0, 1, 8)
        high = low + draw.exponential(1, 8)
        inside = low + draw.uniform(0, 1, 8) * (high - low)
        weights = draw.uniform(1, 50, 8)
        for change in (
            lambda s, w=weights: _isotonic(s, w, True),
            lambda s, w=weights: _isotonic(s, w, False),
            lambda s, w=weights: _averaged(s, w, 1.5),
        ):
            assert (change(low) <= change(inside) + 1e-12).all()
            assert (change(inside) <= change(high) + 1e-12).all()


def test_bands_of_an_edited_term_are_those_of_all_scores_at_once() -> None:
    made = model()
    edited = made.monotone("age")
    shape = edited.shape("age")
    np.testing.assert_array_equal(shape.band("each"), shape.band("all"))
    low = made.shape("age").band("all")[0]
    weights = np.maximum(np.array(made.term("age").counts)[:4], 1.0)
    np.testing.assert_allclose(shape.low[:4], _isotonic(low[:4], weights, True))
    assert shape.low[4] == low[4]
    assert edited.shape("job") == made.shape("job")
    fixed = made.with_score("job", "clerk", 0.5).shape("job")
    assert fixed.low[0] == fixed.high[0] == 0.5
    assert ((np.array(shape.low) <= shape.scores) & (shape.scores <= np.array(shape.high))).all()


def test_an_edited_model_explains_itself_as_the_released_one_does() -> None:
    edited = model().monotone("age").with_score("job", "clerk", 2.0)
    queries = rows(20)
    found = edited.shap_values(queries)
    total = found.to_array().sum(axis=1) + np.array(found.base_values)
    np.testing.assert_allclose(total, edited.margins(queries)[:, 0], atol=1e-12)
    bound = edited.to_model().bind(edited.schema)
    np.testing.assert_allclose(
        bound.predict(edited.encode(queries)), edited.predict_proba(queries)[:, 1], atol=1e-12
    )
