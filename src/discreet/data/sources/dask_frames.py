"""Dask data frames: pandas frames one after the other, or read by the workers of a cluster.

A partition goes to a worker as the steps that make it, which one task of ours takes: what they make
is never a result that Dask would keep, move or write to a disk. Where the partitions cannot be made
one by one (a shuffle, a join, a mean of all) or are there already (a persisted frame), Dask makes
or holds them on its workers and hands them to our tasks.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from discreet.data.sources.pandas_frames import PandasSource, open_pandas
from discreet.data.sources.partitions import Held, has_keys
from discreet.data.sources.source import Chunk, Source, as_names, run_or_refuse
from discreet.data.state import quietly
from discreet.errors import DataRefused

_IN_MEMORY = {"dataframe.shuffle.method": "tasks"}
"""Other methods of shuffling write rows to disks."""


@dataclass(frozen=True)
class DaskSource:
    """A Dask data frame: pandas frames in the order of their partitions, one at a time.

    A partition may have its columns in another order than the frame says, or others beside them:
    they are found by name in each. ``needed`` are those every partition must have once.
    """

    frame: Any = field(repr=False)
    columns: tuple[str, ...]
    needed: tuple[str, ...]

    @property
    def positional(self) -> bool:
        """Whether every step of the frame leaves rows where they are, as far as can be seen."""
        return all(_keeps_rows(step) for step in self.frame.expr.walk())

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
        wanted = self._narrow(names)
        for place in range(wanted.npartitions):
            with quietly():  # what it prints or warns could hold a row
                part = wanted.partitions[place].compute()
            yield from _opened(part, names).chunks(names)

    def partitions(self, names: Sequence[str] | None, client: Any) -> Sequence[Source | Held]:
        """Return every partition as the steps that make it, or as Dask holds it."""
        import dask
        from dask.optimization import cull

        needed = tuple(self.needed if names is None else names)
        self._check_sorted()
        with dask.config.set(_IN_MEMORY), client.as_current():
            # Not tuned: that would join partitions if few columns are asked for.
            steps = (self.frame if names is None else self._narrow(names)).expr.simplify()
            lowered = steps.lower_completely()
            graph, keys = dict(lowered.__dask_graph__()), lowered.__dask_keys__()
            own = [cull(graph, [key])[0] for key in keys]
            if sum(map(len, own)) == len(graph) and not _has_futures(graph):
                return [DaskPartition(g, key, needed) for g, key in zip(own, keys, strict=True)]
            futures = client.get(graph, keys, sync=False)
        return [Held(future, _Opener(needed)) for future in futures]

    def _narrow(self, names: Sequence[str]) -> Any:
        return self.frame[[self.frame.columns[self.columns.index(name)] for name in names]]

    def _check_sorted(self) -> None:
        from dask.dataframe.dask_expr._shuffle import BaseSetIndexSortValues

        if any(isinstance(step, BaseSetIndexSortValues) for step in self.frame.expr.walk()):
            raise DataRefused(
                "data must be a Dask frame whose steps leave its values to the workers, got one that "
                "is sorted by a column, for which Dask brings values of it to this process. "
                "Leave the sorting out, or keep its result as Parquet.",
                rule="sorted",
            )


@dataclass(frozen=True)
class DaskPartition:
    """The steps that make one partition, taken by whoever asks for its rows."""

    graph: Any = field(repr=False)
    key: Any
    columns: tuple[str, ...]

    def count(self) -> int:
        """Return the number of rows, if every column is there once."""
        return self._made(self.columns).count()

    def chunks(self, names: Sequence[str]) -> Iterator[Chunk]:
        """Yield slices of the partition."""
        yield from self._made(names).chunks(names)

    def _made(self, names: Sequence[str]) -> PandasSource:
        import dask

        return _opened(dask.get(self.graph, self.key), names)


@dataclass(frozen=True)
class _Opener:
    """Makes a source of a partition that Dask hands over."""

    names: tuple[str, ...]

    def __call__(self, part: Any) -> Source:
        return _opened(part, self.names)


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


def _opened(part: Any, names: Sequence[str]) -> PandasSource:
    source = open_pandas(part, names)
    _check_partition(source.columns, names)
    return source


def _check_partition(columns: Sequence[str], needed: Sequence[str]) -> None:
    for name in needed:
        if columns.count(name) != 1:
            raise DataRefused(
                f"data must have one column {name!r} in every partition, got one with "
                f"{columns.count(name)} of that name. Mend the files it is read from.",
                column=name,
                rule="partition",
            )


def _keeps_rows(step: Any) -> bool:
    """Say whether a step of a frame is known to leave every row in its place.

    A frame that was persisted does not tell how it was made, and a function of partitions may sort.
    """
    from dask.dataframe.dask_expr import _concat, _expr, io
    from dask.dataframe.dask_expr.io import _delayed

    if isinstance(step, io.ReadParquet):
        return not step.filters and not any(map(has_keys, _files(step)))
    if isinstance(step, io.FromGraph):
        return False
    kept = (io.IO, _expr.Elemwise, _expr.Partitions, _concat.Concat, _delayed.DelayedsExpr)
    return isinstance(step, kept)


def _files(step: Any) -> list[str]:
    """Return the files that a step reads, with either of the two readers Dask has."""
    found = step._dataset_info
    return list(found["ds"].files) if "ds" in found else [file.path for file in found["all_files"]]


def _has_futures(graph: Any) -> bool:
    """Say whether Dask holds something of a graph already."""
    from dask.core import flatten
    from distributed import futures_of

    return bool(futures_of(list(flatten(graph.values()))))
