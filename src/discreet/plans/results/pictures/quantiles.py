"""Quantiles: the share of records at or below every value, as far as it is known."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.plans.results.pictures.canvas import (
    BAND_ALPHA,
    LINE,
    add_legend,
    axes_or_new,
    ink,
    number_axis,
    say_number,
    tidy,
    write_title,
)

if TYPE_CHECKING:
    from discreet.plans.results.choice import Quantiles


class QuantilesDisplay:
    """Draws ``Quantiles``; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, quantiles: Quantiles) -> None:
        self.quantiles = quantiles
        self.ax_: Any = None
        self.figure_: Any = None

    def plot(self, ax: Any = None, *, title: str | None = None) -> QuantilesDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        found = self.quantiles
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure
        self.ax_.plot(found.values, found.ps, color=LINE, lw=1, ls=":")
        self._draw_errors()
        for value, percent in zip(found.values, found.ps, strict=True):
            self._name(value, percent)
        self.ax_.set_ylim(0, 100)
        self.ax_.margins(x=0.12)
        self.ax_.set_xlabel(found.column)
        self.ax_.set_ylabel("percent of the records at or below")
        number_axis(self.ax_)
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
        low = percent < 80
        self.ax_.annotate(
            say_number(value),
            (value, percent),
            xytext=(7, -3 if low else -9),
            textcoords="offset points",
            fontsize=8,
            color=ink(self.ax_),
            va="top",
        )
