"""A model card as one picture: every answer in a field of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from discreet.errors import ArgumentError
from discreet.evaluation.comparison import GroupFigures
from discreet.plans.results.pictures.canvas import Display, Paper, axes_or_new, ink, wrapped
from discreet.plans.results.pictures.groups import GroupForestDisplay

if TYPE_CHECKING:
    from discreet.evaluation.card.result import ModelCard
    from discreet.plans.results.result import Drawing

_FIELD, _HEAD, _WIDTH = 3.2, 0.3, 9.6


class CardDisplay(Display):
    """Draws a ``ModelCard``; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, card: ModelCard) -> None:
        self.card = card

    def plot(self, ax: Any = None, *, title: str | None = None) -> CardDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        fields = {name: one for name, one in self.card.pictures().items() if not _has_tiles(name)}
        columns = 1 if isinstance(ax, Paper) else 2
        names = [*fields]
        starts = range(0, len(names), columns)
        heights = [
            max(_height(fields[name]) for name in names[start : start + columns]) for start in starts
        ]
        wide = None if columns == 1 else _WIDTH
        self.ax_ = axes_or_new(ax, width=wide, height=_HEAD + sum(heights))
        figure, spec = self.figure_, self.ax_.get_subplotspec()
        if spec is None:
            raise ArgumentError("ax must be axes of a grid, as of plt.subplots(), got others.")
        figure.delaxes(self.ax_)
        inner = spec.subgridspec(len(heights) + 1, columns, height_ratios=[_HEAD, *heights])
        self.ax_ = figure.add_subplot(inner[0, :])
        self.ax_.set_axis_off()
        if title:
            self.ax_.text(0, 0, wrapped(self.ax_, title, 10), fontsize=10, color=ink(self.ax_))
        for place, (name, one) in enumerate(fields.items()):
            one.plot(figure.add_subplot(inner[1 + place // columns, place % columns]), title=name)
        return self


def _has_tiles(name: str) -> bool:
    """Return whether a picture consists of small ones, for which a field has no room."""
    return name.endswith("of every group")


def _height(one: Drawing) -> float:
    """Return the height of a field: a row for every group and figure needs more."""
    return GroupForestDisplay(one).height if isinstance(one, GroupFigures) else _FIELD
