"""What a notebook shows: decimals, sentences, escaped names; never a raw dataclass or whole units."""

from __future__ import annotations

import re
from html.parser import HTMLParser
from typing import Any

import pandas as pd
import pytest

import discreet as dc
from discreet.ledger import Ledger

NAME = "<b>&\"x'"
SCHEMA = dc.Schema({NAME: dc.Category("<i>", "b", unknown="b"), "size": dc.Number(0, 1000)}, id="<id>")


@pytest.fixture(scope="module")
def session() -> dc.Session:
    frame = pd.DataFrame({NAME: ["<i>", "b"] * 50, "size": range(100), "<id>": range(100)})
    made = dc.protect(frame, SCHEMA, dataset="<u>shapes", epsilon=2.0, ledger=Ledger.open(":memory:"))
    made.release(dc.histogram(NAME, epsilon=0.5))
    return made


@pytest.fixture(scope="module")
def shown(session: dc.Session) -> dict[str, Any]:
    plans = [dc.histogram(NAME, epsilon=0.5), dc.histogram([NAME, "size"], epsilon=1.75)]
    release = session.release(plans[0])
    stage = dc.histogram(NAME, epsilon=0.5).prepare(session._setting).stages[0]
    return {
        "price": session.price(plans[0]),
        "refused": session.price(plans),
        "remaining": session.remaining,
        "release": release,
        "guarantee": release.guarantee,
        "certificate": stage.certificate,
        "schema": session.schema,
        "session": session,
        "history": session.history(),
        "entries": session._ledger.history(session.dataset),
        "balance": session.balance,
    }


KINDS = [
    "price",
    "refused",
    "remaining",
    "release",
    "guarantee",
    "certificate",
    "schema",
    "session",
    "history",
    "entries",
    "balance",
]


class Tags(HTMLParser):
    """Collects the tags of a piece of HTML, and whether they close."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.seen.add(tag)
        self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


@pytest.mark.parametrize("kind", KINDS)
def test_html_is_whole_and_escaped(shown: dict[str, Any], kind: str) -> None:
    tags = Tags()
    tags.feed(shown[kind]._repr_html_())
    assert tags.open == [] and "div" in tags.seen
    assert not tags.seen & {"b", "i", "u", "id", "img", "script", "link"}


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_raw_is_shown(shown: dict[str, Any], kind: str) -> None:
    texts = [shown[kind]._repr_html_()]
    if kind != "history":  # a frame, whose text is pandas' own
        texts += [repr(shown[kind]), str(shown[kind])]
    for text in texts:
        words = re.sub(r'(?:d|points|viewBox)="[^"]*"', "", text)
        assert not re.search(r"\d{9,}|mappingproxy|AccountantName|object at 0x", words)


def test_a_release_shows_its_picture_first(shown: dict[str, Any]) -> None:
    html = shown["release"]._repr_html_()
    assert html.index("<svg") < html.index("epsilon=0.5 (pure)") < html.index("moves these 2 numbers")
    assert "Histogram of &lt;b&gt;" in html and "2 cells, epsilon 0.5" in html


def test_counts_of_many_columns_are_a_table(session: dc.Session) -> None:
    frame = pd.DataFrame({name: ["x", "y"] * 10 for name in "abcd"})
    schema = dc.Schema({name: dc.Category("x", "y") for name in "abcd"})
    other = dc.protect(frame, schema, dataset="d", epsilon=1.0, ledger=":memory:")
    html = other.release(dc.histogram(list("abcd"), epsilon=0.5))._repr_html_()
    assert "<svg" not in html and "more rows" in html


def test_amounts_are_decimals(shown: dict[str, Any]) -> None:
    assert "left: epsilon=1.5" in shown["remaining"]._repr_html_()
    assert repr(shown["remaining"]) == "Remaining(epsilon=1.5, delta=0)"
    assert "Amount(loss=0.5, delta=0)" in repr(shown["balance"])
    assert "25% spent" in shown["session"]._repr_html_()
    assert "NOT affordable" in shown["refused"]._repr_html_()


def test_a_history_tells_of_answers_and_of_charges_without_one(shown: dict[str, Any]) -> None:
    html = shown["history"]._repr_html_()
    assert "Histogram of &lt;b&gt;" in html and "answered" in html
    assert "charged" in repr(shown["entries"]) and "histogram" in repr(shown["entries"][1])
    lost = [{**entry, "settled": False} for entry in shown["history"].to_dict("records")]
    frame = type(shown["history"])(lost)
    assert "no answer stored" in frame._repr_html_()
    assert type(shown["history"].head(1)) is pd.DataFrame


def test_a_certificate_is_a_sentence(shown: dict[str, Any]) -> None:
    assert "moves these 2 numbers by at most 2 in L1, 1.415 in L2 and 1 in L∞" in str(
        shown["certificate"]
    )
    html = shown["certificate"]._repr_html_()
    assert "Counts of cells of which every record is in exactly one" in html


def test_a_draft_shows_its_marks() -> None:
    draft = dc.Schema.sketch(pd.DataFrame({"size": [1.5, 2.5, 9.0]}))
    assert "read from data, not public: size.low" in draft._repr_html_()


def test_whoever_shows_a_data_set_says_who_a_record_is() -> None:
    schema = dc.Schema({"size": dc.Number(0, 9)}, person="who", rows="capped", most=2)
    frame = pd.DataFrame({"who": ["a", "a", "b"], "size": [1, 2, 3]})
    session = dc.protect(frame, schema, dataset="d", epsilon=1.0, ledger=":memory:")
    unit = "a record is a person (who), of whose rows at most 2 count"
    card = dc.describe(session)
    for told in (schema._repr_html_(), session._repr_html_(), str(card), card._repr_html_()):
        assert unit in told
    assert "2 records" in str(card)
