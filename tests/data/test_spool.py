"""A spool: rows in an order nobody chose, in a file nobody reads."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Sequence
from pathlib import Path

import networkx as nx
import numpy as np
import pyarrow as pa
import pytest
from cryptography.exceptions import InvalidTag
from scipy.stats import chi2

from discreet.data.sources.elsewhere import spool as module
from discreet.data.sources.elsewhere.spool import SpooledSource, spool

Order = Callable[[Sequence[int]], Sequence[int]]


def spooled(values: Sequence[int], batch: int = 10**6) -> SpooledSource:
    whole = pa.record_batch({"a": pa.array(values, pa.int64())})
    return spool(["a"], (whole.slice(at, batch) for at in range(0, len(values), batch)), ["a"])


def read(source: SpooledSource) -> list[int]:
    return [int(value) for chunk in source.chunks(["a"]) for value in chunk["a"]]  # type: ignore[union-attr]


def in_places(one: Sequence[int], other: Sequence[int]) -> int:
    return sum(a != b for a, b in zip(one, other, strict=True))


def can_be_paired(law: Callable[[Sequence[int]], Counter[tuple[int, ...]]]) -> bool:
    """Say whether lists of neighbouring bags can be paired so that none differs in two places."""
    for bag in itertools.combinations_with_replacement(range(3), 4):
        for place, value in itertools.product(range(4), range(3)):
            near = tuple(sorted((*bag[:place], *bag[place + 1 :], value)))
            one, other = law(bag), law(near)
            graph = nx.DiGraph()
            for found, count in one.items():
                graph.add_edge("from", (0, found), capacity=count * other.total())
            for found, count in other.items():
                graph.add_edge((1, found), "to", capacity=count * one.total())
            pairs = itertools.product(one, other)
            graph.add_edges_from(((0, x), (1, y)) for x, y in pairs if in_places(x, y) <= 1)
            if nx.maximum_flow_value(graph, "from", "to") < one.total() * other.total():
                return False
    return True


@pytest.mark.proves("shuffled-rows")
def test_lists_of_neighbouring_bags_differ_in_one_place_after_a_shuffle() -> None:
    assert can_be_paired(lambda bag: Counter(itertools.permutations(bag)))


@pytest.mark.refutes("shuffled-rows")
@pytest.mark.parametrize("order", [sorted, lambda bag: sorted(bag, key=lambda v: (bag.count(v), v))])
def test_an_order_that_values_decide_is_caught(order: Order) -> None:
    assert not can_be_paired(lambda bag: Counter([tuple(order(bag))]))


def uniform(runs: int, draw: Callable[[], tuple[int, ...]]) -> bool:
    """Say whether arrangements of four are equally frequent: wrongly denied once in 10^12 runs."""
    counts = Counter(draw() for _ in range(runs))
    expected = runs / math.factorial(4)
    found = [counts[each] for each in itertools.permutations(range(4))]
    assert sum(found) == runs
    distance = sum((count - expected) ** 2 / expected for count in found)
    return bool(distance < chi2.isf(1e-12, 23))


@pytest.mark.proves("shuffled-rows")
@pytest.mark.parametrize(("buckets", "batch"), [(2, 1), (64, 4)])
def test_all_orders_are_equally_frequent(
    buckets: int, batch: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "BUCKETS", buckets)
    monkeypatch.setattr(module, "_PIECE_ROWS", 2)
    assert uniform(480, lambda: tuple(read(spooled(range(4), batch))))


@pytest.mark.refutes("shuffled-rows")
def test_buckets_that_are_not_shuffled_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "shuffled_places", np.arange)
    monkeypatch.setattr(module, "BUCKETS", 2)
    assert not uniform(480, lambda: tuple(read(spooled(range(4)))))


def test_every_row_is_there_once_and_every_time_in_the_same_order() -> None:
    source = spooled(range(300_000), 70_000)
    first = read(source)
    assert sorted(first) == list(range(300_000)) and first == read(source) != list(range(300_000))
    assert source.count() == 300_000


def test_what_is_on_disk_cannot_be_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows go to a file without a name, and a byte of it that is changed is noticed."""
    monkeypatch.setattr(module, "IN_MEMORY", 1)
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    source = spool(["a"], [pa.record_batch({"a": ["SECRET"] * 1_000})], ["a"])
    assert source.file is not None and "SECRET" not in repr(source)
    assert list(tmp_path.iterdir()) == []
    file = source.file._file
    file.seek(0)
    content = file.read()
    assert len(content) > 6_000 and b"SECRET" not in content
    file.seek(len(content) - 9)
    file.write(b"x")
    with pytest.raises(InvalidTag):
        list(source.chunks(["a"]))


def test_columns_that_are_not_there_once_are_not_read() -> None:
    def batches() -> object:
        raise AssertionError("read")
        yield

    for columns in (["b"], ["a", "a"]):
        assert spool(columns, batches(), ["a"]).columns == tuple(columns)  # type: ignore[arg-type]
