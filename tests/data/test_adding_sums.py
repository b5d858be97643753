"""Sums on their way from the workers: the same numbers in fewer bytes, and failures stay failures."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from discreet.data.adding import added, pack_sums, unpack_sums

WHOLE = st.integers(-(2**62), 2**62)


@given(st.lists(arrays(np.int64, st.integers(0, 20), elements=WHOLE), max_size=3))
def test_what_is_unpacked_is_what_was_packed(sums: list[np.ndarray]) -> None:
    packed = pack_sums(sums)
    assert packed is not None
    found = unpack_sums(packed)
    assert all(vector.dtype == np.int64 for vector in found)
    assert [vector.tolist() for vector in found] == [vector.tolist() for vector in sums]


@pytest.mark.parametrize("edge", [127, 128, -128, -129, 2**15 - 1, 2**15, 2**31 - 1, 2**31, -(2**61)])
def test_the_edges_of_every_kind_survive(edge: int) -> None:
    packed = pack_sums([np.array([edge, 0])])
    assert packed is not None
    assert unpack_sums(packed)[0].tolist() == [edge, 0]


def test_counts_of_many_cells_are_little() -> None:
    counts = np.random.default_rng(0).poisson(40, 350_000).astype(np.int64)
    ((_, numbers),) = pack_sums([counts]) or []
    assert len(numbers) < counts.nbytes / 7


def test_sums_are_added_and_a_failed_task_fails_all() -> None:
    assert [v.tolist() for v in added([np.array([1, 2])], [np.array([3, 4])]) or []] == [[4, 6]]
    assert added(None, [np.array([1])]) is None and added([np.array([1])], None) is None
    assert pack_sums(None) is None
