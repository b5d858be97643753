"""Drivers of databases, made to hand over every value: one that they cannot read comes as written.

SQLite's stops at a text that is no UTF-8, PostgreSQL's at a time that Python's calendar lacks
(``infinity``, years beyond 9999). One record would decide whether a query is answered.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

_TIMES = ("date", "timestamp", "timestamptz", "time", "timetz", "interval")


@contextmanager
def hands_over_all(connection: Any) -> Iterator[None]:
    """Change how a connection reads values, and change it back: it may be of the owner's pool."""
    driver = connection.connection.driver_connection
    match type(driver).__module__.split(".")[0]:
        case "sqlite3":
            change = _texts
        case "psycopg":
            change = _times
        case _:
            change = _nothing
    with change(driver):
        yield


@contextmanager
def _nothing(driver: Any) -> Iterator[None]:
    yield


@contextmanager
def _texts(driver: Any) -> Iterator[None]:
    before, driver.text_factory = driver.text_factory, _text
    try:
        yield
    finally:
        driver.text_factory = before


def _text(written: bytes) -> str | bytes:
    try:
        return written.decode()
    except UnicodeDecodeError:
        return written


@contextmanager
def _times(driver: Any) -> Iterator[None]:
    from psycopg.pq import Format

    kinds = [driver.adapters.types[name].oid for name in _TIMES]
    before = [driver.adapters.get_loader(kind, Format.TEXT) for kind in kinds]
    for kind, loader in zip(kinds, before, strict=True):
        driver.adapters.register_loader(kind, _as_written_after(loader))
    try:
        yield
    finally:
        for kind, loader in zip(kinds, before, strict=True):
            driver.adapters.register_loader(kind, loader)


def _as_written_after(loader: Any) -> type:
    """Return a loader that hands over as a text what another one cannot read."""
    from psycopg.adapt import Loader

    class AsWritten(Loader):
        def __init__(self, oid: int, context: Any = None) -> None:
            super().__init__(oid, context)
            self._load = loader(oid, context).load

        def load(self, data: Any) -> Any:
            try:
                return self._load(data)
            except Exception:  # beyond Python's calendar, or its longest interval
                return bytes(data).decode()

    return AsWritten
