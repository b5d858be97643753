"""Compiled code that is kept: found by whoever has the same source, never by anyone else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from discreet import compiling
from discreet.compiling import njit

SOURCE = """
def helper(x):
    return x * SCALE

def kernel(values):
    total = 0.0
    for i in range(len(values)):
        total += helper(values[i])
    return total
"""
VALUES = np.array([1.0, 2.0])


def build(source: str = SOURCE, scale: float = 2.0, **options: Any) -> Any:
    """Return the kernel, made anew as another process would make it."""
    room: dict[str, Any] = {"SCALE": scale, "__name__": __name__}
    exec(source, room)
    room["helper"] = njit(cache=True)(room["helper"])
    return njit(cache=True, **options)(room["kernel"])


def from_disk(kernel: Any) -> bool:
    """Call a kernel and say whether its code was found."""
    kernel(VALUES)
    return bool(sum(kernel.stats.cache_hits.values()))


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(compiling, "kept_in", lambda: tmp_path)
    return tmp_path


def test_code_is_found_again(folder: Path) -> None:
    assert not from_disk(build())
    again = build()
    assert from_disk(again) and again(VALUES) == 6.0
    assert again.stats.cache_path == str(folder)


CHANGES: dict[str, Callable[[], Any]] = {
    "its own line": lambda: build(SOURCE.replace("total = 0.0", "total = 1.0")),
    "a line of what it calls": lambda: build(SOURCE.replace("x * SCALE", "x + SCALE")),
    "a constant of what it calls": lambda: build(scale=3.0),
    "an option": lambda: build(fastmath=True),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_nothing_stale_is_found(change: Callable[[], Any], folder: Path) -> None:
    from_disk(build())
    changed = change()
    assert not from_disk(changed)
    assert changed(VALUES) == pytest.approx(changed.py_func(VALUES))


def test_other_arguments_have_code_of_their_own(folder: Path) -> None:
    from_disk(build())
    single = build()
    assert single(VALUES.astype(np.float32)) == 6.0
    assert not sum(single.stats.cache_hits.values())
    assert from_disk(build())


def test_a_file_that_was_cut_short_is_compiled_anew(folder: Path) -> None:
    from_disk(build())
    for file in folder.glob("kernel-*.nbc"):
        file.write_bytes(file.read_bytes()[:100])
    assert not from_disk(build())
    assert from_disk(build())


def test_no_half_of_a_file_is_left_behind(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(self: Path, target: Path) -> None:
        raise OSError("no space left on device")

    monkeypatch.setattr(Path, "replace", full)
    assert build()(VALUES) == 6.0
    assert list(folder.iterdir()) == []


def test_without_a_place_every_process_compiles(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling, "kept_in", lambda: None)
    kernel = build()
    assert kernel(VALUES) == 6.0 and kernel.stats.cache_path is None


def test_the_place_is_what_numba_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(compiling.config, "CACHE_DIR", str(tmp_path / "given"))
    assert compiling.kept_in.__wrapped__() == tmp_path / "given" / "kernels"
    (tmp_path / "file").write_text("")
    monkeypatch.setattr(compiling.config, "CACHE_DIR", str(tmp_path / "file"))
    assert compiling.kept_in.__wrapped__() is None


def test_what_nobody_asked_for_is_removed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import os

    monkeypatch.setattr(compiling.config, "CACHE_DIR", str(tmp_path))
    kernels = compiling.kept_in.__wrapped__()
    assert kernels is not None
    for name, age in (("old", 100), ("new", 10)):
        file = kernels / f"{name}.nbc"
        file.write_bytes(b"")
        then = file.stat().st_mtime - age * 24 * 3600
        os.utime(file, (then, then))
    compiling.kept_in.__wrapped__()
    assert [file.name for file in kernels.iterdir()] == ["new.nbc"]
