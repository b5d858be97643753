"""A card tells what is public, is signed, and prices plans without rows."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from skops.io import dump

import discreet as dc
from discreet.errors import AccessDenied, ArgumentError, CardError, ModelError
from tests.session.conftest import small_frame

HISTOGRAM = dc.histogram("age", bins=5, epsilon=0.25)


def test_a_card_reads_back_as_it_was_signed(session: dc.Session, model: Any, tmp_path: Path) -> None:
    session.release(HISTOGRAM)
    card = dc.describe(session, models={"risk": model}, files=True)
    read = dc.Card.load(card.save(tmp_path / "card.json"), public_key=card.signature.public_key)
    assert read.to_json() == card.to_json()
    assert read.remaining.to_json() == {"epsilon": "0.75", "delta": "0.000001"}
    assert (read.rows, read.schema, read.dataset) == (60, session.schema, "people")
    assert "model risk: LogisticRegression (linear), 0 to 1, in the card" in str(read)
    assert "60 records" in str(read) and "60 records" in read._repr_html_()


def test_every_card_of_a_ledger_has_the_same_key_and_another_ledger_another(
    session: dc.Session, tiny_schema: dc.Schema, tmp_path: Path
) -> None:
    other = dc.protect(
        small_frame(), tiny_schema, dataset="people", epsilon=1.0, ledger=tmp_path / "other.db"
    )
    first, again, strange = (dc.describe(one).signature for one in (session, session, other))
    assert first.public_key == again.public_key != strange.public_key
    with pytest.raises(CardError, match="public_key must be the one the card is signed with"):
        dc.Card.from_json(dc.describe(other).to_json(), public_key=first.public_key)


def test_the_number_of_records_is_told_only_where_it_is_public(
    tiny_schema: dc.Schema, tmp_path: Path
) -> None:
    hidden = dc.protect(
        small_frame(),
        tiny_schema,
        dataset="people",
        epsilon=1.0,
        relation="add-remove",
        ledger=tmp_path / "hidden.db",
    )
    card = dc.describe(hidden)
    assert card.rows is None and card.to_json()["rows"] is None
    assert "number of records private" in str(card)


def test_the_price_is_the_owners(session: dc.Session, model: Any, tmp_path: Path) -> None:
    card = dc.describe(session, models={"risk": model}, files=True)
    read = dc.Card.load(card.save(tmp_path / "card.json"))
    plans = [HISTOGRAM, dc.partial_dependence(read.model("risk"), "age", epsilon=0.5)]
    assert read.price(plans).to_json() == session.price(plans).to_json()
    assert len(session.history()) == 1


def test_the_owner_prices_what_the_card_does_not_hold(session: dc.Session, model: Any) -> None:
    card = dc.describe(session, models={"risk": model})
    assert "not in the card: the owner prices it" in str(card)
    plan = dc.partial_dependence(card.model("risk"), "age", epsilon=0.5)
    with pytest.raises(ModelError, match="The owner prices it: the card of 'people' names"):
        card.price(plan)
    assert plan == dc.partial_dependence(model, "age", epsilon=0.5)
    with pytest.raises(ArgumentError, match=r"one of the card's models \(risk\), got 'other'"):
        card.model("other")


def test_a_card_is_the_owners_to_write(
    session: dc.Session, tiny_schema: dc.Schema, tmp_path: Path
) -> None:
    ann = dc.protect(
        small_frame(), tiny_schema, dataset="people", ledger=tmp_path / "books.db", analyst="ann"
    )
    for call in (lambda: dc.describe(ann), lambda: ann.sign({})):
        with pytest.raises(AccessDenied, match="got the analyst 'ann'"):
            call()


def test_a_card_of_a_stale_session_is_not_written(session: dc.Session) -> None:
    other = dc.Schema({"age": dc.Number(18, 100), "home": session.schema["home"]})
    session.change_terms(schema=other, reason="a correction")
    with pytest.raises(dc.errors.LedgerConflict, match="was changed since this session was opened"):
        dc.describe(session)


@pytest.mark.parametrize(
    ("models", "error", "sentence"),
    [
        (["risk"], ArgumentError, "models must map names of yours to models"),
        ({1: "x"}, ArgumentError, "models must map names of yours to models"),
        ({"risk": "nowhere.skops"}, ModelError, "nowhere.skops"),
        ({"risk": lambda rows: rows}, ModelError, "bounds must be given"),
    ],
)
def test_wrong_models_are_one_sentence(
    session: dc.Session, models: Any, error: type[Exception], sentence: str
) -> None:
    with pytest.raises(error, match=sentence):
        dc.describe(session, models=models)


def test_a_function_has_no_file(session: dc.Session) -> None:
    def score(rows: Any) -> Any:
        return rows[:, 0]

    named = dc.Model(score, bounds=(0, 100), name="score")
    with pytest.raises(ModelError, match="model 'score' cannot be put into a card"):
        dc.describe(session, models={"score": named}, files=True)
    card = dc.describe(session, models={"score": named})
    assert card.models["score"].form == "opaque"


def test_a_model_comes_from_its_file_too(session: dc.Session, model: Any, tmp_path: Path) -> None:
    dump(model, tmp_path / "risk.skops")
    card = dc.describe(session, models={"risk": tmp_path / "risk.skops"}, files=True)
    held = card.models["risk"].file
    assert held is not None and held.content == (tmp_path / "risk.skops").read_bytes()
    assert card.price(dc.partial_dependence(card.model("risk"), "age", epsilon=0.1)).affordable


def test_a_release_is_of_the_cards_data_set_and_schema(session: dc.Session) -> None:
    card, release = dc.describe(session), session.release(HISTOGRAM)
    card.check_release(release)
    for other in ({"dataset": "others"}, {"schema_digest": "0"}):
        with pytest.raises(CardError, match="release must be of the data set 'people'"):
            card.check_release(replace(release, **other))


def test_the_owner_sees_by_a_cards_head_that_a_ledger_was_cut(session: dc.Session) -> None:
    head = dc.describe(session).head
    assert session._ledger.verify(heads=[head]).ok
    assert not session._ledger.verify(heads=[replace(head, sequence=9)]).ok


def edited(plain: dict[str, Any], path: tuple[str, ...], value: Any) -> dict[str, Any]:
    copy = json.loads(json.dumps(plain))
    inside = copy
    for name in path[:-1]:
        inside = inside[name]
    inside[path[-1]] = value
    return copy


@pytest.mark.parametrize(
    ("path", "value"),
    [
        (("dataset",), "others"),
        (("created",), "2030-01-01T00:00:00+00:00"),
        (("rows",), 61),
        (("rows",), None),
        (("epsilon",), 9.0),
        (("remaining", "loss"), "9"),
        (("schema", "columns", "age", "high"), 99.0),
        (("models", "risk", "model", "fingerprint"), "hash:0"),
        (("models", "risk", "model", "bounds"), [0.0, 0.5]),
        (("models", "risk", "file", "content"), "AAAA"),
        (("models", "more"), {}),
        (("head", "sequence"), 7),
        (("signature",), "00" * 64),
        (("signature",), None),
        (("signature",), "x"),
        (("public_key",), "00" * 32),
        (("public_key",), 7),
    ],
)
def test_an_edited_card_is_refused(session: dc.Session, model: Any, path: Any, value: Any) -> None:
    plain = dc.describe(session, models={"risk": model}, files=True).to_json()
    with pytest.raises(CardError, match="was edited after it was signed"):
        dc.Card.from_json(edited(plain, path, value))


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=6,
)
FIELDS = [
    "format",
    "dataset",
    "version",
    "created",
    "schema",
    "relation",
    "rows",
    "accountant",
    "epsilon",
    "delta",
    "remaining",
    "models",
    "head",
]


@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(field=st.sampled_from(FIELDS), value=JUNK)
def test_a_strange_card_that_is_signed_gets_one_sentence(
    session: dc.Session, field: str, value: Any
) -> None:
    """Whoever has a ledger can sign anything: what is read must be of the kind it has to be."""
    unsigned = {**dc.describe(session).unsigned(), field: value}
    signature = session.sign(unsigned)
    plain = {**unsigned, "public_key": signature.public_key, "signature": signature.value}
    try:
        card = dc.Card.from_json(json.loads(json.dumps(plain)))
    except CardError:
        return
    assert str(card) and card.price(HISTOGRAM).plans


@pytest.mark.parametrize("text", ["", "[]", "{}", "null", "[" * 100_000, '{"format": NaN}', "\x00"])
def test_what_is_no_card_gets_one_sentence(tmp_path: Path, text: str) -> None:
    (tmp_path / "card.json").write_text(text)
    with pytest.raises(CardError, match="a card"):
        dc.Card.load(tmp_path / "card.json")
    with pytest.raises(CardError, match="cannot be read"):
        dc.Card.load(tmp_path / "nowhere.json")


def test_a_card_that_lies_about_its_model_is_refused(session: dc.Session, model: Any) -> None:
    card = dc.describe(session, models={"risk": model}, files=True)
    plain = edited(card.unsigned(), ("models", "risk", "model", "bounds"), [0.0, 0.5])
    plain["models"]["risk"]["model"]["fingerprint"] = "hash:0"
    signature = session.sign(plain)
    signed = {**plain, "public_key": signature.public_key, "signature": signature.value}
    with pytest.raises(CardError, match="holds another model than the card says"):
        dc.Card.from_json(signed).model("risk")
