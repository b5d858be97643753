"""The audit itself: run every check of a registry, keep what was found, say whether it held.

A registry is data (``Checks``). The product's own is ``product_checks()``; tests hand in faulty ones
and see that the audit does not let them pass.
"""

from __future__ import annotations

import json
import math
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any, Literal, get_args

from discreet.arguments import shown
from discreet.audit.finding import Check, Checks, Effort, Finding, finding_from_json, registry_of
from discreet.errors import ArgumentError, DiscreetError, ReleaseError
from discreet.numerics import check_choice, check_whole
from discreet.progress import progress_bar

Level = Literal["quick", "full"]
LEVELS: tuple[Level, ...] = get_args(Level)
_EFFORTS: dict[Level, Effort] = {
    "quick": Effort(seconds=0.4, samples=20_000),
    "full": Effort(seconds=20.0, samples=1_000_000),
}
PLANTED = Effort(seconds=60.0)
"""For the check of a planted fault, which has to be caught however busy the machine is."""

_NOT_RUN = "not run"


@dataclass(frozen=True)
class AuditReport:
    """What an audit found, check by check.

    Args:
      level: ``quick`` or ``full``.
      findings: in the order of the registry.
      partial: whether it was interrupted, so that some checks are missing.
      created: when it ended.
      version: of discreet.
    """

    level: Level
    findings: tuple[Finding, ...]
    partial: bool
    created: str
    version: str

    @property
    def held(self) -> bool:
        """Whether something was tried, nothing is missing and no promise was found broken."""
        return bool(self.findings) and not self.partial and not self.broken

    @property
    def broken(self) -> tuple[Finding, ...]:
        """The findings that show a broken promise, or a check that could not be run."""
        return tuple(found for found in self.findings if not found.held)

    @property
    def exit_code(self) -> int:
        """0 if all held, 1 if something broke or nothing was tried, 130 if it was interrupted."""
        return 0 if self.held else 130 if self.partial and not self.broken else 1

    def to_json(self) -> dict[str, Any]:
        """Return the report as plain data."""
        return {
            "level": self.level,
            "held": self.held,
            "partial": self.partial,
            "created": self.created,
            "version": self.version,
            "findings": [found.to_json() for found in self.findings],
        }

    def to_frame(self) -> Any:
        """Return a row per finding."""
        import pandas as pd

        told = ("check", "kind", "held", "unit", "promised", "found", "tries", "seconds", "said")
        rows = [{name: getattr(found, name) for name in told} for found in self.findings]
        return pd.DataFrame(rows, columns=list(told)).set_index("check")

    def __str__(self) -> str:
        count, seconds = len(self.findings), sum(found.seconds for found in self.findings)
        ended = "interrupted, " if self.partial else ""
        broken = f"{len(self.broken)} broken" if self.broken else "none broken"
        return f"{self.level} audit: {ended}{count} checks in {seconds:.0f} s, {broken}"


def product_checks() -> Checks:
    """Return every check of the product: all mechanisms, plans, forms of models and attacks."""
    from discreet.audit.attacks.checks import checks as attacks
    from discreet.audit.hunting.checks import checks as hunts
    from discreet.audit.hunting.persons import checks as persons
    from discreet.audit.laws.checks import checks as laws
    from discreet.audit.sampling.checks import checks as samples

    return registry_of([*laws(), *samples(), *hunts(), *persons(), *attacks()])


def run(
    checks: Checks | None = None,
    *,
    level: Level = "quick",
    only: str = "",
    seed: int = 0,
    effort: Effort | None = None,
    journal: str | Path | None = None,
    progress: bool | None = None,
) -> AuditReport:
    """Run an audit.

    Args:
      checks: the registry; the product's own if it is left out.
      level: ``quick`` takes a minute, ``full`` up to an hour.
      only: run the checks whose name contains this text.
      seed: of what is simulated.
      effort: what each check may do, if not what the level says.
      journal: a file that keeps every finding at once. Run again with the same file, the audit goes on
        where it stopped.
      progress: whether to show a bar; on a terminal if it is left out.

    Guarantees:
      - A check that raises is a finding that does not hold: nothing that was not seen is called fine.
    """
    check_choice("level", level, LEVELS)
    check_whole("seed", seed, 0)
    _check(checks, effort, journal)
    asked = _asked(product_checks() if checks is None else checks, level, only)
    each = replace(_EFFORTS[level] if effort is None else effort, seed=seed)
    own = version("discreet")
    kept = _Journal(journal, {"level": level, "seed": seed, "version": own})
    found: list[Finding] = []
    partial = False
    with progress_bar("Audit", len(asked), progress) as advance:
        try:
            for finding in _findings(asked, each, kept):
                found.append(finding)
                advance(1)
        except KeyboardInterrupt:
            partial = True
    created = datetime.now(UTC).isoformat(timespec="seconds")
    return AuditReport(level, tuple(found), partial, created, own)


def _check(checks: object, effort: object, journal: object) -> None:
    """Raise where an argument is of another kind than it must be."""
    named = isinstance(checks, Mapping) and all(isinstance(one, Check) for one in checks.values())
    if checks is not None and not (named and checks):
        raise ArgumentError(
            f"checks must be a registry with checks in it, got {shown(checks)}. Use registry_of(...)."
        )
    if not (effort is None or isinstance(effort, Effort)):
        raise ArgumentError(f"effort must be an Effort, got {shown(effort)}. Use Effort(seconds=1).")
    if not (journal is None or isinstance(journal, str | Path)):
        raise ArgumentError(f"journal must be the path of a file, got {shown(journal)}.")


def _asked(checks: Checks, level: Level, only: str) -> list[Check]:
    asked = [
        check
        for name, check in checks.items()
        if str(only).lower() in name.lower() and (check.quick or level == "full")
    ]
    if not asked:
        raise ArgumentError(
            f"only must be part of the name of a check, got {only!r}. See 'discreet audit --list'."
        )
    return asked


def _findings(asked: list[Check], effort: Effort, kept: _Journal) -> Iterator[Finding]:
    for check in asked:
        known = kept.known.get(check.name)
        if known is None:
            known = _tried(check, effort)
            kept.add(known)
        yield known


def _tried(check: Check, effort: Effort) -> Finding:
    """Return what a check found, or that it could not be run."""
    start = time.perf_counter()
    try:
        return check.run(effort)
    except Exception as error:  # a fault may raise anything, and must not pass for it
        told = str(error) if isinstance(error, DiscreetError) else type(error).__name__
        said, took = f"The check could not be run: {told}", time.perf_counter() - start
        return Finding(check.name, check.kind, False, math.nan, math.nan, _NOT_RUN, said, 0, took)


class _Journal:
    """A file of findings, one a line, that an interrupted audit goes on from."""

    def __init__(self, where: str | Path | None, header: dict[str, Any]) -> None:
        self._path = None if where is None else Path(where)
        self.known: dict[str, Finding] = {}
        if self._path is None:
            return
        if self._path.exists():
            self._read(self._path, header)
        else:
            self._write(json.dumps(header))

    def add(self, found: Finding) -> None:
        """Keep a finding; what could not be run is tried again the next time."""
        if self._path is not None and found.unit != _NOT_RUN:
            self._write(json.dumps(found.to_json()))

    def _write(self, line: str) -> None:
        assert self._path is not None
        try:
            with self._path.open("a", encoding="utf-8") as file:
                file.write(line + "\n")
        except OSError as error:
            raise ReleaseError(f"{self._path} cannot be written: {error.strerror}.") from None

    def _read(self, path: Path, header: dict[str, Any]) -> None:
        try:
            text = path.read_text(encoding="utf-8")
            first, *lines = text.splitlines() or [""]
            whole = bool(first) and json.loads(first) == header
        except (OSError, ValueError):
            raise ArgumentError(
                f"journal must be a file that an audit wrote, got {path}. Name a new file."
            ) from None
        if first and not whole:
            raise ArgumentError(
                f"journal must be of an audit with {header}, got one with {first}. Name a new file."
            )
        if not text.endswith("\n"):
            self._write("" if first else json.dumps(header))  # what is added gets lines of its own
        for line in lines:
            self._take(line)

    def _take(self, line: str) -> None:
        """Remember the finding of a line; one that was cut off is of a check to run again."""
        try:
            found = finding_from_json(json.loads(line))
        except (ValueError, TypeError, KeyError):
            return
        self.known[found.check] = found
