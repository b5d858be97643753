"""A released tree as a picture: boxes with splits, class shares and noisy counts; a forest as bars."""

from __future__ import annotations

import textwrap
from typing import Any, Protocol

import numpy as np

from discreet.numerics import check_whole
from discreet.plans.results.pictures.canvas import INK, LINE, RUG, axes_or_new, tidy, write_title

_WIDTH, _HEIGHT, _BAR = 0.92, 0.56, 0.13
_LONGEST = 20
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


class TreeDisplay:
    """Draws a tree down to ``levels``; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, tree: DrawnTree, *, levels: int = 4) -> None:
        check_whole("levels", levels, 1)
        self.tree, self.levels = tree, levels
        self.ax_: Any = None
        self.figure_: Any = None

    def plot(self, ax: Any = None, *, title: str | None = None) -> TreeDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        places = self._places()
        ends = 1 + max(x for x, _ in places.values())
        deepest = max(level for _, level in places.values())
        self.ax_ = axes_or_new(ax, width=max(6.4, 1.25 * ends), height=1.2 + 1.15 * (deepest + 1))
        self.figure_ = self.ax_.figure
        for node, (x, level) in places.items():
            if self._is_split(node):
                self._draw_branches(node, places)
            self._draw_box(node, x, -level, hidden=level == self.levels)
        self.ax_.set_xlim(-0.6, ends - 0.4)
        self.ax_.set_ylim(-deepest - 0.6, 0.6)
        self.ax_.set_axis_off()
        self._write_legend()
        write_title(self.ax_, title)
        return self

    def _is_split(self, node: int) -> bool:
        return self.tree.left[node] != node

    def _places(self) -> dict[int, tuple[float, int]]:
        """Return x and level of every node that is drawn: ends side by side, splits above them."""
        places: dict[int, tuple[float, int]] = {}
        ends = 0

        def put(node: int, level: int) -> float:
            nonlocal ends
            if self._is_split(node) and level < self.levels:
                child = self.tree.left[node]
                x = (put(child, level + 1) + put(child + 1, level + 1)) / 2
            else:
                x, ends = float(ends), ends + 1
            places[node] = (x, level)
            return x

        put(0, 0)
        return places

    def _draw_branches(self, node: int, places: dict[int, tuple[float, int]]) -> None:
        x, level = places[node]
        child = self.tree.left[node]
        for end, word in ((child, "yes"), (child + 1, "no")):
            if end in places:
                to = places[end][0]
                self.ax_.plot(
                    [x, to],
                    [-level - _HEIGHT / 2, -level - 1 + _HEIGHT / 2],
                    color=RUG,
                    lw=1.2,
                    zorder=0,
                )
                self.ax_.text(
                    (x + to) / 2, -level - 0.5, word, fontsize=7, color=INK, ha="center", va="center"
                )

    def _draw_box(self, node: int, x: float, y: float, *, hidden: bool) -> None:
        from matplotlib.patches import Rectangle

        left, low = x - _WIDTH / 2, y - _HEIGHT / 2
        self.ax_.add_patch(
            Rectangle((left, low), _WIDTH, _HEIGHT, facecolor="white", edgecolor=INK, lw=0.8)
        )
        for place, (start, share) in enumerate(self._bars(node)):
            self.ax_.add_patch(
                Rectangle(
                    (left + start * _WIDTH, low), share * _WIDTH, _BAR, facecolor=self._colour(place)
                )
            )
        text = self._text(node) + (" …" if hidden and self._is_split(node) else "")
        self.ax_.text(x, y + _BAR / 2, text, fontsize=7, color=INK, ha="center", va="center")

    def _bars(self, node: int) -> list[tuple[float, float]]:
        starts, bars = 0.0, []
        for share in self.tree.shares[node]:
            bars.append((starts, share))
            starts += share
        return bars

    def _text(self, node: int) -> str:
        count = max(0.0, sum(self.tree.counts[node]))
        size = f"≈ {count:,.0f} records"
        if self._is_split(node):
            return f"{_cut(self.tree.split_text(node))}\n{size}"
        best = max(range(len(self.tree.shares[node])), key=self.tree.shares[node].__getitem__)
        return f"{_cut(str(self.tree.classes_[best]))} {self.tree.shares[node][best]:.0%}\n{size}"

    def _colour(self, place: int) -> Any:
        import matplotlib as mpl

        return LINE if place == 0 else mpl.colormaps["tab10"](place % 10)

    def _write_legend(self) -> None:
        from matplotlib.patches import Patch

        shown = list(self.tree.classes_[:10])
        handles = [Patch(color=self._colour(i), label=str(name)) for i, name in enumerate(shown)]
        self.ax_.legend(
            handles=handles,
            title=f"{self.tree.target} (noise on a leaf's count: std {self.tree.noise_std:.3g})",
            title_fontsize=7,
            fontsize=7,
            frameon=False,
            loc="upper right",
            ncols=min(5, len(handles)),
        )


def _cut(text: str) -> str:
    return "\n".join(textwrap.wrap(textwrap.shorten(text, 2 * _LONGEST, placeholder="…"), _LONGEST))


class DrawnForest(Protocol):
    """What a picture shows of a forest."""

    @property
    def features(self) -> tuple[str, ...]:
        """The columns it may look at."""

    @property
    def feature_importances_(self) -> Any:
        """What the splits on each of them save."""


class ForestDisplay:
    """Draws the importances of a ``RandomForest``; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, forest: DrawnForest) -> None:
        self.forest = forest
        self.ax_: Any = None
        self.figure_: Any = None

    def plot(self, ax: Any = None, *, title: str | None = None) -> ForestDisplay:
        """Draw on ``ax`` or on new axes, the greatest first; never calls ``show``."""
        shares = self.forest.feature_importances_
        order = np.argsort(-shares, kind="stable")[:_MOST_BARS]
        self.ax_ = axes_or_new(ax, height=1.4 + 0.34 * len(order))
        self.figure_ = self.ax_.figure
        write_title(self.ax_, title)
        tidy(self.ax_)
        self.ax_.barh(np.arange(len(order)), shares[order], color=LINE, alpha=0.8, height=0.7)
        self.ax_.set_yticks(range(len(order)), [self.forest.features[place] for place in order])
        self.ax_.invert_yaxis()
        self.ax_.set_xlabel("share of the impurity saved, by noisy counts")
        return self
