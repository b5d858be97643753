"""Tell whether two models are the same, whichever process fitted or loaded them.

A model is taken apart the way pickle would, and what it is made of is hashed by value: arrays by
their numbers (not by the bytes between them, which may be anything), containers by their parts.
What cannot be taken apart, or is defined where its name does not say what it does, is equal to
nothing, not even to itself.
"""

from __future__ import annotations

import copyreg
import hashlib
import secrets
from types import BuiltinFunctionType, FunctionType
from typing import Any

import numpy as np


def fingerprint(model: Any, name: str | None) -> str:
    """Return a text that equal models share; a function's is its name, or never seen again."""
    if name is not None:
        return f"name:{name}"
    if hasattr(model, "get_params"):
        try:
            return f"hash:{_Digest().of(model).hex()}"
        except Exception:  # not every estimator can be taken apart
            pass
    # A function's code does not say what it closes over: never take two for the same.
    return f"once:{secrets.token_hex(16)}"


class _Digest:
    """Digests of values; a value met twice is taken apart once, a value inside itself raises."""

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, bytes | None]] = {}

    def of(self, value: Any) -> bytes:
        if value is None or isinstance(value, bool | int | float | complex | str | bytes):
            return _hashed(type(value).__name__, repr(value).encode())
        if id(value) not in self._known:
            self._known[id(value)] = value, None  # kept, so that its id stays its own
            self._known[id(value)] = value, self._of_object(value)
        digest = self._known[id(value)][1]
        if digest is None:
            raise ValueError("A value contains itself.")
        return digest

    def _of_object(self, value: Any) -> bytes:
        match value:
            case np.ndarray() | np.generic():
                return self._of_array(np.asarray(value))
            case list() | tuple():
                return self._of_parts(type(value).__name__, value)
            case set() | frozenset():
                return _hashed("set", *sorted(map(self.of, value)))
            case dict() if type(value) is dict:
                parts = [self.of(key) + self.of(part) for key, part in value.items()]
                return _hashed("dict", *sorted(parts))
            case type() | FunctionType() | BuiltinFunctionType():
                return _of_name(value)
        return self._of_reduced(value)

    def _of_array(self, array: np.ndarray[Any, Any]) -> bytes:
        if array.dtype.names is not None:
            fields = [self._of_array(array[name]) for name in array.dtype.names]
            return self._of_parts("fields", [*array.dtype.names, *fields])
        if array.dtype.hasobject:
            return self._of_parts("objects", [array.shape, *array.ravel().tolist()])
        kind = f"array {array.dtype.str} {array.shape}"
        return _hashed(kind, np.ascontiguousarray(array).tobytes())

    def _of_reduced(self, value: Any) -> bytes:
        reduce = copyreg.dispatch_table.get(type(value))
        reduced = reduce(value) if reduce is not None else value.__reduce_ex__(4)
        if isinstance(reduced, str):
            return _of_name(value, reduced)
        make, arguments, state, items, entries = (*reduced, None, None, None)[:5]
        contents = [list(part) if part is not None else None for part in (items, entries)]
        return self._of_parts("object", [make, arguments, state, *contents])

    def _of_parts(self, kind: str, parts: Any) -> bytes:
        return _hashed(kind, *map(self.of, parts))


def _of_name(value: Any, name: str | None = None) -> bytes:
    module = getattr(value, "__module__", None) or type(value).__module__
    known = name or value.__qualname__
    if module == "__main__" or "<" in known:  # a lambda, something local, or this script's own
        raise ValueError(f"{known} has no name that says what it does.")
    return _hashed("name", module.encode(), known.encode())


def _hashed(kind: str, *parts: bytes) -> bytes:
    digest = hashlib.sha256(f"{kind} {len(parts)}".encode())
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.digest()
