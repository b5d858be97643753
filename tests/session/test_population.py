"""Sessions of data sets that share a budget: what they, their releases and their cards say."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import discreet as dc
from discreet.errors import AccessDenied, ArgumentError, BudgetExhausted, LedgerConflict
from discreet.plans import Release
from tests.session.conftest import small_frame

PATIENTS = dc.Schema({"age": dc.Number(18, 90, step=1, missing=False)}, person="patient")
ROWS = dc.Schema({"age": dc.Number(18, 90, step=1, missing=False)})
COUNTS = dc.histogram("age", bins=5, epsilon=0.25)
Open = Callable[..., dc.Session]


@pytest.fixture
def open_session(tmp_path: Path) -> Open:
    """A function that protects sixty rows of about twenty patients."""

    def build(seed: int = 0, schema: dc.Schema = PATIENTS, **options: Any) -> dc.Session:
        rows = small_frame(seed=seed).assign(patient=np.arange(60) * 7 % 23)
        terms = {"dataset": "people", "epsilon": 1.0, "delta": 1e-6, "ledger": tmp_path / "books.db"}
        return dc.protect(rows, schema, **{**terms, **options})

    return build


@pytest.fixture
def visits(open_session: Open) -> dc.Session:
    return open_session(dataset="visits", population="patients")


@pytest.fixture
def labs(visits: dc.Session, open_session: Open) -> dc.Session:
    return open_session(seed=1, dataset="labs", population="patients", epsilon=None, delta=None)


def test_members_share_what_is_left(visits: dc.Session, labs: dc.Session) -> None:
    release = visits.release(COUNTS)
    assert str(labs.remaining) == str(visits.remaining) == "epsilon=0.75, delta=1e-06"
    assert (
        repr(labs)
        == "Session('labs', replace-one, epsilon=0.75, delta=1e-06 left of population 'patients')"
    )
    assert "shares the budget of population" in labs._repr_html_()
    with pytest.raises(BudgetExhausted, match=r"population 'patients' has epsilon=0\.75"):
        labs.release(dc.histogram("age", bins=5, epsilon=0.8))
    assert not labs.price(dc.histogram("age", bins=5, epsilon=0.8)).affordable
    assert visits.verify([release]).ok and labs.verify().ok


def test_a_release_says_whose_budget_paid(visits: dc.Session, open_session: Open) -> None:
    release = visits.release(COUNTS)
    assert release.population == "patients"
    assert "'visits', budget of population 'patients'" in repr(release)
    assert "budget of population" in release._repr_html_()
    read = Release.loads(release.dumps())
    assert read.population == "patients" and read == release
    assert visits.release(COUNTS).population == "patients"  # the stored one
    alone = open_session(dataset="alone").release(COUNTS)
    assert alone.population is None and "population" not in alone.to_json()
    assert "population" not in repr(alone)


def test_a_card_says_whose_budget_it_is(visits: dc.Session, open_session: Open) -> None:
    card = dc.describe(visits)
    assert card.population == "patients"
    assert "budget of population patients epsilon=1, delta=1e-06; left that day" in str(card)
    assert dc.Card.from_json(card.to_json()) == card
    alone = dc.describe(open_session(dataset="alone"))
    assert alone.population is None and "population" not in alone.to_json()


def test_a_report_says_whose_budget_it_is(visits: dc.Session) -> None:
    page = dc.report([visits.release(COUNTS)], session=visits)
    assert "Shared by the data sets of population patients" in page.html


def test_a_session_that_was_open_before_joining_draws_on_the_population(open_session: Open) -> None:
    before = open_session(dataset="visits")
    first = before.release(COUNTS)
    open_session(dataset="visits", population="patients", epsilon=0.6)
    second = before.release(COUNTS, fresh=True)
    assert (first.population, second.population) == (None, "patients")
    assert str(before.remaining) == "epsilon=0.1, delta=1e-06"
    with pytest.raises(BudgetExhausted, match="population 'patients'"):
        before.release(COUNTS, fresh=True)
    again = open_session(dataset="visits", epsilon=None, delta=None)  # the population is known
    assert again.balance.population == "patients"
    assert again.verify([first, second]).ok


@pytest.mark.parametrize(
    ("options", "error", "sentence"),
    [
        ({"epsilon": 2.0}, LedgerConflict, r"epsilon must be 1\.0 as registered for population"),
        ({"relation": "add-remove"}, LedgerConflict, "relation must be replace-one as registered"),
        ({"accountant": "zcdp"}, LedgerConflict, "accountant must be basic as registered"),
        (
            {"population": "others"},
            ArgumentError,
            "epsilon must be given .* unknown population 'others'",
        ),
        ({"population": ""}, ArgumentError, "population must not be empty"),
        ({"population": 7}, ArgumentError, "population must be a text, got a int"),
        (
            {"population": "labs"},
            ArgumentError,
            "epsilon must be given|another name than its data sets",
        ),
        (
            {"dataset": "patients", "population": None},
            LedgerConflict,
            "'patients', which is a population",
        ),
        ({"analyst": "ann"}, AccessDenied, "must be asked by the data set's owner"),
        ({"dataset": "old", "analyst": "ann"}, AccessDenied, "Joining a population must be asked by"),
    ],
)
def test_what_does_not_agree_is_refused(
    visits: dc.Session,
    open_session: Open,
    options: dict[str, Any],
    error: type[Exception],
    sentence: str,
) -> None:
    open_session(dataset="old")
    known = {"dataset": "labs", "population": "patients", "epsilon": None, "delta": None}
    with pytest.raises(error, match=sentence):
        open_session(**{**known, **options})
    assert visits.balance.spent.loss == 0


def test_a_data_set_about_rows_is_refused(open_session: Open) -> None:
    with pytest.raises(ArgumentError) as caught:
        open_session(schema=ROWS, dataset="visits", population="patients")
    assert str(caught.value) == (
        "population must be given for a data set that protects persons, got 'patients' for 'visits',"
        " which protects rows. Name the column that tells persons apart as the schema's person."
    )


def test_the_relation_and_the_accountant_follow_the_population(open_session: Open) -> None:
    first = open_session(
        dataset="visits", population="patients", relation="add-remove", accountant="zcdp"
    )
    follows = open_session(dataset="labs", population="patients", epsilon=None, delta=None)
    assert repr(follows).startswith("Session('labs', add-remove, rho=")
    assert follows.remaining == first.remaining


def test_shares_and_terms_are_the_owners_to_change(visits: dc.Session, labs: dc.Session) -> None:
    visits.allot("ann", epsilon=0.5)
    with pytest.raises(LedgerConflict, match="must be changed for the population 'patients'"):
        labs.change_terms(reason="more", epsilon=2.0)
    visits._ledger.change_terms("patients", reason="more", epsilon=2.0)
    assert labs.remaining.loss == 2.0 and visits.remaining.loss == 2.0
