"""A forest as bars: what the splits on each feature save."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.plans.results.pictures.canvas import LINE, axes_or_new, tidy, write_title

if TYPE_CHECKING:
    from discreet.trees.forest.result import RandomForest

_MOST_BARS = 20


class ForestDisplay:
    """Draws the importances of a ``RandomForest``; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, forest: RandomForest) -> None:
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
