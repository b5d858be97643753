"""What an audit looks at, and what it found."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, field, replace
from typing import Any, Literal, get_args

from discreet.errors import ArgumentError

Kind = Literal["exact", "sample", "lattice", "hunt", "model", "attack"]
KINDS: tuple[Kind, ...] = get_args(Kind)
"""Laws that were computed, lower bounds from samples, impossible floats, moves of sums, answers of
models, attacks on releases."""


@dataclass(frozen=True)
class Effort:
    """How much a check may do.

    Args:
      seconds: after about so many a check stops and tells what it has; it is never cut off.
      samples: runs of a mechanism, per side, for checks that draw.
      seed: of everything that is public or simulated.
    """

    seconds: float = 2.0
    samples: int = 20_000
    seed: int = 0


@dataclass(frozen=True)
class Finding:
    """What one check found of one subject.

    Args:
      check: the name of the check.
      kind: what was looked at.
      held: no violation was found; ``found`` may still be above ``promised`` by chance or rounding.
      promised: what must not be exceeded, in ``unit``.
      found: what was reached: the loss of the worst pair, the lower end of an interval, a move.
      unit: ``epsilon``, ``delta``, ``share`` of a certificate, ``accuracy``.
      said: one sentence for people.
      tries: pairs of neighbours, runs of a mechanism or batches of rows.
      seconds: that it took.
      curve: plain data for a picture: lists of numbers by name.
    """

    check: str
    kind: Kind
    held: bool
    promised: float
    found: float
    unit: str
    said: str
    tries: int = 0
    seconds: float = 0.0
    curve: dict[str, list[float]] = field(default_factory=dict)

    @property
    def tightness(self) -> float:
        """How much of what was promised was reached; NaN where nothing is promised."""
        return self.found / self.promised if self.promised > 0 else math.nan

    def to_json(self) -> dict[str, Any]:
        """Return all of it as plain data."""
        return {
            name: _plain(value) if isinstance(value, float) else value
            for name, value in asdict(self).items()
        }


def finding_from_json(plain: dict[str, Any]) -> Finding:
    """Read a finding back."""
    known = dict(plain)
    for name in ("promised", "found"):
        known[name] = float(known[name])
    return Finding(**known)


def _plain(value: float) -> float | str:
    """Return a number that JSON has; it has no infinity."""
    return value if math.isfinite(value) else str(value)


@dataclass(frozen=True)
class Check:
    """One thing on trial: a mechanism, a plan or a model, and the audit that tries it.

    Args:
      name: unique in a registry, as ``exact: permute-and-flip``.
      kind: what is looked at.
      subject: what is on trial, in words.
      look: does it.
      quick: whether the audit of a minute has it too.
    """

    name: str
    kind: Kind
    subject: str
    look: Callable[[Effort], Finding]
    quick: bool = True

    def run(self, effort: Effort) -> Finding:
        """Return what is found, with the name of this check and the time it took."""
        start = time.perf_counter()
        found = self.look(effort)
        return replace(found, check=self.name, kind=self.kind, seconds=time.perf_counter() - start)


Checks = dict[str, Check]
"""A registry: what an audit runs over. Tests run it over faulty ones."""


def registry_of(checks: Iterable[Check]) -> Checks:
    """Return checks by their names, of which no two may be equal."""
    found: Checks = {}
    for check in checks:
        if check.name in found:
            raise ArgumentError(f"Two checks must not have one name, got {check.name!r} twice.")
        found[check.name] = check
    return found
