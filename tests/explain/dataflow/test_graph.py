"""Flows: what is refused, and that marks say exactly when an output is private."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from discreet.errors import ArgumentError
from discreet.explain.dataflow import Dataflow, Step
from discreet.mechanisms import count_noise
from discreet.privacy.certificate import Bounds, Box, Certificate
from tests.explain.dataflow.flows import (
    copying,
    loss,
    random_flow,
    random_functions,
    separates,
    subsets,
)

EPSILON = 0.7


@pytest.mark.proves("enabler")
@pytest.mark.parametrize("block", range(5))
def test_marks_reach_the_output_iff_every_way_meets_the_set(block: int) -> None:
    for seed in range(20 * block, 20 * block + 20):
        flow = random_flow(seed)
        for chosen in subsets(list(flow.steps)):
            assert flow.is_enabling(chosen) == separates(flow, chosen)
            way = flow.leak(chosen)
            assert (way is None) == flow.is_enabling(chosen)
            if way is not None:
                assert (way[0], way[-1]) == (flow.input, flow.output) and chosen.isdisjoint(way)
                assert all(
                    source in flow.steps[name].inputs for source, name in itertools.pairwise(way)
                )


@pytest.mark.proves("enabler")
def test_exact_losses_add_up_over_an_enabling_set() -> None:
    """Bits and randomised response: the whole law of the output, for random explainers."""
    worst = 0.0
    for seed in range(25):
        flow = random_flow(seed, most=5)
        for chosen in filter(flow.is_enabling, subsets(list(flow.steps))):
            for trial in range(4):
                found = loss(flow, random_functions(flow, trial), chosen, EPSILON)
                assert found <= len(chosen) * EPSILON * (1 + 1e-9)
                worst = max(worst, found / EPSILON)
    assert worst > 0.99


@pytest.mark.proves("enabler")
def test_without_an_enabling_set_some_explainer_shows_the_table() -> None:
    for seed in range(25):
        flow = random_flow(seed, most=6)
        for chosen in subsets(list(flow.steps)):
            way = flow.leak(chosen)
            if way is not None:
                assert loss(flow, copying(flow, way), chosen, EPSILON) == math.inf


@pytest.mark.proves("enabler")
def test_prices_of_a_set_add_up_and_no_less_will_do() -> None:
    """Two noisy copies of one bit tell twice as much as one."""
    flow = Dataflow(
        "twice",
        [Step("a"), Step("u", ["a"]), Step("v", ["a"]), Step("b", ["u", "v"])],
    )
    functions = copying(flow, ("a", "u", "b")) | {
        "v": lambda bits: bits[0],
        "b": lambda bits: min(bits),
    }
    found = loss(flow, functions, frozenset({"u", "v"}), EPSILON)
    assert EPSILON * 1.5 < found <= 2 * EPSILON * (1 + 1e-9)


@pytest.mark.refutes("enabler")
def test_private_in_its_own_input_is_not_private_in_the_table() -> None:
    """The planted fault bounds five copies of one record by what one of them moves."""
    copies = 5

    def exact_loss(bound: float) -> float:
        certificate = Certificate(("copies",), copies, {"replace-one": Bounds(bound, bound, 1.0)})
        noise = count_noise(certificate, relation="replace-one", epsilon=EPSILON)
        stay, move = noise.probabilities(np.array([0, 1]))
        return copies * math.log(stay / move)  # a record that changes moves every copy by one

    assert exact_loss(1.0) == pytest.approx(copies * EPSILON)
    assert exact_loss(copies) == pytest.approx(EPSILON)


@pytest.mark.refutes("enabler")
def test_one_marked_input_is_not_enough() -> None:
    """The planted fault marks a step as soon as one of its inputs is marked."""

    def marked(flow: Dataflow, chosen: frozenset[str]) -> set[str]:
        found: set[str] = set()
        for name, step in flow.steps.items():
            if name in chosen or not found.isdisjoint(step.inputs):
                found.add(name)
        return found

    caught = 0
    for seed in range(25):
        flow = random_flow(seed, most=6)
        for chosen in subsets(list(flow.steps)):
            way = flow.leak(chosen)
            if way is not None and flow.output in marked(flow, chosen):
                caught += loss(flow, copying(flow, way), chosen, EPSILON) == math.inf
    assert caught > 50


def test_sets_are_ordered_and_steps_follow_what_they_read() -> None:
    flow = Dataflow(
        "backwards",
        [Step("b", ["v", "u"]), Step("v", ["a"]), Step("u", ["a"]), Step("a")],
    )
    assert list(flow.steps) == ["a", "v", "u", "b"]
    assert flow.enabling_sets() == [("a",), ("b",), ("v", "u")]
    assert flow.is_enabling({"u", "v"}) and not flow.is_enabling([])
    assert repr(flow) == "Dataflow('backwards', 4 steps)"


A, B = Step("a"), Step("b", ["a"])


@pytest.mark.parametrize(
    ("steps", "sentence"),
    [
        ([A], "must have an input and an output"),
        ([A, B, Step("b", ["a"])], "different names, got 'b' twice"),
        ([A, Step("b", ["c"])], "inputs of step 'b' must be names of steps, got 'c'"),
        ([A, Step("u", ["a", "v"]), Step("v", ["u"]), Step("b", ["v"])], "circle, got u -> v -> u"),
        ([A, Step("z"), Step("b", ["a", "z"])], "must read no other, the private table, got a, z"),
        ([A, B, Step("c", ["a"])], "must be read by no other, the output, got b, c"),
        (
            [A, Step("b", ["a"], given=["b"])],
            "given of step 'b' must name steps on the way to it, got 'b'",
        ),
        ([Step("a", ["a"]), B], "circle, got a -> a"),
    ],
)
def test_bad_flows_are_refused(steps: list[Step], sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        Dataflow("bad", steps)


@pytest.mark.parametrize(
    ("fields", "sentence"),
    [
        ({"name": " "}, "name must be the name of a step"),
        ({"inputs": "input"}, "inputs of step 'x' must be a list of names, got 'input'"),
        ({"given": [1]}, "given of step 'x' must be a list of names"),
        ({"kind": "median"}, "kind of step 'x' must be one of value, sum, mean, records, got 'median'"),
        ({"width": 0.0}, "width of step 'x' must be a positive finite number"),
        ({"size": 0}, "size of step 'x' must be a whole number of at least 1"),
        (
            {"size": 3, "certificate": Box(0, 1).certify(2)},
            "size of step 'x' must be its certificate's 2",
        ),
    ],
)
def test_bad_steps_are_refused(fields: dict[str, object], sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        Step(**{"name": "x", **fields})  # type: ignore[arg-type]


def test_bad_sets_are_refused() -> None:
    flow = Dataflow("short", [A, B])
    with pytest.raises(ArgumentError, match="must be a list of names, got 'a'"):
        flow.is_enabling("a")
    with pytest.raises(ArgumentError, match="must be chosen from a, b, got 'c'"):
        flow.marked(["c"])
    with pytest.raises(ArgumentError, match=r"got no step\. The way a -> b avoids it"):
        flow.price(rows=10, epsilon=1.0, sets=[[]])
    with pytest.raises(ArgumentError, match="must meet every way"):
        Dataflow("short", [A, B], plans={"plan": []})
