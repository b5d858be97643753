"""The exact checks of this library's own mechanisms: each law against its promise."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import replace

from discreet.audit.finding import Check, Effort, Finding
from discreet.audit.laws.catalogue import catalogue
from discreet.audit.laws.exact_audit import exact
from discreet.audit.laws.subject import Subject

_SLOW = {
    "splits of a tree, laplace",
    "splits of a tree, smooth-student-t",
    "splits of a tree, smooth-laplace-log-normal",
}
"""A law that is summed over noise on a fine lattice of scores, and tables of chances that take long to
calibrate, of which the quick audit has others."""


def checks() -> list[Check]:
    """Return one check per mechanism whose law can be computed."""
    return [
        exact_check(f"exact: {name}", name, build, quick=name not in _SLOW)
        for name, build in catalogue().items()
    ]


def exact_check(
    name: str, subject: str, build: Callable[[], Iterable[Subject]], *, quick: bool = True
) -> Check:
    """Return the check that tries the laws of a mechanism and tells the worst of them.

    Args:
      name: of the check.
      subject: what is on trial, in words.
      build: the laws; asked for when the check runs.
      quick: whether the audit of a minute has it too.
    """

    def look(effort: Effort) -> Finding:
        found = [exact(one, seconds=effort.seconds, seed=effort.seed) for one in build()]
        worst = min(found, key=lambda audit: (audit.kept, -audit.tightness))
        return replace(worst.finding(), tries=sum(audit.tries for audit in found))

    return Check(name, "exact", subject, look, quick)
