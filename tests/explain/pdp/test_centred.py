"""Level and centred curve: the joint bound over all neighbours, honest bands, and when it pays."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable, Summand, add_up
from discreet.engines.curves import CurveEngine
from discreet.errors import ArgumentError
from discreet.explain.pdp.centred import Shape
from discreet.explain.pdp.contribution import Curves
from discreet.plans import Setting, Stage
from discreet.privacy.certificate import Box

HEIGHTS = (-1.0, -0.6, 0.6, 1.0)
CURVES = np.array([*itertools.product(HEIGHTS, repeat=3), (np.nan, 1.0, 50.0)])
WILD = dc.Schema(
    {
        "at": dc.Number(0, 2, step=1, missing=False),
        "who": dc.Category(*range(len(CURVES)), missing=False, other=False),
    }
)


def wild(rows: np.ndarray) -> np.ndarray:
    """Every curve over three points is some record's, once far outside the bounds."""
    return CURVES[rows[:, 1].astype(int), rows[:, 0].astype(int)]


MODEL = dc.Model(wild, bounds=(-1, 1), name="wild")


def centred_stage(relation: str, mechanism: str) -> Stage:
    plan = dc.partial_dependence(
        MODEL,
        "at",
        curve="centred",
        shape_clip=0.17,
        rug=False,
        epsilon=1.0,
        delta=1e-6,
        mechanism=mechanism,
    )
    return plan.prepare(Setting(WILD, relation, 2 if relation == "replace-one" else None)).stages[0]


def worst_move(stage: Stage, relation: str, norm: float) -> float:
    """Return the greatest change between neighbours, in steps.

    Sums are whole numbers, so that all other records cancel: one record's vector, or two records'.
    """
    vectors = []
    for who in range(len(CURVES)):
        table = PrivateTable(pd.DataFrame([(1, who)], columns=list(WILD)), WILD, "add-remove")
        vectors.append(add_up(table, [Summand(stage.contribution, stage.noise.step)])[0])
    single = np.array(vectors, dtype=float)
    moves = single if relation == "add-remove" else (single[:, None] - single[None]).reshape(-1, 4)
    return float(np.linalg.norm(moves, norm, axis=1).max())


NORMS = [(1, "l1"), (2, "l2"), (np.inf, "linf")]


@pytest.mark.proves("pdp-centred")
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize(("mechanism", "tight"), [("laplace", 1), ("gaussian", 2)])
def test_no_neighbour_moves_levels_and_shapes_further(
    relation: str, mechanism: str, tight: int
) -> None:
    stage = centred_stage(relation, mechanism)
    for norm, name in NORMS:
        bound = stage.certificate.sensitivity(name, relation) / stage.noise.step
        worst = worst_move(stage, relation, norm)
        assert worst <= bound
        if norm == tight:  # the norm the noise is made for
            assert worst > 0.85 * bound


@pytest.mark.refutes("pdp-centred")
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
@pytest.mark.parametrize("fault", ["long shapes", "heavy level", "half price"])
def test_planted_faults_are_caught(mechanism: str, fault: str) -> None:
    stage = centred_stage("replace-one", mechanism)
    norm = 1 if mechanism == "laplace" else 2
    name = "l1" if norm == 1 else "l2"
    planted, relation = stage, "replace-one"
    honest = stage.contribution
    if fault == "long shapes":
        wide = Shape(3, 1.0, 1.0, name).contribution(MODEL.bind(WILD), Curves(WildCurves(), 0.0))
        scale = np.ones(4)
        scale[0] = Shape(3, 1.0, 0.17, name).weight / Shape(3, 1.0, 1.0, name).weight
        planted = replace(
            stage, contribution=replace(wide, compute=lambda block: wide.compute(block) * scale)
        )
    elif fault == "heavy level":
        region = Box(-9, 9)
        heavy = np.array([np.sqrt(3) / Shape(3, 1.0, 0.17, name).weight, 1, 1, 1])
        planted = replace(
            stage,
            contribution=replace(
                honest, region=region, compute=lambda block: honest.compute(block) * heavy
            ),
        )
    else:
        relation = "add-remove"
    bound = stage.certificate.sensitivity(name, relation) / stage.noise.step
    assert worst_move(planted, "replace-one", norm) > bound


class WildCurves(CurveEngine):
    def predict(self, rows: np.ndarray) -> np.ndarray:
        return CURVES[rows[:, 1].astype(int)].copy()


@pytest.mark.proves("pdp-centred")
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_companions_move_no_coordinate_further(norm: str) -> None:
    """Answers that move by g move a coordinate by at most 4 m g or sqrt(m) g, a level by w g."""
    draw, shape = np.random.default_rng(0), Shape(6, 1.0, 0.3, norm)
    stretch = 24 if norm == "l1" else np.sqrt(6)
    curves = draw.uniform(-1.2, 1.2, (4_000, 6)) * draw.choice([0.1, 0.5, 1.0], (4_000, 1))
    moved = curves + draw.choice([-0.01, 0.01], curves.shape)
    apart = np.abs(shape.split(curves) - shape.split(moved)).max()
    assert 0.01 < apart <= stretch * 0.01


def test_splitting_is_exact_and_of_the_row_alone() -> None:
    draw = np.random.default_rng(1)
    curves = draw.uniform(-1, 1, (700, 20))
    for norm in ("l1", "l2"):
        whole = Shape(20, 1.0, 1.0, norm)
        np.testing.assert_allclose(whole.join(whole.split(curves)), curves, atol=1e-14)
        short = Shape(20, 1.0, 0.1, norm)
        found = short.split(np.asfortranarray(curves))
        lengths = np.linalg.norm(found[:, 1:], 1 if norm == "l1" else 2, axis=1)
        assert lengths.max() <= short.radius and lengths.min() > 0.99 * short.radius
        np.testing.assert_allclose(found[:, 0], short.weight * curves.mean(axis=1), atol=1e-14)
        for row in (0, 17, 699):
            assert np.array_equal(short.split(curves[row : row + 1])[0], found[row])


@pytest.mark.parametrize("scale", [1e-200, 1e200])
def test_splitting_knows_no_unit(scale: float) -> None:
    curves = np.random.default_rng(2).uniform(-1, 1, (10, 5))
    plain, scaled = (Shape(5, half, 0.1 * half, "l2") for half in (1.0, scale))
    np.testing.assert_allclose(scaled.split(curves * scale) / scale, plain.split(curves), rtol=1e-12)


def test_the_weight_leaves_least_noise() -> None:
    for norm in ("l1", "l2"):
        shape = Shape(1_000_000, 0.5, 0.001, norm)

        def noise(weight: float, shape: Shape = shape, norm: str = norm) -> float:
            level, ball = weight * shape.half, shape.radius
            moved = level + ball if norm == "l1" else np.hypot(level, ball)
            return float(moved * np.sqrt(1 + 1 / weight**2))

        least = noise(shape.weight)
        assert least <= min(noise(0.95 * shape.weight), noise(1.05 * shape.weight))
        ratio = shape.radius / shape.half
        known = (1 + shape.weight**2) ** 1.5 if norm == "l1" else 1 + ratio
        assert least == pytest.approx(shape.half * known)


STEEP = dc.Schema(
    {
        "size": dc.Number(0, 2, step=1, missing=False),
        "kind": dc.Category("a", "b", missing=False, other=False),
    }
)


def steep_rows(count: int) -> pd.DataFrame:
    rows = list(itertools.product([0, 1, 2], ["a", "b"]))
    return pd.DataFrame([rows[number % 6] for number in range(count)], columns=list(STEEP))


def steep(rows: np.ndarray) -> np.ndarray:
    return 0.3 + 0.1 * rows[:, 0] + 0.2 * rows[:, 1]


@pytest.mark.once_per("relation")
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_bands_cover_at_least_as_often_as_they_say(relation: str, mechanism: str) -> None:
    """The band holds the mean of whole curves, though half of every shape is clipped off."""
    plan = dc.partial_dependence(
        dc.Model(steep, bounds=(0, 1), name="steep"),
        "size",
        curve="centred",
        shape_clip=0.1 / 3 if mechanism == "laplace" else 0.1 / np.sqrt(6),
        clip=False,
        epsilon=1.0,
        delta=1e-5,
        mechanism=mechanism,
    )
    clipped = 0.5 + 0.05 * np.arange(-1, 2)
    program = plan.prepare(Setting(STEEP, relation, 300 if relation == "replace-one" else None))
    releaser = SimulatedReleaser(PrivateTable(steep_rows(300), STEEP), seed=0)
    curves = [program.finish(releaser) for _ in range(2_000)]
    whole, lost = 0.5 + 0.1 * np.arange(-1, 2), np.array([0.05, 0.0, 0.05])
    inside = np.mean([(np.array(c.low) <= whole) & (whole <= np.array(c.high)) for c in curves])
    assert inside > 0.94  # 6,000 draws at 0.95 or more
    if relation == "replace-one":
        assert inside < 0.99
        ends = [(np.array(c.low) + lost, np.array(c.high) - lost) for c in curves]
        held = np.mean([(low <= whole) & (whole <= high) for low, high in ends])
        assert held < 0.8, "noise alone does not say what a clip takes"
        errors = np.std([np.array(c.y) - clipped for c in curves])
        assert errors == pytest.approx(curves[0].noise_std, rel=0.05)
        priced, curve = program.expected_error["curve"], curves[0]
        assert curve.high[0] - curve.low[0] == pytest.approx(2 * priced.error)
    assert curves[0].quantity == "mean value, shape clipped"
    assert abs(np.mean([c.y for c in curves], axis=0) - clipped).max() < 0.01


def error_of(model: dc.Model, rows: int | None, **options: Any) -> tuple[float, bool]:
    schema = dc.Schema({"x": dc.Number(-1, 1, missing=False), "y": dc.Number(-1, 1, missing=False)})
    plan = dc.partial_dependence(model, "x", epsilon=1.0, **options)
    program = plan.prepare(Setting(schema, "replace-one" if rows else "add-remove", rows))
    return program.expected_error["curve"].error, program.stages[0].contribution.size == 21


@pytest.mark.parametrize("delta", [0.0, 1e-6])
@pytest.mark.parametrize("rows", [300, None])
def test_auto_takes_level_and_shape_where_curves_are_flat(delta: float, rows: int | None) -> None:
    flat = dc.Model(lambda r: 0.5 + 0.05 * r[:, 0] + 0.4 * r[:, 1], bounds=(0, 1), name="flat")
    jumpy = dc.Model(lambda r: (r[:, 0] > r[:, 1]) * 1.0, bounds=(0, 1), name="jumpy")
    whole, _ = error_of(flat, rows, delta=delta)
    less, centred = error_of(flat, rows, delta=delta, curve="auto")
    assert centred and less < whole / 2
    if rows is not None and delta == 0.0:
        # Half a jump cut off costs more than noise among so many records.
        many, _ = error_of(jumpy, 10**8, delta=delta)
        assert error_of(jumpy, 10**8, delta=delta, curve="auto")[0] <= many


def test_a_model_that_ignores_the_feature_has_a_short_shape() -> None:
    ignoring = dc.Model(lambda r: 0.5 + 0.4 * r[:, 1], bounds=(0, 1), name="ignoring")
    whole, _ = error_of(ignoring, 1_000)
    assert error_of(ignoring, 1_000, curve="centred")[0] < whole / 4


def test_certificates_say_where_shapes_are_clipped() -> None:
    stage = centred_stage("replace-one", "laplace")
    said = " ".join(stage.certificate.assumptions)
    assert "clipped to 0.17 around its own mean " in said
    assert "an answer of the model moves by at most 1.81899e-12" in said
    assert "pdp-centred" in stage.certificate.statements


def test_models_in_single_precision_pay_for_it() -> None:
    def single(rows: np.ndarray) -> np.ndarray:
        return (0.5 + 0.1 * rows[:, 0]).astype(np.float32)

    double = dc.Model(lambda rows: 0.5 + 0.1 * rows[:, 0], bounds=(0, 1), name="double")
    cheap, _ = error_of(double, 1_000, curve="centred", shape_clip=0.1)
    options = {"curve": "centred", "shape_clip": 0.1}
    dear, _ = error_of(dc.Model(single, bounds=(0, 1), name="single"), 1_000, **options)
    assert dear > cheap
    with pytest.raises(dc.errors.ModelError, match="model must answer in double precision"):
        error_of(dc.Model(single, bounds=(0, 1), name="single"), None, **options)


def test_gaussian_needs_a_delta() -> None:
    with pytest.raises(ArgumentError, match="delta must be positive for the Gaussian"):
        error_of(MODEL_FLAT, 100, curve="centred", mechanism="gaussian")


MODEL_FLAT = dc.Model(lambda rows: 0.5 + 0.1 * rows[:, 0], bounds=(0, 1), name="flat too")


CROWDED = dc.Schema({f"x{i}": dc.Number(0, 1, missing=False) for i in range(8)})


def undecided(rows: np.ndarray) -> np.ndarray:
    """Sure of itself almost everywhere in the schema, and in two minds where the records are."""
    return 1 / (1 + np.exp(-6 * (rows.sum(axis=1) - 1.0)))


def crowded_error(curve: str, rows: int) -> tuple[float, float, float]:
    """Return the exact error of a curve's mean, the noise on it, and half the band, all at most."""
    frame = pd.DataFrame(np.random.default_rng(0).random((400, 8)) / 4, columns=list(CROWDED))
    model = dc.Model(undecided, bounds=(0, 1), name="undecided")
    plan = dc.partial_dependence(model, "x0", rug=False, curve=curve, clip=False, epsilon=1.0)  # type: ignore[arg-type]
    program = plan.prepare(Setting(CROWDED, "replace-one", rows))
    stage = program.stages[0]
    (raw,) = add_up(PrivateTable(frame, CROWDED), [Summand(stage.contribution, stage.noise.step)])
    grid = CROWDED["x0"].grid(20)
    exact = np.array([undecided(frame.assign(x0=value).to_numpy()).mean() for value in grid])
    found = program.finish(_Exactly(raw * stage.noise.step / 400 * rows))
    assert isinstance(found, dc.Curve)
    off = float(np.abs(np.array(found.y) - exact).max())
    return off, found.noise_std, (found.high[0] - found.low[0]) / 2


class _Exactly:
    """Answers the one stage with sums without noise."""

    def __init__(self, sums: np.ndarray) -> None:
        self.sums = sums

    def answer(self, *stages: Any) -> list[np.ndarray]:
        return [self.sums]


@pytest.mark.parametrize("rows", [200, 400, 1_000, 5_000])
def test_auto_does_not_clip_the_features_that_matter(rows: int) -> None:
    """Public rows have nearly flat curves, records do not: a clip for the former ruins the curve."""
    auto, noise, _ = crowded_error("auto", rows)
    _, whole, _ = crowded_error("whole", rows)
    assert np.hypot(auto, noise) <= 1.1 * whole


def test_bands_hold_the_bias_of_a_clip_where_records_crowd() -> None:
    off, _, half = crowded_error("centred", 100)
    assert off <= half
