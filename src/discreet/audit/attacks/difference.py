"""Difference attacks: two questions that overlap, and one question asked again and again.

* Exact answers about all rows and about all rows but one differ by that row: nobody has to know
  anything else of the table. Noise on either answer stays on the difference.
* Independent noises average out. So an answer that was released before is given again as it is, for
  free, and one with fresh noise is charged: the ceiling of so many releases is that of all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from discreet.audit.attacks.ceiling import Ceiling
from discreet.audit.attacks.scoring import AttackResult, score_attack
from discreet.audit.attacks.targets import Target
from discreet.audit.attacks.trials import Release
from discreet.errors import ArgumentError
from discreet.numerics import check_whole
from discreet.plans import Plan
from discreet.schema import FloatArray, Schema

_FAR = 2**32
"""Between seeds of the first and of the second question."""


def difference_of(release: Release, part: Any) -> Callable[[Any, int], FloatArray]:
    """Return a release of a table less one of a part of it, for ``membership``.

    Args:
      release: runs the mechanism on a table with a seed.
      part: the rows that another question selects: all but the record.

    >>> difference_of(lambda table, seed: [len(table)], [1, 2])([1, 2, 3], 0)
    array([1.])
    """

    def released(table: Any, seed: int) -> FloatArray:
        whole, rest = release(table, seed), release(part, seed + _FAR)
        return np.asarray(np.asarray(whole, dtype=float) - np.asarray(rest, dtype=float))

    return released


def difference_target(whole: Target, part: Target) -> Target:
    """Return the difference of two releases as a target; the record is in the first one alone.

    Args:
      whole: releases of a table with and without the record.
      part: releases of the rows without it, whichever of its tables is drawn.
    """

    def draw(which: int, trials: int, seed: int) -> FloatArray:
        return whole.draw(which, trials, seed) - part.draw(0, trials, seed + _FAR)

    return Target(f"difference of two of {whole.name}", whole.ceiling, whole.tables, draw)


def attack_repeats(
    target: Target, *, times: int, fresh: bool, trials: int, seed: int = 0
) -> AttackResult:
    """Ask one question several times and take all answers together.

    Args:
      target: of two tables, with a known law; the first has the record.
      times: how often it is asked.
      fresh: with noise of its own each time, and charged each time; else the first answer comes again.
      trials: of either kind.
      seed: of all of them.
    """
    check_whole("times", times, 1)
    if target.likelihood is None or target.tables != 2:
        raise ArgumentError(f"target must have two tables and a known law, got {target.name}.")
    likelihood = target.likelihood

    def ratios(which: int) -> FloatArray:
        drawn = target.draw(which, trials * (times if fresh else 1), 2 * seed + which)
        each = -np.diff(likelihood(drawn))[:, 0]
        return np.asarray(each.reshape(trials, times).sum(axis=1) if fresh else each * times)

    ceiling = target.ceiling.composed(times) if fresh else target.ceiling
    said = f"{times} {'fresh' if fresh else 'stored'} answers together"
    return score_attack(ratios(0), ratios(1), ceiling, attack=said, target=target.name, threshold=0.0)


@dataclass(frozen=True)
class Repeated:
    """The answers to one question that was asked several times, and what they were charged."""

    answers: tuple[FloatArray, ...]
    epsilon: float
    delta: float = 0.0


Ask = Callable[[int, int], Repeated]
"""Asks again and again about the table with the record (0) or without it (1), in a trial."""


def ask_session(
    plan: Plan,
    tables: Sequence[Any],
    schema: Schema,
    *,
    times: int,
    read: Callable[[Any], FloatArray],
    seed: int = 0,
) -> Ask:
    """Return who asks sessions on two tables, with their ledgers, one question several times.

    Every trial has a question of its own, with an epsilon that is a millionth greater than the last.

    Args:
      plan: the question of the first trial.
      tables: with the record, and without it.
      schema: their public facts.
      times: how often a question is asked.
      read: numbers from a result.
      seed: of the noise.
    """
    from discreet.session import protect

    check_whole("times", times, 1)
    sessions = [
        protect(table, schema, dataset="attacked", epsilon=1e4, ledger=":memory:", seed=seed + i)
        for i, table in enumerate(tables)
    ]

    def ask(which: int, trial: int) -> Repeated:
        session = sessions[which]
        asked = plan.at(plan.epsilon * (1 + 1e-6 * trial))
        before = session.remaining
        answers = tuple(read(session.release(asked).value) for _ in range(times))
        after = session.remaining
        return Repeated(answers, before.loss - after.loss, before.delta - after.delta)

    return ask


def repeats(
    ask: Ask, score: Callable[[FloatArray], float], *, trials: int, target: str = "release"
) -> AttackResult:
    """Average the answers to one question; the ceiling is that of what was charged for them.

    Args:
      ask: asks one question several times and tells what that cost.
      score: of the mean answer: positive where the record seems to be there.
      trials: of either kind.
      target: what is attacked, for the report.
    """
    check_whole("trials", trials, 1)
    found: list[list[float]] = [[], []]
    epsilon = delta = 0.0
    for trial in range(trials):
        for which in (0, 1):
            told = ask(which, trial)
            found[which].append(float(score(np.mean(told.answers, axis=0))))
            epsilon, delta = max(epsilon, told.epsilon), max(delta, told.delta)
    ceiling = Ceiling(epsilon, delta)
    here, gone = found
    return score_attack(here, gone, ceiling, attack="averaging", target=target, threshold=0.0)
