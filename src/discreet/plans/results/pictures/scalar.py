"""Answers that are one value, large, with what is known of their error; and quantiles with theirs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.plans.results.pictures.canvas import (
    BAND_ALPHA,
    GREY,
    LINE,
    Display,
    add_legend,
    axes_or_new,
    ink,
    number_axis,
    say_number,
    shortened,
    tidy,
    title_of,
    value_axis,
    wrapped,
    write_title,
)

if TYPE_CHECKING:
    from discreet.plans.results.choice import Choice, Quantiles
    from discreet.plans.results.drift import Drift
    from discreet.plans.results.scalar import Scalar

_LARGE, _MIDDLE, _SMALL = 24.0, 10.0, 8.0


class ScalarDisplay(Display):
    """Draws a ``Scalar``: the number large, its band below; then it has ``ax_`` and ``figure_``."""

    def __init__(self, scalar: Scalar) -> None:
        self.scalar = scalar

    def plot(self, ax: Any = None, *, title: str | None = None) -> ScalarDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        number = self.scalar
        self.ax_ = axes_or_new(ax, height=2.2)
        digits = _digits(number.half_width)
        shown = f"{_rounded(number.value, digits)} ± {_rounded(number.half_width, digits)}"
        error = f"within this {number.level:.0%} of the time"
        if number.half_width == 0:  # a public fact, or noise that never shows
            shown, error = say_number(number.value), "exactly"
        write_large(self.ax_, 0.84, f"{shown} {number.unit}")
        told = wrapped(self.ax_, f"{number.name}, {error}", _MIDDLE)
        self.ax_.text(
            0.0, 0.62, told, transform=self.ax_.transAxes, fontsize=9, color=ink(self.ax_), va="top"
        )
        self._draw_band()
        write_title(self.ax_, title)
        return self

    def _draw_band(self) -> None:
        """Draw the band on the range the number can have, along the bottom."""
        number, ax = self.scalar, self.ax_
        ax.barh([0.12], [number.high - number.low], 0.2, [number.low], color=LINE, alpha=BAND_ALPHA)
        ax.plot([number.value], [0.12], "o", color=LINE, ms=5)
        ax.set_yticks([])
        ax.set_ylim(0, 1)
        ax.set_xlim(*number.range)
        number_axis(ax)
        ax.set_xlabel(number.unit, fontsize=_SMALL)
        tidy(ax)
        ax.spines["left"].set_visible(False)


class DriftDisplay(ScalarDisplay):
    """Draws a ``Drift``: the number, its interval, and where the reference's noise alone would be."""

    def __init__(self, drift: Drift) -> None:
        super().__init__(drift)
        self.reference_error = drift.reference_error

    def _draw_band(self) -> None:
        super()._draw_band()
        if self.reference_error:
            self.ax_.barh([0.12], [self.reference_error], 0.08, [0.0], color=GREY)
            told = f"grey: the reference's own noise, up to {self.reference_error:.2g} on average"
            self.ax_.set_xlabel(f"{self.scalar.unit}; {told}", fontsize=_SMALL)


class ChoiceDisplay(Display):
    """Draws a ``Choice``: the winner large, its error below; then it has ``ax_`` and ``figure_``."""

    def __init__(self, choice: Choice) -> None:
        self.choice = choice

    def plot(self, ax: Any = None, *, title: str | None = None) -> ChoiceDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        found = self.choice
        self.ax_ = axes_or_new(ax, height=1.9)
        self.ax_.set_axis_off()
        self.ax_.set_xlim(0, 1)
        self.ax_.set_ylim(0, 1)
        write_large(self.ax_, 0.62, shortened(say_number(found.winner), 40))
        told = f"chosen of {found.candidates:,} candidates"
        gap = "" if found.gap is None else f", noisy gap to the next {say_number(found.gap)}"
        colour = ink(self.ax_)
        self.ax_.text(0.0, 0.47, told + gap, fontsize=_MIDDLE, color=colour)
        note = wrapped(self.ax_, self._errors(), _SMALL)
        self.ax_.text(0.0, 0.02, note, fontsize=_SMALL, color=colour, alpha=0.75, linespacing=1.35)
        write_title(self.ax_, title)
        return self

    def _errors(self) -> str:
        found = self.choice
        own = f"Whatever the table: on average at most {_brief(found.expected_error)} {found.unit}"
        others = [
            f"{_brief(error)} by {name}" for name, error in found.compared if name != found.mechanism
        ]
        return f"{own} ({found.mechanism}{'; ' + ', '.join(others[:3]) if others else ''})."


class QuantilesDisplay(Display):
    """Draws ``Quantiles``; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, quantiles: Quantiles) -> None:
        self.quantiles = quantiles

    def plot(self, ax: Any = None, *, title: str | None = None) -> QuantilesDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        found = self.quantiles
        self.ax_ = axes_or_new(ax)
        self.ax_.plot(found.values, found.ps, color=LINE, lw=1, ls=":")
        self._draw_errors()
        for value, percent in zip(found.values, found.ps, strict=True):
            self._name(value, percent)
        self.ax_.set_ylim(0, 100)
        self.ax_.margins(x=0.12)
        self.ax_.set_xlabel(title_of(found.axis, found.column))
        self.ax_.set_ylabel("percent of the records at or below")
        value_axis(self.ax_, found.axis)
        tidy(self.ax_)
        add_legend(self.ax_)
        write_title(self.ax_, title)
        return self

    def _draw_errors(self) -> None:
        """Draw by how many records a value may be off, in percent where their number is public."""
        found = self.quantiles
        off = f"off by {say_number(float(f'{found.expected_error:.2g}'))} records on average"
        if found.percent_error is None:
            self.ax_.plot(found.values, found.ps, "o", color=LINE, ms=5, label=f"released, {off}")
            return
        error = np.full(len(found.ps), found.percent_error)
        label = f"released, {off}: {found.percent_error:.2g} %"
        self.ax_.errorbar(
            found.values, found.ps, yerr=error, fmt="o", color=LINE, ms=4, capsize=4, label=label
        )
        low, high = np.array(found.ps) - error, np.array(found.ps) + error
        self.ax_.fill_between(found.values, low, high, color=LINE, alpha=BAND_ALPHA, lw=0)

    def _name(self, value: float, percent: float) -> None:
        low, axis = percent < 80, self.quantiles.axis
        self.ax_.annotate(
            axis.show(value) if axis is not None and axis.step else say_number(value),
            (value, percent),
            xytext=(7, -3 if low else -9),
            textcoords="offset points",
            fontsize=8,
            color=ink(self.ax_),
            va="top",
        )


def write_large(ax: Any, y: float, text: str) -> None:
    """Write an answer as large as the width allows."""
    box = ax.get_position()
    room = box.width * ax.figure.get_figwidth() * 72
    size = min(_LARGE, room / (0.62 * max(1, len(text))))
    ax.text(0.0, y, text, transform=ax.transAxes, fontsize=size, color=LINE, va="center", weight="bold")


def _digits(half_width: float) -> int:
    """Return how many decimals a number has that is known to within so much."""
    from math import floor, log10

    return 4 if half_width <= 0 else max(0, 1 - floor(log10(half_width)))


def _rounded(value: float, digits: int) -> str:
    return f"{value:,.{digits}f}"


def _brief(error: float) -> str:
    return say_number(float(f"{error:.3g}"))
