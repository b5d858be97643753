"""Parts and groups of a table: what one record moves, attained and never exceeded; what users see."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
from sklearn.dummy import DummyClassifier

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import CellContribution, PrivateTable, Summand, VectorContribution, add_up
from discreet.data.contributions import GroupedContribution
from discreet.errors import ArgumentError
from discreet.mechanisms import LinfNoise
from discreet.mechanisms.additive.noise import Query
from discreet.plans import Setting
from discreet.plans.parts.membership import Membership
from discreet.privacy.certificate import Box, Certificate
from discreet.privacy.relation import ADD_REMOVE, GROUPED, PARTED, REPLACE_ONE, Relation

VALUES = (0.0, 0.5, 1.0)
GROUPS = (-1, 0, 1)
EVERYBODY = [(group, *values) for group in GROUPS for values in itertools.product(VALUES, repeat=2)]
"""Every record of a tiny world: in no group or one of two, with two numbers."""


def contribution(record: tuple[float, ...], box: Box) -> np.ndarray:
    """Return what a record adds to the sums of two groups, as the engine lays them out."""
    sums = np.zeros((2, 2))
    if record[0] >= 0:
        sums[int(record[0])] = box.low + box.width * np.array(record[1:])
    return sums


def moved(box: Box, relation: Relation) -> list[np.ndarray]:
    """Return every way in which one record moves the sums of groups: (group, number)."""
    alone = [contribution(record, box) for record in EVERYBODY]
    if relation is ADD_REMOVE:
        return alone
    return [a - b for a, b in itertools.product(alone, repeat=2)]


def norms(move: np.ndarray) -> dict[str, float]:
    return {"l1": np.abs(move).sum(), "l2": math.sqrt((move**2).sum()), "linf": np.abs(move).max()}


BOXES = [Box(-1.0, 1.0), Box(0.0, 1.0), Box(10.0, 11.0)]


@pytest.mark.proves("groups")
@pytest.mark.parametrize("box", BOXES, ids=str)
@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
def test_no_record_moves_groups_further_than_certified(box: Box, relation: Relation) -> None:
    proven = box.certify(2).in_groups(2)
    for norm in ("l1", "l2", "linf"):
        farthest = max(norms(move)[norm] for move in moved(box, relation))
        assert farthest <= proven.sensitivity(norm, relation)
        assert farthest == pytest.approx(proven.sensitivity(norm, relation))  # and it is attained


@pytest.mark.proves("where")
@pytest.mark.parametrize("box", BOXES, ids=str)
@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
def test_no_record_moves_a_part_further_than_certified(box: Box, relation: Relation) -> None:
    proven = box.certify(2).in_part()
    for norm in ("l1", "l2", "linf"):
        farthest = max(norms(move[:1])[norm] for move in moved(box, relation))
        assert farthest == pytest.approx(proven.sensitivity(norm, relation))


@pytest.mark.proves("groups")
@pytest.mark.parametrize("box", BOXES, ids=str)
def test_cubes_of_two_groups_add_up(box: Box) -> None:
    """The loss of one cube per group is the sum over groups of the farthest coordinate."""
    proven = box.certify(2)
    farthest = max(np.abs(move).max(axis=1).sum() for move in moved(box, REPLACE_ONE))
    assert farthest == pytest.approx(LinfNoise.moved(proven, GROUPED))


@pytest.mark.refutes("where")
def test_the_bound_of_all_records_is_no_bound_of_a_part() -> None:
    box = Box(10.0, 11.0)
    naive = box.certify(2).sensitivity("linf", REPLACE_ONE)
    assert max(norms(move[:1])["linf"] for move in moved(box, REPLACE_ONE)) == 11.0 > naive


@pytest.mark.refutes("groups")
def test_the_bound_of_one_group_is_no_bound_of_two() -> None:
    box = Box(0.0, 1.0)
    naive = box.certify(2).sensitivity("l1", PARTED)
    farthest = max(norms(move)["l1"] for move in moved(box, REPLACE_ONE))
    assert farthest == pytest.approx(2 * naive)


@pytest.mark.proves("groups")
def test_centred_contributions_of_all_groups_cost_what_one_does() -> None:
    proven = Box(-1.0, 1.0).certify(3)
    for norm in ("l1", "l2", "linf"):
        assert proven.sensitivity(norm, GROUPED) == pytest.approx(proven.sensitivity(norm, REPLACE_ONE))


def test_a_relation_that_was_not_proven_gives_no_part() -> None:
    from discreet.errors import CertificateError
    from discreet.privacy.certificate import Bounds

    alone = Certificate(("pfi",), 1, {REPLACE_ONE: Bounds(1.0, 1.0, 1.0)})
    with pytest.raises(CertificateError, match="No bound under replace-one within a part"):
        alone.sensitivity("l1", PARTED)


FRAME = pd.DataFrame(
    {
        "age": [20, 70, 80, 66, None, 30],
        "ward": ["A", "B", "A", None, "A", "C"],
        "cost": [1.0, 2.0, 3.0, 4.0, 5.0, 6.0],
    }
)
SCHEMA = dc.Schema(
    {
        "age": dc.Number(18, 90, step=1),
        "ward": dc.Category("A", "B"),
        "cost": dc.Number(0, 10, missing=False),
    }
)
OLD = dc.col("age") >= 65


def sums(contribution: GroupedContribution) -> list[float]:
    step = 2.0**-10
    total = add_up(PrivateTable(FRAME, SCHEMA), [Summand(contribution, step)])[0]
    vector = isinstance(contribution.each, VectorContribution)
    return (total * step if vector else total).tolist()


def test_records_outside_of_a_part_add_nothing() -> None:
    """Also where zero lies outside of the box that contributions are clipped to."""
    member = Membership(SCHEMA, OLD)
    cost = VectorContribution(
        ("cost",), 1, Box(2.5, 10.0), 2.5, lambda b: b["cost"][:, None], calls=None
    )
    assert sums(GroupedContribution(cost, 1, member.columns, member.place)) == [2.5 + 3 + 4]
    counted = CellContribution(("cost",), 2, lambda b: (b["cost"] > 3.5).astype(np.int64))
    assert sums(GroupedContribution(counted, 1, member.columns, member.place)) == [2, 1]


def test_groups_are_laid_end_to_end() -> None:
    member = Membership(SCHEMA, None, ("ward",))
    assert member.labels == (("A",), ("B",), ("(other)",), ("(missing)",))
    cost = VectorContribution(
        ("cost",), 1, Box(0.0, 10.0), 0.0, lambda b: b["cost"][:, None], calls=None
    )
    assert sums(GroupedContribution(cost, 4, member.columns, member.place)) == [9.0, 2.0, 6.0, 4.0]


def session() -> dc.Session:
    return dc.protect(
        FRAME, SCHEMA, dataset="d", epsilon=1e6, ledger=":memory:", seed=1, progress=False
    )


def test_a_part_and_its_opposite_leave_out_what_is_unknown() -> None:
    asked = [dc.histogram("ward", where=where, epsilon=100.0) for where in (OLD, ~OLD)]
    old, young = (release.value.to_array().tolist() for release in session().release(asked))
    assert old == [1, 1, 0, 1] and young == [1, 0, 1, 0]


def test_groups_are_frames_names_and_files() -> None:
    release = session().release(dc.histogram("age", bins=2, by="ward", epsilon=100.0))
    value = release.value
    assert isinstance(value, dc.Groups) and list(value.groups) == ["A", "B", "(other)", "(missing)"]
    assert value["A"].to_array().tolist() == [1, 1, 1]
    assert value.to_frame().query("ward == 'A' and age == '(missing)'")["count"].tolist() == [1]
    assert dc.Release.loads(release.dumps()) == release
    assert release.title.startswith("Histogram of age by ward, 4 groups")
    with pytest.raises(ArgumentError, match="group must be one of A, B"):
        value["Z"]


def test_an_empty_part_is_an_answer() -> None:
    nobody = (dc.col("age") >= 85) & (dc.col("ward") == "B")
    found = session().release(dc.histogram("ward", where=nobody, epsilon=100.0)).value
    assert found.to_array().tolist() == [0, 0, 0, 0]


def test_a_condition_is_echoed_as_understood() -> None:
    release = session().release(dc.histogram("ward", where="age > 64.5", epsilon=1.0))
    assert "answered for the records where age > 64" in release.guarantee.assumptions
    assert "where age > 64.5" in release.title


def test_plans_keep_their_keys_and_travel() -> None:
    plain = dc.histogram("age", epsilon=1.0)
    assert set(plain.arguments()).isdisjoint({"where", "by"})
    asked = dc.histogram("age", where=OLD & ~dc.col("ward").isin("A"), by="ward", epsilon=1.0)
    assert dc.plan_from_json(asked.to_json()) == asked != plain


@pytest.mark.parametrize(
    ("by", "sentence"),
    [
        ("cost", "by must name categories, got the number 'cost'"),
        ("nothing", r"by must name columns of the schema \(age, ward, cost"),
    ],
)
def test_groups_that_are_none_are_refused(by: str, sentence: str) -> None:
    with pytest.raises(dc.errors.DiscreetError, match=sentence):
        session().price(dc.histogram("age", by=by, epsilon=1.0))


def test_choices_are_refused_by_group() -> None:
    with pytest.raises(ArgumentError, match="Groups share a price only where records are added up"):
        dc.synthesize(by="ward", epsilon=1.0)


def test_whoever_shares_a_call_moves_the_coordinates_of_any_group() -> None:
    proven = Box(-1.0, 1.0).certify(3)
    moved = {
        (relation, rows): Query(proven, relation, 1.0, 1e-6, batch_rows=rows).moved_coordinates
        for relation in (REPLACE_ONE, GROUPED)
        for rows in (0, 5)
    }
    assert moved[REPLACE_ONE, 0] == moved[REPLACE_ONE, 5] == 3
    assert moved[GROUPED, 0] == 3 * 2 and moved[GROUPED, 5] == 3 * (2 + 5)


def test_groups_of_more_numbers_than_can_be_kept_are_refused() -> None:
    schema = dc.Schema({"cost": dc.Number(0, 1), "ward": dc.Category(list(range(900)))})
    frame = pd.DataFrame({"cost": [0.5], "ward": [3]})
    opened = dc.protect(frame, schema, dataset="d", epsilon=1, ledger=":memory:", progress=False)
    with pytest.raises(ArgumentError, match="by must give at most 16,777,216 numbers of all groups"):
        opened.price(dc.histogram("cost", bins=2**20, by="ward", epsilon=1.0))


def test_levels_of_more_numbers_than_can_be_kept_are_refused() -> None:
    wards = dc.Category(list(range(900)))
    halves = dc.Level("ward", {"low": list(range(450)), "high": list(range(450, 900))})
    schema = dc.Schema({"cost": dc.Number(0, 1), "ward": wards}, levels={"half": halves})
    plan = dc.histogram("cost", bins=2**20, by=["half", "ward"], epsilon=1.0)
    with pytest.raises(ArgumentError, match="by must give at most 16,777,216 numbers of all groups"):
        plan.prepare(Setting(schema, REPLACE_ONE, 10))


def test_gaussian_noise_by_group_is_refused_where_its_law_is_not_paid_for() -> None:
    """Rows of a call may be in any group, and under add-remove nobody counts the groups."""
    model = dc.Model(lambda rows: rows[:, 0] / 90, bounds=(0.0, 1.0), columns=["cost"], name="cost")
    asked = {"by": "ward", "resolution": 3, "mechanism": "gaussian", "epsilon": 1.0, "delta": 1e-5}
    plan = dc.partial_dependence(model, "cost", **asked)
    with pytest.raises(ArgumentError, match="mechanism must be 'laplace' for groups under add-remove"):
        plan.prepare(Setting(SCHEMA, ADD_REMOVE, None))
    assert plan.prepare(Setting(SCHEMA, REPLACE_ONE, len(FRAME))).stages


def test_a_price_tells_how_long_models_take_that_are_asked_about_a_part() -> None:
    slow = dc.Model(
        lambda rows: rows[:, 0] / 90, bounds=(0.0, 1.0), columns=["age"], isolated=True, name="slow"
    )
    whole, part = (
        session().price(dc.partial_dependence(slow, "age", where=where, epsilon=1.0))
        for where in (None, OLD)
    )
    assert all(line.waiting is not None for price in (whole, part) for line in price.plans)


def test_tables_are_not_registered_under_relations_of_parts() -> None:
    with pytest.raises(ArgumentError, match="relation must be one of replace-one, add-remove"):
        dc.protect(FRAME, SCHEMA, dataset="d", epsilon=1, ledger=":memory:", relation=PARTED)


def test_small_groups_are_marked_by_what_was_released() -> None:
    from discreet.plans.results.groups import Groups
    from discreet.plans.results.scalar import Scalar

    one = Scalar("x", 1.0, 1.0, 0.95, 0.5, "", (None, None), "m", "w", ())
    found = Groups(("ward",), (("A",), ("B",)), (one, one), (100.0, 5.0), 10.0)
    assert found.small == ("B",) and found.to_frame()["small"].tolist() == [False, True]
    assert found.plot().ax_ is not None


TELLING = [
    dc.mean("x", by="sex", epsilon=1.0),
    dc.mean("x", clip="auto", by="sex", epsilon=3.0),
    dc.std("x", by="sex", epsilon=1.0),
    dc.proportion("x", 3, by="sex", epsilon=1.0),
    dc.cdf("x", by="sex", epsilon=1.0),
    dc.covariance(["x", "y"], by="sex", epsilon=1.0),
    dc.linear_regression("y", "x", by="sex", epsilon=1.0),
]


@pytest.mark.parametrize("plan", TELLING, ids=str)
def test_statistics_that_tell_how_many_records_there_are_mark_small_groups(plan: dc.Plan) -> None:
    schema = dc.Schema(
        {
            "x": dc.Number(0, 6, missing=False),
            "y": dc.Number(0, 6, missing=False),
            "sex": dc.Category("F", "M", missing=False, other=False),
        }
    )
    x = np.arange(2_001) % 7
    people = pd.DataFrame({"x": x, "y": x[::-1], "sex": ["F", *["M"] * 2_000]})
    program = plan.prepare(Setting(schema, REPLACE_ONE, len(people)))
    releaser = SimulatedReleaser(PrivateTable(people, schema), 0)
    found = [program.finish(releaser) for _ in range(60)]
    held = [[abs(one.sizes[0] - 1), abs(one.sizes[1] - 2_000)] for one in found]  # type: ignore[attr-defined]
    assert np.mean(np.array(held) <= found[0].size_half_width) > 0.9  # type: ignore[attr-defined]
    assert all(one.small == ("F",) for one in found)  # type: ignore[attr-defined]


def test_a_condition_makes_two_groups() -> None:
    value = session().release(dc.histogram("ward", by=OLD, epsilon=100.0)).value
    assert isinstance(value, dc.Groups) and value.columns == ("part",)
    old, young = value["age >= 65"].to_array().tolist(), value["not (age >= 65)"].to_array().tolist()
    assert old == [1, 1, 0, 1] and young == [1, 0, 1, 0]


def test_groups_by_a_condition_travel_and_are_told() -> None:
    asked = dc.histogram("cost", by="age >= 65", epsilon=1.0)
    assert asked == dc.histogram("cost", by=OLD, epsilon=1.0) == dc.plan_from_json(asked.to_json())
    assert session().release(asked).title.startswith("Histogram of cost by age >= 65, 2 groups")
    for said in ("by", "where"):
        with pytest.raises(dc.errors.DiscreetError, match=f"^{said} must name columns of the schema"):
            session().price(dc.histogram("cost", epsilon=1.0, **{said: "wage >= 65"}))


@pytest.mark.proves("groups")
def test_both_sides_of_a_condition_are_certified_as_groups() -> None:
    stage = (
        dc.histogram("cost", bins=1, by=OLD, epsilon=1.0)
        .prepare(Setting(SCHEMA, REPLACE_ONE, len(FRAME)))
        .stages[0]
    )
    assert stage.certificate.sensitivity("l1", REPLACE_ONE) == 2.0


def test_differences_of_groups_hold_as_often_as_their_intervals() -> None:
    people = pd.DataFrame({"x": np.arange(400) % 7, "sex": ["F", "M", "M", "M"] * 100})
    schema = dc.Schema(
        {"x": dc.Number(0, 6, missing=False), "sex": dc.Category("F", "M", missing=False, other=False)}
    )
    exact = people.groupby("sex").x.mean()
    program = dc.mean("x", by="sex", epsilon=1.0).prepare(Setting(schema, REPLACE_ONE, len(people)))
    releaser = SimulatedReleaser(PrivateTable(people, schema), 0)
    held = []
    for _ in range(200):
        apart = program.finish(releaser).difference("F", "M").iloc[0]  # type: ignore[attr-defined]
        held.append(apart.low <= exact["F"] - exact["M"] <= apart.high)
    assert np.mean(held) > 0.9


def test_a_group_has_no_difference_from_itself() -> None:
    found = session().release(dc.mean("cost", by="ward", epsilon=1.0)).value
    with pytest.raises(ArgumentError, match="second must be another group than first, got 'A' twice"):
        found.difference("A", "A")  # type: ignore[attr-defined]


def test_groups_without_intervals_have_no_difference() -> None:
    from discreet.plans.results.choice import Choice
    from discreet.plans.results.groups import Groups

    one = Choice("a", 0, 2, "m", "w", 1.0, "records", None, ())
    with pytest.raises(ArgumentError, match="numbers with intervals"):
        Groups(("ward",), (("A",), ("B",)), (one, one), None, None).difference("A", "B")


@pytest.mark.parametrize(
    ("condition", "said"),
    [
        (dc.col("home") > 3, "must compare 'home' by =="),
        (dc.col("age").between(60, 20), "must be something that a value of 'age' can be"),
        (dc.col("nope") > 3, "must name columns of the schema"),
        ({"nope": 1}, "must be a condition such as"),
    ],
)
def test_a_condition_is_told_by_the_argument_that_it_was_given_as(condition: object, said: str) -> None:
    names = {"age": dc.Number(0, 90), "home": dc.Category("own", "rent"), "ill": dc.Boolean()}
    frame = pd.DataFrame({"age": [30.0, 70.0], "home": ["own", "rent"], "ill": [0, 1]})
    asked = dc.protect(
        frame, dc.Schema(names, target="ill"), dataset="d", epsilon=1.0, ledger=":memory:"
    )
    for argument in ("where", "by"):
        with pytest.raises(ArgumentError, match=f"^{argument} {said}"):
            asked.price(dc.mean("age", epsilon=0.5, **{argument: condition}))  # type: ignore[arg-type]
    model = DummyClassifier().fit(frame[["age"]], frame["ill"])
    with pytest.raises(ArgumentError, match=f"^by {said}"):
        asked.price(dc.evaluate(model, by=condition, epsilon=0.5))  # type: ignore[arg-type]


def test_an_unknown_column_beside_a_condition_is_told_by_its_own_argument() -> None:
    frame = pd.DataFrame({"age": [30.0, 70.0]})
    schema = dc.Schema({"age": dc.Number(0, 90)})
    asked = dc.protect(frame, schema, dataset="d", epsilon=1.0, ledger=":memory:")
    with pytest.raises(ArgumentError, match=r"^columns must be among age, got 'nope'"):
        asked.price(dc.histogram("nope", epsilon=0.5, by=dc.col("age") > 40))
