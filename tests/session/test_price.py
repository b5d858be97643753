"""Prices speak plainly: what it costs, how noisy it is, whether it fits."""

from __future__ import annotations

import json
from collections.abc import Callable

import pytest

import discreet as dc

Open = Callable[..., dc.Session]


def test_a_batch_is_priced_together(open_session: Open) -> None:
    session = open_session()
    plans = [dc.histogram("age", bins=bins, epsilon=0.05) for bins in range(2, 12)]
    price = session.price(plans)
    assert price.cost.loss == 0.5 and price.affordable
    assert price.composed_epsilon is not None and price.composed_epsilon < 0.5
    told = price.to_json()
    assert told["cost"] == {"epsilon": "0.5", "delta": "0"} and len(told["plans"]) == 10
    assert "as one fixed batch" in str(price) and "count ± 60 (95% band, each value)" in str(price)


@pytest.mark.parametrize("terms", [{}, {"accountant": "zcdp"}, {"relation": "add-remove"}], ids=str)
def test_a_price_reads_back_from_its_json(open_session: Open, terms: dict[str, str]) -> None:
    session = open_session(**terms)
    plans = [
        dc.histogram("age", bins=5, epsilon=0.1),
        dc.mean("income", epsilon=0.1),
        dc.quantiles("age", [0.5], epsilon=0.1),
        dc.percentile("age", 50, epsilon=0.1),
    ]
    price = session.price(plans, queries=3)
    read = type(price).from_json(json.loads(json.dumps(price.to_json(), allow_nan=False)))
    assert read.to_json() == price.to_json() and str(read) == str(price)
    assert read._repr_html_() == price._repr_html_()
    assert read.remaining.amount == price.remaining.amount
    assert [line.usable for line in read.plans] == [line.usable for line in price.plans]
    assert [line.expected_error for line in read.plans] == [line.expected_error for line in price.plans]


def test_what_does_not_fit_is_said(open_session: Open) -> None:
    price = open_session().price(dc.histogram("age", epsilon=1.5))
    assert not price.affordable and "NOT affordable" in str(price)
    assert price.composed_epsilon is None


def test_a_price_says_when_a_promise_hides_little(open_session: Open) -> None:
    session = open_session(epsilon=50.0, delta=0.5)

    def said(epsilon: float, delta: float = 0.0, over: dc.Session = session) -> str:
        asked = dc.mean("age", epsilon=epsilon, delta=delta, mechanism="gaussian" if delta else "auto")
        return str(over.price(asked))

    assert "hides little" not in said(10.0) + said(1.0, delta=1e-6)
    assert "epsilon 12 hides little" in said(12.0) and "wrong only once in 160,000 times" in said(12.0)
    rows = session.facts().setting.rows
    assert rows is not None and f"to publish one of {rows:,} records" in said(1.0, delta=1.01 / rows)
    assert "hides little" not in said(1.0, delta=0.99 / rows)
    unknown = open_session(dataset="open", relation="add-remove", epsilon=50.0, delta=0.5)
    assert "hides little" not in said(1.0, delta=0.4, over=unknown)  # the number of rows is private
    rho = open_session(dataset="rho", accountant="zcdp", epsilon=50.0, delta=1e-6)
    assert "hides little" in str(rho.price(dc.mean("age", rho=3.0)))


def test_amounts_under_both_accountants(open_session: Open) -> None:
    basic, zcdp = open_session(), open_session(dataset="other", accountant="zcdp")
    assert (basic.remaining.unit, basic.remaining.loss, basic.remaining.delta) == ("epsilon", 1.0, 1e-6)
    assert zcdp.remaining.unit == "rho" and list(zcdp.remaining.to_json()) == ["rho", "worth"]
    assert repr(basic).startswith("Session('people', replace-one, epsilon=1")


def test_a_slow_release_shows_a_bar(
    open_session: Open, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("discreet.progress._PATIENCE", 0.0)
    for relation in ("replace-one", "add-remove"):
        session = open_session(dataset=relation, relation=relation, progress=True)
        session.release(dc.histogram("home", epsilon=0.1))
        assert "histogram" in capsys.readouterr().err
