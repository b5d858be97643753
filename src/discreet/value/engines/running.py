"""Value many coalitions: on threads, processes or a cluster, with a bar, and ready to be interrupted.

Which coalitions are valued is settled before anything runs, so the answer does not depend on workers.
Workers come from joblib: ``n_jobs`` here, or any ``joblib.parallel_config``, Dask's included. Every
task caps the threads of its numerical libraries at one, so that ``n_jobs`` is what is used.
"""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from discreet.data.state import own_state
from discreet.errors import ArgumentError, ModelError
from discreet.progress import progress_bar
from discreet.randomness import IntArray
from discreet.schema import FloatArray
from discreet.value.engines.games import Chains, Game

_BATCHES = 128
"""Into how many tasks the work is cut: what an interruption can lose, and how often the bar moves."""


Progress = bool | Callable[[int], None] | None
"""A bar or none, a function called with every number of finished coalitions, or None: on terminals."""


@dataclass(frozen=True)
class Work:
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
) -> Work:
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
        return Work(values, finished=False)
    return Work(values, finished=True)


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
