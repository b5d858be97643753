"""Histograms: exact counts below the noise, honest bands, clear refusals."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable, Summand, add_up
from discreet.errors import ArgumentError
from discreet.plans import Setting
from discreet.plans.stages.counts import onto_total
from discreet.privacy.accounting import CountGaussianEvent
from discreet.tables.histogram.plan import whole_counts
from tests.laws.examples import Example

SCHEMA = dc.Schema(
    {
        "size": dc.Number(0, 2, step=1, missing=False),
        "kind": dc.Category("a", "b", missing=False, other=False),
        "mass": dc.Number(0, 1, missing=False),
    }
)


def simulate(frame: pd.DataFrame, plan: Any, seed: int = 0, **options: Any) -> Any:
    terms = {
        "dataset": "d",
        "epsilon": 1e5,
        "delta": 1e-6,
        "ledger": ":memory:",
        "seed": seed,
        "workers": 1,
    }
    return dc.protect(frame, SCHEMA, **{**terms, **options}).release(plan).value


def some_rows(rows: int = 500) -> pd.DataFrame:
    draw = np.random.default_rng(1)
    return pd.DataFrame(
        {
            "size": draw.integers(0, 3, rows),
            "kind": draw.choice(["a", "b"], rows),
            "mass": draw.random(rows),
        }
    )


def test_counts_are_exact_below_the_noise() -> None:
    frame = some_rows()
    value = simulate(frame, dc.histogram(["size", "kind"], epsilon=1e3))
    expected = pd.crosstab(frame["size"], frame["kind"]).to_numpy()
    assert np.array_equal(value.to_array(), expected)
    assert value.labels == (("0", "1", "2"), ("a", "b"))
    table = value.to_frame()
    assert table["count"].sum() == len(frame) and list(table.columns[:2]) == ["size", "kind"]


def test_numeric_cells_cover_the_range_once() -> None:
    frame = some_rows()
    value = simulate(frame, dc.histogram("mass", bins={"mass": 7}, epsilon=1e3))
    assert np.array_equal(value.counts, np.histogram(frame["mass"], bins=7, range=(0, 1))[0])


def moves(before: pd.DataFrame, after: pd.DataFrame, relation: str) -> np.ndarray:
    """Return how far the raw counts of two tables are apart."""
    plan = dc.histogram(["size", "kind"], epsilon=1.0)
    (stage,) = plan.prepare(Setting(SCHEMA, relation, None)).stages
    counts = [
        add_up(PrivateTable(frame, SCHEMA, "add-remove"), [Summand(stage.contribution, 1.0)])[0]
        for frame in (before, after)
    ]
    return np.abs(counts[0] - counts[1])


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_neighbours_move_counts_as_certified(relation: str) -> None:
    rows = list(itertools.product([0, 1, 2], ["a", "b"], [0.5]))
    plan = dc.histogram(["size", "kind"], epsilon=1.0)
    (stage,) = plan.prepare(Setting(SCHEMA, relation, None)).stages
    worst = 0.0
    for first, second in itertools.product(rows, rows):
        before = pd.DataFrame([rows[0], first], columns=list(SCHEMA))
        after = [rows[0], second] if relation == "replace-one" else [rows[0]]
        moved = moves(before, pd.DataFrame(after, columns=list(SCHEMA)), relation)
        worst = max(worst, moved.sum())
    assert worst == stage.certificate.sensitivity("l1", relation) == stage.noise.sensitivity


def test_the_noise_follows_the_relation_and_the_delta() -> None:
    def noise(relation: str, **options: Any) -> Any:
        plan = dc.histogram("kind", epsilon=0.1, **options)
        return plan.prepare(Setting(SCHEMA, relation, None)).stages[0].noise

    assert noise("replace-one").scale == pytest.approx(20)
    assert noise("add-remove").scale == pytest.approx(10)
    gaussian = noise("replace-one", delta=1e-6, mechanism="gaussian")
    assert isinstance(gaussian.event, CountGaussianEvent) and gaussian.event.moves == 2
    assert noise("replace-one", delta=1e-6).name == "laplace"  # less noise at this epsilon


@pytest.mark.parametrize("mechanism", ["laplace", "gaussian"])
def test_bands_cover_as_often_as_they_say(mechanism: str) -> None:
    frame = some_rows(60)
    plan = dc.histogram(["size", "kind"], clip=False, epsilon=0.5, delta=1e-6, mechanism=mechanism)
    exact = pd.crosstab(frame["size"], frame["kind"]).to_numpy().ravel()
    program = plan.prepare(Setting(SCHEMA, "replace-one", len(frame)))
    releaser = SimulatedReleaser(PrivateTable(frame, SCHEMA), seed=0)
    values = [program.finish(releaser) for _ in range(2_000)]
    inside = np.mean([np.abs(np.asarray(v.counts) - exact) <= v.half_width for v in values])
    assert 0.945 < inside < 0.985  # 12,000 draws; whole steps make a band cover a little more


def test_clip_raises_negative_counts_to_zero() -> None:
    frame = some_rows(3)
    raw = simulate(frame, dc.histogram(["size", "kind"], clip=False, epsilon=0.1), 5)
    clipped = simulate(frame, dc.histogram(["size", "kind"], consistent=False, epsilon=0.1), 5)
    assert min(raw.counts) < 0 and min(clipped.counts) == 0
    assert clipped.counts == tuple(max(count, 0) for count in raw.counts)


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_consistent_counts_are_whole_and_add_up(relation: str) -> None:
    frame = some_rows(60)
    plan = dc.histogram(["size", "kind"], consistent=True, epsilon=0.2)
    program = plan.prepare(Setting(SCHEMA, relation, 60 if relation == "replace-one" else None))
    releaser = SimulatedReleaser(PrivateTable(frame, SCHEMA, relation), seed=0)
    exact = pd.crosstab(frame["size"], frame["kind"]).to_numpy().ravel()
    values = [program.finish(releaser) for _ in range(500)]
    for value in values:
        assert min(value.counts) >= 0 and all(count == int(count) for count in value.counts)
        assert relation == "add-remove" or sum(value.counts) == 60
    inside = [np.abs(np.asarray(v.counts) - exact) <= v.half_width for v in values]
    assert np.mean(inside) > 0.945


def sparse_rows(rows: int = 2_000) -> pd.DataFrame:
    mass = np.where(np.random.default_rng(3).random(rows) < 0.9, 0.0, 0.35)
    return pd.DataFrame({"size": 0, "kind": "a", "mass": mass})


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
def test_sums_over_mostly_empty_cells_are_not_ruined_by_default(relation: str) -> None:
    frame = sparse_rows()
    releaser = SimulatedReleaser(PrivateTable(frame, SCHEMA, relation), seed=0)
    setting = Setting(SCHEMA, relation, len(frame) if relation == "replace-one" else None)
    off = {}
    for name, options in {
        "default": {},
        "clipped": {"consistent": False},
        "raw": {"clip": False},
    }.items():
        program = dc.histogram("mass", bins=300, epsilon=0.1, **options).prepare(setting)
        (exact,) = (releaser.exact(stage) for stage in program.stages)
        errors = [
            np.cumsum(np.asarray(program.finish(releaser).counts) - exact)[10::10] for _ in range(100)
        ]
        off[name] = float(np.mean(np.abs(errors)))
    assert off["default"] < 1.1 * off["raw"] and off["default"] < off["clipped"] / 5, off


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("epsilon", [0.1, 2.0])
def test_bands_hold_by_default(relation: str, epsilon: float) -> None:
    frame = sparse_rows()
    releaser = SimulatedReleaser(PrivateTable(frame, SCHEMA, relation), seed=0)
    setting = Setting(SCHEMA, relation, len(frame) if relation == "replace-one" else None)
    program = dc.histogram("mass", bins=60, epsilon=epsilon).prepare(setting)
    (exact,) = (releaser.exact(stage) for stage in program.stages)
    values = [program.finish(releaser) for _ in range(400)]
    inside = [np.abs(np.asarray(value.counts) - exact) <= value.half_width for value in values]
    assert np.mean(inside, axis=0).min() > 0.92
    if setting.rows is not None:
        assert {sum(value.counts) for value in values} == {setting.rows}


def squared_errors(total: float) -> tuple[float, float]:
    """Return the greatest growth of the squared error by projection, and the mean error after it."""
    exact, draw = np.array([40.0, 12.0, 0.0, 0.0, 3.0]), np.random.default_rng(0)
    noisy = exact + draw.laplace(0, 5, (2_000, 5))
    after = ((onto_total(noisy, total) - exact) ** 2).sum(axis=1)
    before = ((noisy - exact) ** 2).sum(axis=1)
    return float(np.max(after - before)), float(np.mean(after) / np.mean(before))


@pytest.mark.proves("histogram-total")
def test_the_known_total_never_adds_to_the_squared_error() -> None:
    worst, share = squared_errors(55.0)
    assert worst <= 1e-9 and share < 0.7
    counts = whole_counts(onto_total(np.array([3.3, -1.0, 2.9]), 6.0), 6)
    assert counts.sum() == 6 and counts.min() >= 0


@pytest.mark.refutes("histogram-total")
def test_a_wrong_total_adds_to_the_squared_error() -> None:
    worst, _ = squared_errors(75.0)
    assert worst > 10


@pytest.mark.refutes("histogram")
def test_noise_of_scale_one_over_epsilon_loses_twice_epsilon() -> None:
    epsilon, reach = 0.5, np.arange(-40, 41)
    law = np.exp(-epsilon * np.abs(reach))  # up to a constant: the published noise on one count
    first, second = np.log(law[:-1] / law[1:]), np.log(law[1:] / law[:-1])
    assert np.max(first[:, None] + second[None, :]) == pytest.approx(2 * epsilon)


def test_too_many_cells_are_refused() -> None:
    schema = dc.Schema(
        {"mass": dc.Number(0, 1, missing=False), "length": dc.Number(0, 1, missing=False)}
    )
    with pytest.raises(ArgumentError, match="at most 4194304 cells together"):
        dc.histogram(["mass", "length"], bins=2_100, epsilon=1.0).prepare(
            Setting(schema, "replace-one", 10)
        )


@pytest.mark.parametrize("columns", [[], ["kind", "kind"]])
def test_columns_are_named_once(columns: list[str]) -> None:
    with pytest.raises(ArgumentError, match="columns must be one or more different names"):
        dc.histogram(columns, epsilon=1.0)


def test_pictures_of_one_and_two_columns() -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    frame = some_rows()
    one = simulate(frame, dc.histogram("mass", epsilon=1.0)).plot(title="one")
    two = simulate(frame, dc.histogram(["size", "kind"], epsilon=1.0)).plot()
    many = simulate(frame, dc.histogram("mass", bins=200, epsilon=1.0)).plot()
    assert len(many.ax_.patches) == 200 and len(many.ax_.collections) == 1
    assert len(one.ax_.patches) == 20 and one.ax_.get_title(loc="left") == "one"
    assert len(two.ax_.images) == 1 and two.figure_ is two.ax_.figure
    with pytest.raises(ArgumentError, match="one or two to be drawn"):
        simulate(frame, dc.histogram(["size", "kind", "mass"], epsilon=1.0)).plot()
    plt.close("all")


EXAMPLES = [
    Example("histogram", lambda _: dc.histogram("income", bins=6, epsilon=1.0)),
    Example(
        "histogram",
        lambda _: dc.histogram(["home", "paid"], mechanism="gaussian", epsilon=1.0, delta=1e-5),
    ),
    Example("histogram", lambda _: dc.histogram("income", bins=64, ranges=True, epsilon=1.0)),
]
