"""The best mechanism of all, by linear programming: the truth for tables so small that it can be had.

The laws of a mechanism over finitely many tables and outputs are the variables; privacy, and being
laws, are linear in them, and so is the mean loss in every table. The least worst case is what no
mechanism beats. A lower bound above it is wrong.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.errors import ArgumentError
from discreet.numerics import check_positive, check_probability
from discreet.schema import FloatArray

MOST_VARIABLES = 20_000


@dataclass(frozen=True)
class Optimum:
    """The least worst case, and a mechanism that has it.

    Args:
      loss: the mean loss of the worst table.
      law: P(output | table), one row per table.
    """

    loss: float
    law: FloatArray


def best_mechanism(
    losses: FloatArray, neighbours: Sequence[tuple[int, int]], epsilon: float, delta: float = 0.0
) -> Optimum:
    """Return the mechanism whose worst mean loss is least.

    Args:
      losses: of every output (column) in every table (row); a row of zeros is a table whose answer
        does not matter.
      neighbours: pairs of tables, by their rows, in one order.
      epsilon: of the promise.
      delta: of the promise.
    """
    check_positive("epsilon", epsilon)
    check_probability("delta", delta)
    tables, outputs = losses.shape
    both = [*neighbours, *((b, a) for a, b in neighbours)]
    slack = len(both) * outputs if delta > 0 else 0
    size = tables * outputs + slack + 1
    if size > MOST_VARIABLES:
        raise ArgumentError(
            f"losses and neighbours must make at most {MOST_VARIABLES} variables, got {size}. "
            "Take fewer tables or outputs."
        )
    return _solved(losses, both, epsilon, delta, size)


def histograms(rows: int, cells: int) -> list[tuple[int, ...]]:
    """Return all tables of ``rows`` records in ``cells`` cells, as counts."""
    if cells == 1:
        return [(rows,)]
    return [(own, *rest) for own in range(rows + 1) for rest in histograms(rows - own, cells - 1)]


def replaced_once(tables: Sequence[tuple[int, ...]]) -> list[tuple[int, int]]:
    """Return the pairs of histograms of which one becomes the other when a record is replaced."""

    def apart(a: tuple[int, ...], b: tuple[int, ...]) -> int:
        return sum(abs(x - y) for x, y in zip(a, b, strict=True))

    return pairs_of(tables, lambda a, b: apart(a, b) == 2)


def pairs_of(
    tables: Sequence[Any], are_neighbours: Callable[[Any, Any], bool]
) -> list[tuple[int, int]]:
    """Return the places of all pairs of tables that are neighbours."""
    return [(i, j) for (i, a), (j, b) in combinations(enumerate(tables), 2) if are_neighbours(a, b)]


def multisets_alike(first: Sequence[Hashable], second: Sequence[Hashable]) -> bool:
    """Say whether two tables of as many records differ in one of them."""
    left = list(first)
    for record in second:
        if record in left:
            left.remove(record)
    return len(left) == 1


def _solved(
    losses: FloatArray, both: Sequence[tuple[int, int]], epsilon: float, delta: float, size: int
) -> Optimum:
    from scipy.optimize import linprog
    from scipy.sparse import csr_matrix

    tables, outputs = losses.shape
    rows, limits = _inequalities(losses, both, epsilon, delta, size)
    laws = [(t, t * outputs + o, 1.0) for t in range(tables) for o in range(outputs)]
    goal = np.zeros(size)
    goal[-1] = 1.0
    found = linprog(
        goal,
        A_ub=_matrix(csr_matrix, rows, len(limits), size),
        b_ub=limits,
        A_eq=_matrix(csr_matrix, laws, tables, size),
        b_eq=np.ones(tables),
        method="highs",
    )
    if not found.success:
        raise ArithmeticError(f"the linear program was not solved: {found.message}")
    return Optimum(float(found.fun), found.x[: tables * outputs].reshape(tables, outputs))


Entries = list[tuple[int, int, float]]


def _inequalities(
    losses: FloatArray, both: Sequence[tuple[int, int]], epsilon: float, delta: float, size: int
) -> tuple[Entries, NDArray[np.float64]]:
    """Return the entries of all rows that must not exceed their limits: losses, then privacy."""
    tables, outputs = losses.shape
    entries: Entries = [
        (t, t * outputs + o, float(losses[t, o])) for t in range(tables) for o in range(outputs)
    ]
    entries += [(t, size - 1, -1.0) for t in range(tables)]
    limits, factor, laws = [0.0] * tables, math.exp(epsilon), tables * outputs
    for pair, (a, b) in enumerate(both):
        for o in range(outputs):
            row = len(limits)
            entries += [(row, a * outputs + o, 1.0), (row, b * outputs + o, -factor)]
            if delta > 0:
                entries.append((row, laws + pair * outputs + o, -1.0))
            limits.append(0.0)
        if delta > 0:
            entries += [(len(limits), laws + pair * outputs + o, 1.0) for o in range(outputs)]
            limits.append(delta)
    return entries, np.array(limits)


def _matrix(kind: Any, entries: Entries, height: int, width: int) -> Any:
    where, columns, values = zip(*entries, strict=True)
    return kind((values, (where, columns)), shape=(height, width))
