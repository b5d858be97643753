"""How good an attack was, how sure that is, and what its ceiling would have allowed.

An attack gives every trial a score; greater ones say "the record was there". One half of the trials
chooses thresholds, the other half measures, so that no threshold is judged by the trials it was
chosen on.

All intervals are Clopper and Pearson's (1934). The area under the curve is a mean over all pairs of
trials and spreads no more than one over pairs that have no trial in common (Hoeffding 1963, section 5),
which is a share of that many independent pairs: it gets their interval, and covers whatever the scores
are, also where all pairs are ordered rightly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from discreet.audit.attacks.ceiling import Ceiling, check_ceiling
from discreet.errors import ArgumentError
from discreet.numerics import check_whole
from discreet.randomness import public_generator
from discreet.schema import FloatArray

if TYPE_CHECKING:
    import pandas as pd

    from discreet.audit.attacks.verdict import AttackDisplay

BoolArray = NDArray[np.bool_]

DOUBT = 0.05
"""One minus the confidence of every interval, and the chance that any attack is called too good."""

FALSE_POSITIVES = 0.01
"""The false positive rate at which true positives are told."""

_FEWEST = 20
_TOSS = 1


@dataclass(frozen=True)
class Rate:
    """A share of trials, with its interval.

    Args:
      successes: how many; of an area under a curve not a whole number.
      trials: of how many.
    """

    successes: float
    trials: int

    @property
    def value(self) -> float:
        """The share."""
        return self.successes / self.trials

    @property
    def low(self) -> float:
        """The lower end of the 95 % interval."""
        return self.at_least(DOUBT / 2)

    @property
    def high(self) -> float:
        """The upper end of the 95 % interval."""
        return self.at_most(DOUBT / 2)

    def at_least(self, doubt: float) -> float:
        """Return what the share's expectation is not below, with so little doubt."""
        from scipy.special import betaincinv

        if self.successes <= 0:
            return 0.0
        return float(betaincinv(self.successes, self.trials - self.successes + 1, doubt))

    def at_most(self, doubt: float) -> float:
        """Return what the share's expectation is not above, with so little doubt."""
        from scipy.special import betaincinv

        if self.successes >= self.trials:
            return 1.0
        return float(betaincinv(self.successes + 1, self.trials - self.successes, 1 - doubt))


@dataclass(frozen=True)
class AttackResult:
    """What an attack attained, beside the ceiling of what it attacked.

    Args:
      attack: how the guess was made.
      target: what was attacked.
      ceiling: what the promise implies; an infinite epsilon where there is none.
      accuracy: right guesses.
      candidates: among how many equally likely ones: two for membership.
      auc: the area under the curve of true over false positives; None where there is no score.
      tpr: true positives where about 1 % are false.
      fpr: the false positives that were measured there.
      stopped: why there are fewer trials than were asked for, else empty.
    """

    attack: str
    target: str
    ceiling: Ceiling
    accuracy: Rate
    candidates: int = 2
    auc: Rate | None = None
    tpr: Rate | None = None
    fpr: Rate | None = None
    stopped: str = ""

    @property
    def rates(self) -> dict[str, tuple[Rate, float]]:
        """Every figure and its ceiling.

        That of the true positives is read at the upper end of the false ones: it holds at 95 %.
        """
        found = {"accuracy": (self.accuracy, self.ceiling.guess(self.candidates))}
        if self.auc is not None:
            found["auc"] = (self.auc, self.ceiling.auc)
        if self.tpr is not None and self.fpr is not None:
            found["tpr at 1 % fpr"] = (self.tpr, self.ceiling.tpr(self.fpr.high))
        return found

    def above(self, ceiling: Ceiling | None = None, *, attacks: int = 1) -> dict[str, float]:
        """Return how far the sure part of every figure is above its ceiling; empty if none is.

        Args:
          ceiling: another one than the target's own.
          attacks: on how many in all the judgement is made: the doubt is shared by them and by their
            figures (Bonferroni), so that all of them together err at most 5 % of the time.
        """
        check_whole("attacks", attacks, 1)
        roof = self.ceiling if ceiling is None else ceiling
        check_ceiling(roof)
        doubt = DOUBT / (attacks * len(self.rates))
        over = {"accuracy": self.accuracy.at_least(doubt) - roof.guess(self.candidates)}
        if self.auc is not None:
            over["auc"] = self.auc.at_least(doubt) - roof.auc
        if self.tpr is not None and self.fpr is not None:
            allowed = roof.tpr(self.fpr.at_most(doubt / 2))
            over["tpr at 1 % fpr"] = self.tpr.at_least(doubt / 2) - allowed
        return {name: excess for name, excess in over.items() if excess > 0}

    def beats(self, ceiling: Ceiling | None = None, *, attacks: int = 1) -> bool:
        """Say whether the attack is surely above a ceiling: then the promise is broken."""
        return bool(self.above(ceiling, attacks=attacks))

    def to_frame(self) -> pd.DataFrame:
        """Return a row per figure: its value, its 95 % interval, its ceiling."""
        import pandas as pd

        rows = [
            {"figure": name, "value": rate.value, "low": rate.low, "high": rate.high, "ceiling": roof}
            for name, (rate, roof) in self.rates.items()
        ]
        return pd.DataFrame(rows).set_index("figure")

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        epsilon = self.ceiling.epsilon
        return {
            "attack": self.attack,
            "target": self.target,
            "epsilon": epsilon if math.isfinite(epsilon) else str(epsilon),
            "delta": self.ceiling.delta,
            "candidates": self.candidates,
            "trials": self.accuracy.trials,
            "stopped": self.stopped,
            "figures": self.to_frame().to_dict("index"),
        }

    def __str__(self) -> str:
        told = [
            f"{name} {rate.value:.3f} [{rate.low:.3f}, {rate.high:.3f}], at most {roof:.3f}"
            for name, (rate, roof) in self.rates.items()
        ]
        early = f" (stopped early: {self.stopped})" if self.stopped else ""
        return f"{self.attack} of {self.target}: " + "; ".join(told) + early

    def plot(self, ax: Any = None, *, title: str | None = None) -> AttackDisplay:
        """Draw the figures with their intervals and ceilings."""
        from discreet.audit.attacks.verdict import AttackDisplay

        return AttackDisplay(self).plot(ax, title=title)


def score_attack(
    present: ArrayLike,
    absent: ArrayLike,
    ceiling: Ceiling,
    *,
    attack: str = "threshold",
    target: str = "release",
    threshold: float | None = None,
) -> AttackResult:
    """Return how well scores tell two neighbours apart.

    Args:
      present: scores of trials in which the record was there; as many of either kind.
      absent: scores of trials in which it was not.
      ceiling: of what was attacked.
      attack: how the scores were made.
      target: what was attacked.
      threshold: above it the attack says "there"; by default the best of the first half of the trials.
        One that follows from the law of the noise is known beforehand, and all trials measure it.
    """
    here, gone = _scores("present", present), _scores("absent", absent)
    if len(here) != len(gone):
        raise ArgumentError(
            f"present and absent must have as many scores, got {len(here)} and {len(gone)}."
        )
    half = len(here) // 2
    if threshold is None:
        accuracy = _right(here[half:], gone[half:], _best_threshold(here[:half], gone[:half]))
    else:
        accuracy = _right(here, gone, threshold)
    found, false = _strict_answers(here, gone, half)
    return AttackResult(
        attack,
        target,
        ceiling,
        accuracy,
        auc=Rate(_area_under(here, gone) * len(here), len(here)),
        tpr=Rate(int(found[half:].sum()), len(here) - half),
        fpr=Rate(int(false[half:].sum()), len(gone) - half),
    )


def score_guesses(
    right: ArrayLike,
    candidates: int,
    ceiling: Ceiling,
    *,
    attack: str = "best guess",
    target: str = "release",
) -> AttackResult:
    """Return how often guesses among equally likely candidates were right.

    Args:
      right: one entry per trial.
      candidates: among how many the truth was drawn.
      ceiling: of what was attacked, for tables that differ in which candidate is the truth.
      attack: how the guesses were made.
      target: what was attacked.
    """
    hits = np.asarray(right)
    if hits.ndim != 1 or not len(hits) or not np.isin(hits, (0, 1)).all():
        raise ArgumentError(f"right must be a list of true and false, got {right!r:.80}.")
    check_whole("candidates", candidates, 2)
    rate = Rate(int(hits.sum()), len(hits))
    return AttackResult(attack, target, ceiling, rate, candidates)


def _scores(name: str, scores: ArrayLike) -> FloatArray:
    try:
        values = np.asarray(scores, dtype=float)
    except (TypeError, ValueError):
        values = np.array([np.nan])
    if values.ndim != 1 or len(values) < _FEWEST or np.isnan(values).any():
        raise ArgumentError(
            f"{name} must be at least {_FEWEST} scores without NaN, got {np.shape(values)} of them. "
            "Run more trials, and let an attack that knows nothing say 0."
        )
    return values


def _best_threshold(here: FloatArray, gone: FloatArray) -> float:
    """Return the threshold with most right guesses: the middle of a gap between scores."""
    values = np.unique(np.concatenate([here, gone]))
    found = len(here) - np.searchsorted(np.sort(here), values, side="right")
    kept = np.searchsorted(np.sort(gone), values, side="right")
    best = int(np.argmax(found + kept))
    if best + 1 == len(values) or not np.isfinite(values[best : best + 2]).all():
        return float(values[best])
    return float((values[best] + values[best + 1]) / 2)


def _strict_answers(here: FloatArray, gone: FloatArray, half: int) -> tuple[BoolArray, BoolArray]:
    """Return who is said to be there at the least threshold that 1 % of the first half exceed in vain.

    An attack may toss between equal scores: where a score has few values, that alone attains a false
    positive rate of 1 %. It does if more is found that way in the first half.
    """
    scores = np.concatenate([here, gone])
    ranks = np.empty(len(scores))
    ranks[np.lexsort((public_generator(_TOSS).random(len(scores)), scores))] = np.arange(len(scores))
    answers = []
    for kept in (scores, ranks):
        above = kept > np.quantile(kept[len(here) :][:half], 1 - FALSE_POSITIVES, method="inverted_cdf")
        answers.append((above[: len(here)], above[len(here) :]))
    plain, tossed = answers
    return plain if plain[0][:half].sum() >= tossed[0][:half].sum() else tossed


def _right(here: FloatArray, gone: FloatArray, threshold: float) -> Rate:
    right = np.sum(here > threshold) + np.sum(gone <= threshold)
    return Rate(int(right), len(here) + len(gone))


def _area_under(here: FloatArray, gone: FloatArray) -> float:
    """Return the share of pairs that are in order; a tie is half of one."""
    order = np.sort(gone)
    below = np.searchsorted(order, here, side="left")
    at_most = np.searchsorted(order, here, side="right")
    return float((below + at_most).sum() / 2 / len(here) / len(gone))
