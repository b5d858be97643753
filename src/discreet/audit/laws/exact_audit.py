"""The true privacy loss of a mechanism whose law is known, over pairs of neighbours."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.arguments import shown
from discreet.audit.finding import Finding
from discreet.audit.laws.divergence import ROUNDING, FloatArray, Law, PrivacyProfile
from discreet.audit.laws.subject import Promise, Subject
from discreet.audit.laws.sweep import Sweep, epsilon_grid, measure_all, search_worst
from discreet.errors import ArgumentError, DiscreetError
from discreet.numerics import check_positive, check_whole

if TYPE_CHECKING:
    from discreet.audit.laws.picture import ExactDisplay


_SHARE = 1e-9
"""What rounding may add to a Rényi divergence, relatively."""


@dataclass(frozen=True)
class ExactAudit:
    """What exact laws say of a promise.

    Args:
      name: of the mechanism.
      promise: what was on trial.
      profiles: the curves of the pairs that are worst somewhere, that at the promised delta first.
      tries: how many pairs were measured, each in both directions.
      complete: whether all given pairs, or all inputs that the search could come to, were measured.
      stopped: what ended the audit before its time, if anything did.
    """

    name: str
    promise: Promise
    profiles: tuple[PrivacyProfile, ...]
    tries: int
    complete: bool
    stopped: str = ""

    @property
    def epsilon(self) -> float:
        """The true loss of the worst pair at the promised delta."""
        return self.profiles[0].epsilon(self.promise.delta)

    @property
    def delta(self) -> float:
        """The true delta of the worst pair at the promised epsilon."""
        return max(profile.delta(self.promise.epsilon) for profile in self.profiles)

    @property
    def rho(self) -> float:
        """The true zCDP cost of the pairs that were kept, from below."""
        return max(profile.rho() for profile in self.profiles)

    @property
    def worst(self) -> str:
        """The pair with the greatest loss at the promised delta, in words."""
        return self.profiles[0].said

    @property
    def tightness(self) -> float:
        """The true loss over the promised one: above one the promise is broken."""
        return self.epsilon / self.promise.epsilon

    @property
    def kept(self) -> bool:
        """Whether no pair exceeds the promise, nor the curve and the rho the accountant is told."""
        return not self.exceeded

    @property
    def exceeded(self) -> tuple[str, ...]:
        """What is exceeded, in words; nothing of a promise that is kept."""
        grid, promise = epsilon_grid(self.promise), self.promise
        found = {
            f"epsilon {promise.epsilon:g}, delta {promise.delta:g}": self.delta
            > promise.delta + ROUNDING,
            "the curve that is told": bool(np.any(self.curve(grid) > promise.curve(grid) + ROUNDING)),
            f"the rho {promise.rho:.4g} that is told": self.rho > promise.rho * (1 + _SHARE),
        }
        return tuple(words for words, over in found.items() if over)

    def curve(self, epsilons: Iterable[float]) -> FloatArray:
        """Return the true delta at each epsilon: the greatest of the pairs that were kept."""
        asked = np.asarray(list(epsilons), dtype=np.float64)
        return np.asarray(np.max([profile.deltas(asked) for profile in self.profiles], axis=0))

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        grid = epsilon_grid(self.promise)
        return {
            "name": self.name,
            "promised": {
                "epsilon": self.promise.epsilon,
                "delta": self.promise.delta,
                "rho": _plain(self.promise.rho),
            },
            "found": {
                "epsilon": _plain(self.epsilon),
                "delta": self.delta,
                "rho": _plain(self.rho),
            },
            "kept": self.kept,
            "tightness": _plain(self.tightness),
            "worst": self.worst,
            "tries": self.tries,
            "complete": self.complete,
            "stopped": self.stopped,
            "curve": {
                "epsilon": grid.tolist(),
                "found": self.curve(grid).tolist(),
                "promised": self.promise.curve(grid).tolist(),
            },
        }

    def finding(self) -> Finding:
        """Return it as what a check found; its name and time are the check's."""
        kept = f"stays within epsilon {self.promise.epsilon:g}, delta {self.promise.delta:g}"
        word = f"exceeds {' and '.join(self.exceeded)}" if self.exceeded else kept
        share = f", {self.tightness:.0%} of the promise" if math.isfinite(self.epsilon) else ""
        said = f"{self.name} {word}: the true loss of {self.worst} is {self.epsilon:.4g}{share}."
        return Finding(
            check=self.name,
            kind="exact",
            held=self.kept,
            promised=self.promise.epsilon,
            found=self.epsilon,
            unit="epsilon",
            said=f"{said} {self.stopped}".strip(),
            tries=self.tries,
            curve=self.to_json()["curve"],
        )

    def __str__(self) -> str:
        return self.finding().said

    def plot(self, ax: Any = None, *, title: str | None = None) -> ExactDisplay:
        """Draw the true curve and the promised one."""
        from discreet.audit.laws.picture import ExactDisplay

        return ExactDisplay(self).plot(ax, title=title)


def exact(
    law: Callable[[Any], Law] | Any,
    *,
    pairs: Iterable[tuple[Any, Any]] | None = None,
    neighbours: Callable[[Any], Iterable[Any]] | None = None,
    start: Any = None,
    epsilon: float | None = None,
    delta: float | None = None,
    tries: int = 20_000,
    seconds: float = 10.0,
    seed: int = 0,
) -> ExactAudit:
    """Return the true privacy loss of a law over pairs of neighbours, and its whole delta curve.

    Args:
      law: the probabilities of all outcomes, or a mapping of outcomes to them, for an input; or a
        mechanism of this library, which knows its own law, its neighbours and its promise.
      pairs: neighbouring inputs to measure.
      neighbours: all neighbours of an input; the worst pair is searched from ``start`` on.
      start: an input, or a list of inputs, to start the search from.
      epsilon: the promise on trial; that of the mechanism if left out.
      delta: see ``epsilon``.
      tries: the most pairs to measure.
      seconds: after about so many the audit stops and tells what it has.
      seed: of the search.

    >>> keep = math.e / (1 + math.e)
    >>> answer = exact(lambda bit: [keep, 1 - keep][:: 1 - 2 * bit], pairs=[(0, 1)], epsilon=1.0)
    >>> round(answer.epsilon, 9), answer.kept
    (1.0, True)
    """
    check_whole("tries", tries, 1)
    check_positive("seconds", seconds)
    check_whole("seed", seed, 0)
    _check_neighbours(pairs, neighbours)
    if neighbours is not None and start is None:
        raise ArgumentError(
            "start must be an input, or a list of inputs, to search neighbours from, got none."
        )
    subject = law if isinstance(law, Subject) else _as_subject(law, pairs, neighbours, epsilon)
    given = subject.promise
    if (epsilon, delta) != (None, None):
        given = Promise(
            given.epsilon if epsilon is None else epsilon, given.delta if delta is None else delta
        )
    sweep = Sweep(subject.law, given, tries=tries, seconds=seconds)
    listed = subject.pairs if pairs is None else lambda: pairs
    complete, stopped = _run(sweep, listed, neighbours, start, seed)
    if sweep.worst is None:
        raise ArgumentError(
            "pairs must hold at least one pair of neighbours, got none. Give pairs, or neighbours and "
            "a start that has some."
        )
    return ExactAudit(subject.name, given, sweep.profiles, sweep.tries, complete, stopped)


def _check_neighbours(pairs: object, neighbours: object) -> None:
    if not (pairs is None or isinstance(pairs, Iterable)):
        raise ArgumentError(f"pairs must be pairs of inputs, got {shown(pairs)}. Give [(x, y)].")
    if not (neighbours is None or callable(neighbours)):
        raise ArgumentError(
            f"neighbours must be a function of an input, got {shown(neighbours)}. Or give pairs."
        )


def _as_subject(law: Any, pairs: Any, neighbours: Any, epsilon: float | None) -> Subject:
    """Return what is on trial: a mechanism of ours, or a law with what was given beside it."""
    if not callable(law):
        from discreet.audit.laws.mechanisms import subject_of

        return subject_of(law)
    if pairs is None and neighbours is None:
        raise ArgumentError(
            "pairs or neighbours must be given with a law of your own, got neither. "
            "Give pairs=[(x, y)], or neighbours=... and start=..."
        )
    check_positive("epsilon", epsilon, "It is the promise on trial.")
    name = getattr(law, "__name__", type(law).__name__)
    return Subject(name, law, Promise(float(epsilon or 0.0)), lambda: ())


def _run(
    sweep: Sweep, pairs: Callable[[], Iterable[Any]], neighbours: Any, start: Any, seed: int
) -> tuple[bool, str]:
    """Measure and search; what goes wrong after the first pair ends the audit and is told."""
    try:
        complete = measure_all(sweep, pairs())
        if neighbours is not None:
            starts = start if isinstance(start, list) else [start]
            complete = search_worst(sweep, neighbours, starts, seed) and complete
    except KeyboardInterrupt:
        if sweep.worst is None:
            raise
        return False, "It was interrupted."
    except Exception as problem:
        if sweep.worst is None:
            raise _told(problem) from problem
        return False, f"It ended after {sweep.tries} pairs: {shown(str(problem))}"
    return complete, ""


def _told(problem: Exception) -> Exception:
    """Return what is raised where no pair could be measured."""
    if isinstance(problem, DiscreetError):
        return problem
    return ArgumentError(
        "law, pairs and neighbours must answer for every input, got "
        f"{type(problem).__name__}: {problem}. Call them by hand first."
    )


def _plain(value: float) -> float | str:
    return value if math.isfinite(value) else str(value)
