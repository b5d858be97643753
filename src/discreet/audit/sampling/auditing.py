"""A lower bound on epsilon from runs of a mechanism on two neighbours."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from typing import Any

from discreet.arguments import shown
from discreet.audit.sampling.choosing import Event, chosen_event
from discreet.audit.sampling.drawing import Drawn, Mechanism, MechanismRuns, Progress, check_draws, draw
from discreet.audit.sampling.intervals import check_confidence, epsilon_of_mu, mu_bounds
from discreet.audit.sampling.joint_bound import TwoCounts, epsilon_bound
from discreet.audit.sampling.outcomes import Outcomes, outcomes_of
from discreet.audit.sampling.scores import EVENTS, EventName, scores_for
from discreet.errors import ArgumentError
from discreet.numerics import check_choice, check_positive, check_probability

_LEARNED = {False: 0.1, True: 0.25}
_CHOSEN = 0.15
"""Shares of the runs that teach scores, more for vectors, and that choose the event; the rest is
evaluated on."""

_FEWEST = 20

_SIDES = ("first", "second")


@dataclass(frozen=True)
class SampleAudit:
    """What runs of a mechanism on two neighbours prove of its epsilon.

    Args:
      epsilon: the mechanism's epsilon at ``delta`` is at least this, at ``confidence``.
      delta: of the promise.
      confidence: of the bound.
      promised: what must not be exceeded; None if nothing was promised.
      estimate: the same ratio without any allowance for chance.
      event: the event that tells the sides apart, in words.
      likelier: the side on which the event is more frequent.
      hits: runs in the event on the first and on the second side, of those evaluated.
      evaluated: runs that were evaluated, per side.
      samples: runs that were drawn, per side.
      seconds: that it took.
      stopped: why there are fewer runs than were asked for, else empty.
      mu: for ``event="gaussian"``, what mu of Gaussian differential privacy is at least.
      weight: of the likelier side's count if both were tested at once, 0 for two intervals.
      note: what else is to be known: an assumption, that outcomes were all the same, or hardly ever.
    """

    epsilon: float
    delta: float
    confidence: float
    promised: float | None
    estimate: float
    event: str
    likelier: str
    hits: tuple[int, int]
    evaluated: tuple[int, int]
    samples: int
    seconds: float
    stopped: str = ""
    mu: float | None = None
    weight: float = 0.0
    note: str = ""

    @property
    def partial(self) -> bool:
        """Whether something stopped the drawing before all runs were there."""
        return bool(self.stopped)

    @property
    def held(self) -> bool:
        """Whether the bound leaves the promise possible; without a promise it always does."""
        return self.promised is None or self.epsilon <= self.promised

    def bound_at(self, confidence: float) -> float:
        """Return what epsilon is at least at another confidence, by the same event and runs."""
        if self.mu is not None:
            raise ArgumentError("bound_at needs an audit with an event other than gaussian.")
        counts = _counts(self.hits, self.evaluated, _SIDES.index(self.likelier))
        return epsilon_bound(counts, weight=self.weight, delta=self.delta, error=1.0 - confidence)

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        plain = {**asdict(self), "partial": self.partial, "held": self.held}
        estimate = self.estimate
        return plain | {"estimate": estimate if math.isfinite(estimate) else str(estimate)}

    def __str__(self) -> str:
        promise = "" if self.promised is None else f", promised {self.promised:g}"
        verdict = "" if self.held else " The promise is broken."
        early = f" Stopped after {self.samples} runs per side: {self.stopped}." if self.partial else ""
        note = f" {self.note}" if self.note else ""
        first, second = (f"{n} of {m}" for n, m in zip(self.hits, self.evaluated, strict=True))
        return (
            f"epsilon >= {self.epsilon:.3f} at delta {self.delta:g} with {self.confidence:.9g} "
            f"confidence{promise}: {self.event} happened in {first} runs on the first table, {second} "
            f"on the second.{verdict}{note}{early}"
        )


def sample(
    mechanism: Mechanism,
    first: Any,
    second: Any,
    *,
    samples: int = 100_000,
    epsilon: float | None = None,
    delta: float = 0.0,
    confidence: float = 0.95,
    event: EventName = "auto",
    score: Callable[[Any], Any] | None = None,
    batched: bool = False,
    seconds: float | None = None,
    workers: int = 1,
    seed: int | None = None,
    progress: Progress = None,
) -> SampleAudit:
    """Return a lower bound on the epsilon of any mechanism, from runs on two neighbouring tables.

    Some of the runs choose an event that tells the tables apart, the others bound how often it happens:
    by exact intervals (Clopper and Pearson 1934), or by one exact test of both counts where that is
    tighter. Runs must be independent of each other.

    Args:
      mechanism: ``mechanism(table)`` returns a number, an array, a text, or a list, mapping or data
        class of them; with ``batched=True``, ``mechanism(table, size)`` returns ``size`` rows. If it
        has an argument ``generator`` it is given a NumPy generator.
      first: one table, or whatever the mechanism takes.
      second: its neighbour.
      samples: runs per side.
      epsilon: what is promised, if anything is.
      delta: of the promise.
      confidence: the chance that the bound holds is at least this.
      event: ``threshold`` on single numbers, ``cells`` of numbers and kinds, ``classifier``, or
        ``auto``: whichever is best on the runs that choose. ``gaussian`` bounds mu of Gaussian
        differential privacy, and epsilon under the assumption that the mechanism's losses are Gaussian.
      score: makes numbers of an outcome (of all rows of a batch), for models and the like.
      batched: whether one call answers for many runs.
      seconds: no run is begun after so many; the bound is from those that were.
      workers: processes, or threads where the mechanism cannot be sent to a process.
      seed: of the generators; results do not depend on the number of workers.
      progress: None shows a bar on a terminal; a function is called with numbers of finished runs.

    Guarantees:
      - An epsilon below the bound is stated with probability at most 1 - ``confidence``: one event is
        evaluated, and it was chosen on other runs.

    >>> from discreet.randomness import public_generator
    >>> noise = lambda value, size, generator: value + generator.laplace(0, 1, size)
    >>> audit = sample(noise, 0.0, 1.0, epsilon=1.0, batched=True, seed=1)
    >>> audit.held, audit.epsilon > 0.9
    (True, True)
    """
    _check(mechanism, score, samples, epsilon, delta, confidence, event, seconds, workers, seed)
    start = time.perf_counter()
    drawn = draw(
        MechanismRuns(mechanism, (first, second), batched, score),
        samples,
        seconds=seconds,
        workers=workers,
        seed=seed,
        progress=progress,
    )
    sides = outcomes_of(drawn.side(0), drawn.side(1))
    found = _evaluated(sides, event, delta, 1.0 - confidence)
    return SampleAudit(
        delta=delta,
        confidence=confidence,
        promised=epsilon,
        samples=drawn.runs,
        seconds=time.perf_counter() - start,
        stopped=_stopped(drawn),
        **found,
    )


def _check(
    mechanism: Any,
    score: Any,
    samples: int,
    epsilon: float | None,
    delta: float,
    confidence: float,
    event: str,
    seconds: float | None,
    workers: int,
    seed: int | None,
) -> None:
    if not callable(mechanism):
        raise ArgumentError(f"mechanism must be a function of a table, got {shown(mechanism)}.")
    if not (score is None or callable(score)):
        raise ArgumentError(f"score must be a function of an outcome, got {shown(score)}.")
    check_draws(samples, seconds, workers, seed)
    if epsilon is not None:
        check_positive("epsilon", epsilon, "Use None where nothing is promised.")
    check_probability("delta", delta)
    check_confidence(confidence)
    check_choice("event", event, EVENTS)
    if event == "gaussian" and delta == 0:
        raise ArgumentError(
            "delta must be positive for event='gaussian', got 0. Give the promise's delta."
        )


def _stopped(drawn: Drawn) -> str:
    return (
        f"the mechanism {drawn.stopped}"
        if drawn.stopped.startswith(("raised", "ended"))
        else drawn.stopped
    )


def _evaluated(
    sides: tuple[Outcomes, Outcomes], event: EventName, delta: float, error: float
) -> dict[str, Any]:
    """Return the fields of an audit that outcomes decide on."""
    if min(map(len, sides)) < _FEWEST:
        return _nothing(sides, f"Fewer than {_FEWEST} runs per side prove nothing.")
    if sides[0].all_equal(sides[1]):
        return _nothing(sides, "All outcomes of both tables are one and the same.")
    parts = [_cut(side) for side in sides]
    learn, choose, rest = ((parts[0][i], parts[1][i]) for i in range(3))
    scores = scores_for(event, *learn)
    best = chosen_event(
        scores,
        learn,
        choose,
        runs=min(map(len, rest)),
        delta=delta,
        error=error,
        gaussian=event == "gaussian",
    )
    found = _bounds(best, rest, event, delta, error)
    if not sides[0].width and len(sides[0].names) > len(sides[0]):
        found["note"] = found["note"] or _UNLIKE
    return found


def _cut(side: Outcomes) -> tuple[Outcomes, Outcomes, Outcomes]:
    """Return runs to learn from, runs to choose by, and the rest."""
    learned = math.ceil(_LEARNED[side.width > 1] * len(side))
    chosen = learned + math.ceil(_CHOSEN * len(side))
    return side[:learned], side[learned:chosen], side[chosen:]


def _nothing(sides: tuple[Outcomes, Outcomes], note: str) -> dict[str, Any]:
    runs = (len(sides[0]), len(sides[1]))
    return {
        "epsilon": 0.0,
        "estimate": 0.0,
        "event": "any outcome",
        "likelier": _SIDES[0],
        "hits": runs,
        "evaluated": runs,
        "note": note,
    }


def _bounds(
    event: Event, rest: tuple[Outcomes, Outcomes], kind: EventName, delta: float, error: float
) -> dict[str, Any]:
    """Return what the one event proves on runs that had no part in its choice."""
    hits = (event.hits(rest[0]), event.hits(rest[1]))
    runs = (len(rest[0]), len(rest[1]))
    one, other = event.side, 1 - event.side
    found: dict[str, Any] = {
        "event": event.said,
        "likelier": _SIDES[one],
        "hits": hits,
        "evaluated": runs,
    }
    counts = _counts(hits, runs, one)
    share, under = hits[one] / runs[one] - delta, hits[other] / runs[other]
    estimate = -math.inf if share <= 0 else math.inf if under == 0 else math.log(share / under)
    found["estimate"] = max(estimate, 0.0)
    if kind == "gaussian":
        sides = counts.hits, counts.runs, counts.other_hits, counts.other_runs
        mu = max(0.0, float(mu_bounds(*sides, error=error)))
        found |= {"mu": mu, "epsilon": epsilon_of_mu(mu, delta), "note": _ASSUMED.format(mu)}
        return found
    bound = epsilon_bound(counts, weight=event.weight, delta=delta, error=error)
    note = _APART if hits[one] == runs[one] and hits[other] == 0 else ""
    return found | {"epsilon": bound, "weight": event.weight, "note": note}


def _counts(hits: tuple[int, int], runs: tuple[int, int], one: int) -> TwoCounts:
    return TwoCounts(hits[one], runs[one], hits[1 - one], runs[1 - one])


_ASSUMED = (
    "mu of Gaussian differential privacy is at least {:.3f}; epsilon follows if the losses of the "
    "mechanism are Gaussian, which is assumed."
)
_UNLIKE = "Outcomes hardly ever repeat: give score= to make numbers of them."
_APART = (
    "The tables were told apart in every run: the loss may be infinite, and so many runs prove no more."
)
