"""All planted faults by their names: what an audit has to notice."""

from __future__ import annotations

from collections.abc import Iterable
from difflib import get_close_matches

from discreet.audit.faults import attacked, exact, hunted, reconstructed, sampled
from discreet.audit.faults.fault import Fault
from discreet.errors import ArgumentError


def faults_of(*kinds: Iterable[Fault]) -> dict[str, Fault]:
    """Return faults by their names, of which no two may be equal."""
    found: dict[str, Fault] = {}
    for fault in (fault for kind in kinds for fault in kind):
        if fault.name in found:
            raise ArgumentError(f"Two faults must not have one name, got {fault.name!r} twice.")
        found[fault.name] = fault
    return found


FAULTS: dict[str, Fault] = faults_of(
    exact.FAULTS, sampled.FAULTS, hunted.FAULTS, attacked.FAULTS, reconstructed.FAULTS
)
"""Every fault, as the audit lists them."""


def find_fault(name: str) -> Fault:
    """Return a fault, or raise with the names there are."""
    if name not in FAULTS:
        near = get_close_matches(name, FAULTS, 1, 0.4)
        hint = f"Did you mean {near[0]!r}?" if near else "'discreet audit --list' names them."
        raise ArgumentError(f"planted must be the name of a planted fault, got {name!r}. {hint}")
    return FAULTS[name]
