"""One record moves the sums of errors by no more than their joint certificate says, in every norm."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import pytest

from discreet.data.blocks import Block
from discreet.evaluation.regression.bounds import PowerCurve
from discreet.evaluation.regression.sums import (
    _CELL,
    _FEATURE,
    CENTRES,
    RESIDUAL,
    TARGET,
    ErrorSums,
)
from discreet.privacy.certificate import Bounds
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from tests.evaluation.regression.cases import identity, layout, opaque, schema, vectors
from tests.oracles.norms import additions, replacements, within

NORMS = ("l1", "l2", "linf")
X = (-20.0, 17.0, 30.0, 60.0)
Y = (0.0, 15.0, 30.0, 60.0)


def everybody(*, gaps: bool = False) -> pd.DataFrame:
    """Return a record for every combination of an answer, a target and a group."""
    targets = (*Y, np.nan) if gaps else Y
    rows = list(itertools.product(X, targets, "ab"))
    return pd.DataFrame(rows, columns=["x", "y", "ward"])


def lengths(moved: np.ndarray) -> list[float]:
    """Return the greatest L1, L2 and Linf norm of some vectors."""
    return [float(np.linalg.norm(moved, order, axis=1).max()) for order in (1, 2, np.inf)]


CASES = [
    {},
    {"by": ("ward",)},
    {"residuals": ("x", "ward")},
    {"by": ("ward",), "residuals": ("x",), "clip": 20.0},
    {"relation": "add-remove", "residuals": ("x",)},
]


def holds(found: ErrorSums, people: pd.DataFrame) -> bool:
    """Say whether no two records break the certificate, in exact arithmetic."""
    added = np.unique(vectors(found, people), axis=0)
    bounds = found.certify().bounds
    return all(within(bounds[REPLACE_ONE], change) for change in replacements(added)) and all(
        within(bounds[ADD_REMOVE], change) for change in additions(added)
    )


@pytest.mark.once_per("model")
@pytest.mark.proves("residual-sums")
@pytest.mark.parametrize("gaps", [False, True])
@pytest.mark.parametrize("asked", CASES)
@pytest.mark.parametrize("model", [identity, opaque])
def test_no_two_records_are_farther_apart(model: Any, asked: dict[str, Any], gaps: bool) -> None:
    assert holds(layout(model(), schema(gaps=gaps), **asked), everybody(gaps=gaps))


@pytest.mark.proves("residual-sums")
@pytest.mark.parametrize("curve", [RESIDUAL, TARGET])
def test_bounds_of_the_curves_are_attained(curve: PowerCurve) -> None:
    points = curve.points(np.linspace(-1, 1, 2_001))
    apart = lengths((points[:, None] - points[None]).reshape(-1, points.shape[1]))
    alone = lengths(points)
    for bounds, found in ((curve.apart(), apart), (curve.from_centre(), alone)):
        for norm, reached in zip(NORMS, found, strict=True):
            assert reached <= getattr(bounds, norm) <= reached * (1 + 1e-6)


@pytest.mark.proves("residual-sums")
@pytest.mark.parametrize("seed", range(30))
def test_bounds_hold_for_any_weights_and_centres(seed: int) -> None:
    draw = np.random.default_rng(seed)
    even, centres = draw.uniform(0.05, 3, 2), draw.uniform(0, 1, 2)
    curve = PowerCurve(float(draw.uniform(0.05, 3)), tuple(even), (1, 2), tuple(centres))
    points = curve.points(np.append(draw.uniform(-1, 1, 600), [-1, 0, 1]))
    apart = lengths((points[:, None] - points[None]).reshape(-1, 3))
    for bounds, found in ((curve.apart(), apart), (curve.from_centre(), lengths(points))):
        assert all(f <= getattr(bounds, norm) for norm, f in zip(NORMS, found, strict=True))
        assert all(f >= 0.97 * getattr(bounds, norm) for norm, f in zip(NORMS, found, strict=True))


@pytest.mark.proves("residual-sums")
@pytest.mark.parametrize(("name", "bounds"), [("distribution", _CELL), ("residuals of ward", _FEATURE)])
def test_bounds_of_every_part_are_attained(name: str, bounds: tuple[Bounds, Bounds]) -> None:
    """All parts together seldom are: their worst pairs differ, so that each is looked at by itself."""
    found = layout(identity(), schema(), residuals=("ward",))
    own = vectors(found, everybody())[:, found.parts[name]] / found.weights[name]
    apart = lengths((own[:, None] - own[None]).reshape(-1, own.shape[1]))
    for told, reached in zip(bounds, (apart, lengths(own)), strict=True):
        assert [getattr(told, norm) for norm in NORMS] == pytest.approx(reached, rel=1e-12)


@pytest.mark.refutes("residual-sums")
def test_the_bound_of_residuals_in_one_cell_is_caught() -> None:
    """Two records of different cells move all six numbers; two of one cell only three."""
    found = layout(identity(), schema(), residuals=("ward",))
    part = vectors(found, everybody())[:, found.parts["residuals of ward"]]
    moved = lengths((part[:, None] - part[None]).reshape(-1, part.shape[1]))
    assert moved[0] > 2 * found.weights["residuals of ward"]


def test_all_sums_together_cost_less_than_their_boxes() -> None:
    boxes = 2 * RESIDUAL.odd + sum(RESIDUAL.even) + 2 * TARGET.odd + sum(TARGET.even)
    assert RESIDUAL.apart().l1 + TARGET.apart().l1 <= 0.79 * boxes


def test_groups_cost_what_one_does_but_for_their_sizes() -> None:
    found = layout(identity(), schema(), by=("ward",))
    sizes = 2 * found.weights["size"]
    inside = sum(
        found.weights[name] * apart
        for name, apart in (("moments", RESIDUAL.apart().l1 + TARGET.apart().l1), ("distribution", 2))
    )
    assert found.certify().sensitivity("l1", REPLACE_ONE) == pytest.approx(inside + sizes)


@pytest.mark.refutes("residual-sums")
def test_a_bound_from_the_ends_of_the_curves_is_caught() -> None:
    t = Fraction(1, 2)
    moved = [Fraction(TARGET.odd) * (1 + t), Fraction(TARGET.even[0]) * (1 - t**2)]
    ends = Bounds(TARGET.odd + TARGET.even[0], 2.0, 2.0)
    assert not within(ends, moved)
    assert within(TARGET.apart(), moved)


@pytest.mark.refutes("residual-sums")
@pytest.mark.parametrize("fault", ["no size", "no centre"])
def test_planted_faults_are_caught(fault: str) -> None:
    found = layout(identity(), schema(), by=("ward",))
    added = np.unique(vectors(found, everybody()), axis=0)
    certified = found.certify().bounds[REPLACE_ONE]
    assert all(within(certified, change) for change in replacements(added))
    if fault == "no size":  # the price of a record that stays in its group
        certified = replace(certified, l1=certified.l1 - 2 * found.weights["size"])
    else:  # moments measured from zero: a record that changes its group moves twice their whole
        here = found.parts["moments"]
        for start in (0, found.block):
            inside = np.abs(added[:, start : start + found.block]).sum(axis=1) > 0
            columns = slice(start + here.start, start + here.stop)
            added[:, columns] += inside[:, None] * (np.asarray(CENTRES) * found.scales[here])
    assert not all(within(certified, change) for change in replacements(added))


@pytest.mark.proves("residual-sums")
def test_sums_move_as_slowly_with_answers_as_is_paid_for() -> None:
    found = layout(opaque(), schema(), residuals=("x", "ward"))
    rng, step = np.random.default_rng(0), 1e-6
    target, answer = rng.uniform(0, 60, 3_000), rng.uniform(0, 60, 3_000)
    places = pd.DataFrame({"x": 10.0, "ward": "a", "y": target})
    columns = found.contribution.columns
    encoded = [found.setting.schema[name].encode(places[name].to_numpy()) for name in columns]
    block = Block(0, columns, np.column_stack(encoded))
    scaled = (target - 30.0) / 30.0
    before, after = (found._own(block, target - a, scaled) for a in (answer, answer + step))
    change, (single, together) = np.abs(after - before), found._steepness()
    assert change.max() <= single * step * (1 + 1e-6)
    assert change.sum(axis=1).max() <= together * step * (1 + 1e-6)
    assert change.sum(axis=1).max() >= 0.5 * together * step
