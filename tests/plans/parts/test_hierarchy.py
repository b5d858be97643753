"""Levels of a hierarchy: least squares that agree, a budget that is shared, bands that hold."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.errors import DiscreetError
from discreet.plans import Setting
from discreet.plans.parts.hierarchy import Tree
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE, Relation

WARDS = ("A1", "A2", "A3", "B1", "B2", "C1")
HOSPITALS = dc.Level("ward", {"North": ["A1", "A2", "A3"], "South": ["B1", "B2"], "East": ["C1"]})
REGIONS = dc.Level("ward", {"Sea": ["A1", "A2", "A3", "B1", "B2"], "Land": ["C1"]})
SCHEMA = dc.Schema(
    {
        "ward": dc.Category(*WARDS),
        "cost": dc.Number(0, 10, missing=False),
        "sex": dc.Category("F", "M"),
    },
    levels={"hospital": HOSPITALS, "region": REGIONS},
)
FRAME = pd.DataFrame(
    {"ward": [*WARDS, None] * 30, "cost": np.arange(210) % 10, "sex": ["F", "M"] * 105}
)
TREE = Tree(((0, 0, 1), (0, 0, 0, 1, 1, 2)))


def design(tree: Tree) -> np.ndarray:
    """Return the sums of leaves that all groups are, coarse levels first."""
    leaves = np.eye(len(tree.parents[-1]))
    rows, below = [leaves], leaves
    for parents in reversed(tree.parents):
        above = np.zeros((max(parents) + 1, len(leaves)))
        np.add.at(above, np.array(parents), below)
        rows.insert(0, above)
        below = above
    return np.vstack(rows)


@pytest.mark.proves("hierarchy")
def test_two_passes_are_least_squares() -> None:
    draw = np.random.default_rng(3)
    for _ in range(20):
        measured = [draw.normal(size=(groups, 2)) for groups in (2, 3, 6)]
        agreed = np.vstack(TREE.agree(measured))
        sums = design(TREE)
        best = sums @ np.linalg.lstsq(sums, np.vstack(measured), rcond=None)[0]
        assert np.allclose(agreed, best)


@pytest.mark.proves("hierarchy")
def test_no_group_is_known_worse_than_by_itself() -> None:
    sums = design(TREE)
    covariance = sums @ np.linalg.inv(sums.T @ sums) @ sums.T
    assert np.all(np.diag(covariance) <= 1 + 1e-12)


@pytest.mark.proves("hierarchy")
@pytest.mark.parametrize("relation", [REPLACE_ONE, ADD_REMOVE])
def test_levels_share_the_budget(relation: Relation) -> None:
    rows = len(FRAME) if relation.rows_public else None
    plan = dc.histogram("cost", by=["region", "ward", "hospital"], epsilon=0.1, delta=1e-7)
    stages = plan.prepare(Setting(SCHEMA, relation, rows)).stages
    assert len(stages) == 3
    assert sum(Fraction(stage.noise.epsilon) for stage in stages) <= Fraction(0.1)
    assert sum(Fraction(stage.noise.delta) for stage in stages) <= Fraction(1e-7)


@pytest.mark.refutes("hierarchy")
def test_every_level_for_the_whole_epsilon_costs_more_than_was_promised() -> None:
    setting = Setting(SCHEMA, REPLACE_ONE, len(FRAME))
    alone = [dc.histogram("cost", by=level, epsilon=0.1) for level in ("hospital", "ward")]
    spent = sum(plan.prepare(setting).stages[0].noise.epsilon for plan in alone)
    assert spent > 0.1


@pytest.mark.refutes("hierarchy")
def test_sums_of_what_lies_below_are_not_the_best() -> None:
    draw = np.random.default_rng(4)
    errors = []
    for _ in range(400):
        measured = [draw.normal(size=(groups, 1)) for groups in (2, 3, 6)]
        below = measured[2][:5].sum()
        errors.append([TREE.agree(measured)[0][0, 0], below])
    best, naive = np.mean(np.square(errors), axis=0)
    assert best < 0.6 * naive


def session(**terms: object) -> dc.Session:
    return dc.protect(
        FRAME,
        SCHEMA,
        dataset="d",
        epsilon=1e6,
        ledger=":memory:",
        seed=1,
        progress=False,
        **terms,  # type: ignore[arg-type]
    )


def test_wards_add_up_to_their_hospital() -> None:
    asked = dc.histogram(
        "cost", bins=1, by=["hospital", "ward"], clip=False, consistent=False, epsilon=0.5
    )
    value = session().release(asked).value
    counts = {name: one.counts[0] for name, one in value.groups.items()}  # type: ignore[attr-defined]
    north = sum(counts[f"North, {ward}"] for ward in WARDS[:3])
    assert counts["North, (all)"] == pytest.approx(north)
    assert counts["(missing), (missing)"] == pytest.approx(counts["(missing), (all)"])


def test_a_level_alone_groups_records() -> None:
    value = session().release(dc.histogram("cost", bins=1, by="hospital", epsilon=1e4)).value
    assert list(value.groups) == ["North", "South", "East", "(other)", "(missing)"]
    assert [one.counts[0] for _, one in value] == [90, 60, 30, 0, 30]  # type: ignore[attr-defined]


def test_levels_travel_with_the_schema(tmp_path: object) -> None:
    path = SCHEMA.save(f"{tmp_path}/wards.toml")
    read = dc.Schema.load(path)
    assert read == SCHEMA and read.levels == SCHEMA.levels
    assert read != dc.Schema({name: SCHEMA[name] for name in SCHEMA})


@pytest.mark.parametrize(
    ("by", "sentence"),
    [
        (["hospital", "ward", "sex"], "by must name levels of one category"),
        (["hospital", "region"], None),
        ("clinic", "by must name columns of the schema"),
    ],
)
def test_levels_that_do_not_fit_are_refused(by: object, sentence: str | None) -> None:
    plan = dc.histogram("cost", by=by, epsilon=1.0)  # type: ignore[arg-type]
    if sentence is None:
        assert session().price(plan).affordable
        return
    with pytest.raises(DiscreetError, match=sentence):
        session().price(plan)


def test_levels_across_each_other_are_refused() -> None:
    odd = dc.Level("ward", {"odd": ["A1", "A3", "B1", "C1"], "even": ["A2", "B2"]})
    schema = dc.Schema({"ward": SCHEMA["ward"]}, levels={"hospital": HOSPITALS, "parity": odd})
    plan = dc.histogram("ward", by=["hospital", "parity"], epsilon=1.0)
    with pytest.raises(DiscreetError, match="of which neither does"):
        plan.prepare(Setting(schema, REPLACE_ONE, 10))


@pytest.mark.parametrize(
    ("groups", "sentence"),
    [
        ({"North": ["A1", "A2", "A3", "B1", "B2"]}, "got 'C1' in none"),
        ({"North": [*WARDS], "South": ["B1"]}, "got 'B1' in several"),
        ({"North": [*WARDS, "Z9"]}, "got 'Z9'"),
        ({"(other)": [*WARDS]}, "must not be called"),
        ({"North": "A1"}, "must map names to lists"),
        ({}, "must map names to lists"),
    ],
)
def test_groups_hold_every_value_once(groups: dict[str, object], sentence: str) -> None:
    with pytest.raises(DiscreetError, match=sentence):
        dc.Schema({"ward": SCHEMA["ward"]}, levels={"hospital": dc.Level("ward", groups)})  # type: ignore[arg-type]
