"""All planted faults by their names."""

from __future__ import annotations

from collections.abc import Iterable

from discreet.audit.faults import sampled
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


FAULTS: dict[str, Fault] = faults_of(sampled.FAULTS)
