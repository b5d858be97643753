"""Foreign code does not speak, does not spread, and leaves everything as it was."""

from __future__ import annotations

import logging
import sys
import threading
import warnings
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from threadpoolctl import threadpool_info, threadpool_limits

from discreet.data import ModelCalls, PrivateTable, Summand, VectorContribution, add_up
from discreet.data.blocks import BLOCK_ROWS, Block
from discreet.data.calls import ThirdParty, isolated
from discreet.data.state import calm, quietly, silence
from discreet.privacy.certificate import Box
from discreet.schema import FloatArray, Number, Schema

SECRET = "73914"
log = logging.getLogger("a.model")


def allow(threads: int) -> None:
    """Set the threads of algebra from a thread that ends: while it lived, no other could limit them."""
    setter = threading.Thread(target=threadpool_limits, args=(threads, "blas"))
    setter.start()
    setter.join()


@pytest.fixture(autouse=True)
def two_threads() -> Iterator[None]:
    """Begin with threads to limit, also where ``make test`` allows one."""
    before = max(pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas")
    allow(2)
    yield
    allow(before)


def state() -> tuple[Any, ...]:
    return (
        sys.stdout,
        sys.stderr,
        warnings.filters,
        list(warnings.filters),
        warnings.showwarning,
        logging.root.manager.disable,
        sorted((p["filepath"], p["num_threads"]) for p in threadpool_info()),
        silence.inside,
        calm.inside,
    )


def babble() -> None:
    print(SECRET)
    print(SECRET, file=sys.stderr)
    sys.stdout.write(SECRET)
    warnings.warn(SECRET, stacklevel=1)
    log.critical(SECRET)
    log.log(1_000, SECRET)
    logging.warning(SECRET)


def threads_now() -> set[int]:
    return {p["num_threads"] for p in threadpool_info()} | {_openmp_effective_n_threads()}


def silent(capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture) -> bool:
    out, err = capsys.readouterr()
    return SECRET not in out + err + caplog.text


def test_nothing_is_heard_and_all_is_restored(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    before = state()
    with quietly():
        babble()
        with quietly():
            babble()
        babble()
    assert state() == before
    assert silent(capsys, caplog)
    print(SECRET)
    assert not silent(capsys, caplog)  # the control: outside it is heard


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt, SystemExit])
def test_restored_after_exceptions(error: type[BaseException]) -> None:
    before = state()
    with pytest.raises(error), quietly():
        logging.disable(7)
        warnings.simplefilter("always")
        raise error
    assert state() == before


def test_a_level_the_program_had_set_comes_back() -> None:
    logging.disable(logging.INFO)
    try:
        with quietly():
            assert logging.root.manager.disable == sys.maxsize
        assert logging.root.manager.disable == logging.INFO
    finally:
        logging.disable(logging.NOTSET)


def test_our_own_code_is_left_alone(capsys: pytest.CaptureFixture[str]) -> None:
    before = state()
    with quietly(False):
        assert state() == before
        print("heard")
    assert capsys.readouterr().out == "heard\n"


def test_a_failed_beginning_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(*arguments: Any, **options: Any) -> None:
        raise OSError("no libraries")

    before = state()
    monkeypatch.setattr("discreet.data.state._thread_pools", broken)
    with pytest.raises(OSError, match="no libraries"), quietly():
        pass  # pragma: no cover
    assert state() == before


def test_releases_at_once_share_one_silence(
    capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Once the first to leave gave the second its voice back, and the second left a closed stream."""
    before = state()
    first_is_in, second_is_in, first_is_out = (threading.Event() for _ in range(3))
    threads: list[set[int]] = []

    def first() -> None:
        with quietly():
            first_is_in.set()
            second_is_in.wait(600)
        first_is_out.set()

    def second() -> None:
        first_is_in.wait(600)
        with quietly():
            second_is_in.set()
            first_is_out.wait(600)
            babble()
            threads.append(threads_now())

    both = [threading.Thread(target=work) for work in (first, second)]
    for thread in both:
        thread.start()
    for thread in both:
        thread.join()
    assert silent(capsys, caplog)
    assert threads == [{1}]
    assert state() == before


def babbling(look: Callable[[], None] = lambda: None) -> VectorContribution:
    def compute(block: Block) -> FloatArray:
        babble()
        look()
        return np.zeros((len(block), 1))

    return VectorContribution(
        ("a",), 1, Box(0, 1), 0.0, compute, calls=ModelCalls(ThirdParty.of(isolated()), 1.0)
    )


TABLE = PrivateTable(np.zeros((5 * BLOCK_ROWS, 1)), Schema({"a": Number(0, 1, missing=False)}))


@pytest.mark.parametrize("workers", [1, 2, 3])
def test_models_in_threads_are_silent_and_single(
    workers: int, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """OpenMP counts per thread: limiting the main one alone left the workers free."""
    before = state()
    threads: list[set[int]] = []
    add_up(TABLE, [Summand(babbling(lambda: threads.append(threads_now())), 1.0)], workers=workers)
    assert threads == [{1}] * 5
    assert silent(capsys, caplog)
    assert state() == before


@pytest.mark.parametrize("workers", [1, 3])
def test_no_thread_outlives_the_silence(
    workers: int, capsys: pytest.CaptureFixture[str], caplog: pytest.LogCaptureFixture
) -> None:
    """Whoever stops the sum, workers end before anything can be heard again."""
    before = state()

    def stop(rows: int) -> None:
        raise KeyboardInterrupt

    threads = threading.active_count()
    slow = threading.Event()
    contribution = babbling(lambda: (slow.wait(0.05), babble())[-1])
    with pytest.raises(KeyboardInterrupt) as caught:
        add_up(TABLE, [Summand(contribution, 1.0)], workers=workers, progress=stop)
    assert threading.active_count() == threads
    assert silent(capsys, caplog)
    assert state() == before
    assert caught.value.__traceback__ is not None  # which would keep a generator alive
