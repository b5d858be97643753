"""Compiled loops, kept on disk between processes; ``njit`` stands for numba's own.

numba keeps compiled code beside a function's source, and takes it for fresh if that one file is as it
was: a constant or a helper from another file may have changed, every checkout compiles for itself, two
processes that compile at once can lose or mix up entries, and where nothing can be written the import
fails. Here a file is named by a hash of all that its code was made of (the function and whatever it
calls, their constants and options, the types of the arguments, versions, the processor), written beside
and moved into place at once. So it is right for whoever finds it, and never has to be declared stale.

Files lie in ``NUMBA_CACHE_DIR`` if that is set, else in the user's cache folder; where neither can be
written, every process compiles anew. They are code: the folder must belong to whom it serves.
"""

from __future__ import annotations

import hashlib
import os
import pickle
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import numba
import numpy as np
from numba.core import config
from numba.core.caching import NullCache
from numba.core.compiler import CompileResult
from numba.core.dispatcher import Dispatcher
from numba.core.serialize import dumps

from discreet.progress import note_compiling

_UNUSED = 90 * 24 * 3600.0
"""Seconds after which code that nobody asked for is removed."""


def njit(**options: Any) -> Callable[[Any], Any]:
    """Compile a function when it is first called, as ``numba.njit`` does; with ``cache`` keep it."""
    keep = options.pop("cache", False)

    def compiled(function: Any) -> Any:
        made = numba.njit(**options)(function)
        if keep and isinstance(made, Dispatcher):  # a plain function if numba is switched off
            vars(made)["_cache"] = _KeptCode(made)
        return made

    return compiled


@cache
def kept_in() -> Path | None:
    """Return the folder of compiled code, made if need be; None if there is no place for one."""
    from numba.misc.appdirs import AppDirs

    own = AppDirs(appname="discreet", appauthor=False).user_cache_dir
    folder = Path(config.CACHE_DIR or own) / "kernels"
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
        tempfile.TemporaryFile(dir=folder).close()
        for file in folder.glob("*.nbc"):
            if file.stat().st_mtime < time.time() - _UNUSED:
                file.unlink(missing_ok=True)
    except OSError:
        return None
    return folder


class _KeptCode(NullCache):  # type: ignore[misc]
    """What a dispatcher asks for compiled code, and hands it to; a fault of the disk is a miss."""

    def __init__(self, dispatcher: Any) -> None:
        self._dispatcher = dispatcher

    @property
    def cache_path(self) -> str | None:
        folder = kept_in()
        return None if folder is None else str(folder)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return what was compiled for these types, or None."""
        target_context.refresh()
        file = self._file(sig, target_context.codegen())
        payload = None if file is None else _read(file)
        if payload is None:
            note_compiling()
            return None
        return CompileResult._rebuild(target_context, *payload)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep what was compiled, unless it holds addresses of this process."""
        file = self._file(sig, data.codegen)
        if file is None or data.lifted or data.library.has_dynamic_globals:
            return
        beside = file.with_name(f"{file.name}.{os.getpid()}.{os.urandom(4).hex()}")
        try:
            beside.write_bytes(dumps(data._reduce()))
            beside.replace(file)
        except OSError:  # a full disk must not end a question
            with suppress(OSError):
                beside.unlink(missing_ok=True)

    def _file(self, sig: Any, codegen: Any) -> Path | None:
        folder = kept_in()
        if folder is None:
            return None
        import llvmlite

        made_of = "\n".join(
            [
                *(repr(sig), *_fields(sig), repr(codegen.magic_tuple())),
                *(sys.version, numba.__version__, llvmlite.__version__),
                *_parts(self._dispatcher, set()),
            ]
        )
        digest = hashlib.sha256(made_of.encode()).hexdigest()[:32]
        return folder / f"{self._dispatcher.py_func.__name__}-{digest}.nbc"


def _read(file: Path) -> Any:
    """Return what a file holds, and note that it is of use; None if it is not there or cut short."""
    try:
        payload = pickle.loads(file.read_bytes())
        os.utime(file)
    except (OSError, EOFError, pickle.UnpicklingError):
        return None
    return payload


def _parts(value: Any, known: set[int]) -> Iterator[str]:
    """Yield all that compiled code is made of: bytes of code, options, constants, what is called."""
    if isinstance(value, Dispatcher):
        yield repr(sorted(value.targetoptions.items(), key=str))
        yield from _parts(value.py_func, known)
    elif isinstance(value, FunctionType):
        if id(value) not in known:
            known.add(id(value))
            yield f"{value.__module__}.{value.__qualname__}"
            yield from _code_parts(value.__code__, value, known)
    elif hasattr(value, "__wrapped__"):  # an intrinsic
        yield from _parts(value.__wrapped__, known)
    elif isinstance(value, ModuleType | type):
        yield f"{value.__name__} {getattr(value, '_fields', '')}"
    else:
        yield value.tobytes().hex() if isinstance(value, np.ndarray) else repr(value)


def _fields(types: Any) -> Iterator[str]:
    """Yield the names behind named tuples among types, whose texts tell them not."""
    for kind in types:
        yield repr(getattr(getattr(kind, "instance_class", None), "_fields", ""))
        yield from _fields(getattr(kind, "types", ()))


def _code_parts(code: CodeType, function: FunctionType, known: set[int]) -> Iterator[str]:
    yield code.co_code.hex()
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _code_parts(constant, function, known)
        else:
            yield repr(constant)
    for name in code.co_names:
        yield name
        if name in function.__globals__:
            yield from _parts(function.__globals__[name], known)
    for cell in function.__closure__ or ():
        yield from _parts(cell.cell_contents, known)
