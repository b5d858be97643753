"""Tell whether two models are the same, whichever process fitted or loaded them.

A model is taken apart the way pickle would, and what it is made of is hashed by value: arrays by
their numbers (not by the bytes between them, which may be anything), containers by their parts,
functions and classes by their names, as pickle has it: a name counts only if it leads to the object
itself. Types are compared exactly: a subclass may hold more than its base shows. What cannot be told
by its value counts as itself, and a model that holds such a thing is equal to no other.
"""

from __future__ import annotations

import copyreg
import hashlib
import secrets
import sys
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from enum import Enum
from functools import partial
from types import BuiltinFunctionType, FunctionType, ModuleType
from typing import Any

import numpy as np

from discreet.errors import ArgumentError

_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_COMPLETE = ("discreet", "numpy", "scipy", "pandas", "sklearn", "xgboost", "lightgbm", "catboost")
"""Libraries whose objects pickle all that decides their answers."""

_COUNTERS = slice(7, 11)
"""Where trees of neighbours count their queries, in the state they pickle."""


def fingerprint(model: Any, name: str | None) -> str:
    """Return a text that equal models share; a function's is its name, or never seen again."""
    return Kept("model", model, name).fingerprint


class Kept:
    """Something of a caller's that a plan was made of, and what it was like then.

    Guarantees:
      - ``fingerprint`` is shared by equal things alone; what cannot be told by its value shares its
        own with nothing. [plan-keys]
      - ``check_unchanged`` raises if it was fitted again or written to since. [plan-keys]
    """

    def __init__(
        self,
        label: str,
        value: Any,
        name: str | None = None,
        *,
        view: Callable[[Any], Any] | None = None,
    ) -> None:
        self.label, self.value, self.name, self._view = label, value, name, view or _as_it_is
        self.known: dict[Any, Any] = {}
        """What public rows told of it, by what they were tried with."""
        self._rests = False
        digest = _Digest()
        self._seen = digest.of(self._view(value))
        # A function's code does not say what it closes over: never take two for the same.
        known = not digest.opaque and (hasattr(value, "get_params") or not callable(value))
        self.fingerprint = f"hash:{self._seen.hex()}" if known else f"once:{secrets.token_hex(16)}"
        if name is not None:
            self.fingerprint = f"name:{name}"

    def held(self) -> Iterable[Kept]:
        """Return what could change: itself."""
        return (self,)

    def check_unchanged(self) -> None:
        """Raise if the value is not what it was."""
        if not self._rests and _Digest().of(self._view(self.value)) != self._seen:
            raise ArgumentError(
                f"{self.label} must be what it was when the plan was made, got one that was fitted "
                "again or written to since. Make the plan again."
            )

    def look_again(self) -> None:
        """Remember the value as it is now: what our own calls did to it is no change."""
        if not self._rests:
            self._seen = _Digest().of(self._view(self.value))

    def rest(self) -> None:
        """Look at the value no more: for who alone has it, so that nobody else can write to it."""
        self._rests = True


def _as_it_is(value: Any) -> Any:
    return value


class _Digest:
    """Digests of values; a value met twice is taken apart once.

    ``opaque`` tells whether something counted as itself, because its value could not be told.
    """

    def __init__(self) -> None:
        self._known: dict[int, tuple[Any, bytes | None]] = {}
        self.opaque = False

    def of(self, value: Any) -> bytes:
        if type(value) in _PLAIN:
            return _hashed(type(value).__name__, _text(value))
        if id(value) not in self._known:
            self._known[id(value)] = value, None  # kept, so that its id stays its own
            self._known[id(value)] = value, self._of_object(value)
        digest = self._known[id(value)][1]
        return self._of_itself(value) if digest is None else digest  # None: it contains itself

    def _of_object(self, value: Any) -> bytes:
        try:
            return self._taken_apart(value)
        except Exception:  # not everything can be taken apart
            return self._of_itself(value)

    def _taken_apart(self, value: Any) -> bytes:
        kind = type(value)
        if kind in (np.ndarray, np.memmap) or isinstance(value, np.generic):
            return self._of_array(np.asarray(value))
        if kind in (list, tuple):
            return self._of_parts(kind.__name__, value)
        if kind in (set, frozenset):
            return _hashed("set", *sorted(map(self.of, value)))
        if kind is dict or _is_bunch(kind):
            return _hashed(
                kind.__name__, *(self.of(key) + self.of(part) for key, part in value.items())
            )
        if isinstance(value, type) or _is_global(value):
            return _of_name(value)
        if kind is FunctionType:
            return _hashed("function", _of_name(value), *map(self.of, _estimators(value)))
        if isinstance(value, Enum):
            return _of_name(value, f"{kind.__qualname__}.{value.name}")
        if kind is partial:  # its own pickle tells apart what was copied
            return self._of_parts("partial", [value.func, value.args, value.keywords, vars(value)])
        return self._of_reduced(value)

    def _of_array(self, array: np.ndarray[Any, Any]) -> bytes:
        if array.dtype.names is not None and not _is_packed(array.dtype):
            fields = [self._of_array(array[name]) for name in array.dtype.names]
            return self._of_parts("fields", [*array.dtype.names, *fields])
        if array.dtype.hasobject:
            return self._of_parts("objects", [array.shape, *array.ravel().tolist()])
        layout = array.dtype.str if array.dtype.names is None else array.dtype.descr
        kind = f"array {layout} {array.shape}"
        return _hashed(kind, np.ascontiguousarray(array).tobytes())

    def _of_reduced(self, value: Any) -> bytes:
        reduce = copyreg.dispatch_table.get(type(value))
        reduced = reduce(value) if reduce is not None else value.__reduce_ex__(4)
        if isinstance(reduced, str):
            return _of_name(value, reduced)
        make, arguments, state, items, entries = (*reduced, None, None, None)[:5]
        _check_complete(value, state)
        if _counts_queries(type(value)):
            state = (*state[: _COUNTERS.start], *state[_COUNTERS.stop :])
        contents = [list(part) if part is not None else None for part in (items, entries)]
        return self._of_parts("object", [make, arguments, _sorted(state), *contents])

    def _of_parts(self, kind: str, parts: Any) -> bytes:
        return _hashed(kind, *map(self.of, parts))

    def _of_itself(self, value: Any) -> bytes:
        """Return what only this very object has, and of a function the estimators it works with."""
        self.opaque = True
        return _hashed("itself", b"%d" % id(value), *map(self.of, _estimators(value)))


def _is_packed(dtype: np.dtype[Any]) -> bool:
    """Say whether every byte of a record belongs to a field of plain numbers or text."""
    assert dtype.names is not None
    kinds = [dtype[name] for name in dtype.names]
    plain = all(kind.names is None and kind.subdtype is None and not kind.hasobject for kind in kinds)
    return plain and dtype == np.dtype(list(zip(dtype.names, kinds, strict=True)))


def _sorted(state: Any) -> Any:
    """Return an object's attributes in an order of their own: when they were set means nothing."""
    return sorted(state.items()) if type(state) is dict and all(map(_is_text, state)) else state


def _is_text(key: Any) -> bool:
    return type(key) is str


def _is_bunch(kind: type) -> bool:
    return (kind.__module__, kind.__name__) == ("sklearn.utils._bunch", "Bunch")


def _counts_queries(kind: type) -> bool:
    return kind.__module__ in ("sklearn.neighbors._kd_tree", "sklearn.neighbors._ball_tree")


def _is_global(value: Any) -> bool:
    """Say whether a compiled function belongs to a module, and not to a value it is bound to."""
    return type(value) is BuiltinFunctionType and isinstance(value.__self__, ModuleType | None)


def _check_complete(value: Any, state: Any) -> None:
    """Raise if pickling leaves attributes out: they could decide the answers."""
    kind = type(value)
    if kind.__module__.split(".")[0] in _COMPLETE and not isinstance(value, np.ndarray):
        return
    listed = state if isinstance(state, tuple) else (state,)
    kept = {name for part in listed if isinstance(part, Mapping) for name in part}
    if not set(getattr(value, "__dict__", ())) <= kept:
        raise ValueError(f"{kind.__name__} leaves something out when it is pickled.")


def _of_name(value: Any, name: str | None = None) -> bytes:
    """Return the name of something global; raises unless the name leads to the thing itself."""
    known = name or value.__qualname__
    own = getattr(value, "__module__", None) or type(value).__module__
    for module in (own, "scipy.special") if isinstance(value, np.ufunc) else (own,):
        found: Any = None if module == "__main__" else sys.modules.get(module)
        for part in known.split("."):
            found = getattr(found, part, None)
        if found is value:
            return _hashed("name", module.encode(), known.encode())
    raise ValueError(f"{known} has no name that says what it does.")


def _estimators(function: Any) -> list[Any]:
    """Return the estimators that a function closes over, has as defaults or knows by a global name."""
    if type(function) is not FunctionType:
        return []
    known: list[Any] = [*(function.__defaults__ or ()), *(function.__kwdefaults__ or {}).values()]
    known += [function.__globals__.get(name) for name in function.__code__.co_names]
    for cell in function.__closure__ or ():
        with suppress(ValueError):  # an empty one
            known.append(cell.cell_contents)
    return [part for part in known if callable(getattr(type(part), "get_params", None))]


def _text(value: Any) -> bytes:
    return (hex(value) if type(value) is int else repr(value)).encode()  # long numbers have no repr


def _hashed(kind: str, *parts: bytes) -> bytes:
    digest = hashlib.sha256(f"{kind} {len(parts)}".encode())
    for part in parts:
        digest.update(b"%d:" % len(part))
        digest.update(part)
    return digest.digest()
