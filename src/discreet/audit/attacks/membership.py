"""Membership inference: was this record in the table?

The attacker knows everything else: all other records, the question, the law of the noise. Half of the
trials are releases with the record, half without. Three attacks, from what needs least to what no
other attack is better than:

* ``threshold``: the output along the direction in which the record moves it, learned from trials;
* ``classifier``: extremely randomised trees that learn from trials what tells both apart;
* ``likelihood ratio``: where the law of the noise is known, the logarithm of how much likelier the
  output is with the record; by Neyman and Pearson (1933) no attack is better at any false positive
  rate, and its threshold is zero.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, Literal

import numpy as np

from discreet.arguments import shown
from discreet.audit.attacks.ceiling import Ceiling, check_ceiling
from discreet.audit.attacks.scoring import AttackResult, score_attack
from discreet.audit.attacks.targets import Target
from discreet.audit.attacks.trials import Release, Trials, ask, run_trials
from discreet.errors import ArgumentError
from discreet.numerics import check_choice, check_whole
from discreet.schema import FloatArray

MembershipAttack = Literal["threshold", "classifier", "likelihood ratio"]
_ATTACKS = ("threshold", "classifier", "likelihood ratio")
_FEWEST = 80
"""Trials of either kind: a half is learned from, half of the rest chooses thresholds."""

_TREES, _LEAF = 60, 10
_LARGEST = 1e30
"""Greater numbers are looked at as this one: trees learn in single precision."""


def membership(
    release: Release,
    with_record: Any,
    without_record: Any,
    *,
    ceiling: Ceiling,
    attack: MembershipAttack = "classifier",
    score: Callable[[Any], float] | None = None,
    trials: int = 1_000,
    seconds: float = 60.0,
    seed: int = 0,
    target: str = "release",
) -> AttackResult:
    """Attack any mechanism: yours, a library's, one of ours.

    Args:
      release: runs the mechanism on a table with a seed, and returns numbers: always as many.
      with_record: the table with the record.
      without_record: the table without it, or with another in its place.
      ceiling: what the mechanism's promise implies.
      attack: ``threshold`` or ``classifier``; ``likelihood ratio`` if ``score`` is the logarithm of it.
      score: of one output: the greater, the likelier the record was there. Learned if left out.
      trials: of either kind.
      seconds: after so many, Ctrl-C or an exception of the mechanism it goes on with the trials it has.
      seed: the first one; every trial has its own.
      target: what is attacked, for the report.

    >>> from discreet.randomness import public_generator
    >>> def noisy_count(table, seed):
    ...     return [len(table) + public_generator(seed).laplace()]
    >>> found = membership(noisy_count, "ab", "a", ceiling=Ceiling(1.0), attack="threshold")
    >>> found.accuracy.value > 0.6, found.beats(), found.beats(Ceiling(0.3))
    (True, False, True)
    """
    check_choice("attack", attack, _ATTACKS)
    check_whole("trials", trials, _FEWEST, hint="Fewer cannot be told from chance.")
    check_whole("seed", seed, 0)
    check_ceiling(ceiling)
    if attack == "likelihood ratio" and score is None:
        raise ArgumentError("score must be the log likelihood ratio for that attack, got None.")
    found = _both(release, (with_record, without_record), trials, seconds, seed, score)
    here, gone = (np.vstack(side) for side in zip(*found.outcomes, strict=True))
    if score is None:
        told = _learned(here, gone, ceiling, attack, target, seed)
    else:
        zero = 0.0 if attack == "likelihood ratio" else None
        told = score_attack(
            here[:, 0], gone[:, 0], ceiling, attack=attack, target=target, threshold=zero
        )
    return replace(told, stopped=found.stopped)


def attack_membership(
    target: Target, *, attack: MembershipAttack = "likelihood ratio", trials: int, seed: int = 0
) -> AttackResult:
    """Attack a target of two tables, the first of which has the record.

    Args:
      target: what is attacked.
      attack: how; a likelihood ratio needs a target whose law is known.
      trials: of either kind.
      seed: of all of them.
    """
    check_choice("attack", attack, _ATTACKS)
    check_whole("trials", trials, _FEWEST, hint="Fewer cannot be told from chance.")
    if not isinstance(target, Target):
        raise ArgumentError(f"target must be a Target, such as sums_target(...), got {shown(target)}.")
    if target.tables != 2:
        raise ArgumentError(f"target must have two tables, got {target.tables}. Use attack_linkage.")
    here, gone = target.draw(0, trials, 2 * seed), target.draw(1, trials, 2 * seed + 1)
    if attack != "likelihood ratio":
        return _learned(here, gone, target.ceiling, attack, target.name, seed)
    if target.likelihood is None:
        raise ArgumentError(
            f"attack must be threshold or classifier for {target.name}, got {attack!r}: "
            "its law is not known."
        )
    with_it, without = (-np.diff(target.likelihood(outputs))[:, 0] for outputs in (here, gone))
    return score_attack(
        with_it, without, target.ceiling, attack=attack, target=target.name, threshold=0.0
    )


def _both(
    release: Release,
    tables: tuple[Any, Any],
    trials: int,
    seconds: float,
    seed: int,
    score: Callable[[Any], float] | None,
) -> Trials[list[FloatArray]]:
    """Return outputs of both tables, or their scores; the tables take turns."""

    def trial(number: int) -> list[FloatArray]:
        seeds = (seed + 2 * number, seed + 2 * number + 1)
        return [_numbers(release, table, s, score) for table, s in zip(tables, seeds, strict=True)]

    found = run_trials(trial, trials=trials, seconds=seconds, fewest=_FEWEST)
    if len({one.shape for pair in found.outcomes for one in pair}) > 1:
        raise ArgumentError(
            "release must return as many numbers each time, got outputs of several shapes. "
            "Fill up what is missing."
        )
    return found


def _numbers(
    release: Release, table: Any, seed: int, score: Callable[[Any], float] | None
) -> FloatArray:
    """Return one output as a row of numbers, or raise in a sentence."""
    output = ask(release, table, seed)
    name, found = "release", output
    if score is not None:
        name, found = "score", ask(lambda one, _: score(one), output, seed, "score")
    try:
        row = np.asarray(found, dtype=float).reshape(1, -1)
    except (TypeError, ValueError, OverflowError):
        row = np.full((1, 1), np.nan)
    if np.isnan(row).any() or not row.size:
        raise ArgumentError(
            f"{name} must return floats, got {shown(found)} at seed {seed}. Put "
            "a number in the place of what is missing."
        )
    return np.asarray(np.clip(row, -_LARGEST, _LARGEST))


def _learned(
    here: FloatArray, gone: FloatArray, ceiling: Ceiling, attack: str, target: str, seed: int
) -> AttackResult:
    """Learn a score from the first half of the trials; the other half measures it."""
    half = len(here) // 2
    learn = _direction if attack == "threshold" else _trees
    score = learn(here[:half], gone[:half], seed)
    return score_attack(score(here[half:]), score(gone[half:]), ceiling, attack=attack, target=target)


Scores = Callable[[FloatArray], FloatArray]


def _direction(here: FloatArray, gone: FloatArray, seed: int) -> Scores:
    """Return the component along the difference of both means, every number in units of its spread."""
    scale = np.maximum(np.std(np.vstack([here, gone]), axis=0), 1e-300)
    towards = (here.mean(axis=0) - gone.mean(axis=0)) / scale
    return lambda outputs: np.asarray((outputs / scale * towards).sum(axis=1))


def _trees(here: FloatArray, gone: FloatArray, seed: int) -> Scores:
    """Return the probability that a classifier gives to the record's being there."""
    from sklearn.ensemble import ExtraTreesClassifier

    rows = np.vstack([here, gone])
    said = np.repeat([1, 0], [len(here), len(gone)])
    model = ExtraTreesClassifier(_TREES, min_samples_leaf=_LEAF, random_state=seed).fit(rows, said)
    return lambda outputs: np.asarray(model.predict_proba(outputs)[:, 1])
