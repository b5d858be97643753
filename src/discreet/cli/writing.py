"""Files that commands write: refused before anything is charged, told plainly if they fail later."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Collection
from pathlib import Path
from typing import TYPE_CHECKING, Any

from discreet.errors import ArgumentError, ReleaseError

if TYPE_CHECKING:
    from discreet.plans import Release

PICTURES = (".png", ".svg", ".pdf", ".jpg", ".webp")
"""What a picture's name may end with."""

TABLES = (".csv", ".parquet")
"""What a table's name may end with."""


def check_file(option: str, path: Path | None, endings: Collection[str] = ()) -> None:
    """Raise unless a file can be written there, now and with this ending."""
    if path is None:
        return
    if endings and path.suffix.lower() not in endings:
        raise ArgumentError(f"{option} must end with {_either(endings)}, got {path}.")
    if path.is_dir():
        raise ArgumentError(f"{option} must be a file, got the folder {path}. Add a file's name.")
    if path.exists():
        if not os.access(path, os.W_OK):
            raise ArgumentError(f"{option} must be a file that can be written, got {path}.")
    else:
        _check_room(option, path.parent, f"in a folder that exists, got {path}")


def check_folder(option: str, path: Path | None) -> None:
    """Raise unless files can be written into a folder."""
    if path is not None:
        _check_room(option, path, f"a folder that exists, got {path}")


def _check_room(option: str, folder: Path, constraint: str) -> None:
    if not folder.is_dir():
        raise ArgumentError(f"{option} must be {constraint}. Make it first: mkdir -p {folder}")
    try:
        with tempfile.TemporaryFile(dir=folder):  # rights alone do not tell of full or read-only disks
            pass
    except OSError as error:
        raise ArgumentError(
            f"{option} must be in a folder that can be written, got {folder} ({error.strerror})."
        ) from None


def _either(endings: Collection[str]) -> str:
    *first, last = endings
    return f"{', '.join(first)} or {last}" if first else last


def shown_frame(release: Release) -> Any:
    """Return an answer as a table whose index, if it tells something, is a column."""
    return as_columns(release.value.to_frame())


def as_columns(frame: Any) -> Any:
    """Return a table whose index, if it has names, is columns."""
    return frame if all(name is None for name in frame.index.names) else frame.reset_index()


def write_table(release: Release, path: Path, frame: Any = None) -> None:
    """Write an answer, or another table of it, as a CSV or Parquet file."""
    frame = shown_frame(release) if frame is None else frame
    if path.suffix.lower() == ".csv":
        _write(path, lambda: frame.to_csv(path, index=False))
    else:
        _write(path, lambda: frame.to_parquet(path, index=False))


def draw(plot: Callable[[Any], Any], path: Path, size: tuple[float, float] = (6.4, 4.2)) -> None:
    """Let a function draw on axes, without a screen, and write the picture."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    FigureCanvasAgg(figure)
    plot(figure.add_subplot())
    _write(path, lambda: figure.savefig(path, dpi=150))


def draw_alone(plot: Callable[[Any], Any], path: Path) -> None:
    """Let a result draw on paper of the size that suits it, and write the picture."""
    from discreet.plans.results.pictures.canvas import Paper

    figure = plot(Paper(width=6.4, ground="white")).figure_
    _write(path, lambda: figure.savefig(path, dpi=150))


def _write(path: Path, act: Callable[[], Any]) -> None:
    try:
        act()
    except OSError as error:
        raise ReleaseError(f"{path} cannot be written: {error.strerror or error}.") from None
