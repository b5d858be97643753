"""Workers of every kind give the same values; an interruption keeps what is done."""

from __future__ import annotations

import io
import itertools
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import cloudpickle
import dask
import numpy as np
import pytest
from distributed import Client, LocalCluster
from joblib import parallel_config
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from threadpoolctl import threadpool_info, threadpool_limits

from discreet.errors import ArgumentError
from discreet.value.engines.games import FunctionGame
from discreet.value.engines.layered import layer_clips, layered_shapley
from discreet.value.engines.running import Estimates
from discreet.value.engines.shapley import exact_shapley, leave_one_out, permutation_shapley
from discreet.value.engines.utilities import Utility

DRAW = np.random.default_rng(0)
X = DRAW.normal(size=(24, 3))
Y = (X[:, 0] + DRAW.normal(size=24) * 0.3 > 0).astype(int)
MODELS = {"compiled": LogisticRegression(), "general": GaussianNB()}


def game(kind: str, players: int = 12) -> Any:
    return Utility(MODELS[kind], X[12:], Y[12:]).on(X[:players], Y[:players])


def answers(kind: str, **options: Any) -> list[list[float]]:
    asked = game(kind)
    clips = layer_clips(12, 1.0)
    return [
        permutation_shapley(asked, permutations=3, **options).values.tolist(),
        leave_one_out(asked, **options).values.tolist(),
        layered_shapley(
            asked, clips=clips, rounds=np.ones(12, dtype=int), records=[1, 4], **options
        ).values.tolist(),
    ]


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("backend", ["threading", "loky", None])
def test_any_workers_give_the_same_values(kind: str, backend: str | None) -> None:
    alone = answers(kind)
    if backend is None:
        assert answers(kind, n_jobs=2) == alone
    else:
        with parallel_config(backend=backend, n_jobs=2):
            assert answers(kind) == alone


@pytest.fixture
def client() -> Iterator[Client]:
    cloudpickle.register_pickle_by_value(sys.modules[__name__])
    with (
        dask.config.set({"distributed.worker.memory.spill": False}),
        LocalCluster(
            n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as workers,
        Client(workers) as connected,
    ):
        yield connected


def test_a_dask_cluster_gives_the_same_values(client: Client) -> None:
    with parallel_config(backend="dask"):
        there = answers("general"), answers("compiled")
    assert there == (answers("general"), answers("compiled"))


def threads_in_use() -> int:
    return max((pool["num_threads"] for pool in threadpool_info()), default=1)


@pytest.mark.parametrize("backend", ["threading", "loky"])
def test_numerical_libraries_get_one_thread(backend: str) -> None:
    lone = FunctionGame(2, lambda c: float(threads_in_use()) if len(c) else 0.0)
    with threadpool_limits(2):  # or make test leaves nothing to limit
        with parallel_config(backend=backend, n_jobs=2):
            assert exact_shapley(lone).values.sum() == 1.0
        assert permutation_shapley(lone, permutations=1).values.sum() == 1.0


# Interruptions.


def after(calls: int) -> tuple[Callable[[int], None], list[int]]:
    """Return progress that interrupts after so many reports, and what was reported."""
    seen: list[int] = []

    def report(done: int) -> None:
        seen.append(done)
        if len(seen) == calls:
            raise KeyboardInterrupt

    return report, seen


ESTIMATORS: dict[str, Callable[..., Estimates]] = {
    "exact": exact_shapley,
    "leave one out": leave_one_out,
    "permutation": lambda g, **o: permutation_shapley(g, permutations=20, **o),
    "truncated": lambda g, **o: permutation_shapley(g, permutations=20, truncate=0.02, **o),
    "antithetic": lambda g, **o: permutation_shapley(g, permutations=20, antithetic=True, **o),
    "layered": lambda g, **o: layered_shapley(g, clips=layer_clips(8, 1.0), rounds=np.full(8, 2), **o),
}


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize("n_jobs", [1, 2])
def test_an_interrupted_run_goes_on(name: str, n_jobs: int) -> None:
    estimate, asked = ESTIMATORS[name], game("compiled", 8)
    whole = estimate(asked)
    report, seen = after(3)
    part = estimate(asked, progress=report, n_jobs=n_jobs)
    assert not part.finished and 0 < part.evaluations < whole.evaluations and len(seen) == 3
    rest: list[int] = []
    full = estimate(asked, continue_from=part, progress=rest.append)
    assert full.finished and full.values.tolist() == whole.values.tolist()
    assert full.errors.tolist() == whole.errors.tolist()
    assert sum(rest) < whole.evaluations


def test_partial_orders_already_estimate() -> None:
    part = permutation_shapley(game("compiled", 8), permutations=30, progress=after(20)[0])
    assert not part.finished and np.isfinite(part.values).all() and np.isfinite(part.errors).all()


def test_more_orders_add_to_earlier_ones() -> None:
    asked = game("compiled", 8)
    few = permutation_shapley(asked, permutations=5)
    rest: list[int] = []
    more = permutation_shapley(asked, permutations=9, continue_from=few, progress=rest.append)
    assert more.values.tolist() == permutation_shapley(asked, permutations=9).values.tolist()
    assert sum(rest) == 4 * 9


@pytest.mark.parametrize("wrong", [0, 1.5, "all"])
def test_workers_are_a_number(wrong: Any) -> None:
    with pytest.raises(ArgumentError, match="n_jobs must be"):
        exact_shapley(game("compiled", 3), n_jobs=wrong)


def test_another_question_is_not_continued() -> None:
    asked = game("compiled", 8)
    part = permutation_shapley(asked, permutations=5, seed=1)
    with pytest.raises(ArgumentError, match="continue_from must be"):
        permutation_shapley(asked, permutations=5, seed=2, continue_from=part)
    with pytest.raises(ArgumentError, match="continue_from must be"):
        leave_one_out(asked, continue_from=part)


@pytest.mark.usefixtures("hears_ctrl_c")
def test_ctrl_c_itself_keeps_what_is_done() -> None:
    calls = itertools.count()

    def slow(members: Any) -> float:
        if next(calls) == 30:
            signal.raise_signal(signal.SIGINT)
        return float(len(members))

    assert threading.current_thread() is threading.main_thread()
    part = permutation_shapley(FunctionGame(10, slow), permutations=50)
    assert not part.finished and 0 < part.evaluations < 40
    full = permutation_shapley(FunctionGame(10, slow), permutations=50, continue_from=part)
    assert full.finished and full.values.tolist() == [1.0] * 10


# The bar.


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_a_bar_appears_after_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is quick is quick beside an hour, however busy the machine is."""
    for show, patience, shown in ((None, 0.05, True), (None, 3600.0, False), (False, 0.05, False)):
        monkeypatch.setattr("discreet.progress._PATIENCE", patience)
        screen = Terminal()
        monkeypatch.setattr(sys, "stderr", screen)

        def utility(members: Any) -> float:
            time.sleep(0.02)
            return float(len(members))

        exact_shapley(FunctionGame(3, utility), progress=show)
        assert ("exact Shapley" in screen.getvalue()) == shown
