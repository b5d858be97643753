"""Matrices of columns as heat maps, and coefficients of regressions with their errors."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.plans.results.pictures.canvas import (
    BAND_ALPHA,
    LINE,
    Display,
    add_legend,
    add_scale,
    axes_or_new,
    ink,
    name_ticks,
    number_axis,
    say_number,
    shortened,
    tidy,
    width_in_points,
    write_title,
)

if TYPE_CHECKING:
    from discreet.plans.results.matrix import Coefficients, Matrix

_WRITTEN = 28.0
"""An entry has room for its number if it is so wide, in points."""

_DARK = "#20293f"
"""Letters on a pale entry, not in the ink of pages: that is light on a dark page, an entry is not."""

_ROOMY = 150.0
"""Narrower pictures have no bar: all of them have the same colours."""


class MatrixDisplay(Display):
    """Draws a ``Matrix``; after ``plot`` it has ``ax_``, ``figure_`` and, with room, ``colorbar_``."""

    def __init__(self, matrix: Matrix) -> None:
        self.matrix = matrix
        self.colorbar_: Any = None

    def plot(self, ax: Any = None, *, title: str | None = None) -> MatrixDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        matrix, values = self.matrix, self.matrix.to_array()
        self.ax_ = axes_or_new(ax)
        # Covariances are coloured as correlations: columns have units of their own.
        deviations = np.sqrt(np.maximum(np.diag(values), np.finfo(float).tiny))
        colours = np.clip(values / deviations[:, None] / deviations, -1.0, 1.0)
        image = self.ax_.imshow(colours, cmap="RdBu_r", vmin=-1.0, vmax=1.0)
        places = list(range(len(values)))
        name_ticks(self.ax_, places, matrix.columns)
        name_ticks(self.ax_, places, matrix.columns, axis="y")
        self.ax_.tick_params(labelsize=8)
        width = width_in_points(self.ax_)
        if width >= _WRITTEN * len(values):
            self._write(values, colours)
        if width >= _ROOMY:
            written = "" if matrix.quantity == "correlation" else f" (written: {matrix.quantity})"
            self.colorbar_ = add_scale(self.ax_, image, f"correlation{written}")
        write_title(self.ax_, title)
        return self

    def _write(self, values: Any, colours: Any) -> None:
        low, high = self.matrix.band()
        for (i, j), value in np.ndenumerate(values):
            half = max(high[i, j] - value, value - low[i, j])
            told = f"{say_number(float(f'{value:.2g}'))}\n± {say_number(float(f'{half:.1g}'))}"
            colour = "white" if abs(colours[i, j]) > 0.6 else _DARK
            self.ax_.text(j, i, told, ha="center", va="center", fontsize=7, color=colour)


class CoefficientsDisplay(Display):
    """Draws ``Coefficients``: slopes with both errors; then it has ``ax_`` and ``figure_``.

    Every slope has a panel's width of its own unit, so slopes are drawn in units of their standard
    error where they differ by more than can be seen side by side.
    """

    def __init__(self, coefficients: Coefficients) -> None:
        self.coefficients = coefficients

    def plot(self, ax: Any = None, *, title: str | None = None) -> CoefficientsDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        found = self.coefficients
        names = found.names[1:]
        self.ax_ = axes_or_new(ax, height=1.6 + 0.42 * len(names))
        errors = [one if one else None for one in found.standard_errors[1:]]
        for place, error in enumerate(errors):
            self._draw(place, error or max(abs(found.values[1 + place]), 1e-300), error is not None)
        self.ax_.axvline(0.0, color=ink(self.ax_), lw=0.8)
        labels = [
            f"{shortened(name)}\n{say_number(float(f'{value:.3g}'))}"
            for name, value in zip(names, found.values[1:], strict=True)
        ]
        self.ax_.set_yticks(range(len(names)), labels)
        self.ax_.set_ylim(len(names) - 0.5, -0.5)
        self.ax_.set_xlabel("slope, in its own standard errors (sampling and noise)", fontsize=8)
        number_axis(self.ax_)
        tidy(self.ax_)
        add_legend(self.ax_)
        write_title(self.ax_, title)
        return self

    def _draw(self, place: int, unit: float, known: bool) -> None:
        found, first = self.coefficients, place == 0
        value = found.values[1 + place] / unit
        low, high = found.low[1 + place], found.high[1 + place]
        if low is not None and high is not None:
            self.ax_.barh(
                [place],
                [(high - low) / unit],
                0.5,
                [low / unit],
                color=LINE,
                alpha=BAND_ALPHA,
                label=f"noise, {found.level:.0%} of the time" if first else None,
            )
        if known:
            label = "with sampling, 95 %" if first else None
            self.ax_.plot([value - 1.96, value + 1.96], [place] * 2, color=LINE, lw=1.2, label=label)
        self.ax_.plot([value], [place], "o", color=LINE, ms=5, label="released" if first else None)
