"""Value many coalitions, and say what was found: a value for every record, with its own uncertainty.

Coalitions are valued on threads, processes or a cluster, with a bar, and ready to be interrupted. Which
ones is settled before anything runs, so the answer does not depend on workers. Workers come from
joblib: ``n_jobs`` here, or any ``joblib.parallel_config``, Dask's included. Every task caps the threads
of its numerical libraries at one, so that ``n_jobs`` is what is used.

Nothing here is private: whoever sees exact values learns of other records.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from statistics import NormalDist
from typing import TYPE_CHECKING, Any

import numpy as np

from discreet.data.state import own_state
from discreet.errors import ArgumentError, ModelError
from discreet.numerics import check_probability
from discreet.progress import progress_bar
from discreet.randomness import IntArray
from discreet.schema import FloatArray
from discreet.value.engines.games import Chains, Game

if TYPE_CHECKING:
    import pandas as pd

_BATCHES = 128
"""Into how many tasks the work is cut: what an interruption can lose, and how often the bar moves."""

Progress = bool | Callable[[int], None] | None
"""A bar or none, a function called with every number of finished coalitions, or None: on terminals."""


@dataclass(frozen=True)
class Estimates:
    """Values of records (or groups), not private.

    Attributes:
      records: which players were valued.
      values: their values; NaN for those that an interruption left without one.
      errors: standard errors of sampling, 0 for exact methods.
      evaluations: how many coalitions were valued.
      method: the estimator's name.
      finished: False after an interruption; pass the whole as ``continue_from`` to go on.
      stated: (alpha, beta): a value is more than alpha off with probability at most beta; None if the
        estimator promises nothing.
      work: what was computed, for ``continue_from``.
    """

    records: IntArray
    values: FloatArray
    errors: FloatArray
    evaluations: int
    method: str
    finished: bool = True
    stated: tuple[float, float] | None = None
    work: Any = field(default=None, repr=False, compare=False)

    def interval(self, confidence: float = 0.95) -> tuple[FloatArray, FloatArray]:
        """Return both ends of normal confidence intervals from the standard errors.

        >>> one = Estimates(np.array([0]), np.array([1.0]), np.array([0.1]), 9, "permutation")
        >>> [round(float(end[0]), 3) for end in one.interval()]
        [0.804, 1.196]
        """
        check_probability("confidence", confidence)
        far = NormalDist().inv_cdf((1 + confidence) / 2) * self.errors
        return self.values - far, self.values + far

    def ranking(self) -> IntArray:
        """Return the records from the most to the least valuable; those without a value come last."""
        return np.asarray(self.records[np.argsort(-self.values, kind="stable")])

    def to_frame(self) -> pd.DataFrame:
        """Return one row per record, in their order, the record as index: value, standard error."""
        import pandas as pd

        return pd.DataFrame(
            {"value": self.values, "standard_error": self.errors},
            index=pd.Index(self.records, name="record"),
        )


def resumed(earlier: Estimates | None, key: tuple[Any, ...]) -> Any:
    """Return the work of earlier estimates, or None; raise if they answered another question."""
    if earlier is None:
        return None
    if earlier.work is None or earlier.work[0] != key:
        raise ArgumentError(
            f"continue_from must be estimates of the same question, got those of {earlier.method!r} "
            "with other arguments. Call with the arguments of the first run."
        )
    return earlier.work[1]


@dataclass(frozen=True)
class Job:
    """Values of chains, aligned with their sizes.

    Attributes:
      values: NaN where nothing was valued yet.
      finished: whether all are there.
    """

    values: FloatArray
    finished: bool


def run_chains(
    game: Game,
    chains: Chains,
    *,
    n_jobs: int | None = None,
    progress: Progress = None,
    done: FloatArray | None = None,
    title: str = "coalitions",
) -> Job:
    """Return the value of every coalition; an interruption (Ctrl-C) keeps what is there.

    Args:
      game: the utility of coalitions.
      chains: the coalitions.
      n_jobs: workers, -1 for all processors; None obeys ``joblib.parallel_config``, else one.
      progress: see ``Progress``.
      done: values of an earlier run of the same chains, NaN where there are none.
      title: what the bar says.
    """
    if n_jobs is not None and (not isinstance(n_jobs, int) or n_jobs == 0):
        raise ArgumentError(f"n_jobs must be None or a whole number other than 0, got {n_jobs!r}.")
    values = np.full(chains.evaluations, np.nan) if done is None else done.copy()
    tasks = [
        (first, after)
        for first, after in _cut(chains)
        if np.isnan(values[chains.marks[first] : chains.marks[after]]).any()
    ]
    waiting = sum(int(chains.marks[after] - chains.marks[first]) for first, after in tasks)
    try:
        with (
            showing(title, waiting, progress) as advance,
            closing(_results(game, chains, tasks, n_jobs)) as results,
        ):
            for first, after, found in results:
                if np.isnan(found).any():
                    raise ModelError("A game must give every coalition a number, got NaN.")
                values[chains.marks[first] : chains.marks[after]] = found
                advance(len(found))
    except KeyboardInterrupt:
        return Job(values, finished=False)
    return Job(values, finished=True)


def _results(
    game: Game, chains: Chains, tasks: list[tuple[int, int]], n_jobs: int | None
) -> Generator[tuple[int, int, FloatArray]]:
    """Yield the values of batches as they come."""
    from joblib import Parallel, delayed

    with _thread_pools(len(sys.modules)).limit(limits=1):
        parallel = Parallel(
            n_jobs=n_jobs,
            prefer="threads" if game.compiled else "processes",
            return_as="generator_unordered",
        )
        found = parallel(
            delayed(_run)(game, chains.select(first, after), first, after) for first, after in tasks
        )
        try:
            for batch in found:  # noqa: UP028 - "yield from" would close it before the silence
                yield batch
        finally:
            with own_state():  # joblib counts aloud what an interruption leaves
                found.close()


def _run(game: Game, chains: Chains, first: int, after: int) -> tuple[int, int, FloatArray]:
    with _thread_pools(len(sys.modules)).limit(limits=1), own_state():
        return first, after, game.evaluate(chains)


@lru_cache(maxsize=1)
def _thread_pools(modules: int) -> Any:
    """Return the numerical libraries in use; they are looked for again only after an import."""
    from threadpoolctl import ThreadpoolController

    return ThreadpoolController()


def _cut(chains: Chains) -> list[tuple[int, int]]:
    """Return runs of chains with about the same number of joins and evaluations each."""
    if not len(chains):
        return []
    weights: IntArray = np.cumsum(np.diff(chains.starts) + np.diff(chains.marks) * 8 + 1)
    ends = np.searchsorted(weights, weights[-1] * np.arange(1, _BATCHES) / _BATCHES)
    edges = np.unique([0, *ends.tolist(), len(chains)]).tolist()
    return list(itertools.pairwise(edges))


@contextmanager
def showing(title: str, total: int, show: Progress) -> Iterator[Callable[[int], None]]:
    """Yield a function to call with every number of finished coalitions: the caller's, or a bar's."""
    if callable(show):
        yield show
        return
    with progress_bar(title, total, show) as advance:
        yield advance
