"""Books that are open: transactions that notice when the file under them is not the one they knew."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from typing import Self

from sqlalchemy import Connection

from discreet.ledger.store.locks import find_locks
from discreet.ledger.store.opening import Books


class OpenBooks:
    """What every call of a ledger works with: connections, the chain, and the witness of both."""

    def __init__(self, books: Books) -> None:
        self._connections = books.connections
        self._chain = books.chain
        self._witness = books.witness
        self._refusal = books.refusal
        self._locks = find_locks(books.connections)
        self._may_store: set[str] = set()

    def close(self) -> None:
        """Close the ledger; closing twice is allowed."""
        self._locks.close()
        self._connections.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self._connections.place.name!r})"

    @contextmanager
    def _reading(self, *datasets: str) -> Iterator[Connection]:
        with self._witnessed(self._connections.reading, datasets) as connection:
            yield connection

    @contextmanager
    def _writing(self, *datasets: str) -> Iterator[Connection]:
        self._check_own_key()
        with self._witnessed(self._connections.writing, datasets) as connection:
            yield connection

    @contextmanager
    def _witnessed(
        self, transaction: Callable[[], AbstractContextManager[Connection]], datasets: Sequence[str]
    ) -> Iterator[Connection]:
        # Before the transaction begins: what others commit later is not in what it sees.
        known = [head for dataset in datasets for head in self._witness.heads(dataset)]
        with transaction() as connection:
            self._witness.check(connection, known)
            yield connection
            newest = self._witness.look(connection, datasets)
        self._witness.remember(newest)

    def _check_own_key(self) -> None:
        if self._refusal is not None:
            raise self._refusal
