"""What releases hold: noisy numbers with their bands, as frames, JSON and pictures.

Nothing here has seen a raw row. Every result says how wide its noise is.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, Protocol

import numpy as np

from discreet.arguments import shown
from discreet.errors import ReleaseError
from discreet.plain import read_fields
from discreet.plans.results.axes import Axis, axis_of
from discreet.plans.results.bands import BandName, chosen_band
from discreet.schema import FloatArray, Schema
from discreet.schema.bins import MISSING_LABEL

if TYPE_CHECKING:
    import pandas as pd

_KINDS: dict[str, type[Result]] = {}


class Drawing(Protocol):
    """Something that can be drawn."""

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """Draw on ``ax`` or on new axes; returns a display with ``ax_`` and ``figure_``."""


class Result(ABC):
    """A released value that can be drawn, tabled and saved."""

    type_name: ClassVar[str]

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        cls.type_name = cls.__name__
        _KINDS[cls.__name__] = cls
        if "__repr__" not in vars(cls):  # a dataclass would write out every number of every field
            cls.__repr__ = Result.__repr__  # type: ignore[method-assign]

    def __repr__(self) -> str:
        frame = filled_columns(self.to_frame())
        head = f"{self.type_name}, {self.extent}" if self.extent else self.type_name
        return f"{head}\n{frame.to_string(max_rows=10, index=frame.index.name is not None)}"

    @abstractmethod
    def to_frame(self) -> pd.DataFrame:
        """Return the numbers as a data frame."""

    @abstractmethod
    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """Draw the numbers with their noise; returns a display with ``ax_`` and ``figure_``."""

    def pictures(self) -> Mapping[str, Drawing]:
        """Return what is drawn of it on a page, by title: itself, or answers that it consists of."""
        return {"": self}

    def to_json(self) -> dict[str, Any]:
        """Return the result as plain data, without loss."""
        return {"type": self.type_name, **_plain(asdict(self))}  # type: ignore[call-overload]

    @classmethod
    def read(cls, plain: dict[str, Any]) -> Result:
        """Build a result from plain data."""
        stored = dict(plain)
        name = stored.pop("type", None)
        if not isinstance(name, str) or name not in _KINDS:
            raise ReleaseError(f"value must be one of {', '.join(sorted(_KINDS))}, got {shown(name)}.")
        built = _KINDS[name].from_plain(stored)
        if not built.fits_together():
            raise ReleaseError(
                f"The parts of a saved {name} must fit together. Use it as it was saved."
            )
        return built

    @classmethod
    def from_plain(cls, plain: dict[str, Any]) -> Result:
        """Build a result of this kind from its fields; raise ValueError if one is wrong."""
        return read_fields(cls, plain)

    def fits_together(self) -> bool:
        """Return whether parts that belong to each other have the same length; asked after reading."""
        return True

    def dressed(self, schema: Schema) -> Result:
        """Return the result with what a schema says for people: dates, units and labels."""
        return self

    @property
    def extent(self) -> str:
        """How much was released, in words ("20 points"); empty for one value."""
        return ""


def filled_columns(frame: pd.DataFrame) -> pd.DataFrame:
    """Return a table as it is printed: without columns of which no row has anything to say."""
    kept = [any(x not in (None, "") for x in frame.iloc[:, k]) for k in range(frame.shape[1])]
    return frame.loc[:, kept] if any(kept) else frame


@dataclass(frozen=True)
class Histogram(Result):
    """Noisy counts of cells; for several columns one axis each.

    Attributes:
      columns: the columns counted.
      labels: the cells' names along every column; ``(missing)`` and ``(other)`` are the last, if any.
      edges: bin edges of numeric columns, None for categories; the cell ``(missing)`` has none.
      counts: noisy counts, flat, in row-major order.
      noise_std: standard deviation of the noise on a count.
      half_width: a count is within this of the true one with probability ``level``, each by itself.
      level: see ``half_width``.
      half_width_all: the same for all counts at once.
      axes: how every column is shown: of dates, and of what has a unit or a label; else None.
    """

    columns: tuple[str, ...]
    labels: tuple[tuple[str, ...], ...]
    edges: tuple[tuple[float, ...] | None, ...]
    counts: tuple[float, ...]
    noise_std: float
    half_width: float
    level: float
    half_width_all: float | None = field(default=None, kw_only=True)
    axes: tuple[Axis | None, ...] = field(default=(), kw_only=True)

    def dressed(self, schema: Schema) -> Histogram:
        """Return the histogram with titles of its axes, and dates on them."""
        return replace(self, axes=tuple(axis_of(schema, name) for name in self.columns))

    def axis(self, place: int) -> Axis | None:
        """Return how a column is shown."""
        return self.axes[place] if place < len(self.axes) else None

    def band(self, of: BandName = "each") -> tuple[FloatArray, FloatArray]:
        """Return the ends of the noise band, of each count by itself or of all of them at once."""
        width = chosen_band(of, self.half_width, self.half_width_all)
        return np.maximum(self.to_array() - width, 0.0), self.to_array() + width

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of cells along every column."""
        return tuple(len(names) for names in self.labels)

    @property
    def extent(self) -> str:
        """The number of cells."""
        return f"{math.prod(self.shape):,} cells"

    def fits_together(self) -> bool:
        """Return whether every column has its cells and every cell a count."""
        axes = zip(self.labels, self.edges, strict=True)
        return (
            len(self.columns) == len(self.labels) > 0
            and len(self.counts) == math.prod(self.shape)
            and all(edges is None or len(edges) - 1 in _edged(names) for names, edges in axes)
        )

    def to_array(self) -> FloatArray:
        """Return the counts with one axis per column."""
        return np.asarray(self.counts, dtype=np.float64).reshape(self.shape)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per cell: its labels, the noisy count and its own band."""
        import pandas as pd

        index = pd.MultiIndex.from_product(self.labels, names=self.columns)
        frame = index.to_frame(index=False)
        counts = np.asarray(self.counts)
        frame["count"] = counts
        frame["low"] = np.maximum(counts - self.half_width, 0.0)
        frame["high"] = counts + self.half_width
        return frame

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """Draw bars with noise bands, or a map for two columns."""
        from discreet.plans.results.pictures.histogram import HistogramDisplay

        return HistogramDisplay(self).plot(ax, title=title)


@dataclass(frozen=True)
class MissingPoint:
    """The value of a curve where its feature is missing.

    Attributes:
      y: the noisy value.
      low: lower end of its noise band by itself.
      high: upper end of its noise band.
      ends_all: ends of its band if all points of the curve are to be inside theirs at once.
    """

    y: float
    low: float
    high: float
    ends_all: tuple[float, float]


@dataclass(frozen=True)
class Curve(Result):
    """A noisy curve over the values of a feature.

    Attributes:
      feature: the column on the horizontal axis.
      x: grid points; for a category its codes.
      labels: names of the grid points if the feature is a category, else None.
      y: noisy values, after free post-processing.
      low: lower end of the noise band of each value by itself; ``band("all")`` holds all at once.
      high: upper end of the noise band.
      level: every exact value is inside its band with this probability, each by itself.
      noise_std: standard deviation of the noise on a value.
      quantity: what ``y`` measures.
      rug: a private histogram of the feature, where other tools draw the rows themselves.
      ends_all: lower and upper ends of bands that hold all at once with probability ``level``.
      missing: the value if a number is missing, with its bands; None if it cannot be, and for
        categories, of which *missing* is one of the grid points.
      axis: how the feature is shown, if it is a date or has a unit or a label; else None.
    """

    feature: str
    x: tuple[float, ...]
    labels: tuple[str, ...] | None
    y: tuple[float, ...]
    low: tuple[float, ...]
    high: tuple[float, ...]
    level: float
    noise_std: float
    quantity: str
    rug: Histogram | None
    ends_all: tuple[tuple[float, ...], tuple[float, ...]] | None = field(default=None, kw_only=True)
    missing: MissingPoint | None = field(default=None, kw_only=True)
    axis: Axis | None = field(default=None, kw_only=True)

    def dressed(self, schema: Schema) -> Curve:
        """Return the curve with a title of its axis, and dates on it."""
        rug = None if self.rug is None else self.rug.dressed(schema)
        return replace(self, axis=axis_of(schema, self.feature), rug=rug)

    def band(self, of: BandName = "each") -> tuple[FloatArray, FloatArray]:
        """Return the ends of the noise band, of each value by itself or of all of them at once."""
        low, high = chosen_band(of, (self.low, self.high), self.ends_all)
        return np.array(low), np.array(high)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per grid point: its value, the noisy curve and its own band.

        If the feature is a number that may be missing, the last row, with NaN, is for that.
        """
        import pandas as pd

        points: Sequence[Any] = self.x if self.labels is None else self.labels
        rows = [*zip(points, self.y, self.low, self.high, strict=True)]
        if self.missing is not None:
            rows.append((math.nan, self.missing.y, self.missing.low, self.missing.high))
        frame = pd.DataFrame(rows, columns=[self.feature, "value", "low", "high"])
        if self.axis is not None and self.axis.step is not None:
            frame[self.feature] = self.axis.values(frame[self.feature].tolist())
        return frame

    def plot(self, ax: Any = None, *, title: str | None = None, band: BandName = "each") -> Any:
        """Draw the curve with a noise band, of each value or of all, the private histogram below it."""
        from discreet.plans.results.pictures.curve import CurveDisplay

        return CurveDisplay(self, band).plot(ax, title=title)

    @property
    def extent(self) -> str:
        """The number of points."""
        return f"{len(self.x):,} points"

    def fits_together(self) -> bool:
        """Return whether every point has a value and a band."""
        named = self.labels is None or len(self.labels) == len(self.x)
        counted = self.rug is None or self.rug.fits_together()
        ends = (self.low, self.high, *(self.ends_all or ()))
        return named and counted and all(len(part) == len(self.x) for part in (self.y, *ends))


@dataclass(frozen=True)
class MeanCurve(Curve):
    """A private mean curve; the band speaks of noise, not of what shrinking takes away.

    Attributes:
      kernel: what the curve was taken to be like.
      rho: the penalty; coefficients are multiplied by lambda / (lambda + rho).
      terms: eigenpairs that were kept.
      truncation: the greatest length, in the unit of the curves, of what the other terms held.
    """

    kernel: str
    rho: float
    terms: int
    truncation: float


@dataclass(frozen=True)
class Surface(Result):
    """A noisy surface over the values of two features.

    Attributes:
      features: the columns on the horizontal and on the vertical axis.
      x: grid points of the first feature; for a category its codes.
      y: grid points of the second feature.
      labels: names of the grid points of either feature if it is a category, else None.
      values: noisy values after free post-processing, one row per point of ``x``.
      low: lower end of the noise band of each value by itself; ``band("all")`` holds all at once.
      high: upper end of the noise band.
      level: every exact value is inside its band with this probability, each by itself.
      noise_std: standard deviation of the noise on a value.
      quantity: what ``values`` measure.
      ends_all: lower and upper ends of bands that hold all at once with probability ``level``.
      axes: how either feature is shown: of dates, and of what has a unit or a label; else None.
    """

    features: tuple[str, str]
    x: tuple[float, ...]
    y: tuple[float, ...]
    labels: tuple[tuple[str, ...] | None, tuple[str, ...] | None]
    values: tuple[tuple[float, ...], ...]
    low: tuple[tuple[float, ...], ...]
    high: tuple[tuple[float, ...], ...]
    level: float
    noise_std: float
    quantity: str
    ends_all: tuple[tuple[tuple[float, ...], ...], tuple[tuple[float, ...], ...]] | None = field(
        default=None, kw_only=True
    )
    axes: tuple[Axis | None, Axis | None] = field(default=(None, None), kw_only=True)

    def dressed(self, schema: Schema) -> Surface:
        """Return the surface with titles of its axes, and dates on them."""
        first, second = self.features
        return replace(self, axes=(axis_of(schema, first), axis_of(schema, second)))

    def band(self, of: BandName = "each") -> tuple[FloatArray, FloatArray]:
        """Return the ends of the noise band, of each value by itself or of all of them at once."""
        low, high = chosen_band(of, (self.low, self.high), self.ends_all)
        return np.array(low), np.array(high)

    @property
    def extent(self) -> str:
        """The number of points along both axes."""
        return f"{len(self.x):,} × {len(self.y):,} points"

    def fits_together(self) -> bool:
        """Return whether every pair of points has a value and a band."""
        axes = zip((self.x, self.y), self.labels, strict=True)
        named = all(names is None or len(names) == len(points) for points, names in axes)
        matrices = (self.values, self.low, self.high)
        return named and all(is_table(matrix, len(self.x), len(self.y)) for matrix in matrices)

    def to_array(self) -> FloatArray:
        """Return the values, one row per point of ``x`` and one column per point of ``y``."""
        return np.asarray(self.values, dtype=np.float64)

    def to_frame(self) -> pd.DataFrame:
        """Return one row per cell: its point on both axes, the noisy value and the band."""
        import pandas as pd

        parts = zip((self.x, self.y), self.labels, self.axes, strict=True)
        points = [
            names if names is not None else own if axis is None else axis.values(own)
            for own, names, axis in parts
        ]
        frame = pd.MultiIndex.from_product(points, names=self.features).to_frame(index=False)
        for name, matrix in (("value", self.values), ("low", self.low), ("high", self.high)):
            frame[name] = np.ravel(matrix)
        return frame

    def plot(self, ax: Any = None, *, title: str | None = None) -> Any:
        """Draw a heat map; the colour bar states the noise."""
        from discreet.plans.results.pictures.curve import SurfaceDisplay

        return SurfaceDisplay(self).plot(ax, title=title)


def _edged(names: Sequence[str]) -> tuple[int, ...]:
    """Return how many cells of a number may have edges: all, or all but that of missing values."""
    return (len(names), len(names) - 1) if names[-1:] == (MISSING_LABEL,) else (len(names),)


def is_table(rows: Sequence[Sequence[Any]], height: int, width: int) -> bool:
    """Return whether there are so many rows, each so wide."""
    return len(rows) == height and all(len(row) == width for row in rows)


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _plain(entry) for name, entry in value.items()}
    if isinstance(value, tuple | list):
        return [_plain(entry) for entry in value]
    return value
