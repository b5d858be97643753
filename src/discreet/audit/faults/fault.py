"""A planted fault: a mechanism that breaks its promise, and the check that notices."""

from __future__ import annotations

from dataclasses import dataclass

from discreet.audit.finding import Check


@dataclass(frozen=True)
class Fault:
    """A mechanism of a paper, a library or a slip of the pen that is not as private as it says.

    Nothing of it can be released: no plan uses it.

    Args:
      name: as ``histogram with 1/epsilon under replacement``.
      wrong: what is wrong with it, one sentence.
      source: who published or shipped it, or what slip it is.
      check: the audit's own check, with the fault in the place of our mechanism.
    """

    name: str
    wrong: str
    source: str
    check: Check
