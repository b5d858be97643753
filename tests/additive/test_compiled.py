"""A released additive model as a model: trees that say the same, row by row, and all plans take it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.additive.released.compiled import margin_trees
from discreet.data.calls import PROVEN
from discreet.models import TreeEnsemble, as_model
from tests.additive.hand import model, rows


@pytest.mark.parametrize("classes", [0, 2, 3])
def test_trees_say_what_the_model_says(classes: int) -> None:
    made = model(classes)
    encoded = made.encode(rows())
    for margin in range(len(made.intercept)):
        trees = margin_trees(made, margin)
        assert trees is not None
        np.testing.assert_allclose(
            trees.predict(encoded), made.encoded_margins(encoded)[:, margin], atol=1e-12
        )


@pytest.mark.parametrize(
    ("classes", "class_", "output"),
    [
        (2, None, None), (2, "a", None), (2, "b", "margin"), (2, "a", "margin"),
        (3, "a", "margin"), (3, "c", None), (0, None, None),
    ],
)  # fmt: skip
def test_an_output_is_a_proven_model(classes: int, class_: Any, output: str | None) -> None:
    made, queries = model(classes), rows()
    bound = made.to_model(class_, output=output).bind(made.schema)
    compiled = classes != 3 or output == "margin"
    assert isinstance(bound.form, TreeEnsemble) == compiled
    assert bound.third_party is None or bound.third_party.under("add-remove") is PROVEN
    if output == "margin":
        margins = made.margins(queries)
        expected = (
            margins[:, "abc".index(class_)]
            if classes == 3
            else margins[:, 0] * (1 if class_ == "b" else -1)
        )
    elif classes == 0:
        expected = made.predict(queries)
    else:
        expected = made.predict_proba(queries)[:, "abc".index(class_ or "b")]
    np.testing.assert_allclose(bound.predict(made.encode(queries)), expected, atol=1e-12)
    assert bound.bounds.low <= expected.min() and expected.max() <= bound.bounds.high


def test_probabilities_of_a_row_do_not_depend_on_the_rows_beside_it() -> None:
    made, queries = model(5), rows(257)
    whole = made.predict_proba(queries)
    for size in (1, 3, 64):
        parts = [made.predict_proba(queries.iloc[i : i + size]) for i in range(0, 257, size)]
        assert np.array_equal(np.concatenate(parts), whole)
    np.testing.assert_allclose(whole.sum(axis=1), 1.0)
    powers = np.exp(made.margins(queries))
    np.testing.assert_allclose(whole, powers / powers.sum(axis=1, keepdims=True), rtol=1e-12)


def test_models_are_made_of_what_is_handed_over() -> None:
    assert as_model(model()).output == "probability"
    assert as_model(model(0)).output == "value"
    assert as_model(model(0)).bounds.limits == (-3.0, 3.0)
    with pytest.raises(dc.errors.ModelError, match="class_ must name one of"):
        as_model(model(3))


def test_a_model_without_terms_is_its_intercept() -> None:
    made = model(pair=False)
    for name in ("age", "job", "income"):
        made = made.without(name)
    bound = made.to_model(output="margin").bind(made.schema)
    np.testing.assert_allclose(bound.predict(made.encode(rows(5))), made.intercept[0])


@pytest.mark.parametrize("classes", [0, 2])
def test_other_questions_take_it(classes: int) -> None:
    made = model(classes)
    frame = rows(400)
    draw = np.random.default_rng(3)
    frame["bad"] = draw.uniform(-3, 3, 400) if classes == 0 else draw.choice(["a", "b"], 400)
    session = dc.protect(
        frame, made.schema, dataset="d", ledger=":memory:", epsilon=1e6, progress=False
    )
    curve = session.release(dc.partial_dependence(made, "age", epsilon=1e4)).value
    assert len(curve.y) > 2
    shap = session.release(
        dc.shap_values(made.to_model(), frame.drop(columns="bad").iloc[0].to_dict(), epsilon=1e4)
    )
    assert shap.value.features == made.features
    assert session.release(dc.evaluate(made, epsilon=1e4)).value.to_frame() is not None
