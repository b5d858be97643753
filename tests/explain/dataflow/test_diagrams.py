"""The built-in diagrams: their sets, and their bounds against every neighbour of small tables."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

import discreet as dc
from discreet.errors import ArgumentError
from discreet.explain.dataflow import BUILTINS, builtin
from discreet.explain.dataflow.diagram_bounds import (
    any_attributions,
    anywhere,
    importances,
    permuted_losses,
    public_value,
    record_numbers,
    subset_curves,
    subset_points,
)
from discreet.plans import Setting
from discreet.privacy.certificate import (
    Ball,
    Box,
    Certificate,
    Norm,
)
from discreet.privacy.relation import Relation
from discreet.schema import FloatArray, Schema

ORDERS: dict[Norm, float] = {"l1": 1, "l2": 2, "linf": np.inf}


def holds(certificate: Certificate, relation: Relation, moves: FloatArray) -> bool:
    """Tell whether no row of moves exceeds the certificate in any norm."""
    return all(
        np.linalg.norm(moves, order, axis=1).max() <= certificate.sensitivity(norm, relation) + 1e-9
        for norm, order in ORDERS.items()
    )


def permutation_moves() -> tuple[FloatArray, FloatArray]:
    """Return all moves of (sums of permuted losses, the same less the base) for tables of two rows.

    A row is a feature of three values, one of two and a label; the model is any function of them into
    0 and 1, the loss is 0 or 1; permuting swaps the feature between the rows.
    """
    rows = np.array(list(itertools.product(range(3), (0, 1), (0, 1))))
    which = np.array(list(itertools.product(range(len(rows)), repeat=2)))
    first, second, label = np.moveaxis(rows[which], -1, 0)  # each: table, place
    models = np.array(list(itertools.product((0, 1), repeat=6)))

    def losses(first: FloatArray, second: FloatArray) -> FloatArray:
        return np.asarray((models[:, 2 * first + second] != label).sum(axis=-1), dtype=float)

    permuted = np.stack([losses(first[:, ::-1], second), losses(first, second[:, ::-1])], axis=-1)
    gains = permuted - losses(first, second)[..., None]
    one, other = np.nonzero((which[:, None] != which[None]).sum(axis=-1) == 1)
    moves = [(at[:, one] - at[:, other]).reshape(-1, 2) for at in (permuted, gains)]
    return moves[0], moves[1]


@pytest.mark.proves("diagram-bounds")
def test_permuted_losses_on_every_neighbour() -> None:
    permuted, gains = permutation_moves()
    assert holds(permuted_losses(2, 1.0), "replace-one", permuted) and np.abs(permuted).max() == 2
    assert holds(importances(2, 1.0), "replace-one", gains) and np.abs(gains).max() == 3
    assert "add-remove" not in permuted_losses(2, 1.0).bounds


@pytest.mark.refutes("diagram-bounds")
def test_the_partner_row_counts() -> None:
    permuted, gains = permutation_moves()
    assert not holds(permuted_losses(2, 0.5), "replace-one", permuted)
    assert not holds(permuted_losses(2, 1.0), "replace-one", gains)


@pytest.mark.proves("diagram-bounds")
@pytest.mark.parametrize("items", range(2, 7))
def test_points_by_trying_all(items: int) -> None:
    points = np.arange(items)
    moves = np.array(
        [points - np.array(order) for order in itertools.permutations(points)], dtype=float
    )
    for relation in ("replace-one", "add-remove"):
        certificate = subset_points(items, subsets=4)
        assert holds(certificate, relation, moves / 4)
        for norm, order in ORDERS.items():
            greatest = np.linalg.norm(moves / 4, order, axis=1).max()
            assert certificate.sensitivity(norm, relation) == pytest.approx(greatest)


@pytest.mark.proves("diagram-bounds")
def test_one_subset_moves_one_curve_anywhere() -> None:
    """A curve at the bottom if its subset is empty and at the top if not: it jumps the whole width."""
    subsets, size, width = 5, 3, 2.0
    empty, one = np.full((subsets, size), -width / 2), np.full((subsets, size), -width / 2)
    one[2] = width / 2
    moves = (one.mean(axis=0) - empty.mean(axis=0))[None]
    certificate = subset_curves(size, width, subsets)
    assert holds(certificate, "add-remove", moves) and holds(certificate, "replace-one", moves)
    assert np.abs(moves).max() == pytest.approx(certificate.sensitivity("linf", "add-remove"))


@pytest.mark.refutes("diagram-bounds")
def test_half_a_width_is_not_enough_when_a_record_comes() -> None:
    moves = np.full((1, 3), 2.0 / 5)
    assert not holds(subset_curves(3, 1.0, 5), "add-remove", moves)


@pytest.mark.proves("diagram-bounds")
def test_numbers_of_one_record_and_public_ones() -> None:
    tables = np.array(list(itertools.product((0.0, 1.0), repeat=2)))
    moves = np.array([a - b for a in tables for b in tables])
    assert holds(record_numbers(2, 1.0), "replace-one", moves)
    assert not holds(record_numbers(2, 0.9), "replace-one", moves)
    assert holds(public_value(7), "add-remove", np.zeros((1, 7)))
    assert public_value(7).sensitivity("l1", "replace-one") == 0.0
    assert "add-remove" not in record_numbers(2, 1.0).bounds


@pytest.mark.proves("diagram-bounds")
def test_a_model_of_the_mean_can_jump_however_many_records_there_are() -> None:
    for rows in (10, 1000):
        table = np.zeros((rows, 3))
        other = table.copy()
        other[0] = 1.0
        values = [
            (np.repeat(at.mean(axis=0)[None], 4, 0).sum(axis=1) > 0) * 1.0 for at in (table, other)
        ]
        moves = (values[1] - values[0])[None]
        assert holds(anywhere(4, 1.0), "replace-one", moves) and np.abs(moves).max() == 1.0


def test_differences_of_one_record_go_to_one_interval() -> None:
    cells = [sign * np.eye(3)[at] for at in range(3) for sign in (-1.0, 1.0)]
    replaced = np.array([a - b for a in cells for b in cells])
    certificate = Ball(1.0, "l1").certify(3)
    assert holds(certificate, "replace-one", replaced) and holds(
        certificate, "add-remove", np.array(cells)
    )
    assert np.linalg.norm(replaced, axis=1).max() == certificate.sensitivity("l2", "replace-one")


EXPECTED = {
    "pdp": {("input",), ("output",), ("x values", "y values")},
    "ale": {("input",), ("output",), ("edges", "curve"), ("edges", "differences", "counts")},
    "pfi": {("input",), ("base loss", "permuted losses"), ("importances",), ("ranking",)},
    "kernel-shap": {("input",), ("predictions",), ("coalition values",), ("attributions",)},
    "kernel-shap-mean": {("input",), ("mean",), ("coalition values",), ("attributions",)},
    "shap-dependence": {
        ("input",),
        ("output",),
        ("x values", "attributions"),
        ("x values", "cell sums"),
        ("cell sums", "cell counts"),
    },
    "h-statistic": {
        ("input",),
        ("predictions", "single dependence", "other dependence"),
        ("statistics",),
        ("ranking",),
    },
}


def test_minimal_sets_of_the_diagrams() -> None:
    assert set(EXPECTED) == set(BUILTINS)
    for name, sets in EXPECTED.items():
        found = builtin(name).enabling_sets()
        assert set(found) == sets and len(found) == len(sets)
        assert all(builtin(name).is_enabling(names) for names in found)


def test_every_plan_perturbs_a_set_that_has_the_best_price() -> None:
    for name in BUILTINS:
        flow = builtin(name)
        assert flow.plans
        best = flow.price(rows=5000, epsilon=1.0).best
        assert best is not None and best.certified
        assert set(flow.plans.values()) == {best.steps} and best.plans == tuple(flow.plans)


def test_noise_follows_the_formulas() -> None:
    flow = builtin("pdp", features=13, grid=20, output_range=3.0, subsets=200)
    shares = {found.steps: found.share for found in flow.price(rows=30_000, epsilon=2.0).sets}
    assert shares[("x values", "y values")] == pytest.approx(math.sqrt(2) * 20 / (2 * 30_000))
    assert shares[("output",)] == pytest.approx(math.sqrt(2) * 20 / (2 * 200))
    assert shares[("input",)] == pytest.approx(math.sqrt(2) * 13 / 2)


def test_the_mean_record_is_the_bargain_of_kernel_shap_mean() -> None:
    few, many = (builtin("kernel-shap-mean").price(rows=rows, epsilon=1.0) for rows in (100, 10_000))
    shares = [{found.steps: found.share for found in prices.sets} for prices in (few, many)]
    assert shares[0][("mean",)] == pytest.approx(100 * shares[1][("mean",)], rel=1e-6)
    assert shares[0][("attributions",)] == pytest.approx(shares[1][("attributions",)])
    assert any_attributions(20, Box(-0.5, 0.5)).sensitivity("linf", "add-remove") == pytest.approx(1.95)


def test_releasing_the_background_gives_a_larger_set_a_price() -> None:
    flow = builtin("shap-dependence")
    names = ["background", "x values", "attributions"]
    smaller, larger = flow.price(rows=100, epsilon=1.0, sets=[names, names[1:]]).sets[::-1]
    assert smaller.problem == "attributions has a bound only once background is released"
    assert larger.problem is None and len(larger.parts) == 3


def test_prices_agree_with_the_plan(tiny_schema: Schema) -> None:
    """The diagram's noise is that of partial_dependence without a rug, coordinate by coordinate."""
    model = dc.Model(lambda rows: rows[:, 0] / 100, bounds=(0.0, 1.0))
    terms = {"resolution": 12, "rug": False, "mechanism": "laplace", "epsilon": 0.8}
    plan = dc.partial_dependence(model, "income", **terms)
    setting = Setting(tiny_schema, "replace-one", 700)
    program = plan.prepare(setting)
    expected = program.stages[0].noise.std / 700
    found = builtin("pdp", features=3, grid=12).price(rows=700, epsilon=0.8).best
    assert found is not None and found.parts[1].std == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"name": "lime"}, "name must be one of pdp, ale"),
        ({"features": 1}, "features must be a whole number of at least 2"),
        ({"grid": 1}, "grid must be"),
        ({"output_range": 0.0}, "output_range must be a positive"),
        ({"subsets": 1}, "subsets must be"),
    ],
)
def test_bad_sizes_are_refused(wrong: dict[str, object], sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        builtin(**{"name": "pdp", **wrong})  # type: ignore[arg-type]
