"""Linkage: which of some outside records is the one in the table?

The attacker has candidates, of whom one, each as likely, is in the table, and knows all other records.
Where the law of the noise is known the best guess is the likeliest candidate; of released rows it is
the one that has the nearest row.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from discreet.arguments import as_list
from discreet.audit.attacks.ceiling import Ceiling, check_ceiling
from discreet.audit.attacks.scoring import AttackResult, score_guesses
from discreet.audit.attacks.targets import Target
from discreet.audit.attacks.trials import Release, ask, run_trials
from discreet.errors import ArgumentError
from discreet.numerics import check_whole
from discreet.randomness import public_generator
from discreet.schema import FloatArray

_FEWEST = 20

Guess = Callable[[Any], int]
"""The place of a candidate, from one output."""


def linkage(
    release: Release,
    tables: Sequence[Any],
    guess: Guess,
    *,
    ceiling: Ceiling,
    trials: int = 200,
    seconds: float = 60.0,
    seed: int = 0,
    target: str = "release",
    attack: str = "linkage",
) -> AttackResult:
    """Attack any mechanism that released one of several tables, each with another candidate in it.

    Args:
      release: runs the mechanism on a table with a seed.
      tables: one per candidate, the same but for that record.
      guess: the place of a candidate, from an output; see ``nearest``.
      ceiling: what the promise implies for two of the tables.
      trials: each draws the true candidate anew.
      seconds: after so many, Ctrl-C or an exception of the mechanism it goes on with the trials it has.
      seed: of all of them.
      target: what is attacked, for the report.
      attack: what the guess is called there.

    >>> told = linkage(lambda table, seed: table, ["a", "b"], lambda out: "ab".index(out),
    ...     ceiling=Ceiling(1.0))
    >>> told.accuracy.value, told.beats()
    (1.0, True)
    """
    check_whole("trials", trials, _FEWEST)
    check_whole("seed", seed, 0)
    check_ceiling(ceiling)
    known = as_list("tables", tables, "Give one table per candidate.")
    if len(known) < 2:
        raise ArgumentError(f"tables must be at least two, got {len(known)}.")
    truth = public_generator(seed).integers(0, len(known), trials)

    def trial(number: int) -> bool:
        place = int(truth[number])
        return _guessed(guess, ask(release, known[place], seed + number), len(known)) == place

    right = run_trials(trial, trials=trials, seconds=seconds, fewest=_FEWEST)
    told = score_guesses(right.outcomes, len(known), ceiling, attack=attack, target=target)
    return replace(told, stopped=right.stopped)


def attack_linkage(
    target: Target, *, trials: int, seed: int = 0, guess: Guess | None = None, attack: str = "linkage"
) -> AttackResult:
    """Guess which table of a target was released.

    Args:
      target: what is attacked.
      trials: of all candidates together; each draws the true one anew.
      seed: of all of them.
      guess: from one output; the likeliest candidate if left out.
      attack: what the guess is called in the report.
    """
    check_whole("trials", trials, _FEWEST)
    truth = np.sort(public_generator(seed).integers(0, target.tables, trials))
    counts = np.bincount(truth, minlength=target.tables).tolist()
    seeds = [seed * target.tables + which for which in range(target.tables)]
    outputs = np.vstack(
        [target.draw(which, count, seeds[which]) for which, count in enumerate(counts) if count]
    )
    if guess is None:
        guessed = _likeliest(target, outputs)
    else:
        guessed = np.array([_guessed(guess, output, target.tables) for output in outputs])
    return score_guesses(
        guessed == truth, target.tables, target.ceiling, attack=attack, target=target.name
    )


def nearest(candidates: FloatArray, *, scale: FloatArray | None = None) -> Guess:
    """Return the guess that takes the candidate who has the nearest released row.

    Args:
      candidates: candidates x numbers.
      scale: the range of every number; distances are sums over numbers in units of it.

    >>> import numpy as np
    >>> nearest(np.array([[0.0, 0.0], [1.0, 1.0]]))(np.array([[0.9, 1.0], [0.4, 0.0]]))
    1
    """
    known = np.asarray(candidates, dtype=float)
    unit = np.ones(known.shape[1]) if scale is None else np.asarray(scale, dtype=float)

    def guess(rows: Any) -> int:
        released = np.asarray(rows, dtype=float).reshape(-1, known.shape[1])
        apart = (np.abs(known[:, None, :] - released[None, :, :]) / unit).sum(axis=2)
        # Of candidates with equally near rows, the one that has more of them.
        closest = apart.min(axis=1)
        many = (apart <= closest[:, None]).sum(axis=1)
        return int(np.lexsort((-many, closest))[0])

    return guess


def _likeliest(target: Target, outputs: FloatArray) -> NDArray[np.int64]:
    if target.likelihood is None:
        raise ArgumentError(f"guess must be given for {target.name}, got None: its law is not known.")
    return np.asarray(np.argmax(target.likelihood(outputs), axis=1))


def _guessed(guess: Guess, output: Any, candidates: int) -> int:
    """Return a guess, or raise in a sentence."""
    try:
        place = int(guess(output))
    except Exception as error:
        raise ArgumentError(
            f"guess must return the place of a candidate, got {type(error).__name__}: {error}. It is "
            "called with one output."
        ) from error
    check_whole("guess", place, 0, candidates - 1, "It is the place of a candidate.")
    return place
