"""Draws what an attack attained beside its ceilings."""

from __future__ import annotations

from typing import Any

import numpy as np

from discreet.audit.attacks.scoring import AttackResult
from discreet.plans.results.pictures.canvas import LINE, LOSS, axes_or_new, tidy, write_title


class AttackDisplay:
    """Draws an ``AttackResult``; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, result: AttackResult) -> None:
        self.result = result
        self.ax_: Any = None
        self.figure_: Any = None

    def plot(self, ax: Any = None, *, title: str | None = None) -> AttackDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        self.ax_ = axes_or_new(ax, height=2.4)
        self.figure_ = self.ax_.figure
        names = list(self.result.rates)
        rates = [rate for rate, _ in self.result.rates.values()]
        middle = np.array([rate.value for rate in rates])
        ends = np.array([[rate.value - rate.low, rate.high - rate.value] for rate in rates]).T
        places = np.arange(len(names))
        label = "attack, 95 % interval"
        self.ax_.errorbar(middle, places, xerr=ends, fmt="o", color=LINE, capsize=3, label=label)
        roofs = [roof for _, roof in self.result.rates.values()]
        self.ax_.plot(roofs, places, "|", color=LOSS, ms=22, mew=2, label="ceiling")
        self.ax_.set_yticks(places, names)
        self.ax_.set_ylim(len(names) - 0.4, -0.6)
        self.ax_.set_xlim(-0.02, 1.02)
        self.ax_.legend(fontsize=8, frameon=False, loc="upper left")
        write_title(self.ax_, title or f"{self.result.attack} of {self.result.target}")
        tidy(self.ax_)
        return self
