"""Delta and Iceberg tables: one state of a table is read once, in batches, into a spool.

Their files are those of many states together, and what a record says may decide in which file it is: a
file is never read by itself. Which state was read stays fixed, whoever writes meanwhile.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.data.sources.elsewhere.spool import SpooledSource, spool
from discreet.data.sources.source import CHUNK_ROWS, missing_package, run_or_refuse
from discreet.data.sources.stored import StoredFile, find_files


def open_delta(table: Any, names: Sequence[str]) -> SpooledSource:
    """Return the source of a ``deltalake.DeltaTable`` in the state that it is at."""
    what = "a Delta table whose files can all be read here, got one that fails"
    return run_or_refuse(lambda: _read_delta(table, names), what, rule="file format")


def open_iceberg(table: Any, names: Sequence[str]) -> SpooledSource:
    """Return the source of a ``pyiceberg`` table in its newest state."""
    what = "an Iceberg table whose files can all be read here, got one that fails"
    return run_or_refuse(lambda: _read_iceberg(table, names), what, rule="file format")


def lake_at(place: str | Path) -> Callable[[Sequence[str]], SpooledSource] | None:
    """Return what opens the Delta or Iceberg table that a folder holds, None if it holds none."""
    found = find_files(place, (".json",), hidden=True)
    inner = [] if found is None else [_inside(file, found[0]) for file in found[1]]
    if any(path.startswith("_delta_log/") for path in inner):
        return lambda names: open_delta(_delta_at(place), names)
    states = [path for path in inner if re.fullmatch(r"metadata/[^/]*\.metadata\.json", path)]
    if states:
        newest = max(states, key=_number)
        return lambda names: open_iceberg(_iceberg_at(f"{str(place).rstrip('/')}/{newest}"), names)
    return None


def is_delta(data: Any) -> bool:
    """Say whether something is a ``deltalake.DeltaTable``."""
    return _is_of(data, "deltalake", "DeltaTable")


def is_iceberg(data: Any) -> bool:
    """Say whether something is a table of ``pyiceberg``."""
    return _is_of(data, "pyiceberg", "Table")


def _is_of(data: Any, package: str, name: str) -> bool:
    return any(
        kind.__name__ == name and kind.__module__.split(".")[0] == package
        for kind in type(data).__mro__
    )


def _inside(file: StoredFile, root: str) -> str:
    return file.path[len(root) :].strip("/")


def _number(path: str) -> tuple[int, str]:
    """Return the number of a state, by which files are called ``00012-....`` or ``v12....``."""
    digits = re.match(r"metadata/v?(\d+)", path)
    return int(digits[1]) if digits else -1, path


def _delta_at(place: str | Path) -> Any:
    try:
        from deltalake import DeltaTable
    except ImportError:
        raise missing_package("a Delta table", "deltalake", "delta") from None
    what = f"a Delta table whose log can be read, got {place}"
    return run_or_refuse(lambda: DeltaTable(str(place)), what, rule="file format")


def _iceberg_at(state: str) -> Any:
    try:
        from pyiceberg.table import StaticTable
    except ImportError:
        raise missing_package("an Iceberg table", "pyiceberg", "iceberg") from None
    what = f"an Iceberg table whose metadata can be read, got {state}"
    return run_or_refuse(lambda: StaticTable.from_metadata(state), what, rule="file format")


def _read_delta(table: Any, names: Sequence[str]) -> SpooledSource:
    dataset = table.to_pyarrow_dataset()
    columns = list(dataset.schema.names)
    kept = [name for name in names if name in columns]
    scanner = dataset.scanner(columns=kept, batch_size=CHUNK_ROWS, use_threads=False)
    return replace(spool(columns, scanner.to_batches(), names), state=f"delta {table.version()}")


def _read_iceberg(table: Any, names: Sequence[str]) -> SpooledSource:
    columns = [field.name for field in table.schema().fields]
    kept = [name for name in names if name in columns]
    reader = table.scan(selected_fields=tuple(kept)).to_arrow_batch_reader()
    snapshot = table.current_snapshot()
    state = "iceberg" if snapshot is None else f"iceberg {snapshot.snapshot_id}"
    return replace(spool(columns, (batch.select(kept) for batch in reader), names), state=state)
