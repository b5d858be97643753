from __future__ import annotations

from typing import Any

import pytest

from discreet.errors import ArgumentError
from discreet.ledger import Head, Ledger
from discreet.ledger.checks import check_amount, check_label, check_terms, note_text
from discreet.numerics import LARGEST_UNITS
from discreet.privacy.accounting.filters import Amount
from tests.ledger.backends import make_terms


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"relation": "swap"}, "relation must be one of replace-one, add-remove, got 'swap'."),
        ({"accountant": "pld"}, "accountant must be one of basic, zcdp, got 'pld'."),
        ({"epsilon": 0.0}, "epsilon must be a positive finite number, got 0.0."),
        ({"epsilon": float("nan")}, "epsilon must be a positive finite number, got nan."),
        ({"delta": 1.0}, "delta must be at least 0 and below 1, got 1.0."),
        ({"budget": Amount(-1)}, "budget.loss must be a whole number of at least 0"),
        ({"budget": 3.0}, "budget must be an Amount, got a float. Use Amount.charge"),
        ({"schema_digest": ""}, "schema_digest must not be empty, got ''."),
    ],
)
def test_terms_are_checked(changes: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ArgumentError) as caught:
        check_terms(make_terms(**changes))
    assert str(caught.value).startswith(sentence)


@pytest.mark.parametrize(
    "amount",
    [Amount(-1), Amount(0, -1), Amount(LARGEST_UNITS), Amount(0.5), Amount(True), "1", None],  # type: ignore[arg-type]
)
def test_an_amount_is_whole_and_not_negative(amount: Any) -> None:
    with pytest.raises(ArgumentError, match=r"^charge"):
        check_amount("charge", amount)


def test_the_largest_amount_fits_the_columns() -> None:
    largest = Amount(LARGEST_UNITS - 1, LARGEST_UNITS - 1)
    with Ledger.open(":memory:") as ledger:
        ledger.register(make_terms(budget=largest))
        ledger.reserve("adult", largest, plan_key="plan", note={})
        assert ledger.balance("adult").spent == largest
        assert ledger.verify().ok


def test_a_label_may_be_empty_but_not_long() -> None:
    check_label("version", "")
    with pytest.raises(ArgumentError, match="at most 200 characters long, got 201"):
        check_label("version", "v" * 201)


@pytest.mark.parametrize("body", [None, b"{}", "a\0b", "\ud800"])
def test_a_body_is_unicode_text(body: Any) -> None:
    with Ledger.open(":memory:") as ledger:
        ledger.register(make_terms())
        reservation = ledger.reserve("adult", Amount(1), plan_key="plan", note={})
        with pytest.raises(ArgumentError, match="body must be a Unicode text without NUL"):
            ledger.settle(reservation, version="", body=body)
        assert ledger.history("adult")[-1].settled is False


def _endless() -> dict[str, Any]:
    note: dict[str, Any] = {}
    note["self"] = note
    return note


@pytest.mark.parametrize(
    "note", [{"x": object()}, {"x": float("nan")}, {"x": b""}, 5, "text", _endless()]
)
def test_a_note_is_what_json_can_hold(note: Any) -> None:
    with pytest.raises(ArgumentError, match="note must be a mapping that JSON can hold"):
        note_text(note)


def test_a_note_is_canonical() -> None:
    assert note_text({"b": 1, "a": "\0"}) == '{"a": "\\u0000", "b": 1}'


@pytest.mark.parametrize(
    "data", [{}, [], {"dataset": "a", "sequence": "1", "digest": "d"}, {"dataset": "a"}]
)
def test_a_head_must_be_complete(data: Any) -> None:
    with pytest.raises(ArgumentError, match="A head must be an object with dataset, sequence"):
        Head.from_json(data)


def test_a_head_goes_through_json() -> None:
    head = Head("adult", 7, "ab")
    assert Head.from_json(head.to_json()) == head
