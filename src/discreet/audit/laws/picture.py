"""The picture of an exact audit: the true delta at every epsilon, and the promised one."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.audit.laws.exact_audit import ExactAudit
from discreet.plans.results.pictures.canvas import (
    LINE,
    LOSS,
    Display,
    axes_or_new,
    ink,
    tidy,
    write_title,
)

_POINTS = 200
_LEAST = 1e-9
"""Where a logarithmic axis of deltas ends if no promise goes below."""


class ExactDisplay(Display):
    """Draws an ``ExactAudit``; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, audit: ExactAudit) -> None:
        self.audit = audit

    def plot(self, ax: Any = None, *, title: str | None = None) -> ExactDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        from matplotlib.ticker import FuncFormatter

        audit, promise = self.audit, self.audit.promise
        self.ax_ = axes_or_new(ax)
        most = 1.5 * promise.epsilon
        if np.isfinite(audit.epsilon):
            most = max(most, 1.2 * audit.epsilon)
        grid = np.linspace(0.0, most, _POINTS)
        self._curve(grid, audit.curve(grid), LINE if audit.kept else LOSS, "-", "true, worst pairs")
        self._curve(grid, promise.curve(grid), ink(self.ax_), "--", "promised")
        self.ax_.axvline(promise.epsilon, color=ink(self.ax_), linewidth=0.6, alpha=0.5)
        self.ax_.set_yscale("log")
        self.ax_.yaxis.set_major_formatter(FuncFormatter(lambda delta, _: f"{delta:g}"))
        self.ax_.set_ylim(min(_LEAST, promise.delta / 10 or 1.0), 1.5)
        self.ax_.set_xlim(0.0, most)
        self.ax_.set_xlabel("epsilon")
        self.ax_.set_ylabel("delta")
        self.ax_.legend(fontsize=8, frameon=False, loc="upper right")
        write_title(self.ax_, audit.finding().said if title is None else title)
        tidy(self.ax_)
        return self

    def _curve(self, x: Any, y: Any, colour: str, style: str, label: str) -> None:
        seen = np.where(y > 0, y, np.nan)
        self.ax_.plot(x, seen, style, color=colour, label=label)
