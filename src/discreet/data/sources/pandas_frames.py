"""pandas data frames, and whatever is one: subclasses such as those of geopandas."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from discreet.data.conversion import from_pandas
from discreet.data.sources.source import CHUNK_ROWS, Chunk, as_names


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
        found = {name: self.frame.iloc[:, self.columns.index(name)] for name in names}
        for start in range(0, len(self.frame), CHUNK_ROWS):
            rows = slice(start, start + CHUNK_ROWS)
            yield {name: from_pandas(series.iloc[rows]) for name, series in found.items()}


def open_pandas(frame: Any, names: Sequence[str]) -> PandasSource:
    """Return the source of a frame; of a subclass the plain frame it holds, without a copy."""
    import pandas as pd

    plain = pd.DataFrame(frame, copy=False)
    return PandasSource(plain, as_names(plain.columns))
