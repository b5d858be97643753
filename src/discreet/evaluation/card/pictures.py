"""A model card as one picture: every answer in a field of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.errors import ArgumentError
from discreet.plans.results.pictures.canvas import Paper, axes_or_new, ink, wrapped

if TYPE_CHECKING:
    from discreet.evaluation.card.result import ModelCard

_FIELD, _TALL, _HEAD, _WIDTH = 3.2, 5.2, 0.3, 9.6


class CardDisplay:
    """Draws a ``ModelCard``; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, card: ModelCard) -> None:
        self.card = card
        self.ax_: Any = None
        self.figure_: Any = None

    def plot(self, ax: Any = None, *, title: str | None = None) -> CardDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        fields = self.card.pictures()
        columns = 1 if isinstance(ax, Paper) else 2
        names = [*fields]
        starts = range(0, len(names), columns)
        heights = [max(map(_height, names[start : start + columns])) for start in starts]
        wide = None if columns == 1 else _WIDTH
        self.ax_ = axes_or_new(ax, width=wide, height=_HEAD + sum(heights))
        self.figure_ = self.ax_.figure
        spec = self.ax_.get_subplotspec()
        if spec is None:
            raise ArgumentError("ax must be axes of a grid, as of plt.subplots(), got others.")
        self.figure_.delaxes(self.ax_)
        inner = spec.subgridspec(len(heights) + 1, columns, height_ratios=[_HEAD, *heights])
        self.ax_ = self.figure_.add_subplot(inner[0, :])
        self.ax_.set_axis_off()
        if title:
            self.ax_.text(0, 0, wrapped(self.ax_, title, 10), fontsize=10, color=ink(self.ax_))
        for place, (name, one) in enumerate(fields.items()):
            one.plot(self.figure_.add_subplot(inner[1 + place // columns, place % columns]), title=name)
        return self


def _height(name: str) -> float:
    """Return the height of a field: a row for every group and figure needs more."""
    return _TALL if name.startswith("Groups") else _FIELD
