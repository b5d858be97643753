"""Values of records as bars with their noise, and what is left of a utility as records go."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Protocol

import numpy as np

from discreet.numerics import check_whole
from discreet.plans.results.pictures.canvas import (
    GREY,
    LINE,
    LOSS,
    Display,
    add_legend,
    axes_or_new,
    ink,
    name_band,
    name_ticks,
    number_axis,
    tidy,
    wrapped,
    write_title,
)
from discreet.schema import FloatArray

Curve = tuple[tuple[int, float], ...]


class Valued(Protocol):
    """What is drawn of values: see ``plans.results.valuation``."""

    @property
    def records(self) -> tuple[int, ...]:
        """The records."""

    @property
    def half_width(self) -> float | None:
        """How far noise may be from a value."""

    @property
    def level(self) -> float:
        """How often it is within."""

    @property
    def audience(self) -> str:
        """Who may see a value."""

    @property
    def quantity(self) -> str:
        """What a value measures."""

    @property
    def standard_errors(self) -> tuple[float, ...]:
        """One per record."""

    def to_array(self) -> FloatArray:
        """Return the values."""


class Counted(Protocol):
    """What is drawn of counts: see ``value.private_neighbours``."""

    @property
    def right(self) -> tuple[float, ...]:
        """Near records with a test point's label."""

    @property
    def wrong(self) -> tuple[float, ...]:
        """Near records with another label."""

    @property
    def noise_std(self) -> float:
        """The noise on a count."""


class Sourced(Protocol):
    """What is drawn of sources: see ``value.sources.result``."""

    @property
    def sources(self) -> tuple[str, ...]:
        """The sources."""

    @property
    def values(self) -> tuple[float, ...]:
        """One per source."""

    @property
    def low(self) -> tuple[float, ...]:
        """Lower ends of the bands."""

    @property
    def high(self) -> tuple[float, ...]:
        """Upper ends of the bands."""

    @property
    def level(self) -> float:
        """How often they hold."""

    @property
    def quantity(self) -> str:
        """What a value measures."""


class ValuationDisplay(Display):
    """Draws a ``Valuation``; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, valuation: Valued, *, top: int = 15) -> None:
        check_whole("top", top, 1)
        self.valuation, self.top = valuation, top

    def plot(self, ax: Any = None, *, title: str | None = None) -> ValuationDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        values, errors = self.valuation.to_array(), np.array(self.valuation.standard_errors)
        order = np.argsort(-values, kind="stable")
        shown = order if len(order) <= 2 * self.top else np.r_[order[: self.top], order[-self.top :]]
        places = np.arange(len(shown))
        self.ax_ = axes_or_new(ax, height=1.4 + 0.22 * len(shown))
        colours = [LINE if value >= 0 else LOSS for value in values[shown]]
        self.ax_.barh(places, values[shown], color=colours, alpha=0.8, height=0.7)
        band, label = self._band(errors[shown])
        self.ax_.errorbar(
            values[shown],
            places,
            xerr=band,
            fmt="none",
            ecolor=ink(self.ax_),
            lw=1,
            capsize=2,
            label=label,
        )
        if len(shown) < len(order):
            self.ax_.axhline(self.top - 0.5, color=GREY, lw=1, ls=":")
        self.ax_.axvline(0.0, color=ink(self.ax_), lw=0.8)
        self.ax_.set_yticks(places, [f"record {self.valuation.records[i]}" for i in shown])
        self.ax_.invert_yaxis()
        self.ax_.set_xlabel(f"{self.valuation.quantity}, for the {self.valuation.audience}")
        add_legend(self.ax_)
        write_title(self.ax_, title)
        tidy(self.ax_)
        return self

    def _band(self, errors: Any) -> tuple[Any, str]:
        width = self.valuation.half_width
        if width is None:
            return errors, "one standard error"
        return np.full(len(errors), width), name_band("each", self.valuation.level)


class RemovalDisplay(Display):
    """Draws removal curves; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, curves: Mapping[str, Curve]) -> None:
        self.curves = dict(curves)

    def plot(self, ax: Any = None, *, title: str | None = None) -> RemovalDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        self.ax_ = axes_or_new(ax)
        for colour, (name, curve) in zip((LOSS, LINE, GREY), self.curves.items(), strict=False):
            removed, left = zip(*curve, strict=True)
            self.ax_.plot(removed, left, "o-", ms=3, color=colour, label=f"{name} records first")
        self.ax_.set_xlabel("records removed")
        self.ax_.set_ylabel("utility of what is left")
        add_legend(self.ax_)
        write_title(self.ax_, title)
        tidy(self.ax_)
        return self


class NeighbourDisplay(Display):
    """Draws ``NeighbourCounts``; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, counts: Counted) -> None:
        self.counts = counts

    def plot(self, ax: Any = None, *, title: str | None = None) -> NeighbourDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        right, wrong = np.array(self.counts.right), np.array(self.counts.wrong)
        order = np.argsort(-(right + wrong), kind="stable")
        self.ax_ = axes_or_new(ax)
        std = f"noise std {self.counts.noise_std:.3g}"
        self.ax_.plot(right[order], "o", ms=3, color=LINE, label=f"near, same label ({std})")
        self.ax_.plot(wrong[order], "o", ms=3, color=LOSS, label=f"near, another label ({std})")
        self.ax_.axhspan(-self.counts.noise_std, self.counts.noise_std, color=GREY, alpha=0.4, lw=0)
        self.ax_.set_xlabel("public test points, most neighbours first")
        self.ax_.set_ylabel("noisy number of records")
        number_axis(self.ax_, axis="y")
        add_legend(self.ax_)
        write_title(self.ax_, title)
        tidy(self.ax_)
        return self


class SourceDisplay(Display):
    """Draws ``SourceValues``; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, valued: Sourced) -> None:
        self.valued = valued

    def plot(self, ax: Any = None, *, title: str | None = None) -> SourceDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        values, low, high = (
            np.array(part) for part in (self.valued.values, self.valued.low, self.valued.high)
        )
        order = np.argsort(-values, kind="stable")
        places = np.arange(len(order))
        self.ax_ = axes_or_new(ax, height=1.4 + 0.3 * len(order))
        colours = [LINE if value >= 0 else LOSS for value in values[order]]
        self.ax_.barh(places, values[order], color=colours, alpha=0.8, height=0.7)
        self.ax_.errorbar(
            values[order],
            places,
            xerr=np.array([(values - low)[order], (high - values)[order]]),
            fmt="none",
            ecolor=ink(self.ax_),
            lw=1,
            capsize=2,
            label=name_band("each", self.valued.level),
        )
        self.ax_.axvline(0.0, color=ink(self.ax_), lw=0.8)
        name_ticks(self.ax_, places.tolist(), [self.valued.sources[i] for i in order], axis="y")
        self.ax_.invert_yaxis()
        self.ax_.set_xlabel(wrapped(self.ax_, self.valued.quantity, 10))
        add_legend(self.ax_)
        write_title(self.ax_, title)
        tidy(self.ax_)
        return self
