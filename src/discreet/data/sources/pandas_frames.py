"""pandas data frames, and whatever is one: subclasses such as those of geopandas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from discreet.data.conversion import from_pandas
from discreet.data.sources.source import CHUNK_ROWS, Chunk, as_names
from discreet.schema.bins import FloatArray


@dataclass(frozen=True)
class PandasSource:
    """A pandas data frame in memory."""

    frame: Any = field(repr=False)
    columns: tuple[str, ...]

    def count(self) -> int:
        """Return the number of rows."""
        return len(self.frame)

    def chunks(self, names: Sequence[str]) -> Iterator[Chunk]:
        """Yield slices of the frame."""
        found = {name: self._series(name) for name in names}
        plain = {name: np.asarray(own) for name, own in found.items() if _is_plain(own.dtype)}
        for start in range(0, len(self.frame), CHUNK_ROWS):
            rows = slice(start, start + CHUNK_ROWS)
            yield {
                name: plain[name][rows] if name in plain else from_pandas(series.iloc[rows])
                for name, series in found.items()
            }

    def lying(self, name: str) -> FloatArray | None:
        """Return a column as it lies in memory; None if that is not one float after the other."""
        series = self._series(name)
        if series.dtype is not np.dtype(np.float64):
            return None
        found = np.asarray(series)
        return found if found.flags.c_contiguous else None

    def _series(self, name: str) -> Any:
        place = self.columns.index(name)
        return self.frame[self._labels[place]] if self._labels else self.frame.iloc[:, place]

    @cached_property
    def _labels(self) -> list[Any]:
        """The names as pandas has them; none if two columns share one. By name it is faster."""
        names = self.frame.columns
        return list(names.tolist()) if names.is_unique else []


def _is_plain(dtype: Any) -> bool:
    """Return whether a column lies in memory as numbers that need no conversion."""
    return dtype is np.dtype(np.float64) or (isinstance(dtype, np.dtype) and dtype.kind in "iub")


def open_pandas(frame: Any, names: Sequence[str]) -> PandasSource:
    """Return the source of a frame; of a subclass the plain frame it holds, without a copy."""
    import pandas as pd

    plain = pd.DataFrame(frame, copy=False)
    return PandasSource(plain, as_names(plain.columns))
