"""What a third-party explainer is asked, and how its answer becomes a vector on public points or items.

Reading an answer gives a vector or None, or raises; it looks at nothing but the answer.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.arguments import as_list, as_names, shown
from discreet.errors import ArgumentError
from discreet.schema import Category, FloatArray, Schema


@dataclass(frozen=True)
class Grid:
    """Public points of a curve: numbers, or all values of a category (then ``x`` are their codes)."""

    name: str
    x: FloatArray
    values: tuple[Any, ...] | None

    @classmethod
    def of(cls, schema: Schema, feature: str, resolution: int) -> Grid:
        """Return the points of a column."""
        column = schema[feature]
        values = column.values if isinstance(column, Category) else None
        return cls(feature, column.grid(resolution), values)

    def __len__(self) -> int:
        return len(self.x)

    @property
    def labels(self) -> tuple[str, ...] | None:
        """Names of the points, if they are values of a category."""
        return None if self.values is None else tuple(str(value) for value in self.values)


def read_explainer(name: str, explainer: Any) -> Any:
    """Return an explainer, if it can be called."""
    if not callable(explainer):
        raise ArgumentError(
            f"explainer must be a function of a data frame, got {type(explainer).__name__}."
        )
    return explainer


def read_grid(name: str, grid: Any) -> tuple[float, ...]:
    """Return public points."""
    try:
        points = np.array(grid, dtype=np.float64)
    except (TypeError, ValueError):
        points = np.empty(0)
    usable = points.ndim == 1 and 2 <= len(points) <= 10_000 and bool(np.isfinite(points).all())
    if not usable or not bool((np.diff(points) > 0).all()):
        raise ArgumentError(
            f"grid must be 2 to 10,000 finite numbers that increase, got {grid!r}. "
            "Take public points, never those of the rows."
        )
    return tuple(points.tolist())


def read_items(name: str, items: Any) -> tuple[str, ...]:
    """Return the names of what is ranked."""
    names = as_names("items", as_list("items", items, "They are public: list all candidates."))
    if "" in names:
        raise ArgumentError(f"items must be names that are not empty, got {shown(items)}.")
    return names


def read_curve(answer: Any, grid: Grid) -> FloatArray | None:
    """Return an answer on the grid: one number per point, in order, or pairs to interpolate.

    Pairs are a tuple ``(x, y)``, an array with two columns, a Series or a mapping from x to y.
    Numbers are interpolated linearly and are constant outside; values of a category are looked up,
    and those that are missing are NaN.
    """
    pairs = _pairs(answer)
    if pairs is None:
        curve = np.asarray(answer, dtype=np.float64)
        return curve if curve.shape == (len(grid),) else None
    x, y = pairs[0], np.asarray(pairs[1], dtype=np.float64)
    if y.shape != (len(x),) or len(x) == 0:
        return None
    return _interpolated(x, y, grid) if grid.values is None else _looked_up(x, y, grid.values)


def _pairs(answer: Any) -> tuple[list[Any], Any] | None:
    """Return x and y of an answer that has both."""
    if isinstance(answer, tuple) and len(answer) == 2 and all(np.ndim(part) == 1 for part in answer):
        return list(answer[0]), answer[1]
    if isinstance(answer, Mapping):
        return list(answer), list(answer.values())
    if hasattr(answer, "index") and hasattr(answer, "to_numpy") and np.ndim(answer) == 1:
        return list(answer.index), answer.to_numpy()
    table = np.asarray(answer, dtype=object)
    if table.ndim == 2 and table.shape[1] == 2:
        return list(table[:, 0]), list(table[:, 1])
    return None


def _interpolated(x: list[Any], y: FloatArray, grid: Grid) -> FloatArray | None:
    places = np.asarray(x, dtype=np.float64)
    known = np.isfinite(places) & np.isfinite(y)
    if not known.any():
        return None
    order = np.argsort(places[known], kind="stable")
    return np.interp(grid.x, places[known][order], y[known][order])


def _looked_up(x: list[Any], y: FloatArray, values: tuple[Any, ...]) -> FloatArray | None:
    found = dict(zip(x, y.tolist(), strict=True))
    texts = {str(value): known for value, known in found.items()}
    curve = np.array([found.get(value, texts.get(str(value), np.nan)) for value in values])
    return None if np.isnan(curve).all() else curve


def read_scores(answer: Any, items: tuple[str, ...]) -> FloatArray | None:
    """Return an answer as scores of the items, the best greatest; NaN for those it does not rank.

    An answer is a mapping or Series from names to scores, one score per item in order, or a sequence
    of names, best first.
    """
    pairs = _named(answer)
    if pairs is not None:
        return _by_name(pairs, items)
    listed = [] if answer is None else list(answer)
    if listed and all(isinstance(entry, str) for entry in listed):
        places = {name: float(-place) for place, name in reversed(list(enumerate(listed)))}
        return _by_name(places, items)
    scores = np.asarray(answer, dtype=np.float64)
    return scores if scores.shape == (len(items),) and not np.isnan(scores).all() else None


def _named(answer: Any) -> Mapping[Any, Any] | None:
    """Return an answer that maps names to scores as a mapping."""
    if isinstance(answer, Mapping):
        return answer
    named = hasattr(answer, "index") and hasattr(answer, "to_dict") and np.ndim(answer) == 1
    if named and all(isinstance(name, str) for name in answer.index):
        return dict(answer.to_dict())
    return None


def _by_name(scores: Mapping[Any, Any], items: tuple[str, ...]) -> FloatArray | None:
    found = np.array([float(scores.get(item, np.nan)) for item in items])
    return None if np.isnan(found).all() else found
