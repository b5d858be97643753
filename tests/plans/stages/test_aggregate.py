"""Sample and aggregate: one record moves one subset's vector, whatever the explainer does."""

from __future__ import annotations

import decimal
import hashlib
import io
import itertools
import os
import random
import sys
import warnings
from collections.abc import Iterator
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
import pandas as pd
import pytest
import sklearn

from discreet.data import PrivateTable, Summand, add_up
from discreet.data.blocks import BLOCK_ROWS, Block
from discreet.data.calls import Pulse
from discreet.data.contributions import SubsetsContribution
from discreet.data.state import thread_state
from discreet.errors import ArgumentError
from discreet.mechanisms import Noise, sum_noise
from discreet.plans import Setting
from discreet.plans.stages.aggregate import (
    assign_subsets,
    certify_vectors,
    find_frame,
    one_by_one,
    subsets_contribution,
)
from discreet.privacy.certificate import (
    NORMS,
    Bounds,
    Box,
)
from discreet.privacy.relation import Relation
from discreet.schema import Category, FloatArray, Number, Schema

PLAIN = Schema(
    {"a": Number(0, 2, step=1, missing=False), "b": Category("no", "yes", missing=False, other=False)}
)
BITS = Schema({"a": Number(0, 1, step=1, missing=False), "b": Number(0, 1, step=1, missing=False)})
WITH_ID = Schema(
    {"a": Number(0, 1, step=1, missing=False), "b": Number(0, 1, step=1, missing=False)}, id="who"
)
RECORDS = [(0, 0), (0, 1), (1, 0), (1, 1)]
REGION = Box(-1.5, 1.5)
SIZE = 3
ORDERS = {"l1": 1, "l2": 2, "linf": np.inf}
LONGEST = 3
Rows = tuple[tuple[int, int, int], ...]
"""Records with an id, which is the place they have in the longest table."""


def extremes(rows: FloatArray) -> FloatArray:
    """Answers far outside of the bounds, on either side, and sometimes none, by the rows' bytes."""
    digest = hashlib.sha256(rows.tobytes()).digest()
    found = np.array([40.0 if byte % 2 else -40.0 for byte in digest[:SIZE]])
    return np.full(SIZE, np.nan) if digest[-1] % 8 == 0 else found


def alone(parts: list[FloatArray]) -> Iterator[FloatArray]:
    return (extremes(rows) for rows in parts)


def contribution_for(
    relation: Relation,
    schema: Schema = BITS,
    subsets: int = 2,
    explain_many: Any = alone,
    pulse: Pulse | None = None,
) -> SubsetsContribution:
    rows = LONGEST if relation == "replace-one" else None
    return subsets_contribution(
        explain_many,
        Setting(schema, relation, rows),
        columns=tuple(schema),
        subsets=subsets,
        region=REGION,
        fill=0.0,
        proven=certify_vectors(SIZE, REGION),
        pulse=pulse,
    )


def noise_for(contribution: SubsetsContribution, relation: Relation) -> Noise:
    return sum_noise(contribution.proven, relation=relation, epsilon=1.0, largest_sum=10.0)


def worst_moves(contribution: SubsetsContribution, schema: Schema, relation: Relation) -> Bounds:
    """Return the greatest change between any two neighbouring tables of few records, in values."""
    noise = noise_for(contribution, relation)

    @cache
    def total(rows: Rows) -> FloatArray:
        values = np.array(rows, dtype=float).reshape(len(rows), 3)[:, : 2 + (schema.id is not None)]
        table = PrivateTable(values, schema, "add-remove")
        return add_up(table, [Summand(contribution, noise.step)])[0] * noise.step

    def neighbours(rows: Rows) -> Iterator[Rows]:
        for place, own in enumerate(rows):
            before, after = rows[:place], rows[place + 1 :]
            if relation == "add-remove":
                yield before + after
            else:
                yield from ((*before, (*other, own[2]), *after) for other in RECORDS)

    lengths = [LONGEST] if relation == "replace-one" else range(1, LONGEST + 1)
    tables = [
        tuple((*record, place) for place, record in enumerate(records))
        for length in lengths
        for records in itertools.product(RECORDS, repeat=length)
    ]
    changes = [total(table) - total(other) for table in tables for other in neighbours(table)]
    return Bounds(*(max(np.linalg.norm(c, ORDERS[n]) for c in changes) for n in NORMS))


def keeps(contribution: SubsetsContribution, schema: Schema, relation: Relation) -> bool:
    found = worst_moves(contribution, schema, relation)
    claim = noise_for(contribution, relation).certificate
    return all(getattr(found, n) <= claim.sensitivity(n, relation) for n in NORMS)


CASES: list[tuple[Relation, Schema]] = [
    ("replace-one", BITS),
    ("add-remove", BITS),
    ("add-remove", WITH_ID),
]


@pytest.mark.proves("generic-plots")
@pytest.mark.parametrize(("relation", "schema"), CASES)
@pytest.mark.parametrize("subsets", [1, 2, 3])
def test_no_neighbour_moves_the_sum_further_and_one_moves_it_as_far(
    relation: Relation, schema: Schema, subsets: int
) -> None:
    contribution = contribution_for(relation, schema, subsets)
    assert keeps(contribution, schema, relation)
    found = worst_moves(contribution, schema, relation)
    assert found.linf == pytest.approx(3.0)
    if subsets < LONGEST:  # else there are too few tables for three coordinates to move at once
        assert found.l1 == pytest.approx(3.0 * SIZE)


def by_place(block: Block) -> Any:
    return assign_subsets(block, 2, relation="replace-one", key=b"")


def by_value(block: Block) -> Any:
    return assign_subsets(block, 2, relation="add-remove", key=b"k")


def together(parts: list[FloatArray]) -> Iterator[FloatArray]:
    """Explain every subset in the light of all."""
    everything = np.concatenate(parts)
    return (extremes(np.vstack([everything, rows])) for rows in parts)


@pytest.mark.refutes("generic-plots")
def test_planted_faults_are_caught() -> None:
    placed = replace(contribution_for("add-remove"), assign=by_place)
    assert not keeps(placed, BITS, "add-remove")
    hashed = replace(contribution_for("replace-one"), assign=by_value)
    assert not keeps(hashed, BITS, "replace-one")  # a replacement touches two: 2 r
    for relation in ("replace-one", "add-remove"):
        assert not keeps(contribution_for(relation, explain_many=together), BITS, relation)
        half = contribution_for(relation).proven.scale(0.5)  # as if the subset came from nothing
        assert not keeps(replace(contribution_for(relation), proven=half), BITS, relation)


def test_certificate_is_the_box_under_both_relations_and_names_its_assumption() -> None:
    proven = contribution_for("add-remove").certificate
    for relation in ("replace-one", "add-remove"):
        assert proven.sensitivity("linf", relation) == pytest.approx(3.0)
        assert proven.sensitivity("l1", relation) == pytest.approx(3.0 * SIZE)
        assert proven.sensitivity("l2", relation) == pytest.approx(3.0 * np.sqrt(SIZE))
    assert proven.assumptions == () and proven.grade == "proven"
    called = contribution_for("add-remove", pulse=Pulse()).certificate
    assert called.grade == "isolated"
    assert "depends on the rows of that subset alone" in called.assumptions[0]


def gathered(rows: np.ndarray, relation: Relation, subsets: int) -> list[FloatArray]:
    schema = Schema({"a": Number(0, 1e6, missing=False), "b": Number(0, 1e6, missing=False)})
    seen: list[FloatArray] = []

    def keep(parts: list[FloatArray]) -> Iterator[FloatArray]:
        seen.extend(parts)
        return (np.zeros(1) for _ in parts)

    contribution = subsets_contribution(
        keep,
        Setting(schema, relation, len(rows) if relation == "replace-one" else None),
        columns=("a", "b"),
        subsets=subsets,
        region=Box(-1, 1),
        fill=0.0,
        proven=certify_vectors(1, Box(-1, 1)),
        pulse=None,
    )
    ticks: list[int] = []
    table = PrivateTable(rows, schema, relation)
    add_up(table, [Summand(contribution, 0.5)], progress=ticks.append)
    assert sum(ticks) == len(rows) and len(ticks) == subsets
    return seen


@pytest.mark.parametrize("count", [7, BLOCK_ROWS, 2 * BLOCK_ROWS + 3])
def test_rows_are_dealt_out_in_order_across_blocks(count: int) -> None:
    rows = np.column_stack([np.arange(count), np.arange(count) % 5]).astype(float)
    dealt = gathered(rows, "replace-one", 7)
    for place, part in enumerate(dealt):
        assert np.array_equal(part, rows[place::7]) and part.flags.c_contiguous
    hashed = gathered(rows, "add-remove", 7)
    assert sum(map(len, hashed)) == count
    assert all(np.all(np.diff(part[:, 0]) > 0) for part in hashed)


def test_no_rows_make_empty_subsets() -> None:
    assert [part.shape for part in gathered(np.empty((0, 2)), "add-remove", 3)] == [(0, 2)] * 3


def test_more_subsets_than_public_rows_are_refused() -> None:
    with pytest.raises(ArgumentError, match="subsets must be at most the number of rows, 3, got 4"):
        contribution_for("replace-one", subsets=4)
    assert contribution_for("add-remove", subsets=400).subsets == 400


PARTS = [np.array([[0.0, 0.0]]), np.empty((0, 2)), np.array([[2.0, 1.0], [1.0, 0.0]])]


def read(answer: Any) -> FloatArray | None:
    return None if answer is None else np.asarray(answer, dtype=np.float64)


def explained(explainer: Any) -> list[list[float]]:
    make = find_frame(lambda frame: [0.0], read, PLAIN, wanted="one number")
    return [vector.tolist() for vector in one_by_one(explainer, read, make, 1)(PARTS)]


def test_subsets_come_as_frames_of_their_own_with_original_values() -> None:
    frames: list[pd.DataFrame] = []

    def spoil(frame: pd.DataFrame) -> list[float]:
        frames.append(frame.copy())
        frame["a"] = -1.0
        frame.loc[0, "b"] = "spoilt"
        return [float(len(frame))]

    found = explained(spoil)
    assert found[0] == [1.0] and np.isnan(found[1][0]) and found[2] == [2.0]
    assert [list(frame["b"]) for frame in frames] == [["no"], ["yes", "no"]]
    assert list(frames[1].index) == [0, 1] and PARTS[2][0, 0] == 2.0


def test_failures_of_every_kind_leave_nothing_but_nan() -> None:
    class Rude(BaseException):
        pass

    def shape_shifter(error: type[BaseException]) -> Any:
        def explain(frame: pd.DataFrame) -> list[float]:
            raise error(f"rows were {frame.to_dict()}")

        return explain

    for error in (ValueError, MemoryError, RecursionError, SystemExit, Rude, StopIteration):
        assert all(np.isnan(vector[0]) for vector in explained(shape_shifter(error)))
    assert all(np.isnan(vector[0]) for vector in explained(lambda frame: None))
    assert all(np.isnan(vector[0]) for vector in explained(lambda frame: "text"))
    with pytest.raises(KeyboardInterrupt):
        explained(shape_shifter(KeyboardInterrupt))


def test_shared_generators_begin_alike_and_are_left_alone() -> None:
    def draws(frame: pd.DataFrame) -> list[float]:
        random.random()
        return [np.random.random(7 * len(frame))[0] + random.random()]  # noqa: NPY002

    np.random.seed(5)  # noqa: NPY002
    random.seed(5)
    first = explained(draws)
    after = np.random.random(), random.random()  # noqa: NPY002
    np.random.seed(5)  # noqa: NPY002
    random.seed(5)
    assert after == (np.random.random(), random.random())  # noqa: NPY002
    assert first[0] == first[2] == explained(draws)[0]


def meddling(frame: pd.DataFrame) -> list[float]:
    """Tell what of the shared state another call has changed, then change all of it."""
    changed = [
        decimal.getcontext().prec == 3,
        warnings.filters[0][0] == "error",
        getattr(sys.stdout, "mine", False) or getattr(sys.stderr, "mine", False),
        "MEDDLED" in os.environ,
        sklearn.get_config()["assume_finite"],
        np.geterr()["under"] == "raise",
    ]
    decimal.getcontext().prec = 3
    warnings.simplefilter("error")
    sys.stdout.mine = True  # type: ignore[attr-defined]
    sys.stderr = io.StringIO()
    sys.stderr.mine = True  # type: ignore[attr-defined]
    os.environ["MEDDLED"] = "yes"
    os.environ.pop("HOME", None)
    sklearn.set_config(assume_finite=True)
    np.seterr(under="raise")
    return [float(sum(changed))]


def shared_state() -> tuple[Any, ...]:
    filters = list(warnings.filters)
    streams = sys.stdout, sys.stderr
    return (*streams, filters, decimal.getcontext().prec, dict(os.environ), sklearn.get_config())


@pytest.mark.proves("generic-plots")
def test_every_subset_has_a_state_of_its_own() -> None:
    before = shared_state()
    assert explained(meddling)[::2] == [[0.0], [0.0]]
    assert shared_state() == before


@pytest.mark.refutes("generic-plots")
def test_a_state_that_subsets_share_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("discreet.plans.stages.aggregate._same_start", nullcontext)
    monkeypatch.setattr("os.environ", dict(os.environ))
    monkeypatch.setattr("sys.stdout", io.StringIO())
    monkeypatch.setattr("sys.stderr", io.StringIO())
    with thread_state(), warnings.catch_warnings(), sklearn.config_context():
        monkeypatch.delattr(sys.stdout, "mine", raising=False)
        assert explained(meddling)[2] == [6.0]


def outside(kind: str) -> Any:
    """Return an explainer that samples rows, with a generator from inside or from outside."""
    made: Any = np.random.RandomState(0) if kind == "state" else np.random.default_rng(0)
    inside: dict[str, Any] = {"seed": lambda: 0, "system": np.random.default_rng}

    def explain(frame: pd.DataFrame) -> list[float]:
        generator = inside[kind]() if kind in inside else made
        rows = frame.sample(frac=0.5, random_state=generator).index
        return [float(rows @ np.arange(len(rows)))]  # another sample has hardly ever the same

    return explain


@pytest.mark.proves("generic-plots")
@pytest.mark.parametrize("kind", ["state", "generator", "system"])
def test_an_explainer_that_keeps_something_is_refused(kind: str) -> None:
    with pytest.raises(ArgumentError, match=r"the same rows alike .* repeatable=False"):
        find_frame(outside(kind), read, PLAIN, wanted="a number")
    assert find_frame(outside(kind), read, PLAIN, wanted="a number", repeatable=False)
    assert find_frame(outside("seed"), read, PLAIN, wanted="a number")


@pytest.mark.proves("generic-plots")
def test_an_answer_that_is_written_to_later_is_not_kept() -> None:
    answer = np.zeros(1)

    def explain(frame: pd.DataFrame) -> FloatArray:
        answer[0] += len(frame)
        return answer

    with pytest.raises(ArgumentError, match="the same rows alike"):
        find_frame(explain, read, PLAIN, wanted="a number")
    make = find_frame(lambda frame: [0.0], read, PLAIN, wanted="a number")
    answer[0] = 0
    vectors = list(one_by_one(explain, read, make, 1)(PARTS))
    assert vectors[0].tolist() == [1.0] and vectors[2].tolist() == [3.0]


def test_an_explainer_that_fails_on_public_rows_is_refused_with_its_own_words() -> None:
    def broken(frame: pd.DataFrame) -> None:
        raise KeyError("colour")

    with pytest.raises(ArgumentError, match=r"explainer must return a number .*KeyError: 'colour'"):
        find_frame(broken, read, PLAIN, wanted="a number")
    with pytest.raises(ArgumentError, match="it returned NoneType"):
        find_frame(lambda frame: None, read, PLAIN, wanted="a number")


@pytest.mark.parametrize(
    "schema",
    [
        PLAIN,
        Schema({"a": Number(0, 2, missing=False)}),
        Schema({"a": Number(0, 1, missing=False), "t": Category(0, 1, missing=False, other=False)}),
    ],
)
def test_the_first_kind_of_frame_that_works_is_used(schema: Schema) -> None:
    def writes(frame: pd.DataFrame) -> list[float]:
        frame["a"] = frame["a"] * 2
        return [0.0]

    assert list(find_frame(writes, read, schema, wanted="x")(np.zeros((2, len(schema))))) == list(
        schema
    )

    def needs_categories(frame: pd.DataFrame) -> list[float]:
        return [float(frame["b"].cat.codes[0])]

    if "b" in schema:
        assert find_frame(needs_categories, read, schema, wanted="x") is not None
