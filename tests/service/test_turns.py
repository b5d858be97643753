"""Turns: one asker never has every thread, who waits longest comes first, and nothing is forgotten."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from concurrent.futures import CancelledError, Future, wait
from typing import Any

import pytest

from discreet.service.pools import Turns


class Gate:
    """Work that waits until it is let go; notes in which order it began."""

    def __init__(self) -> None:
        self.begun: list[str] = []
        self._go_on, self._noted = threading.Semaphore(0), threading.Condition()

    def work(self, name: str) -> Callable[[], str]:
        def run() -> str:
            with self._noted:
                self.begun.append(name)
                self._noted.notify_all()
            assert self._go_on.acquire(timeout=60)
            return name

        return run

    def wait_for(self, number: int) -> list[str]:
        """Return what began, once so much did."""
        with self._noted:
            assert self._noted.wait_for(lambda: len(self.begun) >= number, 60)
            return self.begun[:number]

    def let_go(self, number: int = 1) -> None:
        self._go_on.release(number)


@pytest.fixture
def gate() -> Iterator[Gate]:
    made = Gate()
    yield made
    made.let_go(1000)


@pytest.fixture
def make_turns() -> Iterator[Callable[..., Turns]]:
    made: list[Turns] = []

    def make(each: int, spare: int = 1) -> Turns:
        made.append(Turns("test", each, spare))
        return made[-1]

    yield make


def test_a_thread_is_left_for_others_whatever_one_asker_sends(
    make_turns: Callable[..., Turns], gate: Gate
) -> None:
    turns = make_turns(2)
    hers = [turns.submit("ann", gate.work("ann")) for _ in range(50)]
    gate.wait_for(2)
    his = turns.submit("bob", lambda: "at once")
    assert his.result(60) == "at once" and gate.begun == ["ann", "ann"]
    assert not any(one.done() for one in hers)
    gate.let_go(50)
    assert [one.result(60) for one in hers] == ["ann"] * 50
    turns.close()
    assert not turns._busy and not turns._waiting and turns._free == 3, "nothing is kept of her"


def test_askers_come_in_turn_and_each_in_her_order(
    make_turns: Callable[..., Turns], gate: Gate
) -> None:
    turns = make_turns(1, spare=0)
    for name in ("ann 1", "ann 2", "ann 3", "bob 1", "bob 2", "eve 1"):
        turns.submit(name.split()[0], gate.work(name))
    for number in range(1, 7):
        gate.wait_for(number)
        gate.let_go()
    assert gate.wait_for(6) == ["ann 1", "ann 2", "bob 1", "eve 1", "ann 3", "bob 2"]
    turns.close()


def test_what_fails_or_is_cancelled_takes_nobodys_turn(
    make_turns: Callable[..., Turns], gate: Gate
) -> None:
    turns = make_turns(1, spare=0)
    first = turns.submit("ann", gate.work("ann"))
    failing: Future[Any] = turns.submit("ann", lambda: 1 / 0)
    leaving: Future[Any] = turns.submit("bob", lambda: {}.popitem() and SystemExit())
    dropped = turns.submit("ann", gate.work("dropped"))
    last = turns.submit("bob", lambda: "last")
    gate.wait_for(1)
    assert dropped.cancel()
    gate.let_go()
    wait([first, failing, leaving, last], 60)
    assert isinstance(failing.exception(), ZeroDivisionError)
    assert isinstance(leaving.exception(), KeyError)
    assert last.result() == "last" and gate.begun == ["ann"]
    turns.close()
    assert not turns._busy and turns._free == 1


def test_closing_ends_what_was_begun_and_cancels_the_rest(
    make_turns: Callable[..., Turns], gate: Gate
) -> None:
    turns = make_turns(1, spare=0)
    begun = turns.submit("ann", gate.work("begun"))
    waits = turns.submit("ann", gate.work("waits"))
    gate.wait_for(1)
    closing = threading.Thread(target=turns.close)
    closing.start()
    with pytest.raises(CancelledError):
        waits.result(60)
    assert closing.is_alive(), "it waits for what was begun"
    late = turns.submit("ann", gate.work("late"))
    assert late.cancelled(), "nobody waits for what never comes"
    gate.let_go()
    closing.join(60)
    assert begun.result(60) == "begun" and gate.begun == ["begun"]


def test_who_comes_while_it_closes_is_not_left_waiting(
    make_turns: Callable[..., Turns], gate: Gate
) -> None:
    """What is handed in by what ends last, when all else is over."""
    turns, late = make_turns(1, spare=0), []
    begun = turns.submit("ann", gate.work("begun"))
    begun.add_done_callback(lambda _: late.append(turns.submit("ann", gate.work("late"))))
    gate.wait_for(1)
    closing = threading.Thread(target=turns.close)
    closing.start()
    while not turns._closed:
        pass
    gate.let_go()
    closing.join(60)
    assert late[0].cancelled()
