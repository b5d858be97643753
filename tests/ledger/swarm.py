"""Processes that hammer one ledger; run as ``python swarm.py <job> <where> <key> ...``.

They are forked from this small process, which has a single thread and no open ledger, and start
together when a pipe is closed. The last line printed is the result as JSON.
"""

from __future__ import annotations

import itertools
import json
import os
import random
import signal
import sys
import time
import traceback
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from discreet.errors import BudgetExhausted, LedgerConflict
from discreet.ledger import Ledger, Terms
from discreet.privacy.accounting.filters import Amount

PROCESSES = 8


def run_together(job: Callable[[], Any]) -> list[Any]:
    """Run a job in several processes at once and return what each of them got."""
    gate_out, gate_in = os.pipe()
    readers = []
    for _ in range(PROCESSES):
        reader, writer = os.pipe()
        if os.fork() == 0:
            os.close(gate_in)
            os.read(gate_out, 1)
            _answer(job, writer)
        os.close(writer)
        readers.append(reader)
    os.close(gate_in)
    answers = [json.loads(os.fdopen(reader).read()) for reader in readers]
    for _ in range(PROCESSES):
        os.wait()
    return answers


def _answer(job: Callable[[], Any], writer: int) -> None:
    try:
        answer = json.dumps(job())
    except BaseException:
        answer = json.dumps(traceback.format_exc())
    os.write(writer, answer.encode())
    os._exit(0)


def open_and_register(where: str, key: str) -> dict[str, Any]:
    """Make the ledger and register a data set; all processes must see the same."""
    terms = Terms("fresh", "replace-one", "basic", 1.0, 0.0, Amount(100), "5c4e")
    with Ledger.open(where, key=key) as ledger:
        account = ledger.register(terms)
        return {"created": account.created, "problems": ledger.verify().problems}


def spend_all(where: str, key: str) -> int:
    """Charge five units, then single ones, until nothing fits; return what was accepted."""
    accepted = 0
    with Ledger.open(where, key=key) as ledger:
        for charge in (5, 1):
            try:
                while True:
                    ledger.reserve("adult", Amount(charge), plan_key="k", note={})
                    accepted += charge
            except BudgetExhausted:
                continue
    return accepted


def spend_shared(where: str, key: str) -> int:
    """Like ``spend_all``, on two data sets of one population in turn."""
    accepted = 0
    with Ledger.open(where, key=key) as ledger:
        for charge in (5, 1):
            try:
                for turn in itertools.count(os.getpid()):
                    dataset = ("visits", "labs")[turn % 2]
                    ledger.reserve(dataset, Amount(charge), plan_key="k", note={})
                    accepted += charge
            except BudgetExhausted:
                continue
    return accepted


def join_and_spend(where: str, key: str) -> int:
    """Let eight data sets join a population, then spend on all of them and raise the budget."""
    with Ledger.open(where, key=key) as ledger:
        for number in range(8):
            terms = ledger.account(f"set {(number + os.getpid()) % 8}").terms
            with suppress(LedgerConflict):  # somebody was ready before us, and raised the budget
                ledger.register(replace(terms, population="patients"))
        for number in range(8):
            ledger.reserve(f"set {number}", Amount(3), plan_key="k", note={})
            ledger.change_terms("patients", epsilon=4.0 + number, reason=f"step {number}")
    return 8


def spend_sevens(where: str, key: str) -> int:
    """Charge seven units thirty times; return how often that was accepted."""
    accepted = 0
    with Ledger.open(where, key=key) as ledger:
        for _ in range(30):
            try:
                ledger.reserve("adult", Amount(7), plan_key="k", note={})
                accepted += 1
            except BudgetExhausted:
                continue
    return accepted


def spend_in_turn(where: str, key: str) -> list[int]:
    """Charge forty times; return the places of these charges among those of all processes."""
    with Ledger.open(where, key=key) as ledger:
        _wait_for_all(Path(where))
        held = [ledger.reserve("adult", Amount(1), plan_key="k", note={}) for _ in range(40)]
    return [reservation.head.sequence for reservation in held]


def _wait_for_all(where: Path) -> None:
    """Wait until every process has its ledger open: on a busy machine that takes some much longer."""
    where.with_name(f"ready-{os.getpid()}").touch()
    while len(list(where.parent.glob("ready-*"))) < PROCESSES:
        time.sleep(0.001)


def crash(where: str, key: str, rounds: str) -> int:
    """Kill processes at random points between reserve and settle; return how many steps they made."""
    choose = random.Random(int(rounds))
    return sum(_crash_once(where, key, choose.randint(1, 9)) for _ in range(int(rounds)))


def crash_shared(where: str, key: str, rounds: str) -> int:
    """Like ``crash``, on two data sets of one population in turn."""
    choose = random.Random(int(rounds))
    return sum(
        _crash_once(where, key, choose.randint(1, 9), ("visits", "labs")) for _ in range(int(rounds))
    )


def _crash_once(where: str, key: str, steps: int, datasets: Sequence[str] = ("adult",)) -> int:
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        with Ledger.open(where, key=key) as ledger:
            for dataset in itertools.cycle(datasets):
                held = ledger.reserve(dataset, Amount(3), plan_key="k", note={})
                os.write(writer, b".")
                ledger.settle(held, version="1", body=held.id)
                os.write(writer, b".")
    os.close(writer)
    seen = sum(len(os.read(reader, 1)) for _ in range(steps))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    os.close(reader)
    return seen


def fork(where: str, key: str) -> dict[str, Any]:
    """Use one ledger object before and after a fork, in parent and child."""
    ledger = Ledger.open(where, key=key)
    ledger.reserve("adult", Amount(1), plan_key="parent", note={})
    reader, writer = os.pipe()
    child = os.fork()
    if child == 0:
        _answer(lambda: _use_inherited(ledger, where), writer)
    os.close(writer)
    ledger.reserve("adult", Amount(1), plan_key="parent", note={})
    answer = json.loads(os.fdopen(reader).read())
    os.waitpid(child, 0)
    ledger.reserve("adult", Amount(1), plan_key="parent", note={})
    problems = ledger.verify().problems
    ledger.close()
    return {"inherited": answer, "problems": problems}


def _use_inherited(ledger: Ledger, where: str) -> list[str]:
    inherited = _open_files(where)
    for _ in range(2):
        ledger.reserve("adult", Amount(1), plan_key="child", note={})
    ledger.close()
    return inherited


def _open_files(where: str) -> list[str]:
    folder = "/proc/self/fd"
    if not os.path.isdir(folder):
        return []
    targets = [os.path.join(folder, name) for name in os.listdir(folder)]
    return [os.readlink(name) for name in targets if os.path.exists(name) and _is_of(name, where)]


def _is_of(name: str, where: str) -> bool:
    target = os.readlink(name)
    return target.startswith(where) or target.startswith("socket:")


def main(job: str, where: str, key: str, *rest: str) -> Any:
    """Do one of the jobs above."""
    alone: dict[str, Callable[..., Any]] = {"crash": crash, "crash_shared": crash_shared, "fork": fork}
    together: dict[str, Callable[..., Any]] = {
        "open": open_and_register,
        "spend_all": spend_all,
        "spend_shared": spend_shared,
        "join_and_spend": join_and_spend,
        "spend_sevens": spend_sevens,
        "spend_in_turn": spend_in_turn,
    }
    if job in alone:
        return alone[job](where, key, *rest)
    return run_together(lambda: together[job](where, key))


if __name__ == "__main__":
    print(json.dumps(main(*sys.argv[1:])))
