"""What is told of an attack: a finding, held if it is not above its ceiling, and a picture."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from discreet.audit.attacks.scoring import AttackResult
from discreet.audit.finding import Check, Effort, Finding
from discreet.plans.results.pictures.canvas import LINE, LOSS, Display, axes_or_new, tidy, write_title

ATTACKS = 64
"""At least as many as an audit runs: they share the doubt (Bonferroni), so that a sound product is
accused by any of them at most 5 % of the time."""


def attack_check(
    name: str, subject: str, attack: Callable[[Effort], AttackResult], *, quick: bool = True
) -> Check:
    """Return the check that runs an attack and compares what it surely attained with its ceiling.

    Args:
      name: of the check; ``attack: `` is put in front.
      subject: what is attacked, in words.
      attack: runs it.
      quick: whether the audit of a minute has it too.
    """

    def look(effort: Effort) -> Finding:
        return finding_of(attack(effort))

    return Check(f"attack: {name}", "attack", subject, look, quick)


def finding_of(result: AttackResult, *, attacks: int = ATTACKS) -> Finding:
    """Return what an attack shows; of several figures the one that is farthest above, else accuracy.

    Args:
      result: of the attack.
      attacks: among how many it is judged.
    """
    above = result.above(attacks=attacks)
    name = max(above, key=lambda figure: above[figure]) if above else "accuracy"
    rate, roof = result.rates[name]
    return Finding(
        check="",
        kind="attack",
        held=not above,
        promised=roof,
        found=roof + above[name] if above else rate.low,
        unit=name,
        said=f"{result}." if not above else f"{result}: {name} is surely above its ceiling.",
        tries=result.accuracy.trials,
        curve=_figures(result),
    )


def _figures(result: AttackResult) -> dict[str, list[float]]:
    rates = result.rates.values()
    return {
        "value": [rate.value for rate, _ in rates],
        "low": [rate.low for rate, _ in rates],
        "high": [rate.high for rate, _ in rates],
        "ceiling": [roof for _, roof in rates],
    }


class AttackDisplay(Display):
    """Draws an ``AttackResult``; after ``plot`` it has ``ax_`` and ``figure_``."""

    def __init__(self, result: AttackResult) -> None:
        self.result = result

    def plot(self, ax: Any = None, *, title: str | None = None) -> AttackDisplay:
        """Draw on ``ax`` or on new axes; never calls ``show``."""
        self.ax_ = axes_or_new(ax, height=2.4)
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
        self.ax_.legend(fontsize=8, frameon=False, loc="upper left", markerscale=0.4)
        write_title(self.ax_, title or f"{self.result.attack} of {self.result.target}")
        tidy(self.ax_)
        return self
