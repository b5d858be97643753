"""Backgrounds: bounds over all neighbours, rows made of released numbers, useful rows."""

from __future__ import annotations

import itertools
import json
import sys
from fractions import Fraction
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable, Summand, add_up
from discreet.errors import ArgumentError
from discreet.explain.shap.background import Background, background
from discreet.numerics import to_units
from discreet.plans import Program, Result, Setting
from discreet.plans.stages.means import certify_mean, mean_contribution
from discreet.privacy.certificate import (
    NORMS,
    Certificate,
)
from discreet.privacy.relation import RELATIONS, Relation
from tests.laws.examples import Example
from tests.oracles.norms import within

TINY = dc.Schema(
    {
        "size": dc.Number(0, 2, step=1, missing=False),
        "kind": dc.Category("a", "b", "c", missing=False, other=False),
        "mass": dc.Number(-3, 5, missing=False),
        "good": dc.Category(False, True, missing=False, other=False),
        "paid": dc.Category(0, 1, missing=False, other=False),
    },
    target="paid",
)
ROWS = list(itertools.product([0, 1, 2], ["a", "b"], [-3.0, 0.5, 5.0], [False, True], [0]))
ORDER = {"l1": 1, "l2": 2, "linf": np.inf}
STEP = 2.0**-40


GAPS = dc.Schema(
    {"size": dc.Number(0, 2, step=1), "kind": dc.Category("a", "b"), "mass": dc.Number(-3, 5)}
)
"""Columns of which all may be missing."""

WITH_GAPS = list(itertools.product([0, 1, 2, None], ["a", "b", "x", None], [-3.0, 0.5, 5.0, None]))


def raw_sum(contribution: Any, rows: list[Any], schema: dc.Schema = TINY) -> np.ndarray:
    table = PrivateTable(pd.DataFrame(rows, columns=list(schema)), schema, "add-remove")
    return add_up(table, [Summand(contribution, STEP)])[0]


def moves(
    contribution: Any, relation: Relation, rows: list[Any] = ROWS, schema: dc.Schema = TINY
) -> list[np.ndarray]:
    """Return how the sums, in steps, move between all neighbours among tables of two rows."""
    alone = raw_sum(contribution, rows[:1], schema)
    with_row = [raw_sum(contribution, [rows[0], row], schema) for row in rows]
    if relation == "add-remove":
        return [moved - alone for moved in with_row]
    return [a - b for a, b in itertools.permutations(with_row, 2)]


def is_certified(moved: list[np.ndarray], exact: Certificate, relation: Relation) -> bool:
    bounds = exact.widen(STEP, "lattice").bounds[relation]
    return all(within(bounds, [Fraction(int(x)) * Fraction(STEP) for x in move]) for move in moved)


@pytest.mark.proves("background-mean")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("clip", [None, 1.2, 0.4, 99.0])
def test_no_neighbour_moves_the_means_further(clip: float | None, relation: Relation) -> None:
    contribution = mean_contribution(TINY, clip)
    moved = moves(contribution, relation)
    certificate = contribution.certificate
    assert is_certified(moved, certificate, relation)
    for norm in NORMS:
        worst = max(np.linalg.norm(move * STEP, ORDER[norm]) for move in moved)
        assert worst == pytest.approx(certificate.sensitivity(norm, relation), rel=1e-9)


@pytest.mark.proves("background-mean")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("clip", [None, 1.2, 0.4, 99.0])
def test_nor_does_a_neighbour_without_values(clip: float | None, relation: Relation) -> None:
    contribution = mean_contribution(GAPS, clip)
    moved = moves(contribution, relation, WITH_GAPS, GAPS)
    assert is_certified(moved, contribution.certificate, relation)


@pytest.mark.refutes("background-mean")
def test_cells_beside_clipped_numbers_that_are_forgotten_are_caught() -> None:
    contribution = mean_contribution(GAPS, 0.4)
    without = certify_mean(2, 1, 0.4, contribution.size)
    moved = moves(contribution, "replace-one", WITH_GAPS, GAPS)
    assert not is_certified(moved, without, "replace-one")


def test_the_mean_row_is_that_of_the_records_that_have_a_value() -> None:
    frame = pd.DataFrame({"size": [2.0] * 30 + [None] * 70, "kind": "a", "mass": 5.0})
    session = dc.protect(frame, GAPS, dataset="d", epsilon=2e6, ledger=":memory:", seed=1)
    rows = session.release(dc.background(kind="mean", rows=50, epsilon=1e6)).value.rows
    assert rows["size"].isna().sum() == 35
    assert rows["size"].dropna().to_numpy() == pytest.approx(2.0, abs=1e-3)


@pytest.mark.proves("background-mean")
@pytest.mark.parametrize(
    ("columns", "bounds"),
    [
        (["size", "mass"], (4.0, np.sqrt(8.0), 2.0)),
        (["kind", "good"], (4.0, 2.0, 1.0)),
        (["kind"], (2.0, np.sqrt(2.0), 1.0)),
    ],
)
def test_the_bounds_of_one_kind_of_column(columns: list[str], bounds: tuple[float, ...]) -> None:
    schema = dc.Schema({name: TINY[name] for name in columns})
    certificate = mean_contribution(schema).certificate
    found = [certificate.sensitivity(norm, "replace-one") for norm in NORMS]
    assert found == pytest.approx(bounds)


@pytest.mark.refutes("background-mean")
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_forgotten_clip_is_caught(relation: Relation) -> None:
    certificate = mean_contribution(TINY, 1.2).certificate
    assert not is_certified(moves(mean_contribution(TINY), relation), certificate, relation)


@pytest.mark.refutes("background-mean")
def test_a_category_counted_as_one_cell_is_caught() -> None:
    contribution = mean_contribution(TINY)
    one_cell = certify_mean(2, 1, np.sqrt(2.0), contribution.size)
    assert not is_certified(moves(contribution, "replace-one"), one_cell, "replace-one")


# Everything follows from what was released


class Scripted:
    """Hands out the same answers whatever the table is, as if noise had made them equal."""

    def __init__(self, seed: int) -> None:
        self.draw = np.random.default_rng(seed)

    def answer(self, *stages: Any) -> list[np.ndarray]:
        return [self._one(stage.noise) for stage in stages]

    def _one(self, noise: Any) -> np.ndarray:
        if hasattr(noise, "picks"):
            return np.arange(noise.picks, dtype=float)
        size = len(noise.places) if hasattr(noise, "places") else noise.certificate.size
        return self.draw.normal(5, 3, size)


class Peeking(background):
    """A planted fault: the first row is a record."""

    frame: ClassVar[pd.DataFrame]

    def prepare(self, setting: Setting) -> Program:
        honest = super().prepare(setting)

        def finish(releaser: Any) -> Background:
            made: Any = honest.finish(releaser)
            first = tuple(self.frame.iloc[0][list(made.columns)])
            return Background(**{**vars(made), "values": (first, *made.values[1:])})

        return Program(honest.stages, finish, honest.expected_error)


def same_for_all_tables(kind: str, relation: Relation, plan_type: type[background]) -> bool:
    made = []
    for rows in (ROWS[:10], ROWS[5:15]):
        plan = plan_type(kind, rows=20, epsilon=1.0)
        Peeking.frame = pd.DataFrame(rows, columns=list(TINY))
        setting = Setting(TINY, relation, 10 if relation == "replace-one" else None)
        made.append(plan.prepare(setting).finish(Scripted(3)))
    return made[0] == made[1]


@pytest.mark.proves("background-separator")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kind", ["mean", "sample"])
def test_equal_answers_give_equal_backgrounds_whatever_the_records(
    kind: str, relation: Relation
) -> None:
    assert same_for_all_tables(kind, relation, background)


@pytest.mark.refutes("background-separator")
@pytest.mark.parametrize("kind", ["mean", "sample"])
def test_a_background_that_holds_a_record_is_caught(kind: str) -> None:
    assert not same_for_all_tables(kind, "replace-one", Peeking)


def test_no_record_rides_along() -> None:
    frame = dc.samples.loans(3_000)
    frame.loc[:1_500, "income"] = 123_456.789  # half of the records, one value inside a cell
    frame.loc[0, "loan"] = 7_654.321
    made = released(frame, background(rows=2_000, epsilon=50.0))
    text = json.dumps(made.to_json())
    assert "123456.789" not in text and "7654.321" not in text
    assert not set(made.rows["income"]) & set(frame["income"])
    assert "defaulted" not in text
    mean = released(frame, background("mean", epsilon=50.0))
    assert not set(mean.rows["income"]) & set(frame["income"])


# Useful


def released(frame: pd.DataFrame, plan: Any, **options: Any) -> Background:
    return session(frame, **options).release(plan).value


def session(frame: pd.DataFrame, schema: dc.Schema | None = None, **options: Any) -> Any:
    terms = {
        "dataset": "d",
        "epsilon": 1e5,
        "delta": 1e-5,
        "ledger": ":memory:",
        "seed": 1,
        "workers": 1,
    }
    return dc.protect(frame, schema or dc.samples.loan_schema(), **{**terms, **options})


@pytest.fixture(scope="module")
def loans() -> pd.DataFrame:
    return dc.samples.loans(20_000)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_samples_resemble_the_records(loans: pd.DataFrame, relation: Relation, delta: float) -> None:
    made = released(loans, background(rows=1_000, epsilon=4.0, delta=delta), relation=relation)
    rows, truth = made.rows, loans.drop(columns="defaulted")
    assert list(rows) == list(truth) and len(made) == 1_000 and made.to_frame().equals(rows)
    assert {("age", "years_employed"), ("credit_score", "late_payments")} <= set(made.tree)
    for name in ("age", "income", "loan", "credit_score", "years_employed", "late_payments"):
        assert rows[name].mean() == pytest.approx(truth[name].mean(), abs=0.12 * truth[name].std())
        assert rows[name].std() == pytest.approx(truth[name].std(), rel=0.15)
    for name in ("home", "purpose"):
        shares = [frame[name].value_counts(normalize=True).sort_index() for frame in (rows, truth)]
        assert np.abs(shares[0] - shares[1]).max() < 0.02
    for a, b in (("age", "years_employed"), ("credit_score", "late_payments")):
        assert rows[a].corr(rows[b]) == pytest.approx(truth[a].corr(truth[b]), abs=0.12)


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("delta", [0.0, 1e-6])
def test_means_are_near_the_means(loans: pd.DataFrame, relation: Relation, delta: float) -> None:
    made = released(loans, background("mean", epsilon=1.0, delta=delta), relation=relation)
    rows, schema = made.rows, dc.samples.loan_schema()
    assert len(rows) == 100 and made.tree == ()
    for name, std in zip(made.columns, made.noise_std, strict=True):
        if isinstance(schema[name], dc.Number):
            assert rows[name].nunique() == 1
            assert rows[name][0] == pytest.approx(loans[name].mean(), abs=8 * std)
        else:
            shares = [frame[name].value_counts(normalize=True).sort_index() for frame in (rows, loans)]
            assert np.abs(shares[0] - shares[1]).max() < 0.01 + 8 * std  # whole rows of a hundred


def test_the_noise_is_what_is_said() -> None:
    schema = dc.Schema(
        {"a": dc.Number(0, 10, missing=False), "k": dc.Category("x", "y", missing=False, other=False)}
    )
    frame = pd.DataFrame({"a": np.linspace(2, 4, 500), "k": ["x", "y"] * 250})
    program = background("mean", epsilon=2.0).prepare(Setting(schema, "replace-one", 500))
    releaser = SimulatedReleaser(PrivateTable(frame, schema), seed=0)
    made: list[Any] = [program.finish(releaser) for _ in range(2_000)]
    spread = np.std([background_.rows["a"][0] for background_ in made])
    assert spread == pytest.approx(made[0].noise_std[0], rel=0.1)
    assert program.stages[0].noise.std / 500 == made[0].noise_std[1]
    priced = program.expected_error["scaled mean or share"].error
    inside = np.mean([abs(background_.rows["a"][0] - 3) < 5 * priced for background_ in made])
    assert 0.935 < inside < 0.965  # 2,000 draws at 0.95
    assert made[0].noise_std[0] == pytest.approx(5 * made[0].noise_std[1])


def test_a_clip_lowers_noise() -> None:
    setting = Setting(dc.samples.loan_schema(), "replace-one", 1_000)

    def std(clip: float | None, mechanism: Any) -> float:
        plan = background("mean", clip=clip, epsilon=1.0, delta=1e-5, mechanism=mechanism)
        return plan.prepare(setting).stages[0].noise.std

    assert std(1.0, "laplace") < std(None, "laplace") and std(1.0, "gaussian") < std(None, "gaussian")
    assert std(100.0, "laplace") == std(None, "laplace")


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("kind", ["mean", "sample"])
@pytest.mark.parametrize(
    "columns", [["size"], ["kind"], ["size", "mass"], ["kind", "good"], ["kind", "mass", "good"]]
)
def test_few_columns_of_any_kind(kind: str, relation: Relation, columns: list[str]) -> None:
    schema = dc.Schema({name: TINY[name] for name in columns})
    frame = pd.DataFrame(ROWS * 5, columns=list(TINY))[columns]
    made = released(frame, background(kind, epsilon=20.0), schema=schema, relation=relation)
    numbers_only = all(isinstance(schema[name], dc.Number) for name in columns)
    assert len(made) == (1 if kind == "mean" and numbers_only else {"mean": 100, "sample": 200}[kind])
    assert list(made.rows) == columns
    assert len(made.tree) == (len(columns) - 1 if kind == "sample" else 0)
    for name in columns:
        column = schema[name]
        if isinstance(column, dc.Number):
            assert made.rows[name].between(column.low, column.high).all()
        else:
            assert set(made.rows[name]) <= set(column.values)


@pytest.mark.parametrize("kind", ["mean", "sample"])
@pytest.mark.parametrize("relation", RELATIONS)
def test_noise_beyond_all_signal_still_makes_rows(kind: str, relation: Relation) -> None:
    frame = pd.DataFrame(ROWS[:3], columns=list(TINY))
    for seed in range(5):
        made = released(
            frame, background(kind, epsilon=1e-3), schema=TINY, relation=relation, seed=seed
        )
        assert made.rows["size"].between(0, 2).all() and set(made.rows["kind"]) <= {"a", "b", "c"}
    if relation == "add-remove":
        empty = released(frame[:0], background(kind, epsilon=1.0), schema=TINY, relation=relation)
        assert len(empty) > 0


def test_many_columns() -> None:
    schema = dc.Schema({f"c{number}": dc.Number(0, 1, missing=False) for number in range(60)})
    frame = pd.DataFrame(np.random.default_rng(0).random((500, 60)), columns=list(schema))
    frame["c59"] = frame["c3"]
    made = released(frame, background(epsilon=500.0), schema=schema)
    assert len(made.tree) == 59 and ("c3", "c59") in made.tree
    assert made.rows["c3"].corr(made.rows["c59"]) > 0.9


# What it goes into


def test_to_json_and_back_without_loss(loans: pd.DataFrame) -> None:
    for kind in ("mean", "sample"):
        release = session(loans).release(background(kind, epsilon=1.0))
        made = release.value
        assert Result.read(json.loads(json.dumps(made.to_json()))) == made
        again = type(release).loads(release.dumps()).value
        assert again == made and again.rows.equals(made.rows)


def test_encoded_rows_are_what_a_model_sees(loans: pd.DataFrame) -> None:
    schema = dc.samples.loan_schema()
    for kind in ("mean", "sample"):
        made = released(loans, background(kind, epsilon=1.0))
        codes = made.encoded(schema)
        assert codes.shape == (len(made), 8)
        for place, name in enumerate(made.columns):
            assert schema[name].decode(codes[:, place]).tolist() == made.rows[name].tolist()


@pytest.mark.slow
def test_into_shap(loans: pd.DataFrame) -> None:
    shap = pytest.importorskip("shap")
    numbers = ["age", "income", "credit_score"]
    full = dc.samples.loan_schema()
    schema = dc.Schema({name: full[name] for name in numbers})
    made = released(loans[numbers], background(epsilon=5.0), schema=schema)
    masker = made.to_shap()
    assert isinstance(masker, shap.maskers.Independent) and masker.data.shape == (200, 3)
    scaled = loans[numbers] / loans[numbers].std()
    model = LogisticRegression().fit(scaled, loans["defaulted"])

    def predict(rows: Any) -> np.ndarray:
        frame = pd.DataFrame(np.asarray(rows, dtype=float), columns=numbers)
        return model.predict_proba(frame / loans[numbers].std())[:, 1]

    query = loans[numbers].head(3).astype(float)
    ours, exact = (
        shap.Explainer(predict, rows, algorithm="exact", seed=0)(query).values
        for rows in (masker, shap.maskers.Independent(loans[numbers].astype(float), max_samples=1_000))
    )
    assert ours == pytest.approx(exact, abs=0.03)


def test_without_shap_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "shap.maskers", None)
    with pytest.raises(ArgumentError, match=r"Install discreet\[shap\]"):
        Background("mean", ("a",), ((1.0,),), (), (0.1,), 0.0, "{}").to_shap()


def test_pictures(loans: pd.DataFrame) -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    sample = released(loans, background(epsilon=1.0)).plot(title="sample")
    sample.figure_.canvas.draw()
    assert len(sample.axes_) == 8 and sample.ax_.get_title(loc="left") == "sample"
    _, ax = plt.subplots()
    mean = released(loans, background("mean", epsilon=1.0)).plot(ax)
    mean.figure_.canvas.draw()
    assert mean.ax_ is ax and [len(small.patches) for small in mean.axes_[-2:]] == [3, 5]
    plt.close("all")


# Promises and arguments


@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("accountant", ["basic", "zcdp"])
@pytest.mark.parametrize(("kind", "delta"), [("mean", 0.0), ("mean", 1e-6), ("sample", 1e-6)])
def test_the_plan_costs_what_it_says(
    loans: pd.DataFrame, kind: str, delta: float, accountant: str, relation: Relation
) -> None:
    held = session(loans.head(500), epsilon=30.0, delta=1e-5, accountant=accountant, relation=relation)
    plan = background(kind, epsilon=0.7, delta=delta)
    price, release = held.price(plan), held.release(plan)
    if accountant == "basic":
        assert to_units(0.7) - 3 <= price.cost.amount.loss <= to_units(0.7)
    assert release.guarantee.epsilon == 0.7 and release.guarantee.delta <= delta * (1 + 1e-9)
    used = {"background-mean"} if kind == "mean" else {"marginals", "tree-score", "spanning-tree"}
    assert used <= set(release.guarantee.statements)
    assert held.release(plan).id == release.id  # asked again, it is free


def test_the_seed_and_the_rows_are_part_of_the_question() -> None:
    plans = [background(epsilon=1.0), background(epsilon=1.0, seed=1), background(epsilon=1.0, rows=9)]
    assert len({plan.key for plan in plans}) == 3
    assert repr(plans[0]) == (
        "background(kind='sample', rows=200, bins=16, seed=0, mechanism='auto', epsilon=1)"
    )


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"kind": "median"}, "kind must be one of sample, mean, got 'median'"),
        ({"rows": 0}, "rows must be a whole number of at least 1"),
        ({"bins": 1}, "bins must be a whole number of at least 2 and at most 64, got 1"),
        ({"seed": -1}, "seed must be a whole number of at least 0"),
        ({"clip": 1.0}, r"clip must be left out of kind='sample', got 1\.0"),
        ({"kind": "mean", "clip": 0.0}, "clip must be a positive finite number"),
        ({"kind": "mean", "bins": 8}, "bins must be left out of kind='mean', got 8"),
        ({"mechanism": "uniform"}, "mechanism must be one of auto, laplace, linf, gaussian"),
        ({"epsilon": 0.0}, "epsilon must be a positive finite number"),
    ],
)
def test_wrong_arguments(options: dict[str, Any], message: str) -> None:
    with pytest.raises(ArgumentError, match=message):
        background(**{"epsilon": 1.0, **options})


def test_a_schema_of_a_target_alone_is_refused() -> None:
    schema = dc.Schema({"paid": dc.Category(0, 1, missing=False, other=False)}, target="paid")
    with pytest.raises(ArgumentError, match="a column besides the target"):
        background(epsilon=1.0).prepare(Setting(schema, "replace-one", 10))


def test_explanations_against_it_are_free_and_right() -> None:
    import discreet as dc
    from discreet.samples import loan_schema, loans

    frame = loans(2_000)
    schema = loan_schema()
    session = dc.protect(frame, schema, dataset="t", ledger=":memory:", epsilon=10, seed=0)

    def risk(rows: np.ndarray) -> np.ndarray:
        return 1 / (1 + np.exp((rows[:, 3] - 600) / 50 - rows[:, 5] / 3))

    model = dc.Model(risk, bounds=(0, 1), name="risk")
    for kind in ("sample", "mean"):
        released = session.release(dc.background(kind, epsilon=1.0)).value
        left = session.remaining
        queries = frame.drop(columns="defaulted").iloc[:5]
        found = released.explain(model, queries)
        assert session.remaining == left
        values = found.to_array()
        sums = values.sum(axis=1) + found.base_values[0]
        assert sums == pytest.approx(found.predictions, abs=1e-9)
        place = [found.features.index(name) for name in ("credit_score", "late_payments")]
        others = np.delete(values, place, axis=1)
        assert np.abs(others).max() < 1e-9 < np.abs(values[:, place]).max()
        again = dc.Release.loads(session.release(dc.background(kind, epsilon=1.0)).dumps()).value
        assert again == released
        assert found.plot().figure_ is not None


EXAMPLES = [
    Example("background", lambda _: background(rows=5, bins=3, epsilon=1.0)),
    Example("background", lambda _: background("mean", rows=3, epsilon=1.0)),
    Example(
        "background",
        lambda _: background("mean", rows=3, clip=0.5, mechanism="gaussian", epsilon=1.0, delta=1e-5),
    ),
]
