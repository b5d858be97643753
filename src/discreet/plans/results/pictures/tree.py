"""A released tree as a picture: boxes with splits, class shares and noisy counts; a forest as bars."""

from __future__ import annotations

from typing import Any, Protocol

import numpy as np

from discreet.numerics import check_whole
from discreet.plans.results.pictures.canvas import (
    GREY,
    LINE,
    Display,
    axes_or_new,
    ink,
    shortened,
    tidy,
    wrapped,
    write_title,
)

_COLUMN, _ROW = 1.45, 0.56
"""Inches of a level across and of a leaf down."""

_LEAST = 4.4
"""Inches across of a picture of a small tree."""

_WIDTH, _HEIGHT, _BAR = 0.84, 0.78, 0.16
"""Of a box and the bar of its shares, in levels across and leaves down."""

_MOST_BARS = 20


class DrawnTree(Protocol):
    """What a picture shows of a tree; nodes by number, the root first."""

    @property
    def target(self) -> str:
        """The column that is predicted."""

    @property
    def classes_(self) -> Any:
        """The classes."""

    @property
    def left(self) -> tuple[int, ...]:
        """The left child of every node, the right one is next to it; a leaf is its own."""

    @property
    def counts(self) -> tuple[tuple[float, ...], ...]:
        """Noisy records per node and class."""

    @property
    def shares(self) -> tuple[tuple[float, ...], ...]:
        """Probabilities per node and class."""

    @property
    def noise_std(self) -> float:
        """The noise on a leaf's count."""

    def split_text(self, node: int) -> str:
        """Return what sends a row to the left."""


class TreeDisplay(Display):
    """Draws a tree down to ``levels``, the root on the left; then it has ``ax_`` and ``figure_``."""

    def __init__(self, tree: DrawnTree, *, levels: int = 4) -> None:
        check_whole("levels", levels, 1)
        self.tree, self.levels = tree, levels

    def plot(self, ax: Any = None, *, title: str | None = None) -> TreeDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        places = self._places()
        ends = 1 + max(y for _, y in places.values())
        columns = 1 + max(level for level, _ in places.values())
        width = max(_LEAST, _COLUMN * columns)
        self.ax_ = axes_or_new(ax, width=width, height=0.7 + _ROW * ends)
        self.ax_.set_xlim(-0.02, columns - 1 + _WIDTH + 0.02)
        self.ax_.set_ylim(ends - 0.4, -0.6)
        self.ax_.set_axis_off()
        self._name_classes()
        write_title(self.ax_, title)
        room = self._room()
        for node, (level, y) in places.items():
            if self._is_split(node):
                self._draw_branches(node, places)
            self._draw_box(node, level, y, room, hidden=level == self.levels)
        return self

    def _room(self) -> float:
        """Return the width of a box in points, once the legend and the title have taken theirs."""
        self.figure_.draw_without_rendering()
        ends = self.ax_.transData.transform([(0, 0), (_WIDTH, 0)])
        return float((ends[1, 0] - ends[0, 0]) * 72 / self.figure_.dpi)

    def _is_split(self, node: int) -> bool:
        return self.tree.left[node] != node

    def _places(self) -> dict[int, tuple[int, float]]:
        """Return level and row of every node that is drawn: ends one below the other."""
        places: dict[int, tuple[int, float]] = {}
        ends = 0

        def put(node: int, level: int) -> float:
            nonlocal ends
            if self._is_split(node) and level < self.levels:
                child = self.tree.left[node]
                y = (put(child, level + 1) + put(child + 1, level + 1)) / 2
            else:
                y, ends = float(ends), ends + 1
            places[node] = (level, y)
            return y

        put(0, 0)
        return places

    def _draw_branches(self, node: int, places: dict[int, tuple[int, float]]) -> None:
        level, y = places[node]
        child = self.tree.left[node]
        for end, word in ((child, "yes"), (child + 1, "no")):
            if end in places:
                to = places[end][1]
                middle = level + (1 + _WIDTH) / 2
                self.ax_.plot(
                    [level + _WIDTH, middle, middle, level + 1], [y, y, to, to], color=GREY, lw=1.2
                )
                self.ax_.text(
                    middle + 0.015,
                    to - 0.06,
                    word,
                    fontsize=6.5,
                    color=ink(self.ax_),
                    ha="left",
                    va="bottom",
                )

    def _draw_box(self, node: int, x: float, y: float, room: float, *, hidden: bool) -> None:
        from matplotlib.patches import Rectangle

        top = y - _HEIGHT / 2
        for place, (start, share) in enumerate(self._bars(node)):
            colour = self._colour(place)
            bar = Rectangle(
                (x + start * _WIDTH, top + _HEIGHT - _BAR), share * _WIDTH, _BAR, color=colour
            )
            self.ax_.add_patch(bar)
        self.ax_.add_patch(
            Rectangle((x, top), _WIDTH, _HEIGHT, facecolor="none", edgecolor=ink(self.ax_), lw=0.8)
        )
        first, second = self._texts(node)
        first += " …" if hidden and self._is_split(node) else ""
        for text, height, size in ((first, 0.23, 8.0), (second, 0.58, 7.0)):
            fitted, points = fit_text(text, 0.93 * room, size)
            self.ax_.text(
                x + _WIDTH / 2,
                top + height * _HEIGHT,
                fitted,
                fontsize=points,
                color=ink(self.ax_),
                ha="center",
                va="center",
            )

    def _bars(self, node: int) -> list[tuple[float, float]]:
        starts, bars = 0.0, []
        for share in self.tree.shares[node]:
            bars.append((starts, share))
            starts += share
        return bars

    def _texts(self, node: int) -> tuple[str, str]:
        count = max(0.0, sum(self.tree.counts[node]))
        size = f"≈ {count:,.0f} records"
        if self._is_split(node):
            return self.tree.split_text(node), size
        best = max(range(len(self.tree.shares[node])), key=self.tree.shares[node].__getitem__)
        return f"{self.tree.classes_[best]}: {self.tree.shares[node][best]:.0%}", size

    def _colour(self, place: int) -> Any:
        import matplotlib as mpl

        return LINE if place == 0 else mpl.colormaps["tab10"](place % 10)

    def _name_classes(self) -> None:
        from matplotlib.patches import Patch

        shown = [str(name) for name in self.tree.classes_[:10]]
        handles = [Patch(color=self._colour(i), label=shortened(n)) for i, n in enumerate(shown)]
        noise = f"noise on a leaf's count: std {self.tree.noise_std:.3g}"
        self.ax_.legend(
            handles=handles,
            title=wrapped(self.ax_, f"{shortened(self.tree.target)} ({noise})", 7.5),
            title_fontsize=7.5,
            fontsize=7.5,
            frameon=False,
            labelcolor=ink(self.ax_),
            loc="upper left",
            bbox_to_anchor=(0.0, 0.0),
            alignment="left",
            handlelength=1.2,
            ncols=_columns(shown),
        ).get_title().set_color(ink(self.ax_))


def _columns(names: list[str]) -> int:
    """Return how many classes stand side by side: as many as their names have room for."""
    longest = max(len(shortened(name)) for name in names)
    return max(1, min(5, len(names), 40 // (longest + 3)))


def fit_text(text: str, room: float, size: float) -> tuple[str, float]:
    """Return a text and a size of its letters so that it is no wider than ``room`` points.

    Letters become a quarter smaller before the text is cut.
    """
    wide = _text_width(text, size)
    if wide <= room:
        return text, size
    smaller = max(0.75 * size, size * room / wide)
    while len(text) > 2 and _text_width(text, smaller) > room:
        text = f"{text.removesuffix('…')[:-1]}…"
    return text, smaller


def _text_width(text: str, size: float) -> float:
    from matplotlib.textpath import TextPath

    return float(TextPath((0, 0), text, size=size, usetex=False).get_extents().width)


class DrawnForest(Protocol):
    """What a picture shows of a forest."""

    @property
    def features(self) -> tuple[str, ...]:
        """The columns it may look at."""

    @property
    def feature_importances_(self) -> Any:
        """What the splits on each of them save."""


class ForestDisplay(Display):
    """Draws the importances of a ``RandomForest``; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, forest: DrawnForest) -> None:
        self.forest = forest

    def plot(self, ax: Any = None, *, title: str | None = None) -> ForestDisplay:
        """Draw on ``ax`` or on new axes, the greatest first; never calls ``show``."""
        shares = self.forest.feature_importances_
        order = np.argsort(-shares, kind="stable")[:_MOST_BARS]
        self.ax_ = axes_or_new(ax, height=1.4 + 0.34 * len(order))
        write_title(self.ax_, title)
        tidy(self.ax_)
        self.ax_.barh(np.arange(len(order)), shares[order], color=LINE, alpha=0.8, height=0.7)
        self.ax_.set_yticks(range(len(order)), [self.forest.features[place] for place in order])
        self.ax_.invert_yaxis()
        self.ax_.set_xlabel("share of the impurity saved, by noisy counts")
        return self
