"""A model card: one price, parts that hold together, features chosen by what was released."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier

import discreet as dc
from discreet.errors import ArgumentError
from discreet.plans import Setting
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE, Relation
from tests.laws.examples import Example
from tests.laws.world import FORMS

EXAMPLES = [Example("model_card", lambda model: dc.model_card(model, by="home", epsilon=1.0), FORMS)]

NUMBERS = ["income", "credit_score", "late_payments"]


def forest() -> RandomForestClassifier:
    public = dc.samples.loans(2_000, seed=3)
    fitted = RandomForestClassifier(10, max_depth=4, random_state=0)
    return fitted.fit(public[NUMBERS], public["defaulted"])


def session(**terms: object) -> dc.Session:
    return dc.protect(
        dc.samples.loans(4_000),
        dc.samples.loan_schema(),
        dataset="loans",
        epsilon=1e6,
        ledger=":memory:",
        seed=2,
        progress=False,
        **terms,  # type: ignore[arg-type]
    )


@pytest.fixture(scope="module")
def card() -> dc.Release:
    return session().release(dc.model_card(forest(), by="home", curves=2, epsilon=1e5))


def test_a_card_tells_what_the_parts_tell(card: dc.Release) -> None:
    value = card.value
    assert isinstance(value, dc.ModelCard)
    importances = np.ravel(value.importances.to_array())  # type: ignore[attr-defined]
    greatest = np.argsort(-importances)[:2]
    assert value.features == tuple(value.importances.features[place] for place in greatest)  # type: ignore[attr-defined]
    assert list(value.parts)[2:] == [f"Partial dependence of {name}" for name in value.features]
    loans = dc.samples.loans(4_000)
    exact = np.mean(forest().predict(loans[NUMBERS]) == loans["defaulted"])
    assert abs(float(value.evaluation.metric("accuracy")) - exact) < 0.02  # type: ignore[attr-defined]


def test_a_card_is_read_back_and_drawn(card: dc.Release) -> None:
    assert dc.Release.loads(card.dumps()) == card
    assert len(card.plot().figure_.axes) > 4
    page = dc.report(card).html
    assert page.count("<svg") == len(card.value.pictures()) == 10
    assert "Partial dependence of" in page


@pytest.mark.parametrize(
    "terms", [{}, {"accountant": "zcdp", "delta": 1e-6}, {"relation": "add-remove"}]
)
def test_whatever_features_are_chosen_the_price_is_kept(terms: dict[str, object]) -> None:
    asked, plan = session(**terms), dc.model_card(forest(), curves=1, epsilon=1.0)
    price = asked.price(plan)
    charged = asked.release(plan).charged
    assert charged is not None and charged == price.cost.amount


@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
def test_a_curve_costs_the_same_for_every_feature(relation: Relation) -> None:
    """Numbers with and without steps, some of which may be missing, and categories."""
    schema = dc.Schema(
        {
            "a": dc.Number(0, 1),
            "b": dc.Number(0, 9, step=1, missing=False),
            "c": dc.Category("x", "y", "z"),
            "d": dc.Boolean(missing=False, other=False),
        }
    )
    model = dc.Model(lambda rows: rows[:, 1] / 9, bounds=(0, 1), name="b")
    setting = Setting(schema, relation, 4_000 if relation.rows_public else None)
    costs = set()
    for name in schema:
        stages = dc.partial_dependence(model, name, epsilon=0.1).prepare(setting).stages
        costs.add(str([stage.cost("zcdp") for stage in stages]))
    assert len(costs) == 1


@pytest.mark.parametrize("shares", [(0.5, 0.5), (0.5, 0.2, 0.2), (1.0, -0.5, 0.5), (0.5, 0.2, "x"), 3])
def test_shares_that_do_not_add_up_are_refused(shares: object) -> None:
    with pytest.raises(ArgumentError, match="shares must"):
        dc.model_card(forest(), shares=shares, epsilon=1.0)  # type: ignore[arg-type]


def test_shares_are_part_of_the_question() -> None:
    model = forest()
    whole = dc.model_card(model, epsilon=1.0)
    assert whole.key != dc.model_card(model, shares=(0.4, 0.3, 0.3), epsilon=1.0).key
    assert whole.arguments()["shares"] == [0.5, 0.2, 0.3]


def test_a_card_of_a_part() -> None:
    release = session().release(dc.model_card(forest(), curves=1, where="age >= 40", epsilon=100.0))
    assert "answered for the records where age >= 40" in release.guarantee.assumptions
