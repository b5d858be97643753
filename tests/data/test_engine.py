"""The summing engine against exact arithmetic, on every neighbour of tiny tables."""

from __future__ import annotations

import itertools
import math
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import replace
from fractions import Fraction
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from discreet.data import (
    CellContribution,
    Contribution,
    ModelCalls,
    PrivateTable,
    Summand,
    VectorContribution,
    add_up,
    engine,
    kernels,
)
from discreet.data.adding import _into_ball
from discreet.data.blocks import BLOCK_ROWS, Block
from discreet.data.calls import ThirdParty, isolated, probed
from discreet.data.engine import sum_block
from discreet.errors import ArgumentError
from discreet.mechanisms import sum_noise
from discreet.privacy.certificate import (
    Ball,
    Box,
    Certificate,
)
from discreet.privacy.relation import ROWS_CAP, Relation
from discreet.schema import FloatArray, Number, Schema
from tests.data.twins import KINDS, SCHEMA, as_arrow, make_rows, make_source, read_blocks
from tests.schema.strategies import hostile

STEP = 2.0**-20
WILD = [0.0, 1.0, -1.0, 0.3, 2.5, 1e300, -1e300, math.nan, math.inf, -math.inf, 5e-324, STEP / 2]


def wild_vectors(block: Block) -> FloatArray:
    """Return two numbers per row, each a function of the row alone, many of them far outside."""
    ages, incomes = block["age"], block["income"]
    places = (ages + np.floor(incomes)).astype(np.int64) % len(WILD)
    return np.column_stack([np.array(WILD)[places], np.sin(incomes) * np.where(ages > 50, 1e6, 1)])


def vectors(region: Box | Ball, **changes: Any) -> VectorContribution:
    plain = VectorContribution(("age", "income"), 2, region, 0.25, wild_vectors, calls=None)
    return replace(plain, **changes)


REGIONS = [Box(-1, 1), Box(0.1, 0.7), Ball(0.8, "l1"), Ball(0.8, "l2"), Ball(0.8, "linf")]


def exact_sum(blocks: list[Block], contribution: VectorContribution, step: float) -> list[int]:
    """Add every row's rounded, clipped vector in rational arithmetic, one row at a time."""
    totals = [0] * contribution.size
    low, high = contribution.region.limits
    per_step = 1 / Fraction(step)
    for block in blocks:
        for vector in contribution.compute(block.narrow(contribution.columns)):
            if isinstance(contribution.region, Ball):
                (vector,) = _into_ball(vector[None, :], contribution.region, contribution.fill)
            for place, value in enumerate(vector.tolist()):
                clipped = min(max(contribution.fill if math.isnan(value) else value, low), high)
                totals[place] += round(Fraction(clipped) * per_step)  # ties go to the even number
    return totals


@cache
def exact_totals(count: int) -> list[list[int]]:
    blocks = read_blocks(as_arrow(make_rows(count)), ids=False)
    return [exact_sum(blocks, vectors(region), STEP) for region in REGIONS]


def wrong_totals(kind: str, count: int, workers: int, folder: Path) -> list[Box | Ball]:
    """Return the regions whose totals are not those of exact arithmetic."""
    table = PrivateTable(make_source(kind, make_rows(count), folder), SCHEMA)
    totals = add_up(table, [Summand(vectors(region), STEP) for region in REGIONS], workers=workers)
    checked = zip(REGIONS, totals, exact_totals(count), strict=True)
    return [region for region, found, exact in checked if found.tolist() != exact]


LONG, SHORT = BLOCK_ROWS + 77, 600


@pytest.mark.proves("lattice")
@pytest.mark.parametrize("workers", [1, 2, 3])
def test_totals_are_exact_with_any_number_of_workers(workers: int, tmp_path: Path) -> None:
    assert wrong_totals("pyarrow", LONG, workers, tmp_path) == []


@pytest.mark.proves("lattice")
@pytest.mark.parametrize("kind", KINDS)
def test_totals_are_exact_from_any_source(kind: str, tmp_path: Path) -> None:
    assert wrong_totals(kind, SHORT, 2, tmp_path) == []


def added_as_floats(
    values: FloatArray, low: float, high: float, fill: float, per_step: float, totals: Any
) -> None:
    clipped = np.clip(np.where(np.isnan(values), fill, values), low, high)
    totals += np.rint(clipped.sum(axis=0) * per_step).astype(np.int64)


def not_clipped(
    values: FloatArray, low: float, high: float, fill: float, per_step: float, totals: Any
) -> None:
    kernels_add(np.clip(np.nan_to_num(values), -9, 9), -9.0, 9.0, fill, per_step, totals)


def rounded_up(
    values: FloatArray, low: float, high: float, fill: float, per_step: float, totals: Any
) -> None:
    clipped = np.clip(np.where(np.isnan(values), fill, values), low, high)
    totals += np.ceil(clipped * per_step).astype(np.int64).sum(axis=0)


kernels_add = kernels.round_and_add


@pytest.mark.refutes("lattice")
@pytest.mark.parametrize("fault", [added_as_floats, not_clipped, rounded_up])
def test_other_arithmetic_is_caught(
    fault: Callable[..., None], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kernels, "round_and_add", fault)
    assert wrong_totals("pyarrow", SHORT, 1, tmp_path) != []


@pytest.mark.refutes("lattice")
def test_a_lost_block_is_caught(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    exact_totals(LONG)  # of all blocks, before one is lost
    honest = engine.open_rows

    def forgetful(*arguments: Any, **options: Any) -> Iterator[Block]:
        return itertools.islice(honest(*arguments, **options), 1)

    monkeypatch.setattr(engine, "open_rows", forgetful)
    assert wrong_totals("pyarrow", LONG, 2, tmp_path) == REGIONS


# The certificate over all neighbours of tiny tables.

TINY = Schema({"a": Number(0, 3, step=1, missing=False)})
DOMAIN = (0.0, 1.0, 2.0, 3.0)


def corners(block: Block) -> FloatArray:
    """Send the domain to opposite corners of any region, and to NaN."""
    table = np.array([[9.0, 9.0, -9.0], [-9.0, -9.0, 9.0], [np.nan] * 3, [9.0, 0.0, 0.0]])
    return table[block["a"].astype(int)]


def tiny_tables(largest: int) -> Iterator[tuple[float, ...]]:
    for size in range(1, largest + 1):
        yield from itertools.product(DOMAIN, repeat=size)


def neighbours(rows: tuple[float, ...], relation: Relation) -> Iterator[tuple[float, ...]]:
    for place in range(len(rows)):
        if relation == "add-remove":
            yield (*rows[:place], *rows[place + 1 :])
        else:
            for value in DOMAIN:
                yield (*rows[:place], value, *rows[place + 1 :])


def broken_bounds(
    contribution: Contribution, certificate: Certificate, step: float, relation: Relation, largest: int
) -> set[str]:
    """Return the norms in which some neighbour moves the computed sum by more than certified."""
    known: dict[tuple[float, ...], FloatArray] = {}

    def total(rows: tuple[float, ...]) -> FloatArray:
        if rows not in known:
            table = PrivateTable(np.array(rows).reshape(-1, 1), TINY, "add-remove")
            known[rows] = add_up(table, [Summand(contribution, step)])[0].astype(np.float64)
        return known[rows]

    broken = set()
    for rows in tiny_tables(largest):
        for other in neighbours(rows, relation):
            moved = np.abs(total(rows) - total(other))
            lengths = {"l1": moved.sum(), "l2": math.sqrt((moved**2).sum()), "linf": moved.max()}
            broken |= {
                norm
                for norm, length in lengths.items()
                if length * step > certificate.sensitivity(norm, relation)  # type: ignore[arg-type]
            }
    return broken


RELATIONS: list[Relation] = ["replace-one", "add-remove"]
ODD = 1 / 3
TINY_REGIONS = [
    Box(-0.35, 0.48),  # both ends are rounded outwards
    Box(0.15, 0.48),
    Ball(ODD, "l1"),
    Ball(ODD, "l2"),
    Ball(ODD, "linf"),
]


@pytest.mark.proves("lattice")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("region", TINY_REGIONS)
def test_certificate_with_rounding_holds_for_all_neighbours(
    region: Box | Ball, relation: Relation
) -> None:
    contribution = VectorContribution(("a",), 3, region, 0.1, corners, calls=None)
    noise = sum_noise(contribution.certificate, relation=relation, epsilon=1.0, largest_sum=3.0)
    assert broken_bounds(contribution, noise.certificate, noise.step, relation, 3) == set()
    coarse = 2.0**-4  # on a coarse lattice rounding is most of the movement
    widened = contribution.certificate.widen(coarse)
    assert broken_bounds(contribution, widened, coarse, relation, 3) == set()


@pytest.mark.refutes("lattice")
@pytest.mark.parametrize("relation", RELATIONS)
@pytest.mark.parametrize("region", TINY_REGIONS[:2])
def test_forgotten_rounding_is_caught(region: Box, relation: Relation) -> None:
    contribution = VectorContribution(("a",), 3, region, 0.1, corners, calls=None)
    exact = contribution.certificate
    assert broken_bounds(contribution, exact, 2.0**-4, relation, 2) != set()


def swayed(block: Block) -> FloatArray:
    """Answer with a wobble of almost a step that the other rows of the call decide."""
    sways = 0.75 * COARSE * (block["a"].max() > 2)
    return np.column_stack([np.clip(block["a"], 0, 2) * 0.5 * ODD + sways])


COARSE = 2.0**-8
SWAYED = ThirdParty.of(probed(0.75 * COARSE, 9))
SHARED = VectorContribution(
    ("a",), 1, Box(0.0, 0.75), 0.1, swayed, calls=ModelCalls(SWAYED, lipschitz=1.0)
)


@pytest.mark.proves("lattice")
@pytest.mark.parametrize("relation", RELATIONS)
def test_certificate_with_batch_rows_holds_for_all_neighbours(relation: Relation) -> None:
    batch_rows, batch_error = SHARED.batch_rows(relation), SHARED.batch_error(relation)
    paid = SHARED.certificate.widen(batch_rows * batch_error)
    noise = sum_noise(paid, relation=relation, epsilon=1.0, largest_sum=9.0, batch_rows=batch_rows)
    scaled = paid.widen(COARSE * (1 + batch_rows))
    assert broken_bounds(SHARED, scaled, COARSE, relation, 2) == set()
    assert noise.certificate.sensitivity("l1", relation) >= batch_rows * (noise.step + batch_error)
    # Two others in a table of three: what they move and what their rounding adds.
    tight = SHARED.certificate.widen(2 * batch_error + COARSE * (1 + 2))
    assert broken_bounds(SHARED, tight, COARSE, relation, 3) == set()


@pytest.mark.refutes("lattice")
@pytest.mark.parametrize("relation", RELATIONS)
def test_forgotten_batch_rows_are_caught(relation: Relation) -> None:
    narrow = replace(SHARED, region=Box(0.0, COARSE))
    alone = narrow.certificate.widen(COARSE)
    assert broken_bounds(narrow, alone, COARSE, relation, 3) != set()


def test_batch_rows_are_counted_for_third_party_code_alone() -> None:
    ours = replace(SHARED, calls=None)
    alone = replace(SHARED, calls=ModelCalls(ThirdParty.of(isolated()), lipschitz=1.0))
    assert ours.own_row and not alone.own_row and not SHARED.own_row
    for relation in RELATIONS:
        assert ours.batch_rows(relation) == alone.batch_rows(relation) == 0
    assert SHARED.batch_rows("replace-one") == BLOCK_ROWS
    assert SHARED.batch_rows("add-remove") == ROWS_CAP == 2**24
    assert SHARED.batch_rows("add-remove", 2**30) == 2**30
    assert SHARED.batch_rows("replace-one", 2**30) == BLOCK_ROWS


# Clipping to balls.


def exact_length(vector: list[float], norm: str) -> Fraction:
    """Return the length, for L2 its square."""
    parts = [abs(Fraction(value)) for value in vector]
    return {"l1": sum(parts), "l2": sum(p * p for p in parts), "linf": max(parts)}[norm]  # type: ignore[return-value]


@hostile
@given(
    st.lists(st.floats() | st.sampled_from(WILD), min_size=1, max_size=6),
    st.sampled_from(["l1", "l2", "linf"]),
    st.sampled_from([1.0, 0.3, 1e-200, 1e-160, 1e100, 7e12]),
    st.sampled_from([0.0, 0.5, -2.0]),
)
def test_every_vector_ends_in_the_ball(
    vector: list[float], norm: Any, radius: float, fill: float
) -> None:
    ball = Ball(radius, norm)
    (clipped,) = _into_ball(np.array([vector]), ball, fill).tolist()
    limit = Fraction(radius) ** (2 if norm == "l2" else 1)
    assert exact_length(clipped, norm) <= limit
    step = 2.0 ** (math.frexp(radius)[1] - 30)
    contribution = VectorContribution(
        ("a",), len(vector), ball, fill, lambda block: np.array([vector]), calls=None
    )
    (total,) = sum_block(Block(0, ("a",), np.zeros((1, 1))), [Summand(contribution, step)])
    shrunk = [max(abs(int(k)) - Fraction(1, 2), Fraction(0)) * Fraction(step) for k in total]
    assert exact_length([float(x) for x in shrunk], norm) <= limit * (1 + Fraction(1, 10**9))


def test_vectors_inside_a_ball_are_not_touched() -> None:
    inside = np.array([[0.1, -0.2], [0.0, 0.29], [1e-300, 5e-324]])
    for norm in ("l1", "l2", "linf"):
        assert _into_ball(inside, Ball(0.3001, norm), 0.0).tobytes() == inside.tobytes()  # type: ignore[arg-type]


def test_direction_survives_clipping() -> None:
    clipped = _into_ball(np.array([[3e200, 4e200], [-30.0, 40.0]]), Ball(5.0, "l2"), 0.0)
    assert clipped[1] == pytest.approx([-3.0, 4.0])
    assert np.linalg.norm(clipped[0]) == pytest.approx(5.0)


@hostile
@given(st.lists(st.floats(), min_size=1, max_size=6), st.sampled_from([Box(-1, 1), Box(0.25, 3)]))
def test_every_number_ends_in_the_box(values: list[float], box: Box) -> None:
    contribution = VectorContribution(
        ("a",), 1, box, 9.0, lambda block: np.array(values)[:, None], calls=None
    )
    (total,) = sum_block(Block(0, ("a",), np.zeros((len(values), 1))), [Summand(contribution, 0.25)])
    filled = [9.0 if math.isnan(value) else value for value in values]
    assert total.tolist() == [sum(round(min(max(v, box.low), box.high) * 4) for v in filled)]


# Counts.

CELLS = CellContribution(
    ("age", "home"), 6, lambda block: (block["home"] + (block["age"] > 50)).astype(int)
)


def wrong_counts(contribution: CellContribution, order: np.ndarray, workers: int) -> bool:
    """Compare with a tally of every row taken by itself."""
    rows = {name: [values[i] for i in order] for name, values in make_rows(len(order)).items()}
    data = make_source("pyarrow", rows, Path())
    tally = Counter(
        int(contribution.index(Block(0, block.names, block.values[i : i + 1]))[0])
        for block in read_blocks(data, ids=False)
        for i in range(len(block))
    )
    (counts,) = add_up(PrivateTable(data, SCHEMA), [Summand(contribution, 1.0)], workers=workers)
    return dict(enumerate(counts.tolist())) != {cell: tally[cell] for cell in range(contribution.size)}


@pytest.mark.proves("pattern-counts")
@pytest.mark.parametrize("workers", [1, 2])
def test_counts_are_whole_whatever_the_order(workers: int) -> None:
    order = np.arange(BLOCK_ROWS + 500)
    assert not wrong_counts(CELLS, order, workers)
    assert not wrong_counts(CELLS, np.random.default_rng(0).permutation(order), workers)


@pytest.mark.refutes("pattern-counts")
def test_cells_that_depend_on_the_order_are_caught() -> None:
    by_rank = replace(CELLS, index=lambda block: np.argsort(block["home"], kind="stable") % 6)
    assert wrong_counts(by_rank, np.arange(600), 1)


@pytest.mark.refutes("pattern-counts")
def test_counts_kept_as_short_floats_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = np.bincount

    def halves(cells: np.ndarray, minlength: int, weights: object) -> np.ndarray:
        return honest(cells, minlength=minlength).astype(np.float16).astype(np.int64)

    assert not wrong_counts(CELLS, np.arange(BLOCK_ROWS), 1)
    monkeypatch.setattr(np, "bincount", halves)
    assert wrong_counts(
        replace(CELLS, index=lambda block: np.zeros(len(block), int)), np.arange(8_191), 1
    )


@pytest.mark.proves("pattern-counts")
@pytest.mark.parametrize("relation", RELATIONS)
def test_certificate_of_counts_holds_for_all_neighbours(relation: Relation) -> None:
    cells = CellContribution(("a",), 4, lambda block: block["a"].astype(np.int64))
    assert broken_bounds(cells, cells.certificate, 1.0, relation, 3) == set()


@pytest.mark.refutes("pattern-counts")
@pytest.mark.parametrize("relation", RELATIONS)
def test_a_record_in_two_cells_is_caught(relation: Relation) -> None:
    one = CellContribution(("a",), 4, lambda block: block["a"].astype(np.int64))

    def in_two(block: Block) -> FloatArray:
        cells = one.index(block)
        return np.eye(4)[cells] + np.eye(4)[(cells + 1) % 4]

    two = VectorContribution(("a",), 4, Box(0, 1), 0.0, in_two, calls=None)
    assert broken_bounds(two, one.certificate, 1.0, relation, 3) != set()


def test_cells_outside_the_table_are_clipped_not_rejected() -> None:
    wild = CellContribution(("a",), 3, lambda block: np.array([-7, 0, 2, 99]))
    (counts,) = sum_block(Block(0, ("a",), np.zeros((4, 1))), [Summand(wild, 1.0)])
    assert counts.tolist() == [1, 0, 2], "a negative place is none"


def test_the_compiled_loop_is_the_one_that_is_read() -> None:
    values = np.array([*WILD, 0.5 * STEP, 1.5 * STEP, -2.5 * STEP]).reshape(-1, 1)
    for low, high in ((-1.0, 1.0), (0.1, 0.7)):
        compiled, read = np.zeros(1, np.int64), np.zeros(1, np.int64)
        kernels.round_and_add(values, low, high, 0.25, 1 / STEP, compiled)
        kernels.round_and_add.py_func(values, low, high, 0.25, 1 / STEP, read)
        assert compiled.tolist() == read.tolist()


# The way through the table.


def test_every_contribution_sees_its_own_columns_in_its_own_order() -> None:
    """Once a contribution got whatever columns its neighbours had asked for first."""
    seen: list[tuple[str, ...]] = []

    def look(block: Block) -> FloatArray:
        seen.append(block.names)
        return np.ascontiguousarray(block.values[:, :1])

    schema = Schema({"a": Number(0, 9, missing=False), "b": Number(0, 9, missing=False)})
    table = PrivateTable(np.array([[1.0, 4.0]]), schema)
    asked = [("b",), ("a", "b"), ("b", "a")]
    box = Box(0, 9)
    totals = add_up(
        table, [Summand(VectorContribution(c, 1, box, 0.0, look, calls=None), 1.0) for c in asked]
    )
    assert seen == asked
    assert [total.tolist() for total in totals] == [[4], [1], [4]]


def test_an_empty_table_adds_up_to_nothing() -> None:
    table = PrivateTable(np.zeros((0, 1)), TINY, "add-remove")
    cells = CellContribution(("a",), 4, lambda block: block["a"].astype(np.int64))
    for workers in (1, 2):
        totals = add_up(table, [Summand(SHARED, 1.0), Summand(cells, 1.0)], workers=workers)
        assert [total.tolist() for total in totals] == [[0], [0, 0, 0, 0]]


@pytest.mark.parametrize("workers", [1, 3])
def test_progress_comes_to_the_number_of_rows(workers: int) -> None:
    count = 20 * BLOCK_ROWS + 3
    done: list[int] = []
    cells = CellContribution(("a",), 4, lambda block: block["a"].astype(np.int64))
    table = PrivateTable(np.zeros((count, 1)), TINY)
    (counts,) = add_up(table, [Summand(cells, 1.0)], workers=workers, progress=done.append)
    assert sum(done) == count == counts.sum()
    assert max(done) == 8 * BLOCK_ROWS


@pytest.mark.parametrize("workers", [1, 3])
def test_errors_in_workers_come_out(workers: int) -> None:
    def fails_later(block: Block) -> FloatArray:
        if block.start:
            raise ZeroDivisionError("in a worker")
        return np.zeros((len(block), 1))

    table = PrivateTable(np.zeros((9 * BLOCK_ROWS, 1)), TINY)
    before = threading.active_count()
    with pytest.raises(ZeroDivisionError, match="in a worker"):
        add_up(table, [Summand(replace(SHARED, compute=fails_later), 1.0)], workers=workers)
    assert threading.active_count() == before


@pytest.mark.parametrize("shape", [(7, 1), (8, 2), (8,), (9, 1), (1, 1)])
def test_vectors_of_a_wrong_shape_never_reach_the_kernel(shape: tuple[int, ...]) -> None:
    """The compiled loop checks no bounds: one column too many would write beyond the totals."""
    wrong = replace(SHARED, compute=lambda block: np.zeros(shape))
    with pytest.raises(ArgumentError, match="must have the shape"):
        sum_block(Block(0, ("a",), np.zeros((8, 1))), [Summand(wrong, 1.0)])
    cells = CellContribution(("a",), 4, lambda block: np.zeros(shape, dtype=np.int64))
    if shape != (8,):
        with pytest.raises(ArgumentError, match="must have the shape"):
            sum_block(Block(0, ("a",), np.zeros((8, 1))), [Summand(cells, 1.0)])


@pytest.mark.parametrize(("room", "how"), [(2**28, "Block"), (20_000, "PackedBlock")])
def test_kept_blocks_are_read_once_and_only_while_there_is_room(
    monkeypatch: pytest.MonkeyPatch, room: int, how: str
) -> None:
    from discreet.data import rows as door
    from discreet.data.blocks import KeptRows

    rows = (np.arange(20_000) % 4.0).reshape(-1, 1)
    table, kept, full = PrivateTable(rows, TINY), KeptRows(room=room), KeptRows(room=19_999)
    reads, plain = [], door._read
    monkeypatch.setattr(door, "_read", lambda *asked: reads.append(1) or plain(*asked))
    first, again = (list(door.open_rows(table, ["a"], kept=kept)) for _ in range(2))
    assert [block.start for block in again] == [0, 8_192, 16_384] and len(reads) == 1
    assert all(np.array_equal(a.values, b.values) for a, b in zip(first, again, strict=True))
    assert not again[0].values.flags.writeable and again[0].values.flags.f_contiguous
    assert {type(own).__name__ for own in kept.blocks[("a",), False, 0]} == {how}
    assert all(list(door.open_rows(table, ["a"], kept=full)) for _ in range(2))
    assert not full.blocks and len(reads) == 3
