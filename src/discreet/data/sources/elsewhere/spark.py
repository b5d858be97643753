"""Spark data frames: a source whose rows stay with its executors (``spark_executors``).

Spark decides which rows share a partition and a batch, by values where there was a shuffle: places
are not kept, as in a Hive layout.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from discreet.data.sources.source import Chunk, as_names, run_or_refuse
from discreet.errors import DataRefused

_FAILS = "a Spark frame that can be computed, got one that fails"


@dataclass(frozen=True)
class SparkSource:
    """A Spark data frame, in one part that its executors read."""

    frame: Any = field(repr=False)
    columns: tuple[str, ...]

    positional = False

    def count(self) -> int:
        """Return the number of rows, counted by the executors."""
        return int(run_or_refuse(self.frame.count, _FAILS, rule="computation"))

    def chunks(self, names: Sequence[str]) -> Iterator[Chunk]:
        """Refuse: rows stay where they are."""
        raise DataRefused(
            "data must be rows that this process may read, got a Spark frame, whose rows stay with its "
            "executors. Write it to Parquet and protect that.",
            rule="kind of source",
        )

    def partitions(self, names: Sequence[str] | None, client: Any) -> Sequence[SparkSource]:
        """Return the frame, with these columns alone."""
        if names is None:
            return [self]
        quoted = ["`" + name.replace("`", "``") + "`" for name in names]
        return [SparkSource(self.frame.select(*quoted), tuple(names))]


def open_spark(frame: Any, names: Sequence[str]) -> SparkSource:
    """Return the source of a Spark data frame."""
    return SparkSource(frame, as_names(frame.columns))


def is_spark(data: Any) -> bool:
    """Say whether something is a Spark data frame, of this process or of a server."""
    import narwhals as nw

    plain, ask = nw.to_native(data, pass_through=True), nw.dependencies
    return bool(ask.is_pyspark_dataframe(plain) or ask.is_pyspark_connect_dataframe(plain))
