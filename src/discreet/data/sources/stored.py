"""Files on this machine and in object stores, and what tells that one was written anew.

A path is a file here; an address with ``://`` is opened by fsspec (``s3://``, ``gs://``, ``https://``,
``memory://``). Nothing is copied: whoever reads opens the file, as often as it is read.
"""

from __future__ import annotations

import hashlib
import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from discreet.data.sources.source import missing_package
from discreet.errors import DataRefused

_PATTERN = frozenset("*?[")


@dataclass(frozen=True)
class StoredFile:
    """A file: its path, and the fsspec file system it is in; None is this machine's."""

    path: str
    store: Any = field(default=None, repr=False)

    @property
    def name(self) -> str:
        """The last part of its path."""
        return self.path.rstrip("/").rsplit("/", 1)[-1]

    def absolute(self) -> StoredFile:
        """Return the file by a path that means the same in another folder, as of a worker."""
        return self if self.store is not None else StoredFile(os.path.abspath(self.path))

    @contextmanager
    def opened(self) -> Iterator[Any]:
        """Give what libraries read from: a path of this machine, or the bytes of a file elsewhere."""
        if self.store is None:
            yield self.path
            return
        with self.store.open(self.path, "rb") as file:
            yield file

    @property
    def size(self) -> int:
        """How many bytes it has."""
        return int(os.path.getsize(self.path) if self.store is None else self.store.size(self.path))

    def state(self) -> str:
        """Return what changes if the file is written anew: a digest of its size, time and tag."""
        if self.store is not None:
            facts: Any = sorted((key, repr(fact)) for key, fact in self.store.info(self.path).items())
        else:
            found = os.stat(self.path)
            facts = found.st_size, found.st_mtime_ns, found.st_ino
        return hashlib.sha256(repr(facts).encode()).hexdigest()

    def __str__(self) -> str:
        return self.path if self.store is None else str(self.store.unstrip_protocol(self.path))


def find_file(data: str | Path) -> StoredFile | None:
    """Return the file at a path or an address, None if there is none."""
    path, store = _place_of(data)
    if store is not None:
        return StoredFile(path, store) if store.isfile(path) else None
    return StoredFile(path) if os.path.isfile(path) else None


def find_files(
    data: str | Path, endings: Sequence[str], *, hidden: bool = False
) -> tuple[str, list[StoredFile]] | None:
    """Return a folder and the files in it, or those that a pattern means, in the order of their names.

    Of a folder it is every file at any depth with one of the endings; ``hidden`` ones, whose names, or
    folders, begin with a dot or with ``_``, belong to whoever wrote them. None if the path is neither.
    """
    path, store = _place_of(data)
    if _PATTERN & set(path):
        root = path[: min(path.index(sign) for sign in _PATTERN if sign in path)].rsplit("/", 1)[0]
        return root, [
            file for file in _matching(path, store) if _is_meant(file.path, root, endings, hidden)
        ]
    if not (os.path.isdir(path) if store is None else store.isdir(path)):
        return None
    root = path.rstrip("/")
    return root, [file for file in _below(root, store) if _is_meant(file.path, root, endings, hidden)]


def is_address(data: str | Path) -> bool:
    """Say whether something names a place elsewhere, not a path of this machine."""
    return isinstance(data, str) and "://" in data


def _matching(pattern: str, store: Any) -> list[StoredFile]:
    import glob

    if store is None:
        found = (path for path in glob.glob(pattern, recursive=True) if os.path.isfile(path))
    else:
        found = (path for path in store.glob(pattern) if store.isfile(path))
    return [StoredFile(path, store) for path in sorted(found)]


def _below(root: str, store: Any) -> list[StoredFile]:
    if store is not None:
        return [StoredFile(path, store) for path in sorted(store.find(root))]
    found = (os.path.join(folder, name) for folder, _, names in os.walk(root) for name in names)
    return [StoredFile(path) for path in sorted(found)]


def _is_meant(path: str, root: str, endings: Sequence[str], hidden: bool) -> bool:
    inner = path[len(root) :].strip("/").split("/")
    shown = hidden or not any(part[:1] in "._" for part in inner)
    return shown and path.lower().endswith(tuple(endings))


def _place_of(data: str | Path) -> tuple[str, Any]:
    """Return a path and the file system it is in."""
    if not is_address(data):
        return os.fspath(data), None
    scheme = str(data).split("://", 1)[0]
    try:
        from fsspec.core import url_to_fs
    except ImportError:
        raise missing_package(f"an address ({scheme}://)", "fsspec", "remote") from None
    try:
        store, path = url_to_fs(str(data), use_listings_cache=False)
    except ImportError as error:
        raise DataRefused(
            f"data must be at an address that can be opened here, got {scheme}:// but {error}.",
            rule="package",
        ) from None
    except ValueError:
        raise DataRefused(
            f"data must be at an address that fsspec knows, got {scheme}://. Of a database give a "
            "query.",
            rule="address",
        ) from None
    return str(path), store
