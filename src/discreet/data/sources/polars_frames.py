"""polars frames, eager and lazy.

A lazy frame is a query: run twice it may give its rows in another order, or fail because of a value
after something was spent. So it is run once, when the table is opened, for the columns the schema
names, by the engine that streams through files larger than memory; what it answers stays in memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from discreet.data.sources.arrow import ArrowSource
from discreet.data.sources.source import kind_of_column, run_or_refuse


def open_polars(frame: Any, names: Sequence[str]) -> ArrowSource:
    """Return the source of an eager frame (of a subclass the plain frame it holds)."""
    import polars as pl

    plain = pl.DataFrame(frame)
    _check_kinds(plain.schema, names)
    native = plain.select([name for name in names if name in plain.columns]).to_arrow()
    return ArrowSource(native, tuple(native.column_names))


def open_lazy_polars(query: Any, names: Sequence[str]) -> ArrowSource:
    """Return the source of a lazy frame's answer."""
    what = "a lazy frame that can be collected, got one that fails. Try data.collect() to see why"
    schema = run_or_refuse(query.collect_schema, what, rule="computation")
    _check_kinds(schema, names)
    wanted = query.select([name for name in names if name in schema])
    native = run_or_refuse(lambda: wanted.collect(engine="streaming").to_arrow(), what, "computation")
    return ArrowSource(native, tuple(native.column_names))


def _check_kinds(schema: Any, names: Sequence[str]) -> None:
    for name in names:
        if str(schema.get(name)) == "Object":
            raise kind_of_column(name, "Python objects")
