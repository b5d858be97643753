"""All planted faults by name: what an audit has to notice."""

from __future__ import annotations

from discreet.audit.faults import sampled
from discreet.audit.faults.fault import Fault
from discreet.errors import ArgumentError

FAULTS: dict[str, Fault] = {fault.name: fault for fault in (*sampled.FAULTS,)}
"""Every fault, as the audit lists them."""


def find_fault(name: str) -> Fault:
    """Return a fault, or raise with the names there are."""
    if name not in FAULTS:
        raise ArgumentError(f"planted must be one of {', '.join(FAULTS)}, got {name!r}.")
    return FAULTS[name]
