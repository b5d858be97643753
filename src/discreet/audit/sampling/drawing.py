"""Run a mechanism many times on two tables: in turn, on several cores, until time is up.

Runs are cut into tasks of a size that depends on their number alone, and every task has generators of
its own, so that with a seed results do not depend on how many workers there are. Whatever ends the
drawing - a budget of seconds, Ctrl-C, an exception of the mechanism - what was drawn before is kept.
"""

from __future__ import annotations

import inspect
import math
import secrets
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import BrokenExecutor
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from discreet.arguments import shown
from discreet.errors import ArgumentError
from discreet.numerics import check_positive, check_whole
from discreet.progress import progress_bar
from discreet.randomness import public_generator

Mechanism = Callable[..., Any]
Progress = bool | Callable[[int], None] | None
"""None: a bar on a terminal; a function is called with every number of finished runs."""

_TASKS = 64
_LARGEST_TASK = 16_384
_TELL_EVERY = 0.1
_LONG = 1800.0
_SEED_BITS = 128

INTERRUPTED = "interrupted"
OUT_OF_TIME = "out of time"


@dataclass(frozen=True)
class MechanismRuns:
    """What is run: a mechanism on two tables.

    Args:
      mechanism: called as ``mechanism(table)``, with ``size`` as a second argument if ``batched``; one
        that takes an argument ``generator`` is given one.
      tables: the two neighbours.
      batched: whether a call answers for many runs, a row each.
      score: makes numbers of an outcome, of all outcomes of a batch at once if ``batched``.
    """

    mechanism: Mechanism
    tables: tuple[Any, Any]
    batched: bool = False
    score: Callable[[Any], Any] | None = None

    def run(self, side: int, generator: np.random.Generator | None, size: int) -> Any:
        """Return the outcome of a run on one side, or, if batched, of so many runs."""
        given = {} if generator is None else {"generator": generator}
        sizes = (size,) if self.batched else ()
        outcome = self.mechanism(self.tables[side], *sizes, **given)
        return outcome if self.score is None else self.score(outcome)


@dataclass
class Drawn:
    """Outcomes of both sides, block by block, and why there are no more of them."""

    blocks: tuple[list[Any], list[Any]] = field(default_factory=lambda: ([], []))
    stopped: str = ""

    def add(self, more: Drawn) -> None:
        """Take over what a task drew."""
        for side in (0, 1):
            self.blocks[side].extend(more.blocks[side])
        self.stopped = self.stopped or more.stopped

    def side(self, side: int) -> Any:
        """Return the outcomes of one side in order: an array if all are, or a list."""
        blocks = self.blocks[side]
        arrays = all(isinstance(block, np.ndarray) for block in blocks)
        if blocks and arrays and len({block.shape[1:] for block in blocks}) == 1:
            return np.concatenate(blocks)
        return [outcome for block in blocks for outcome in block]

    @property
    def runs(self) -> int:
        """Runs of the side that has fewer."""
        return min(sum(map(len, blocks)) for blocks in self.blocks)

    @property
    def calls_answered(self) -> int:
        """Runs of both sides."""
        return sum(len(block) for blocks in self.blocks for block in blocks)


def draw(
    trial: MechanismRuns,
    samples: int,
    *,
    seconds: float | None = None,
    workers: int = 1,
    seed: int | None = None,
    progress: Progress = None,
) -> Drawn:
    """Return the outcomes of so many runs on either side, or of as many as there was time for.

    Args:
      trial: what is run.
      samples: runs per side.
      seconds: no run is begun after so many; one that is under way is never cut off.
      workers: processes, or threads where the mechanism cannot be sent to a process.
      seed: of the generators that a mechanism is given which takes one.
      progress: see ``Progress``.
    """
    check_draws(samples, seconds, workers, seed)
    deadline = math.inf if seconds is None else time.time() + seconds
    tasks = _tasks(samples, secrets.randbits(_SEED_BITS) if seed is None else seed)
    found = Drawn()
    with _showing(2 * samples, progress) as advance:
        if workers == 1:
            results: Iterator[Drawn] = (_task(trial, task, deadline, advance) for task in tasks)
        else:
            results = _in_parallel(trial, tasks, deadline, workers, advance)
        _collect(found, results)
    if found.runs == samples:
        found.stopped = ""
    _refuse_empty(found)
    _refuse_echoes(found, samples, workers)
    return found


def check_draws(samples: int, seconds: float | None, workers: int, seed: int | None) -> None:
    """Raise unless runs can be drawn with these arguments."""
    check_whole("samples", samples, 1)
    check_whole("workers", workers, 1, hint="It is a number of processes.")
    if seconds is not None:
        check_positive("seconds", seconds, "Use None for as long as it takes.")
    if seed is not None:
        check_whole("seed", seed, 0)


def _tell_if_long(seconds: float) -> None:
    """Warn whoever has begun what takes very long."""
    if seconds > _LONG:
        warnings.warn(
            f"All runs will take about {seconds / 3600:.2g} hours on one core. Give seconds= or fewer "
            "samples; Ctrl-C keeps what was drawn.",
            stacklevel=2,
        )


@dataclass(frozen=True)
class _Task:
    number: int
    size: int
    seed: int
    samples: int

    def generator(self, side: int) -> np.random.Generator:
        """Return the generator of one side of this task alone."""
        return public_generator((self.seed << 41) | (self.number << 1) | side)


def _tasks(samples: int, seed: int) -> list[_Task]:
    size = _task_size(samples)
    return [
        _Task(number, min(size, samples - start), seed, samples)
        for number, start in enumerate(range(0, samples, size))
    ]


def _task_size(samples: int) -> int:
    return min(_LARGEST_TASK, math.ceil(samples / _TASKS))


def _task(trial: MechanismRuns, task: _Task, deadline: float, advance: Callable[[int], None]) -> Drawn:
    """Return what a task drew, the two sides in turn, up to whatever stopped it."""
    generators: tuple[Any, ...] = (None, None)
    if takes_generator(trial.mechanism):
        generators = task.generator(0), task.generator(1)
    found, side = Drawn(), 0
    if not trial.batched:
        for blocks in found.blocks:
            blocks.append([])
    try:
        for _ in _in_time(found, task, trial.batched, deadline, advance):
            for side in (0, 1):
                outcome = trial.run(side, generators[side], task.size)
                if trial.batched:
                    found.blocks[side].append(_rows(outcome, task.size))
                else:
                    found.blocks[side][0].append(outcome)
    except KeyboardInterrupt:
        found.stopped = INTERRUPTED
    except _WrongRows:
        raise
    except Exception as error:  # whatever a mechanism of anybody's raises is told, not lost
        found.stopped = f"raised {type(error).__name__} on the {_SIDES[side]} table: {error}"
    return found


def _in_time(
    found: Drawn, task: _Task, batched: bool, deadline: float, advance: Callable[[int], None]
) -> Iterator[None]:
    """Yield the turns of a task, fewer if time is up, and tell now and then how many runs there are."""
    told, last = 0, time.time()
    for turn in range(1 if batched else task.size):
        yield
        now = time.time()
        if turn == task.number == 0 and deadline == math.inf:
            _tell_if_long((now - last) * task.samples / (task.size if batched else 1))
        if now - last > _TELL_EVERY:
            advance(found.calls_answered - told)
            told, last = found.calls_answered, now
        if now > deadline:
            found.stopped = OUT_OF_TIME
            break
    advance(found.calls_answered - told)


_SIDES = ("first", "second")


def takes_generator(mechanism: Mechanism) -> bool:
    """Say whether a mechanism has an argument ``generator``."""
    try:
        return "generator" in inspect.signature(mechanism).parameters
    except (TypeError, ValueError):
        return False


class _WrongRows(ArgumentError):
    """Raised here, not by a mechanism."""


def _rows(outcome: Any, size: int) -> Any:
    """Return the rows of a batch, of which there must be as many as were asked for."""
    if hasattr(outcome, "to_numpy"):  # a frame would be listed by columns
        outcome = outcome.to_numpy()
    try:
        rows = outcome if isinstance(outcome, np.ndarray) and outcome.ndim else list(outcome)
    except TypeError:
        rows = []
    if isinstance(outcome, str | bytes | Mapping):
        rows = []
    if len(rows) != size:
        got = f"{len(rows)} of {size}" if len(rows) else shown(outcome)
        raise _WrongRows(
            f"mechanism must return a row for every run with batched=True, got {got}. "
            "It is called with the table and the number of runs."
        )
    return rows


def _collect(found: Drawn, results: Iterator[Drawn]) -> None:
    """Add up what tasks drew, up to the first that was stopped."""
    try:
        for more in results:
            found.add(more)
            if found.stopped:
                break
    except KeyboardInterrupt:
        found.stopped = INTERRUPTED
    except BrokenExecutor:
        found.stopped = "ended a worker process"


def _in_parallel(
    trial: MechanismRuns,
    tasks: list[_Task],
    deadline: float,
    workers: int,
    advance: Callable[[int], None],
) -> Iterator[Drawn]:
    """Yield what tasks drew, in order."""
    from joblib import Parallel, delayed

    prefer = "processes" if _can_be_sent(trial) else "threads"
    parallel = Parallel(n_jobs=workers, prefer=prefer, return_as="generator")
    results = parallel(delayed(_task)(trial, task, deadline, _quiet) for task in tasks)
    with warnings.catch_warnings(), closing(results):
        # Tasks that are not waited for once one was stopped are meant to be dropped.
        warnings.filterwarnings("ignore", category=UserWarning, module="joblib")
        for found in results:
            advance(found.calls_answered)
            yield found


def _quiet(done: int) -> None:
    """Tell nobody: a bar does not travel to a process."""


def _can_be_sent(trial: MechanismRuns) -> bool:
    from joblib.externals.loky.backend.reduction import dumps

    try:
        dumps(trial)
    except Exception:  # pickling fails with errors of many kinds
        return False
    return True


@contextmanager
def _showing(total: int, show: Progress) -> Iterator[Callable[[int], None]]:
    if callable(show):
        yield show
        return
    with progress_bar("runs", total, show) as advance:
        yield advance


def _refuse_empty(found: Drawn) -> None:
    if found.runs:
        return
    if found.stopped == INTERRUPTED:
        raise KeyboardInterrupt
    raise ArgumentError(
        f"mechanism must answer at least once for either table, and {found.stopped or 'did not'}. "
        "Call it by hand on both tables first."
    )


def _refuse_echoes(found: Drawn, samples: int, workers: int) -> None:
    """Raise if two tasks drew the same noise, because a generator was copied into processes."""
    size = _task_size(samples)
    if workers == 1 or size < 8:
        return
    for side in (found.side(0), found.side(1)):
        starts = [_text(side[start : start + 8]) for start in range(0, len(side) - 8, size)]
        repeated = len(set(starts)) < len(starts)
        # Outcomes with few values repeat by chance, so only what nearly never does is refused.
        if repeated and len({_text([outcome]) for outcome in side[:size]}) > size // 2:
            raise ArgumentError(
                "mechanism must draw anew in every worker, got the same outcomes from several: a "
                "generator was copied into each. Give it an argument generator, or use workers=1."
            )


def _text(outcomes: Any) -> str:
    return repr([np.asarray(outcome, dtype=object).tolist() for outcome in outcomes])
