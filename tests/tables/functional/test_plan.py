"""Mean curves: the bound attacked, the noise measured, the published way beside ours."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable, Summand, add_up
from discreet.errors import ArgumentError
from discreet.plans import Setting
from discreet.tables.functional.kernels import KERNELS, best_penalty, spectrum
from tests.laws.examples import Example

NAMES = tuple(f"h{hour}" for hour in range(12))
SCHEMA = dc.Schema({name: dc.Number(-1, 3, missing=False) for name in NAMES})
SHAPES = ("white", "process")
TERMS: dict[str, Any] = {"epsilon": 1.0, "delta": 1e-6}


def curves(rows: int = 400, seed: int = 0) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    t = np.linspace(0, 1, len(NAMES))
    heights = 1 + np.sin(2 * np.pi * t) * draw.uniform(0.5, 1.5, (rows, 1))
    return pd.DataFrame(heights + draw.normal(0, 0.2, heights.shape), columns=list(NAMES))


def released(plan: Any, frame: pd.DataFrame, *, relation: str = "replace-one", seed: int = 1) -> Any:
    session = dc.protect(
        frame,
        SCHEMA,
        dataset="d",
        epsilon=1e5,
        delta=1e-3,
        ledger=":memory:",
        relation=relation,
        seed=seed,
    )
    return session.release(plan).value


def sums(frame: pd.DataFrame, stage: Any, relation: str = "replace-one") -> Any:
    table = PrivateTable(frame, SCHEMA, relation)
    return add_up(table, [Summand(stage.contribution, stage.noise.step)])[0]


def prepared(relation: str = "replace-one", rows: int = 3, **options: Any) -> Any:
    setting = Setting(SCHEMA, relation, rows if relation == "replace-one" else None)
    return dc.functional_mean(NAMES, **TERMS, **options).prepare(setting)


def worst_curves(noise: str, kernel: str) -> list[np.ndarray]:
    """Curves of the greatest length along every eigenvector, and random corners."""
    found = spectrum(range(len(NAMES)), kernel, 0.3, 1.5)
    draw = np.random.default_rng(7)
    directions = [*found.basis.T, *draw.choice([-1.0, 1.0], (10, len(NAMES)))]
    return [direction / found.roots for direction in directions]


@pytest.mark.proves("rkhs-mean")
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("noise", SHAPES)
@pytest.mark.parametrize("kernel", KERNELS)
def test_no_pair_of_curves_moves_the_sum_further(kernel: str, noise: str, relation: str) -> None:
    stage = prepared(relation, kernel=kernel, noise=noise, clip=0.8, penalty=0.01).stages[0]
    bound = stage.certificate.sensitivity("l2", relation)
    rest = curves(2)
    worst = 0.0
    for direction in worst_curves(noise, kernel):
        plus, minus = (
            pd.DataFrame([1 + sign * 9 * direction], columns=list(NAMES)) for sign in (1, -1)
        )
        first = sums(pd.concat([rest, plus]), stage, relation)
        second = sums(rest if relation == "add-remove" else pd.concat([rest, minus]), stage, relation)
        worst = max(worst, float(np.linalg.norm((first - second) * stage.noise.step)))
    assert worst <= bound
    assert worst > 0.7 * bound, "the search must come near what is certified"


@pytest.mark.refutes("rkhs-mean")
@pytest.mark.parametrize("fault", ["not shortened", "another penalty"])
def test_a_wrong_length_or_gain_is_caught(fault: str) -> None:
    stage = prepared(noise="process", clip=0.8, penalty=0.01).stages[0]
    wrong = {"clip": None} if fault == "not shortened" else {"penalty": 0.0001, "clip": 0.8}
    planted = prepared(noise="process", **{"penalty": 0.01, **wrong}).stages[0].contribution
    moved = 0.0
    for direction in worst_curves("process", "matern"):
        ends = []
        for sign in (1, -1):
            frame = pd.DataFrame([1 + sign * 9 * direction], columns=list(NAMES))
            ends.append(sums(frame, replace(stage, contribution=planted)))
        moved = max(moved, float(np.linalg.norm((ends[0] - ends[1]) * stage.noise.step)))
    assert moved > stage.certificate.sensitivity("l2", "replace-one")


@pytest.mark.refutes("rkhs-mean")
def test_replacing_at_the_price_of_coming_or_going_is_caught() -> None:
    stage = prepared(clip=0.8, penalty=0.01).stages[0]
    moved = 0.0
    for direction in worst_curves("white", "matern"):
        ends = [
            sums(pd.DataFrame([1 + sign * 9 * direction], columns=list(NAMES)), stage)
            for sign in (1, -1)
        ]
        moved = max(moved, float(np.linalg.norm((ends[0] - ends[1]) * stage.noise.step)))
    assert moved > stage.certificate.sensitivity("l2", "add-remove")


@pytest.mark.proves("rkhs-mean")
@pytest.mark.parametrize("kernel", KERNELS)
@pytest.mark.parametrize("rho", [1e-4, 1e-2, 1.0])
def test_white_noise_is_never_more_than_a_path(kernel: str, rho: float) -> None:
    found = spectrum(range(40), kernel, 0.3, 1.5)
    left = {
        shape: np.sum((found.shares(rho) / found.gains(rho, shape)) ** 2)
        * found.gains(rho, shape).max() ** 2
        for shape in SHAPES
    }
    assert left["white"] <= left["process"]
    assert found.gains(rho, "process").max() <= 1 / (2 * np.sqrt(rho)) + 1e-12


def shrunk(frame: pd.DataFrame, rho: float) -> np.ndarray:
    found = spectrum(range(len(NAMES)), "matern", 0.3, 1.5)
    mean = (frame.clip(-1, 3).mean().to_numpy() - 1) * found.roots
    return 1 + (found.basis * found.shares(rho)) @ (found.basis.T @ mean) / found.roots


@pytest.mark.parametrize("noise", SHAPES)
def test_both_ways_shrink_to_the_same_curve(noise: str) -> None:
    frame, stage = curves(), prepared(rows=400, noise=noise, penalty=0.02).stages[0]
    back = spectrum(range(len(NAMES)), "matern", 0.3, 1.5).from_noise(0.02, noise)
    exact = 1 + back @ (sums(frame, stage) * stage.noise.step) / len(frame)
    assert np.allclose(exact, shrunk(frame, 0.02), atol=1e-3)


@pytest.mark.parametrize("noise", SHAPES)
def test_noise_has_the_covariance_it_should(noise: str) -> None:
    """A wrong covariance (the other shape's) is 2 to 10 times off somewhere on the diagonal."""
    program = prepared(rows=50, noise=noise, penalty=0.05)
    stage, found = program.stages[0], spectrum(range(len(NAMES)), "matern", 0.3, 1.5)
    releaser = SimulatedReleaser(PrivateTable(curves(50), SCHEMA), seed=0)
    draws = np.array([program.finish(releaser).y for _ in range(600)])
    back = found.from_noise(0.05, noise)
    expected = (stage.noise.std / 50) ** 2 * back @ back.T
    seen = np.cov(draws.T)
    assert np.allclose(np.diag(seen) / np.diag(expected), 1, atol=0.3)
    spread = np.sqrt(np.outer(np.diag(expected), np.diag(expected)))
    assert np.max(np.abs(seen - expected) / spread) < 0.25


def test_bands_hold_the_shrunk_curve() -> None:
    frame = curves(300)
    plan = dc.functional_mean(NAMES, penalty=0.02, **TERMS)
    exact = shrunk(frame, 0.02)
    for relation, rows in (("replace-one", len(frame)), ("add-remove", None)):
        program = plan.prepare(Setting(SCHEMA, relation, rows))  # type: ignore[arg-type]
        releaser = SimulatedReleaser(PrivateTable(frame, SCHEMA, relation), seed=0)  # type: ignore[arg-type]
        inside = []
        for _ in range(40):
            value: Any = program.finish(releaser)
            inside.append((np.array(value.low) <= exact) & (exact <= np.array(value.high)))
        assert 0.9 <= np.mean(inside) <= 1.0


def test_terms_that_are_left_out_are_stated() -> None:
    value = released(dc.functional_mean(NAMES, terms=3, penalty=0.01, **TERMS), curves())
    found = spectrum(range(len(NAMES)), "matern", 0.3, 1.5)
    # A curve may be as long as 2 at every point: the root of its mean square is 2.
    longest = 2 * np.linalg.norm(found.roots)
    assert value.terms == 3
    assert value.truncation == pytest.approx(longest * found.shares(0.01)[3])


def test_the_penalty_grows_with_the_noise() -> None:
    found = spectrum(range(30), "matern", 0.3, 1.5)
    chosen = [best_penalty(found, "white", noise, 1.0) for noise in (1e-3, 1e-2, 1e-1, 1.0)]
    assert chosen == sorted(chosen) and chosen[0] < chosen[-1]


def test_eigenvalues_of_the_wiener_kernel() -> None:
    found = spectrum(range(1, 401), "wiener", 0.3, 1.5)
    exact = 1 / ((np.arange(1, 6) - 0.5) * np.pi) ** 2
    assert np.allclose(found.eigenvalues[:5], exact, rtol=5e-3)


def test_missing_and_far_values_stay_finite() -> None:
    frame = curves()
    frame.iloc[0, 0], frame.iloc[1, 1] = np.nan, 1e300
    assert np.isfinite(released(dc.functional_mean(NAMES, **TERMS), frame).y).all()


def test_saved_and_drawn(tmp_path: Any) -> None:
    session = dc.protect(curves(), SCHEMA, dataset="d", epsilon=2, delta=1e-3, ledger=":memory:")
    release = session.release(dc.functional_mean(NAMES, axis="hour", **TERMS))
    release.save(tmp_path / "mean.json")
    assert dc.Release.load(tmp_path / "mean.json").value == release.value
    display = release.plot()
    assert display.ax_.get_xlabel() == "hour"


@pytest.mark.parametrize(
    ("wrong", "sentence"),
    [
        ({"columns": ["h0"]}, "columns must be two or more"),
        ({"points": [3, 2, 1]}, "points must be 12 ascending"),
        ({"kernel": "cosine"}, "kernel must be one of"),
        ({"delta": 0}, "delta must be above zero"),
        ({"penalty": -1}, "penalty must be"),
        ({"kernel": "matern", "smoothness": 3}, "smoothness must be"),
        ({"noise": "pink"}, "noise must be one of"),
    ],
)
def test_wrong_arguments_are_named(wrong: dict[str, Any], sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        dc.functional_mean(**{"columns": NAMES, **TERMS, **wrong})


@pytest.mark.parametrize("wrong", [{"lengthscale": 5e-324}, {"points": [*range(11), 1.7e308]}])
def test_distances_that_are_not_finite_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ArgumentError, match="finite distances"):
        dc.functional_mean(**{"columns": NAMES, **TERMS, **wrong})


def test_categories_are_refused() -> None:
    schema = dc.Schema(
        {"a": dc.Number(0, 1, missing=False), "b": dc.Category("x", "y", missing=False, other=False)}
    )
    with pytest.raises(ArgumentError, match="columns must be numbers"):
        dc.functional_mean(["a", "b"], **TERMS).prepare(Setting(schema, "replace-one", 10))


GAPS = dc.Schema({name: dc.Number(-1, 3) for name in NAMES})


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_records_with_a_missing_point_are_not_in_the_part(relation: str) -> None:
    """Their number is private: it is counted, and the mean is that of the others."""
    frame = curves(3000)
    frame.iloc[:1000, 0] = 3.0
    frame.iloc[:1000, 5] = np.nan
    terms: Any = {"epsilon": 1000, "delta": 1e-3, "ledger": ":memory:", "seed": 1}
    session = dc.protect(frame, GAPS, dataset="d", relation=relation, **terms)
    plan = dc.functional_mean(NAMES, penalty=1e-9, epsilon=20, delta=1e-4)
    release = session.release(plan)
    expected = frame.iloc[1000:].clip(-1, 3).mean().to_numpy()
    assert np.array(release.value.y) == pytest.approx(expected, abs=0.02)
    assert {"part", "rkhs-mean"} <= set(release.guarantee.statements)


@pytest.mark.proves("part")
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_curves_that_come_into_the_part_move_the_sum_no_farther(relation: str) -> None:
    setting = Setting(GAPS, relation, 3 if relation == "replace-one" else None)  # type: ignore[arg-type]
    plan = dc.functional_mean(NAMES, clip=0.8, penalty=0.01, **TERMS)
    stage: Any = plan.prepare(setting).stages[0]
    bound = stage.certificate.sensitivity("l2", relation)
    gone = pd.DataFrame([[np.nan] * len(NAMES)], columns=list(NAMES))

    def total(frame: pd.DataFrame) -> Any:
        table = PrivateTable(frame, GAPS, relation)  # type: ignore[arg-type]
        return add_up(table, [Summand(stage.contribution, stage.noise.step)])[0]

    rest = curves(2)
    for direction in worst_curves("white", "matern")[:4]:
        one = pd.DataFrame([1 + 9 * direction], columns=list(NAMES))
        moved = total(pd.concat([rest, one])) - total(pd.concat([rest, gone]))
        assert 0 < np.linalg.norm(moved * stage.noise.step) <= bound


EXAMPLES = [
    Example(
        "functional_mean",
        lambda _: dc.functional_mean(["income", "debt", "age"], epsilon=1.0, delta=1e-5),
    ),
    Example(
        "functional_mean",
        lambda _: dc.functional_mean(
            ["income", "debt", "age"], noise="process", epsilon=1.0, delta=1e-5
        ),
    ),
]
