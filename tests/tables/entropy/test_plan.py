"""Entropy plans: honest bands, sums that move as certified, the choice of a route, refusals."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable
from discreet.errors import ArgumentError
from discreet.mechanisms import count_noise
from discreet.plans import Setting
from discreet.plans.results.scalar import Scalar
from discreet.privacy.certificate import certify_cells
from discreet.randomness import SimulatedNoise
from discreet.tables.entropy.estimates import estimate_measure, public_tables
from discreet.tables.entropy.noise import MeasureNoise, above, between, direct_noise, narrowed_noise
from discreet.tables.entropy.plan import entropy, mutual_information
from discreet.tables.entropy.routes import Route, choose_route
from discreet.tables.entropy.values import Measure, renyi_entropy
from tests.laws.examples import Example
from tests.tables.count_tables import all_tables

SCHEMA = dc.Schema(
    {
        "kind": dc.Category("a", "b", "c", missing=False, other=False),
        "mass": dc.Number(0, 1, missing=False),
        "one": dc.Category("x", missing=False, other=False),
    }
)


def some_rows(rows: int = 2_000, seed: int = 0) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    kind = draw.choice(["a", "b", "c"], rows, p=[0.6, 0.3, 0.1])
    mass = np.where(kind == "a", draw.beta(2, 5, rows), draw.random(rows))
    return pd.DataFrame({"kind": kind, "mass": mass, "one": "x"})


def bits(counts: Any, order: float = 1.0) -> float:
    return float(renyi_entropy(np.asarray(counts, dtype=float), order)) / math.log(2)


def many(
    plan: Any, frame: pd.DataFrame, relation: str = "replace-one", draws: int = 400
) -> list[Scalar]:
    rows = len(frame) if relation == "replace-one" else None
    program = plan.prepare(Setting(SCHEMA, relation, rows))
    releaser = SimulatedReleaser(PrivateTable(frame, SCHEMA, relation), seed=0)
    return [program.finish(releaser) for _ in range(draws)]


@pytest.mark.once_per("relation")
@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("order", [0.5, 1.0, 2.0, math.inf])
def test_bands_cover_as_often_as_they_say(relation: str, order: float) -> None:
    frame = some_rows()
    exact = bits(np.histogram(frame["mass"], 12, (0, 1))[0], order)
    values = many(
        entropy("mass", bins=12, order=order, method="direct", epsilon=0.5), frame, relation, 200
    )
    inside = np.mean([abs(v.value - exact) <= v.half_width for v in values])
    assert 0.9 < inside <= 1
    assert np.mean([abs(v.value - exact) for v in values]) < 1.2 * np.mean(
        [v.noise_std for v in values]
    )
    assert all(v.low <= v.value <= v.high and v.low >= 0 for v in values)


@pytest.mark.parametrize("method", ["narrowed", "histogram", "auto"])
def test_other_routes_find_the_same_number(method: str) -> None:
    frame = some_rows()
    exact = bits(np.histogram(frame["mass"], 12, (0, 1))[0])
    values = many(entropy("mass", bins=12, method=method, epsilon=1.0), frame, draws=200)
    errors = np.array([v.value - exact for v in values])
    assert np.abs(errors).mean() < 0.02 and abs(errors.mean()) < 0.005
    assert np.mean([abs(v.value - exact) <= v.half_width for v in values]) > 0.93


@pytest.mark.parametrize(
    ("rows", "epsilon", "method"), [(500, 0.1, "auto"), (3_000, 0.3, "histogram"), (3_000, 0.1, "auto")]
)
def test_bands_hold_where_the_number_of_records_is_private(
    rows: int, epsilon: float, method: str
) -> None:
    schema, frame = dc.samples.loan_schema(), dc.samples.loans(rows)
    column = schema["late_payments"]
    exact = bits(np.bincount(column.bins(20).index(column.encode(frame["late_payments"].to_numpy()))))
    program = entropy("late_payments", method=method, epsilon=epsilon).prepare(
        Setting(schema, "add-remove", None)
    )
    releaser = SimulatedReleaser(PrivateTable(frame, schema, "add-remove"), seed=3)
    values = [program.finish(releaser) for _ in range(400)]
    assert np.mean([abs(v.value - exact) <= v.half_width for v in values]) > 0.92


@pytest.mark.parametrize(("shape", "rows"), [(0, 500), (3, 500), (1, None)])
def test_a_histogram_drowned_in_noise_still_has_an_honest_band(shape: int, rows: int | None) -> None:
    measure = Measure("entropy", (40,))
    counts = public_tables(measure, 500)[shape]
    relation = "replace-one" if rows else "add-remove"
    noise = count_noise(certify_cells(40), relation=relation, epsilon=0.2)
    source, exact = SimulatedNoise(shape), float(measure(counts.astype(float)))
    found = [
        estimate_measure(noise.release(counts, source), rows, measure, noise, level=0.95)
        for _ in range(400)
    ]
    assert np.mean([abs(each.value - exact) <= each.half_width for each in found]) > 0.92


def test_the_price_is_the_error_and_the_better_way_is_taken() -> None:
    schema, relation = dc.samples.loan_schema(), "add-remove"
    setting = Setting(schema, relation, None)
    releaser = SimulatedReleaser(PrivateTable(dc.samples.loans(10_000), schema, relation), seed=0)
    exact, errors, prices = None, {}, {}
    for method in ("histogram", "direct", "auto"):
        program = entropy("late_payments", method=method, epsilon=0.1).prepare(setting)
        if exact is None:
            (stage,) = program.stages
            exact = bits(releaser.exact(stage))
        found = [program.finish(releaser) for _ in range(150)]
        errors[method] = float(np.sqrt(np.mean([(each.value - exact) ** 2 for each in found])))
        (priced,) = program.expected_error.values()
        prices[method] = priced.relative(10_000) * priced.size / 2.12  # of a band, a standard deviation
    for method in errors:
        assert 0.6 < prices[method] / errors[method] < 1.5, (method, prices, errors)
    assert errors["auto"] < 1.25 * min(errors["histogram"], errors["direct"])


def test_few_records_turn_the_private_choice_around() -> None:
    plan = entropy("mass", bins=12, epsilon=0.1)
    few, many_rows = many(plan, some_rows(300), "add-remove", 10), some_rows(20_000)
    assert {each.method for each in few} == {"histogram"}
    assert {each.method for each in many(plan, many_rows, "add-remove", 10)} == {"direct"}
    assert "released number of records" in few[0].why


def test_gaussian_noise_and_nats() -> None:
    frame = some_rows()
    counts = frame["kind"].value_counts()
    plan = entropy("kind", base="nats", method="direct", mechanism="gaussian", epsilon=1.0, delta=1e-6)
    values = many(plan, frame)
    assert values[0].unit == "nats"
    errors = [v.value - bits(counts) * math.log(2) for v in values]
    assert np.std(errors) == pytest.approx(values[0].noise_std, rel=0.15)


def test_noise_asked_for_by_name_is_given() -> None:
    plan = entropy("mass", mechanism="gaussian", epsilon=1.0, delta=1e-6)
    program = plan.prepare(Setting(SCHEMA, "replace-one", 10_000))
    assert program.stages[-1].noise.name == "gaussian"


def test_joint_conditional_and_mutual_information_belong_together() -> None:
    frame = some_rows()
    session = dc.protect(frame, SCHEMA, dataset="d", epsilon=1e6, ledger=":memory:", seed=0)
    ask = {"bins": 5, "method": "direct", "epsilon": 1e4}
    plans = [
        entropy(["kind", "mass"], **ask),
        entropy("kind", **ask),
        entropy("mass", **ask),
        entropy("mass", given="kind", **ask),
        mutual_information("kind", "mass", **ask),
    ]
    joint, kind, mass, given, shared = (float(r.value) for r in session.release(plans))
    table = pd.crosstab(frame["kind"], np.minimum((frame["mass"] * 5).astype(int), 4)).to_numpy()
    assert joint == pytest.approx(bits(table.ravel()), abs=1e-4)
    assert given == pytest.approx(joint - kind, abs=1e-4)
    assert shared == pytest.approx(kind + mass - joint, abs=1e-4)


@pytest.mark.parametrize("given", [False, True])
def test_joint_measures_when_the_number_of_records_is_private(given: bool) -> None:
    frame = some_rows()
    ask = {"bins": 5, "method": "direct", "epsilon": 2.0}
    plan = entropy("mass", given="kind", **ask) if given else mutual_information("kind", "mass", **ask)
    table = pd.crosstab(frame["kind"], np.minimum((frame["mass"] * 5).astype(int), 4)).to_numpy()
    joint, kind, mass = bits(table.ravel()), bits(table.sum(axis=1)), bits(table.sum(axis=0))
    exact = joint - kind if given else kind + mass - joint
    values = many(plan, frame, "add-remove", 200)
    assert np.mean([abs(v.value - exact) <= v.half_width for v in values]) > 0.92


def moved_steps(noise: MeasureNoise, before: np.ndarray, after: np.ndarray) -> float:
    """Return how many lattice steps two tables are apart, before noise."""
    steps = [
        np.rint(float(noise.measure(noise.filled(counts))) / noise.unit / noise.noise.step)
        for counts in (before, after)
    ]
    return abs(steps[0] - steps[1])


@pytest.mark.proves("entropy-add-remove")
@pytest.mark.parametrize("order", [0.5, 1.0, 3.0, math.inf])
def test_filled_tables_move_by_what_the_noise_covers(order: float) -> None:
    measure = Measure("entropy", (3,), order)
    free = direct_noise(
        measure, Setting(SCHEMA, "add-remove", None), epsilon=1.0, delta=0.0, mechanism="auto"
    )
    for floor in (1, 3, 6):
        noise = above(free, floor)
        for rows in range(9):
            for before in all_tables(rows, 3):
                for cell in range(3):
                    after = before + np.eye(3, dtype=np.int64)[cell]
                    assert moved_steps(noise, before, after) <= noise.noise.sensitivity


@pytest.mark.proves("entropy-narrowed")
def test_narrowed_tables_move_by_what_the_noise_covers() -> None:
    noise = narrowed_noise(
        7, Setting(SCHEMA, "replace-one", 7), epsilon=1.0, delta=0.0, mechanism="auto"
    )
    for low, high in [(1, 2), (2, 3), (1, 7), (3, 6)]:
        fitted = between(noise, low, high)
        for before in all_tables(6, 3):
            for one, two in [(0, 1), (1, 2), (0, 2)]:
                first, second = (before + np.eye(3, dtype=np.int64)[cell] for cell in (one, two))
                assert moved_steps(fitted, first, second) <= fitted.noise.sensitivity


def test_all_of_epsilon_is_spent_and_no_more() -> None:
    for relation in ("replace-one", "add-remove"):
        session = dc.protect(
            some_rows(200),
            SCHEMA,
            dataset="d",
            epsilon=1.0,
            ledger=":memory:",
            seed=0,
            relation=relation,
        )
        for number, method in enumerate(("direct", "histogram", "auto")):
            release = session.release(entropy("kind", method=method, epsilon=0.25))
            assert release.guarantee.epsilon == 0.25
            assert float(session.remaining.to_json()["epsilon"]) == 0.75 - 0.25 * number


def test_an_empty_table_has_an_answer_under_add_remove() -> None:
    empty = some_rows(5).iloc[:0]
    session = dc.protect(
        empty, SCHEMA, dataset="d", epsilon=2.0, ledger=":memory:", seed=0, relation="add-remove"
    )
    value = session.release(entropy("kind", epsilon=1.0)).value
    assert 0 <= value.value <= math.log2(3)


def test_the_choice_risks_little_to_win_much() -> None:
    def route(name: str, worst: float, even: float) -> Route:
        return Route(name, (), lambda releaser: None, worst, worst, even)

    routes = [route("direct", 1.0, 1.0), route("narrowed", 1.1, 0.1), route("histogram", 3.0, 0.01)]
    assert choose_route(routes).name == "narrowed"
    assert choose_route([routes[0], routes[2]]).name == "direct"


def test_public_tables_have_the_rows_that_were_asked_for() -> None:
    for measure in (Measure("entropy", (30,)), Measure("mutual information", (6, 5))):
        for table in public_tables(measure, 10_000):
            assert table.min() >= 0 and abs(int(table.sum()) - 10_000) <= 15
    *_, told = public_tables(Measure("mutual information", (3, 4)), 12)
    assert told.reshape(3, 4).tolist() == [[4, 0, 0, 0], [0, 4, 0, 0], [0, 0, 4, 0]]


def test_the_result_tells_why_and_can_be_read_back_and_drawn() -> None:
    import matplotlib

    matplotlib.use("agg")
    import matplotlib.pyplot as plt

    session = dc.protect(some_rows(), SCHEMA, dataset="d", epsilon=5.0, ledger=":memory:", seed=0)
    release = session.release(entropy("mass", epsilon=1.0))
    assert dc.Release.loads(release.dumps()).value == release.value
    assert [name for name, _ in release.value.compared] == ["direct", "narrowed", "histogram"]
    assert release.value.method in release.value.why
    assert list(release.value.to_frame()["unit"]) == ["bits"]
    display = release.value.plot(title="entropy")
    assert display.ax_.get_xlim() == pytest.approx((0, math.log2(20)))
    plt.close("all")


@pytest.mark.parametrize(
    ("ask", "sentence"),
    [
        (lambda: entropy([], epsilon=1.0), "columns must be one or more"),
        (lambda: entropy("kind", given="kind", epsilon=1.0), "columns must be one or more"),
        (lambda: entropy("kind", order=0, epsilon=1.0), "order must be 1, infinite"),
        (lambda: entropy("kind", order=1.0001, epsilon=1.0), "order must be 1, infinite"),
        (lambda: entropy("kind", order="2", epsilon=1.0), "order must be 1, infinite"),
        (lambda: entropy("kind", given="mass", order=2, epsilon=1.0), "order must be 1 for"),
        (lambda: entropy("kind", base="dits", epsilon=1.0), "base must be one of"),
        (lambda: entropy("kind", method="magic", epsilon=1.0), "method must be one of"),
    ],
)
def test_wrong_questions_are_refused(ask: Any, sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        ask()


@pytest.mark.parametrize(
    ("plan", "sentence"),
    [
        (entropy("one", epsilon=1.0), "at least two cells"),
        (entropy("kind", order=2, method="narrowed", epsilon=1.0), "got 'narrowed'"),
        (entropy("mass", bins=70_000, method="histogram", epsilon=1.0), "at most 65536 cells"),
    ],
)
def test_what_does_not_fit_the_schema_is_refused(plan: Any, sentence: str) -> None:
    with pytest.raises(ArgumentError, match=sentence):
        plan.prepare(Setting(SCHEMA, "replace-one", 100))


def test_many_cells_have_a_direct_answer() -> None:
    plan = entropy("mass", bins=70_000, epsilon=1.0)
    assert len(plan.prepare(Setting(SCHEMA, "replace-one", 10**6)).stages) <= 2


EXAMPLES = [
    Example("entropy", lambda _: entropy("home", epsilon=1.0)),
    Example("entropy", lambda _: entropy("home", method="direct", epsilon=1.0)),
    Example(
        "entropy",
        lambda _: entropy("home", given="paid", mechanism="gaussian", epsilon=1.0, delta=1e-5),
    ),
    Example("entropy", lambda _: entropy("home", order=2.0, epsilon=1.0)),
    Example("mutual_information", lambda _: mutual_information("home", "paid", epsilon=1.0)),
]
