"""A released additive model predicts what its scores add up to, and reads back as it was saved."""

from __future__ import annotations

import copy
import json
import pickle
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.additive.released.result import AdditiveModel, Term
from discreet.errors import ArgumentError, ReleaseError
from discreet.models.released import model_facts
from discreet.plans import Result
from discreet.schema import Bins

SCHEMA = dc.Schema(
    {
        "age": dc.Number(0, 10),
        "home": dc.Category("rent", "own", missing=False, other=False),
        "y": dc.Category("no", "yes", "maybe"),
        "z": dc.Number(0, 1),
    },
    target="y",
)
AGE = Bins(("[0, 5)", "[5, 10]", "(missing)"), (0.0, 5.0, 10.0), reserved=1)
ROWS = pd.DataFrame({"age": [1.0, 7.0, None, 5.0], "home": ["rent", "own", "rent", "own"]})


def term(*columns: str, margins: int = 1) -> Term:
    bins = tuple(AGE if name == "age" else SCHEMA[name].bins(1) for name in columns)
    size = int(np.prod([len(part) for part in bins]))
    scores = tuple(tuple(0.1 * (m + 1) * cell for cell in range(size)) for m in range(margins))
    return Term(columns, bins, scores, tuple(np.arange(1.0, size + 1)), ((0.1,) * size,) * margins)


def model(classes: tuple[str, ...] | None = ("no", "yes"), *extra: Term) -> AdditiveModel:
    margins = 1 if classes is None or len(classes) == 2 else len(classes)
    target = "z" if classes is None else "y"
    own = SCHEMA if classes is None else _classed(classes)
    facts = model_facts(own, ("age", "home"), target)
    terms = (term("age", margins=margins), term("home", margins=margins), *extra)
    return AdditiveModel(
        target, classes, ("age", "home"), tuple(0.5 * m for m in range(margins)), terms, 6.0, facts
    )


def _classed(classes: tuple[str, ...]) -> dc.Schema:
    return dc.Schema(
        {"age": SCHEMA["age"], "home": SCHEMA["home"], "y": dc.Category(*classes)}, target="y"
    )


def test_margins_are_scores_looked_up_and_added() -> None:
    found = model(("no", "yes"), term("age", "home")).margins(ROWS)[:, 0]
    # age 0, home 0, cell 0; age 1, home 1, cell 3; missing 2, home 0, cell 4; an edge belongs above it
    np.testing.assert_allclose(found, [0.0, 0.1 + 0.1 + 0.3, 0.2 + 0.4, 0.5])


def test_probabilities_are_those_of_a_softmax() -> None:
    two, three = model(), model(("no", "yes", "maybe"))
    np.testing.assert_allclose(
        two.predict_proba(ROWS)[:, 1], 1 / (1 + np.exp(-two.margins(ROWS)[:, 0]))
    )
    powers = np.exp(three.margins(ROWS))
    np.testing.assert_allclose(three.predict_proba(ROWS), powers / powers.sum(1, keepdims=True))
    assert set(three.predict(ROWS)) <= {"no", "yes", "maybe"}
    assert two.score(ROWS, two.predict(ROWS)) == 1


def test_a_number_stays_inside_its_bounds_and_has_no_probabilities() -> None:
    number = model(None)
    high = replace(number, intercept=(5.0,))
    assert high.predict(ROWS).tolist() == [1.0] * 4
    assert number.score(ROWS, number.predict(ROWS)) == 1
    with pytest.raises(ArgumentError, match="Use predict"):
        number.predict_proba(ROWS)


@pytest.mark.parametrize("classes", [("no", "yes"), ("no", "yes", "maybe"), None])
def test_it_reads_back_as_it_was_saved(classes: tuple[str, ...] | None) -> None:
    saved = model(classes)
    assert saved.fits_together()
    assert Result.read(json.loads(json.dumps(saved.to_json()))) == saved
    assert pickle.loads(pickle.dumps(saved)) == saved == copy.deepcopy(saved)
    assert len(saved.to_frame()) == sum(len(t.counts) for t in saved.terms) * len(saved.intercept)


@pytest.mark.parametrize(
    "change",
    [
        {"intercept": (0.0, 1.0)},
        {"features": ("home", "age")},
        {"terms": (replace(term("age"), counts=(1.0,)),)},
        {"terms": (replace(term("age"), scores=((1.0,),)),)},
        {"terms": (replace(term("age"), bins=(replace(AGE, edges=(0.0, 10.0, 5.0)),)),)},
        {"terms": (replace(term("age"), bins=(replace(AGE, edges=None, reserved=0),)),)},
        {"terms": (replace(term("age"), columns=("z",)),)},
        {"terms": (replace(term("home"), columns=("age",)),)},
    ],
)
def test_parts_that_do_not_belong_together_are_refused(change: dict[str, object]) -> None:
    with pytest.raises(ReleaseError, match="fit together"):
        Result.read(replace(model(), **change).to_json())  # type: ignore[arg-type]


def test_it_is_fitted_for_ever() -> None:
    with pytest.raises(ArgumentError, match="cannot be fitted again"):
        model().fit(ROWS)
    assert model().__sklearn_tags__().estimator_type == "classifier"
    assert model(None).__sklearn_tags__().estimator_type == "regressor"
    assert model().feature_importances_.shape == (2,)
    assert len(model().plot().axes_) > 0
