"""``drift``: the exact distance below its noise, under both relations, by whichever route errs less."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest

import discreet as dc
from discreet.audit.hunting.runs import SimulatedReleaser
from discreet.data import PrivateTable
from discreet.errors import ArgumentError
from discreet.plans import Release, Setting
from discreet.plans.results.drift import Drift
from discreet.privacy.relation import ADD_REMOVE, REPLACE_ONE
from discreet.tables.drift.distance import PARTS, certify_distance, records_off, whole_shares
from discreet.tables.drift.plan import reference_error
from tests.laws.examples import Example

SCHEMA = dc.Schema(
    {
        "age": dc.Number(18, 90, step=1),
        "home": dc.Category("rent", "own", "other", missing=False, other=False),
    }
)


def people(rows: int, older: float = 0.0, seed: int = 0) -> pd.DataFrame:
    draw = np.random.default_rng(seed)
    age = np.clip(np.rint(draw.normal(40 + older, 12, rows)), 18, 90)
    return pd.DataFrame({"age": age, "home": draw.choice(["rent", "own", "other"], rows)})


def session(frame: pd.DataFrame, relation: str = "replace-one") -> dc.Session:
    terms: dict[str, Any] = {"dataset": "d", "epsilon": 1e6, "delta": 1e-2, "ledger": ":memory:"}
    return dc.protect(frame, SCHEMA, relation=relation, **terms)  # type: ignore[arg-type]


def reference(epsilon: float = 1e5, columns: Any = "age", bins: int = 8) -> dc.Release:
    return session(people(5_000)).release(dc.histogram(columns, bins=bins, epsilon=epsilon))


def exact(frame: pd.DataFrame, of: dc.Histogram) -> float:
    """Return the plain total variation."""
    plan = dc.histogram(of.columns, bins=8, epsilon=1e6)
    counts = np.array(session(frame).release(plan).value.counts)
    return float(np.abs(counts / len(frame) - np.array(of.counts) / sum(of.counts)).sum() / 2)


def draws(plan: Any, frame: pd.DataFrame, relation: str, count: int) -> list[Drift]:
    """Return as many answers from one seed; the rows are read once."""
    rows = len(frame) if relation == "replace-one" else None
    program = plan.prepare(Setting(SCHEMA, relation, rows))  # type: ignore[arg-type]
    releaser = SimulatedReleaser(PrivateTable(frame, SCHEMA, relation), 0)  # type: ignore[arg-type]
    return [program.finish(releaser) for _ in range(count)]  # type: ignore[misc]


def tables(cells: int, most: int) -> list[tuple[int, ...]]:
    return [c for c in itertools.product(range(most + 1), repeat=cells) if sum(c) <= most]


SHARES = [(1.0, 1.0, 1.0), (5.0, 1.0, 0.0), (1.0, 0.0, 0.0), (0.7, 0.2, 0.1)]


def farthest(shares: Any, moves: list[tuple[int, ...]], distance: Any = records_off) -> float:
    """Return how far the number moves between neighbours among all small tables."""
    most = 0.0
    for table in tables(3, 5):
        for move in moves:
            other = np.array(table) + np.array(move)
            if other.min() >= 0:
                gap = distance(np.array(table), shares) - distance(other, shares)
                most = max(most, abs(float(gap)))
    return most


REPLACED = [(1, -1, 0), (1, 0, -1), (0, 1, -1), (-1, 1, 0), (-1, 0, 1), (0, -1, 1)]
ADDED = [(1, 0, 0), (0, 1, 0), (0, 0, 1)]


@pytest.mark.proves("drift")
@pytest.mark.parametrize("counts", SHARES)
def test_no_small_neighbours_are_farther_apart_than_certified(counts: Any) -> None:
    shares = whole_shares(np.array(counts))
    proven = certify_distance(shares)
    replaced, added = farthest(shares, REPLACED), farthest(shares, ADDED)
    assert replaced <= proven.sensitivity("l1", REPLACE_ONE) == 1.0
    assert added <= proven.sensitivity("l1", ADD_REMOVE)
    assert added == pytest.approx(1 - shares.min() / PARTS)  # it is attained
    if shares.max() < PARTS:
        assert replaced == pytest.approx(1.0)


@pytest.mark.refutes("drift")
def test_the_distance_itself_has_no_such_bound_where_the_number_of_records_is_private() -> None:
    """Dividing first, as if 1/n were a bound of its own at the released n, is caught."""
    shares = whole_shares(np.array([0.7, 0.2, 0.1]))

    def divided(counts: Any, parts: Any) -> float:
        return 5 * float(records_off(counts, parts)) / max(int(counts.sum()), 1)

    assert farthest(shares, ADDED, divided) > certify_distance(shares).sensitivity("l1", ADD_REMOVE)
    assert farthest(shares, REPLACED) > 0.5  # and half the L1 distance of shares is no half record


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("method", ["direct", "histogram"])
def test_it_is_the_plain_total_variation(relation: str, method: Any) -> None:
    released, today = reference(), people(3_000, older=8)
    plan = dc.drift(released, method=method, epsilon=1e5)
    value = session(today, relation).release(plan).value
    assert value.value == pytest.approx(exact(today, released.value), abs=1e-3)
    assert value.method == method and value.columns == ("age",)
    assert (value.records is None) == (relation == "replace-one")
    still = session(people(5_000), relation).release(dc.drift(released, epsilon=1e5)).value
    assert still.value < 1e-3 and value.value > 0.2


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("method", ["direct", "histogram"])
@pytest.mark.parametrize("older", [0.0, 5.0])
def test_intervals_hold(relation: str, method: Any, older: float) -> None:
    released, today = reference(), people(400, older, seed=3)
    truth = exact(today, released.value)
    plan = dc.drift(released, method=method, epsilon=0.5)
    found = draws(plan, today, relation, 200)
    held = [v.low - 1e-9 <= truth <= v.high + 1e-9 for v in found]
    assert np.mean(held) > 0.9
    if method == "direct":  # through counts the band is that of the worst table
        third = [abs(truth - v.value) <= (v.high - v.low) / 6 for v in found]
        assert np.mean(third) < 0.9


@pytest.mark.parametrize("relation", ["replace-one", "add-remove"])
@pytest.mark.parametrize("columns", ["home", "age"])
def test_auto_is_not_worse_than_either(relation: str, columns: str) -> None:
    """Over a table that did not change and one that did: a ratio of means is off by one in thirty."""
    released = reference(columns=columns)
    today = [people(400, older, seed=3) for older in (0, 5)]
    truth = [exact(frame, released.value) for frame in today]

    def error(method: Any) -> float:
        plan = dc.drift(released, method=method, epsilon=0.3)
        found = [[value.value for value in draws(plan, frame, relation, 1_500)] for frame in today]
        return float(np.mean(np.abs(np.array(found) - np.array(truth)[:, None])))

    assert error("auto") <= 1.05 * min(error("direct"), error("histogram"))


def test_few_uneven_cells_of_a_private_number_of_records_go_through_counts() -> None:
    """There the size need not be released apart."""
    home = dc.Schema({"home": dc.Category("rent", "own", missing=False, other=False)})
    lopsided = dc.Histogram(("home",), (("rent", "own"),), (None,), (999.0, 1.0), 0.0, 0.0, 0.95)
    plan = dc.drift(lopsided, epsilon=1.0)
    stages = {
        relation: plan.prepare(Setting(home, relation, rows)).stages  # type: ignore[arg-type]
        for relation, rows in (("replace-one", 100), ("add-remove", None))
    }
    assert [stage.name for stage in stages["replace-one"]] == ["distance"]
    assert [stage.name for stage in stages["add-remove"]] == ["counts"]


def test_the_reference_s_own_noise_is_told_apart() -> None:
    loud, calm = reference(epsilon=0.05).value, reference(epsilon=20.0).value
    assert reference_error(loud) > 50 * reference_error(calm) > 0
    public = replace(calm, noise_std=0.0)
    assert reference_error(public) == 0.0
    exact_shares = np.array(calm.counts) / sum(calm.counts)
    far = [
        np.abs(np.array(reference(0.05).value.counts) / 5_000 - exact_shares).sum() / 2
        for _ in range(20)
    ]
    assert np.mean(far) <= reference_error(loud) < 4 * np.mean(far)


def test_a_release_is_saved_drawn_tabled_and_asked_of_a_part() -> None:
    released, today = reference(), session(people(3_000, older=8))
    release = today.release(dc.drift(released, epsilon=1.0))
    assert Release.loads(release.dumps()) == release and "drift" in release.guarantee.statements
    frame = release.value.to_frame()
    assert {"value", "low", "high", "reference_error"} <= set(frame.columns)
    assert release.plot().ax_.patches and 0 <= release.value.low <= release.value.high <= 1
    part = today.release(dc.drift(released, where=dc.col("home") == "own", epsilon=10.0)).value
    assert part.records == pytest.approx(1_000, abs=150) and part.value > 0.2
    plan = dc.drift(released.value, epsilon=1.0)
    assert dc.plan_from_json(plan.to_json()) == plan == dc.drift(released, epsilon=1.0)


WRONG: list[tuple[Any, str]] = [
    ("age", "reference must be a histogram or its release, got 'age'"),
    (
        session(people(50)).release(dc.mean("age", epsilon=1.0)),
        "reference must be a histogram or its release, got the release 'Mean of age, ",
    ),
    (reference(columns="home").value.to_json() | {"columns": ["room"]}, "columns of this schema, got"),
    (reference(bins=1).value.to_json() | {"edges": [[0.0, 9.0]]}, "got others of 'age'"),
]


@pytest.mark.parametrize(("given", "sentence"), WRONG, ids=[text for _, text in WRONG])
def test_another_reference_is_refused_and_costs_nothing(given: Any, sentence: str) -> None:
    book = session(people(50))
    with pytest.raises(ArgumentError, match=sentence):
        book.release(dc.drift(given, epsilon=1.0))
    assert book.remaining.loss == 1e6


def test_an_empty_part_is_an_answer() -> None:
    none = session(people(500)).release(
        dc.drift(reference(), where=dc.col("age").between(89, 90), epsilon=1.0)
    )
    assert 0 <= none.value.low <= none.value.high <= 1


def world_reference(column: str) -> dc.Histogram:
    """Return a public histogram with the cells of the laws' table."""
    labels = {"home": ("rent", "own", "other"), "paid": ("0", "1")}[column]
    counts = tuple(range(9, 9 - len(labels), -1))
    return dc.Histogram((column,), (labels,), (None,), counts, 1.5, 3.0, 0.95)


EXAMPLES = [
    Example("drift", lambda _: dc.drift(world_reference("home"), epsilon=1.0)),
    Example("drift", lambda _: dc.drift(world_reference("paid"), method="histogram", epsilon=1.0)),
]
