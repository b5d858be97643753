"""Record what a tree of discreet answers, and compare two recordings.

    PYTHONPATH=old/src python tools/record.py run old.json
    PYTHONPATH=src python tools/record.py run new.json --only pdp,ale
    python tools/record.py compare old.json new.json
    PYTHONPATH=src python tools/record.py read old.json

Every plan is asked of every form of model under both relations, with noise from a seed and a session
of its own, because noise is one stream. Written down are the price, the release with its guarantee and
certificates, the exact sums in whole steps, or the sentence of the refusal. ``read`` reads the releases
of an older recording, and checks the ledger that was written beside it.
"""

from __future__ import annotations

import argparse
import hashlib
import inspect
import json
import os
import re
import sys
import time
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import record_names
from record_compare import compare

SUMMING = "add_up"
"""The one function through which all sums go; every module's name for it is watched."""

_LONGEST = 200
RELATIONS = ("replace-one", "add-remove")
_IDS = re.compile(r"\b[0-9a-f]{32}\b|\b[0-9a-f]{8}-[0-9a-f-]{27}\b")


@contextmanager
def watched_sums() -> Iterator[list[Any]]:
    """Yield a list to which every exact sum is added, once for each contribution and lattice."""
    homes = [m for n, m in [*sys.modules.items()] if n.startswith("discreet") and hasattr(m, SUMMING)]
    (true,) = {getattr(home, SUMMING) for home in homes}
    found: list[Any] = []

    def watching(table: Any, summands: Any, **options: Any) -> Any:
        totals = true(table, summands, **options)
        for summand, total in zip(summands, totals, strict=True):
            plain = [float(summand.step).hex(), _whole_numbers(total)]
            if plain not in found:
                found.append(plain)
        return totals

    for home in homes:
        setattr(home, SUMMING, watching)
    try:
        yield found
    finally:
        for home in homes:
            setattr(home, SUMMING, true)


def _whole_numbers(total: Any) -> Any:
    """Return a sum as it is, or a long one by its length and digest."""
    numbers = [int(number) for number in total]
    if len(numbers) <= _LONGEST:
        return numbers
    return [len(numbers), hashlib.sha256(repr(numbers).encode()).hexdigest()]


def ask(name: str, options: dict[str, Any]) -> Any:
    """Return a plan, its arguments called as this tree calls them."""
    import discreet as dc

    make = getattr(dc, record_names.TEXTS.get(name, name), None) or getattr(dc, name)
    known = inspect.signature(make).parameters
    given = {}
    for option, value in options.items():
        renamed = option if option in known else record_names.ARGUMENTS.get(option, option)
        is_text = isinstance(value, str)
        given[renamed] = record_names.CHOICES.get((option, value), value) if is_text else value
    try:
        return make(**given)
    except dc.errors.ArgumentError:
        older = {
            n: options.get(n, value) if isinstance(value, str) else value for n, value in given.items()
        }
        if older == given:
            raise
        return make(**older)


def open_session(family: str, relation: str, accountant: str = "basic") -> Any:
    """Return a fresh session with seeded noise."""
    from record_things import schema, table, valued_schema

    import discreet as dc

    return dc.protect(
        table(),
        valued_schema() if family == "valued" else schema(),
        dataset="people",
        epsilon=1e4,
        delta=0.5,
        ledger=":memory:",
        relation=relation,
        accountant=accountant,
        seed=7,
        workers=1,
        heuristics=True,
        progress=False,
    )


def record_case(
    family: str, name: str, options: dict[str, Any], form: str | None, relation: str
) -> dict[str, Any]:
    """Return what one question led to: answers, or the sentence that refused it and where."""
    from record_things import model, resolve

    from discreet.errors import DiscreetError

    found: dict[str, Any] = {}
    given = {"epsilon": 1.0} | {option: resolve(value) for option, value in options.items()}
    try:
        if form is not None:
            given["model"] = model(form)
        plan = ask(name, given)
        found["plan"] = {**plan.describe(), "repr": repr(plan), "key": plan.key}
        session = open_session(family, relation)
        found["price"] = _plain_price(session.price(plan))
        with watched_sums() as found["sums"]:
            released = session.release(plan).to_json()
        found["release"] = {
            n: v for n, v in released.items() if n not in ("id", "created", "head", "plan")
        }
        found["cost"] = (
            session.balance.to_json() if hasattr(session.balance, "to_json") else str(session.remaining)
        )
        if relation == "replace-one" and form in (None, "linear", "forest"):
            found["diagnosis"] = _diagnosed(session, plan)
    except DiscreetError as error:
        found["error"] = [type(error).__name__, _IDS.sub("ID", str(error))]
    return found


def _diagnosed(session: Any, plan: Any) -> Any:
    from discreet.errors import DiscreetError

    try:
        return str(session.diagnose(plan))
    except DiscreetError as error:
        return [type(error).__name__, str(error)]


def _plain_price(price: Any) -> dict[str, Any]:
    """Return a price without what a clock says."""
    plain = price.to_json()
    for line in plain["plans"]:
        line["waiting"] = line["waiting"] is not None
    return plain


def label(name: str, options: dict[str, Any], form: str | None, relation: str) -> str:
    """Return the name of a case: stable, and readable."""
    asked = ", ".join(f"{option}={value!r}" for option, value in options.items())
    return f"{name}({asked}) | {form or '-'} | {relation}"


def record_family(family: str) -> dict[str, Any]:
    """Return all cases of a family."""
    from record_cases import FAMILIES

    recorded = {}
    for name, options, forms in FAMILIES[family]:
        for form in forms or (None,):
            for relation in RELATIONS:
                case = label(name, options, form, relation)
                if case not in recorded:  # two lists of variants may hold the same
                    recorded[case] = record_case(family, name, options, form, relation)
    return recorded


def write_ledger(path: Path) -> None:
    """Write a ledger of a few releases beside a recording, for later trees to verify."""
    session = _ledger_session(path)
    for plan in _ledger_plans():
        session.release(plan)


def _ledger_session(path: Path) -> Any:
    from record_things import schema, table

    import discreet as dc

    return dc.protect(table(), schema(), dataset="people", epsilon=9.0, ledger=path, progress=False)


def _ledger_plans() -> list[Any]:
    return [
        ask("histogram", {"columns": "home", "epsilon": 1.0}),
        ask("most_frequent", {"column": "home", "epsilon": 0.5}),
    ]


def run(path: Path, only: list[str]) -> None:
    """Record what is missing in a file, or the named families anew."""
    from record_cases import FAMILIES

    kept = json.loads(path.read_text()) if path.exists() else {}
    ledger = path.with_suffix(".db")
    if not ledger.exists():
        write_ledger(ledger)
    for family in only or [name for name in FAMILIES if name not in kept]:
        start = time.perf_counter()
        kept[family] = record_family(family)
        path.write_text(json.dumps(kept, indent=0))
        refused = sum("error" in case for case in kept[family].values())
        taken = time.perf_counter() - start
        print(f"{family}: {len(kept[family])} cases, {refused} refused, {taken:.0f} s", flush=True)


def read_back(path: Path) -> int:
    """Read every release of a recording and verify its ledger; return how many did not come back."""
    import discreet as dc

    lost, read = [], 0
    for cases in json.loads(path.read_text()).values():
        for case, found in cases.items():
            if "release" not in found:
                continue
            text = {
                **found["release"],
                "plan": {k: v for k, v in found["plan"].items() if k not in ("repr", "key")},
            }
            text |= {"id": "recorded", "created": "2026-11-16T00:00:00+00:00", "head": None}
            try:
                dc.Release.loads(json.dumps(text))
                read += 1
            except dc.errors.DiscreetError as error:
                lost.append(f"{case}: {error}")
    print(f"{read} releases read, {len(lost)} not", *lost, sep="\n")
    session = _ledger_session(path.with_suffix(".db"))
    session.verify()
    print(f"the ledger of {len(session.history())} entries is verified")
    return len(lost)


def main() -> int:
    """Run the command line."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run", help="record the tree that is imported")
    running.add_argument("path", type=Path)
    running.add_argument("--only", default="", help="families, with commas; recorded anew")
    comparing = commands.add_parser("compare", help="count what two recordings share")
    comparing.add_argument("old", type=Path)
    comparing.add_argument("new", type=Path)
    comparing.add_argument("--show", type=int, default=20, help="how many differences are shown")
    reading = commands.add_parser("read", help="read the releases of an older recording")
    reading.add_argument("path", type=Path)
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    for library in ("OMP", "OPENBLAS", "MKL"):  # last bits of a fit depend on the number of threads
        os.environ[f"{library}_NUM_THREADS"] = "1"
    if given.command == "run":
        run(given.path, [name for name in given.only.split(",") if name])
        return 0
    if given.command == "read":
        return min(1, read_back(given.path))
    return compare(json.loads(given.old.read_text()), json.loads(given.new.read_text()), given.show)


if __name__ == "__main__":
    sys.exit(main())
