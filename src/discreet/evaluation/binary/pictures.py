"""Pictures of evaluations: ROC and precision-recall curves, calibration, and a forest of groups."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from discreet.evaluation.figures import difference
from discreet.plans.results.pictures.canvas import (
    BAND_ALPHA,
    GREY,
    LINE,
    LOSS,
    add_legend,
    axes_or_new,
    ink,
    number_axis,
    tidy,
    write_title,
)

if TYPE_CHECKING:
    from discreet.evaluation.binary.fairness import GroupMetrics
    from discreet.evaluation.binary.result import BinaryEvaluation

PictureName = Literal["roc", "precision_recall", "calibration", "lift"]
PICTURES = ("roc", "precision_recall", "calibration", "lift")

_COLOURS = (LINE, LOSS, "#4f9d69", "#b07d1a", "#7a5ea8", "#4a5568")
_MOST_LINES = len(_COLOURS)
_ROW = 0.24
"""The height of a row of a forest, in inches."""


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
        for group, colour in zip(self._shown, _COLOURS[1:], strict=False):
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
        for group, colour in zip(self._shown, _COLOURS[1:], strict=False):
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


class GroupForestDisplay:
    """Draws how far every group is from all records; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, metrics: GroupMetrics) -> None:
        self.metrics = metrics
        self.ax_: Any = None
        self.figure_: Any = None

    def plot(self, ax: Any = None, *, title: str | None = None) -> GroupForestDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        groups = self.metrics.compared
        names = [(metric, group) for metric in self.metrics.metrics for group in groups]
        gaps = [1.5 * self.metrics.metrics.index(metric) for metric, _ in names]
        places = np.arange(len(names)) + np.asarray(gaps)
        self.ax_ = axes_or_new(ax, height=max(2.0, 0.9 + _ROW * (len(names) + len(gaps) / 2)))
        self.figure_ = self.ax_.figure
        for place, (metric, group) in zip(places, names, strict=True):
            self._draw_row(float(place), metric, group)
        self._name_rows(places, names)
        self.ax_.axvline(0.0, color=ink(self.ax_), lw=0.8)
        self.ax_.invert_yaxis()
        self.ax_.set_xlabel(f"from all records, {self.metrics.evaluation.level:.0%} intervals")
        tidy(self.ax_)
        write_title(self.ax_, title)
        return self

    def _draw_row(self, place: float, metric: str, group: tuple[str, ...]) -> None:
        apart = difference(self.metrics.figure(metric, group), self.metrics.figure(metric))
        colour = _COLOURS[self.metrics.compared.index(group) % _MOST_LINES]
        sure = apart.low > 0 or apart.high < 0
        self.ax_.plot([apart.low, apart.high], [place] * 2, color=colour, lw=1.6)
        self.ax_.plot([apart.value], [place], "o" if sure else "|", color=colour, ms=5 if sure else 9)

    def _name_rows(self, places: Any, names: list[tuple[str, tuple[str, ...]]]) -> None:
        labels = [" and ".join(group) for _, group in names]
        self.ax_.set_yticks(places, labels)
        for metric in self.metrics.metrics:
            first = next((p for p, (m, _) in zip(places, names, strict=True) if m == metric), None)
            if first is not None:
                said = metric.replace("_", " ")
                self.ax_.text(
                    0.0,
                    float(first) - 0.85,
                    said,
                    transform=self.ax_.get_yaxis_transform(),
                    fontsize=8,
                    color=ink(self.ax_),
                    va="center",
                )
