"""Pictures of evaluations: ROC and precision-recall curves, calibration, and a forest of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from discreet.evaluation.forest import COLOURS
from discreet.plans.results.pictures.canvas import (
    BAND_ALPHA,
    GREY,
    LINE,
    add_legend,
    axes_or_new,
    number_axis,
    tidy,
    write_title,
)

if TYPE_CHECKING:
    from discreet.evaluation.binary.result import BinaryEvaluation

PictureName = Literal["roc", "precision_recall", "calibration", "lift"]
PICTURES = ("roc", "precision_recall", "calibration", "lift")

_MOST_LINES = len(COLOURS)


class EvaluationDisplay:
    """Draws one picture of an evaluation; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, evaluation: BinaryEvaluation, kind: PictureName = "roc") -> None:
        self.evaluation, self.kind = evaluation, kind
        self.ax_: Any = None
        self.figure_: Any = None

    def plot(self, ax: Any = None, *, title: str | None = None) -> EvaluationDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        self.ax_ = axes_or_new(ax)
        self.figure_ = self.ax_.figure
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
    def _shown(self) -> list[tuple[str, ...]]:
        """The groups that are drawn beside the whole: few, and large enough to say something of."""
        if not self.evaluation.columns:
            return []
        large = [group for group in self.evaluation.groups if not self.evaluation.small(group)]
        return large if len(large) < _MOST_LINES else []

    def _draw_roc(self) -> None:
        area = self.evaluation.auc
        self._draw_curve(
            self.evaluation.roc_curve,
            "false_positive_rate",
            "true_positive_rate",
            f"AUC {area.value:.2f}",
        )
        self.ax_.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls="--")

    def _draw_precision_recall(self) -> None:
        self._draw_curve(
            self.evaluation.precision_recall_curve, "true_positive_rate", "precision", "released"
        )
        base = self.evaluation.tally().prevalence.value
        self.ax_.axhline(base, color=GREY, lw=0.8, ls="--")
        self.ax_.set_xlabel("recall (true positive rate)")

    def _draw_curve(self, curve: Any, x: str, y: str, label: str) -> None:
        frame, ax = curve(), self.ax_
        over = frame[x].to_numpy()
        low, high = frame[f"{y}_low"].to_numpy(), frame[f"{y}_high"].to_numpy()
        ax.fill_between(over, low, high, color=LINE, alpha=BAND_ALPHA, lw=0, label=self._band)
        ax.plot(over, frame[y], color=LINE, lw=1.8, label=label)
        for group, colour in zip(self._shown, COLOURS[1:], strict=False):
            own = curve(group=group)
            ax.plot(own[x], own[y], color=colour, lw=1.2, label=" and ".join(group))
        ax.set_xlim(-0.01, 1.01)
        ax.set_ylim(-0.01, 1.01)
        ax.set_xlabel(x.replace("_", " "))
        ax.set_ylabel(y.replace("_", " "))

    def _draw_calibration(self) -> None:
        frame, ax = self.evaluation.calibration_curve(), self.ax_
        frame = frame[frame["high"] - frame["low"] < 1.0]
        ends = (frame["low"].to_numpy(), frame["high"].to_numpy())
        score = frame["score"].to_numpy()
        ax.fill_between(score, *ends, color=LINE, alpha=BAND_ALPHA, lw=0, label=self._band)
        ax.plot(score, frame["value"], color=LINE, lw=1.8, marker="o", ms=4, label="released")
        if self.evaluation.output == "probability":  # of other scores none says how often
            ax.plot([0, 1], [0, 1], color=GREY, lw=0.8, ls="--")
        for group, colour in zip(self._shown, COLOURS[1:], strict=False):
            own = self.evaluation.calibration_curve(group=group)
            own = own[own["high"] - own["low"] < 1.0]
            label = " and ".join(group)
            ax.plot(own["score"], own["value"], color=colour, lw=1.2, marker=".", label=label)
        ax.set_xlabel("mean score of a bin")
        ax.set_ylabel(f"share of {self.evaluation.target}")

    def _draw_lift(self) -> None:
        frame, ax = self.evaluation.lift_curve(), self.ax_
        frame = frame[(frame["high"] < 1e3) & (frame["selection_rate"] > 0)]
        share = frame["selection_rate"].to_numpy()
        ends = frame["low"].to_numpy(), frame["high"].to_numpy()
        ax.fill_between(share, *ends, color=LINE, alpha=BAND_ALPHA, lw=0, label=self._band)
        ax.plot(share, frame["value"], color=LINE, lw=1.8, label="released")
        ax.axhline(1.0, color=GREY, lw=0.8, ls="--")
        ax.set_xlabel("share of records selected")
        ax.set_ylabel("lift")
