"""What there is to see of an evaluation: curves with their bands, of all and by group, and tables."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

from discreet.evaluation.comparison import groups_at
from discreet.evaluation.question import Group, Label, find_group
from discreet.plans.results.pictures.canvas import (
    BAND_ALPHA,
    GREY,
    LINE,
    Display,
    add_legend,
    axes_or_new,
    number_axis,
    tidy,
    write_title,
)
from discreet.plans.results.pictures.groups import GROUP_COLOURS as COLOURS
from discreet.plans.results.pictures.groups import MOST_TILES, draw_tiles
from discreet.plans.results.result import Drawing

if TYPE_CHECKING:
    import pandas as pd

    from discreet.evaluation.binary.result import BinaryEvaluation

PictureName = Literal["roc", "precision_recall", "calibration", "lift"]

_TITLES: dict[PictureName, str] = {
    "roc": "ROC curve",
    "precision_recall": "Precision and recall",
    "calibration": "Calibration",
    "lift": "Lift",
}
_ON_PAGES: tuple[PictureName, ...] = ("roc", "calibration")
"""Whose small pictures of every group a page has."""

PICTURES = tuple(_TITLES)
_MOST_LINES = len(COLOURS)
_MOST_LIFT = 1e3
_HEIGHT, _LEGEND_ROW = 3.5, 0.19
"""Inches of a picture of several curves, and of each more in its legend."""


class EvaluationDisplay(Display):
    """Draws one picture of an evaluation; after ``plot`` it has ``ax_`` and ``figure_``.

    Args:
      evaluation: whose curve it is.
      kind: which curve.
      group: of which alone; else that of all records, with those of few large groups beside it.
    """

    def __init__(
        self, evaluation: BinaryEvaluation, kind: PictureName = "roc", group: Group = None
    ) -> None:
        self.evaluation, self.kind, self.group = evaluation, kind, group
        if group is not None:
            find_group(evaluation.told, group)

    def plot(self, ax: Any = None, *, title: str | None = None) -> EvaluationDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        beside = [] if self.group is not None else large_groups(self.evaluation)
        several = 0 < len(beside) < _MOST_LINES
        height = {"height": _HEIGHT + _LEGEND_ROW * len(beside)} if several else {}
        self.ax_ = axes_or_new(ax, **height)
        getattr(self, f"_draw_{self.kind}")()
        number_axis(self.ax_)
        number_axis(self.ax_, axis="y")
        tidy(self.ax_)
        add_legend(self.ax_)
        write_title(self.ax_, title)
        return self

    @property
    def _band(self) -> str:
        return f"noise, sampling and bins, {self.evaluation.level:.0%} of the time"

    @property
    def _lines(self) -> list[tuple[Label, str]]:
        """The groups that are drawn beside the whole: few, and large enough to say something of."""
        if self.group is not None:
            return []
        large = large_groups(self.evaluation)
        if len(large) >= _MOST_LINES:
            self.ax_.annotate(
                f"{len(large)} groups have pictures of their own: plot_groups()", (1, 0),
                xycoords="axes fraction", xytext=(-2, 3), textcoords="offset points", ha="right",
                va="bottom", fontsize=7, color=GREY,
            )  # fmt: skip
            return []
        return list(zip(large, COLOURS[1:], strict=False))

    def _draw_roc(self) -> None:
        area = self.evaluation.metric("auc", group=self.group).value
        label = f"AUC {area:.2f}" if self.group is None else "released"
        self._draw_rates(
            self.evaluation.roc_curve, ("false_positive_rate", "true_positive_rate"), label
        )
        self.ax_.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls="--")

    def _draw_precision_recall(self) -> None:
        self._draw_rates(
            self.evaluation.precision_recall_curve, ("true_positive_rate", "precision"), "released"
        )
        base = self.evaluation.tally(self.group).prevalence.value
        self.ax_.axhline(base, color=GREY, lw=0.8, ls="--")
        self.ax_.set_xlabel("recall (true positive rate)")

    def _draw_rates(self, curve: Any, names: tuple[str, str], label: str) -> None:
        x, y = names
        low, high = f"{y}_low", f"{y}_high"

        def known(group: Group) -> pd.DataFrame:  # of a point that may be anywhere nothing is drawn
            frame: pd.DataFrame = curve(group=group)
            return frame[frame[high] - frame[low] < 1.0]

        self._draw(known, (x, y, low, high), label)
        self.ax_.set_xlim(-0.01, 1.01)
        self.ax_.set_ylim(-0.01, 1.01)
        self.ax_.set_xlabel(x.replace("_", " "))
        self.ax_.set_ylabel(y.replace("_", " "))

    def _draw_calibration(self) -> None:
        def curve(group: Group) -> pd.DataFrame:
            frame = self.evaluation.calibration_curve(group=group)
            return frame[frame["high"] - frame["low"] < 1.0]

        self._draw(curve, ("score", "value", "low", "high"), "released", marker="o")
        if self.evaluation.output == "probability":  # of other scores none says how often
            self.ax_.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls="--")
        self.ax_.set_xlabel("mean score of a bin")
        self.ax_.set_ylabel(f"share of {self.evaluation.target}")

    def _draw_lift(self) -> None:
        def curve(group: Group) -> pd.DataFrame:
            frame = self.evaluation.lift_curve(group)
            known = (frame["low"] > 0) & (frame["high"] < _MOST_LIFT)
            return frame[known & (frame["selection_rate"] > 0)]

        self._draw(curve, ("selection_rate", "value", "low", "high"), "released")
        self.ax_.axhline(1.0, color=GREY, lw=0.8, ls="--")
        self.ax_.set_xlabel("share of records selected")
        self.ax_.set_ylabel("lift")

    def _draw(
        self,
        curve: Callable[[Group], pd.DataFrame],
        names: tuple[str, ...],
        label: str,
        marker: str = "",
    ) -> None:
        """Draw the curve with its band, and those of groups beside it as lines."""
        x, y, low, high = names
        frame, ax = curve(self.group), self.ax_
        over = frame[x].to_numpy()
        ends = frame[low].to_numpy(), frame[high].to_numpy()
        ax.fill_between(over, *ends, color=LINE, alpha=BAND_ALPHA, lw=0, label=self._band)
        ax.plot(over, frame[y], color=LINE, lw=1.8, marker=marker, ms=4, label=label)
        for group, colour in self._lines:
            own = curve(group)
            small = "." if marker else ""
            ax.plot(own[x], own[y], color=colour, lw=1.2, marker=small, label=" and ".join(group))


class GroupTilesDisplay(Display):
    """Draws a small picture of every large group, each with its band; then ``ax_``, ``figure_``."""

    def __init__(self, evaluation: BinaryEvaluation, kind: PictureName = "roc") -> None:
        self.evaluation, self.kind = evaluation, kind

    def plot(self, ax: Any = None, *, title: str | None = None) -> GroupTilesDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        groups = groups_at(self.evaluation, None)
        drawn = (large_groups(self.evaluation) or list(groups))[:MOST_TILES]
        tiles = {self._name(g): EvaluationDisplay(self.evaluation, self.kind, g) for g in drawn}
        left = len(groups) - len(drawn)
        more = f"{left} more, of few records or none: .to_frame()" if left else ""
        self.ax_ = draw_tiles(ax, tiles, " · ".join(filter(None, [title, more])), same=True)
        return self

    def _name(self, group: Label) -> str:
        named = " and ".join(group)
        if self.kind != "roc":
            return named
        return f"{named}, AUC {self.evaluation.metric('auc', group=group).value:.2f}"


def large_groups(evaluation: BinaryEvaluation) -> list[Label]:
    """Return the groups that are large enough to say something of."""
    if not evaluation.columns:
        return []
    return [group for group in groups_at(evaluation, None) if not evaluation.small(group)]


def pictures(evaluation: BinaryEvaluation) -> dict[str, Drawing]:
    """Return the pictures of a page by title."""
    drawn: dict[str, Drawing] = {
        title: EvaluationDisplay(evaluation, kind) for kind, title in _TITLES.items()
    }
    if not evaluation.columns:
        return drawn
    drawn["Groups beside all records"] = evaluation.by_group()
    tiles = {f"{_TITLES[k]} of every group": GroupTilesDisplay(evaluation, k) for k in _ON_PAGES}
    return drawn | tiles


def drawings(evaluation: BinaryEvaluation, group: Group) -> dict[str, Drawing]:
    """Return all pictures by the names that ``kind`` takes."""
    found: dict[str, Drawing] = {k: EvaluationDisplay(evaluation, k, group) for k in PICTURES}
    if group is not None or not evaluation.columns:
        return found
    tiles = {f"{kind}_by_group": GroupTilesDisplay(evaluation, kind) for kind in PICTURES}
    return found | {"groups": evaluation.by_group()} | tiles


def views(
    evaluation: BinaryEvaluation, threshold: float | None, group: Group
) -> dict[str, Callable[[], pd.DataFrame]]:
    """Return all tables by name; of groups at a threshold those that compare them too."""
    cut = evaluation.threshold(threshold)
    found: dict[str, Callable[[], pd.DataFrame]] = {
        "metrics": partial(evaluation.metrics, cut, group),
        "confusion_matrix": partial(evaluation.confusion_matrix, cut, group),
        "roc": partial(evaluation.roc_curve, group),
        "precision_recall": partial(evaluation.precision_recall_curve, group),
        "calibration": partial(evaluation.calibration_curve, None, group),
        "lift": partial(evaluation.lift_curve, group),
    }
    if group is not None or not evaluation.columns:
        return found
    from discreet.evaluation.binary.fairness import EVENED

    compared = evaluation.by_group(cut)
    found |= {
        "by_group": compared.to_frame,
        "differences": compared.differences,
        "pairs": compared.pairs,
    }
    return found | {f"even_{rate}": partial(compared.even_thresholds, rate) for rate in EVENED}
