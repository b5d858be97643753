"""Prices: parts add up, bounds are used only where they hold, sets without a price say why."""

from __future__ import annotations

import math

import pytest

from discreet.errors import ArgumentError
from discreet.explain.dataflow import Dataflow, Step
from discreet.numerics import to_units
from discreet.privacy.accounting import gaussian_multiplier
from discreet.privacy.certificate import Ball, Bounds, Box, Certificate

BOX = Box(-0.5, 0.5)


def two_means(**more: object) -> Dataflow:
    return Dataflow(
        "two means",
        [
            Step("table"),
            Step("u", ["table"], BOX.certify(4), kind="mean"),
            Step("v", ["table"], BOX.certify(1), kind="mean", width=2.0),
            Step("shown", ["u", "v"], **more),  # type: ignore[arg-type]
        ],
    )


def test_noise_is_that_of_the_certificate() -> None:
    prices = two_means().price(rows=100, epsilon=1.0)
    u, v = prices.sets[0].parts
    assert prices.best is prices.sets[0] and prices.best.steps == ("u", "v")
    assert u.std == pytest.approx(math.sqrt(2) * 4 / 0.5 / 100) and u.share == pytest.approx(u.std)
    assert v.std == pytest.approx(math.sqrt(2) / 0.5 / 100) and v.share == pytest.approx(v.std / 2)
    assert prices.best.share == u.share and prices.best.certified
    assert [found.problem for found in prices.sets[1:]] == [
        "table has no certificate",
        "shown has no certificate",
    ]


@pytest.mark.proves("enabler")
@pytest.mark.parametrize("epsilon", [1.0, 0.1, 1 / 3, 7.7])
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_parts_never_exceed_the_promise(epsilon: float, relation: str) -> None:
    weights = {"u": 3.0, "v": 0.7}
    flow = two_means()
    for used in ({}, weights):
        found = flow.price(rows=50, epsilon=epsilon, delta=1e-6, relation=relation, weights=used).sets[
            0
        ]
        assert sum(to_units(part.epsilon) for part in found.parts) <= to_units(epsilon)
        assert sum(to_units(part.delta) for part in found.parts) <= to_units(1e-6)
        assert len(found.parts) == (2 if relation == "replace-one" else 3)


def test_weights_shift_the_noise() -> None:
    even, shifted = (
        two_means().price(rows=100, epsilon=1.0, weights=weights).sets[0]
        for weights in (None, {"u": 4.0, "v": 2.0})
    )
    assert shifted.parts[0].epsilon == pytest.approx(2 / 3)
    assert shifted.parts[0].std < even.parts[0].std and shifted.parts[1].std > even.parts[1].std


def test_delta_allows_gaussian_noise_on_many_numbers() -> None:
    flow = Dataflow("many", [Step("t"), Step("u", ["t"], BOX.certify(400), kind="mean")])
    found = flow.price(rows=100, epsilon=1.0, delta=1e-6).sets[0].parts[0]
    assert found.mechanism == "gaussian"
    assert found.std == pytest.approx(20 * gaussian_multiplier(1.0, 1e-6) / 100, rel=1e-6)


def test_means_pay_for_a_private_number_of_records() -> None:
    found = two_means().price(rows=100, epsilon=3.0, relation="add-remove").sets[0]
    u, _, size = found.parts
    assert size.step == "number of records"
    assert size.epsilon == pytest.approx(1.0) and size.std == pytest.approx(math.sqrt(2), rel=0.1)
    assert u.std == pytest.approx(math.hypot(math.sqrt(2) * 2, size.std / 2) / 100)
    heavy = two_means().price(
        rows=100, epsilon=3.0, relation="add-remove", weights={"number of records": 0.1}
    )
    assert heavy.sets[0].parts[2].std > size.std


def test_sums_are_compared_per_record() -> None:
    flow = Dataflow(
        "sum", [Step("t"), Step("u", ["t"], Ball(1.0, "l1").certify(5), kind="sum", width=0.4)]
    )
    found = flow.price(rows=100, epsilon=1.0, relation="add-remove").sets[0]
    assert [part.step for part in found.parts] == ["u"]
    assert found.share == pytest.approx(math.sqrt(2) / (100 * 0.4))


@pytest.mark.proves("enabler")
def test_a_bound_given_steps_is_used_only_if_they_follow_from_the_set() -> None:
    """Then a set that is not minimal is the only one with a price."""
    flow = Dataflow(
        "edges",
        [
            Step("t"),
            Step("edges", ["t"], BOX.certify(3), kind="mean"),
            Step("rounded", ["edges"]),
            Step("sums", ["t", "rounded"], BOX.certify(3), kind="sum", given=["rounded"]),
            Step("out", ["sums"]),
        ],
    )
    prices = flow.price(rows=100, epsilon=1.0)
    assert prices.best is None
    told = {found.steps: found.problem for found in prices.sets}
    assert told[("sums",)] == "sums has a bound only once rounded is released"
    larger = flow.price(rows=100, epsilon=1.0, sets=[["sums", "edges"], ["sums"]])
    assert larger.best is not None and larger.best.steps == ("edges", "sums")
    assert [part.epsilon for part in larger.best.parts] == [0.5, 0.5]


@pytest.mark.refutes("enabler")
def test_a_bound_given_steps_is_false_without_them() -> None:
    """Planted fault: price sums between the table's own median as if the median stood still."""

    def sums(table: list[float]) -> list[int]:
        edge = sorted(table)[len(table) // 2]
        return [sum(value < edge for value in table), sum(value >= edge for value in table)]

    table, other = [0.0, 0.0, 0.0, 1.0, 1.0], [0.0, 0.0, 1.0, 1.0, 1.0]
    moved = sum(abs(a - b) for a, b in zip(sums(table), sums(other), strict=True))
    assert moved == 4 > BOX.certify(2).sensitivity("l1", "replace-one")


def test_sets_without_a_price_say_why() -> None:
    local = Step("t", certificate=BOX.certify(2), kind="records")
    one_way = Certificate(("x",), 1, {"replace-one": Bounds(1, 1, 1)})
    flow = Dataflow("why", [local, Step("u", ["t"], one_way)])
    told = {
        found.steps: found.problem
        for found in flow.price(rows=5, epsilon=1, relation="add-remove").sets
    }
    assert told == {
        ("t",): "t has numbers for every record, whose number is private",
        ("u",): "u has no bound under add-remove",
    }
    assert flow.price(rows=5, epsilon=1.0, sets=[["t"]]).sets[0].parts[0].values == 10


def test_public_values_cost_nothing() -> None:
    still = Certificate(("x",), 3, {"replace-one": Bounds(0, 0, 0), "add-remove": Bounds(0, 0, 0)})
    flow = Dataflow("public", [Step("t"), Step("u", ["t"], still)])
    found = flow.price(rows=5, epsilon=1.0).sets[0]
    assert (found.share, found.parts[0].epsilon, found.parts[0].mechanism) == (0.0, 0.0, "none")


def test_what_is_not_certified_is_not_called_so() -> None:
    guess = Certificate(("x",), 1, {"replace-one": Bounds(1, 1, 1)}, certified=False)
    found = Dataflow("guess", [Step("t"), Step("u", ["t"], guess)]).price(rows=5, epsilon=1.0).sets[0]
    assert found.problem is None and not found.certified


def test_frame_and_json() -> None:
    prices = two_means().price(rows=100, epsilon=1.0)
    frame = prices.to_frame()
    assert list(frame["set"]) == ["u + v", "u + v", "table", "shown"]
    assert list(frame["rank"]) == [1, 1, 2, 3] and list(frame["values"])[:2] == [4, 1]
    assert list(frame["problem"])[2] == "table has no certificate"
    plain = prices.to_json()
    assert plain["sets"][0]["parts"][0]["step"] == "u" and plain["rows"] == 100


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"rows": 0}, "rows must be a whole number"),
        ({"epsilon": 0.0}, "epsilon must be a positive"),
        ({"delta": 1.0}, "delta must be at least 0 and below 1"),
        ({"relation": "swap"}, "relation must be one of"),
        ({"weights": {"w": 1.0}}, "weights must be given for steps of the flow, got 'w'"),
        ({"weights": {"u": 0.0}}, "The weight of step 'u' must be a positive"),
    ],
)
def test_bad_terms_are_refused(wrong: dict[str, object], sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        two_means().price(**{"rows": 10, "epsilon": 1.0, **wrong})  # type: ignore[arg-type]
