"""Dask data frames, larger than memory: pandas frames one after the other."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from discreet.data.sources.pandas_frames import open_pandas
from discreet.data.sources.source import Chunk, as_names, run_or_refuse
from discreet.data.state import quietly
from discreet.errors import DataRefused


@dataclass(frozen=True)
class DaskSource:
    """A Dask data frame: pandas frames in the order of their partitions, one at a time.

    A partition may have its columns in another order than the frame says, or others beside them:
    they are found by name in each. ``needed`` are those every partition must have once.
    """

    frame: Any = field(repr=False)
    columns: tuple[str, ...]
    needed: tuple[str, ...]

    def count(self) -> int:
        """Return the number of rows, counted where the partitions are."""
        import pandas as pd

        def look(part: Any) -> Any:
            return pd.Series([(len(part), [str(name) for name in part.columns])])

        def found() -> list[Any]:
            return list(self.frame.map_partitions(look, meta=pd.Series([], dtype=object)).compute())

        what = "a Dask frame that can be computed, got one that fails"
        partitions = run_or_refuse(found, what, rule="computation")
        for _, names in partitions:
            _check_partition(names, self.needed)
        return sum(int(rows) for rows, _ in partitions)

    def chunks(self, names: Sequence[str]) -> Iterator[Chunk]:
        """Yield slices of one partition after the other."""
        wanted = self.frame[[self.frame.columns[self.columns.index(name)] for name in names]]
        for place in range(wanted.npartitions):
            with quietly():  # what it prints or warns could hold a row
                part = wanted.partitions[place].compute()
            source = open_pandas(part, names)
            _check_partition(source.columns, names)
            yield from source.chunks(names)


def open_dask(frame: Any, names: Sequence[str]) -> DaskSource:
    """Return the source of a Dask frame of pandas partitions."""
    import narwhals as nw

    if not nw.dependencies.is_pandas_dataframe(frame._meta):
        raise DataRefused(
            f"data must be a Dask frame of pandas partitions, got {type(frame._meta).__module__} ones. "
            "Convert it with to_backend('pandas').",
            rule="kind of source",
        )
    return DaskSource(frame, as_names(frame.columns), tuple(names))


def _check_partition(columns: Sequence[str], needed: Sequence[str]) -> None:
    for name in needed:
        if columns.count(name) != 1:
            raise DataRefused(
                f"data must have one column {name!r} in every partition, got one with "
                f"{columns.count(name)} of that name. Mend the files it is read from.",
                column=name,
                rule="partition",
            )
