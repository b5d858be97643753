"""A claim of a paper or a library, our verdict on it, and evidence that runs.

Evidence computes its own verdict from what it measures. It takes ``twist``, a factor on what is
claimed (a bound, a rate, a figure): one asks about the claim as it was published, and at the claim's
``control`` the same evidence must come to another verdict. So evidence that cannot fail is noticed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Literal, get_args

from discreet.errors import ArgumentError

Verdict = Literal["holds", "loose", "false", "not reproducible"]
VERDICTS: tuple[Verdict, ...] = get_args(Verdict)
"""It holds; it holds and is farther from the truth than need be; a counterexample is known; what is
published does not suffice to try it."""

Paper = Literal["alissaiei-2026", "lange-2024", "chaves-2025", "ma-2026", "watson-2022", "peers"]
PAPERS: dict[Paper, str] = {
    "alissaiei-2026": "Alissaiei (2026), ranking release for kernel SHAP",
    "lange-2024": "Lange et al. (2024), tailoring differential privacy to any explainer, supplement",
    "chaves-2025": "Chaves et al. (2025), smooth noisy max",
    "ma-2026": "Ma, Wu and Yan (2026), REAEDP: release of tables",
    "watson-2022": "Watson et al. (2022), differentially private Shapley values of records",
    "peers": "Libraries that we rely on or compare with",
}

_ID = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")


@dataclass(frozen=True)
class Evidence:
    """What a run of evidence came to.

    Args:
      verdict: what the figures say of the claim; never written down beforehand.
      said: one sentence with the figures in it.
      figures: what was measured, by name.
    """

    verdict: Verdict
    said: str
    figures: dict[str, float]


Run = Callable[[float], Evidence]


@dataclass(frozen=True)
class Claim:
    """One numbered statement, table or figure.

    Args:
      id: as ``chaves-2025-theorem-4-2``.
      paper: who claims it.
      place: where, as ``Theorem 4.2``.
      says: the statement in our words.
      verdict: ours.
      because: why, in a sentence or two: the gap of the proof, the smallest counterexample, the factor
        that it is loose by, or what is missing to try it.
      instead: what the product does, empty where it relies on the claim as it is.
      evidence: computes a verdict in seconds; None only where nothing can be tried.
      control: the twist at which the evidence must come to another verdict.
      statements: ids of ``docs/theory`` that it bears on.
    """

    id: str
    paper: Paper
    place: str
    says: str
    verdict: Verdict
    because: str
    instead: str = ""
    evidence: Run | None = None
    control: float = 0.5
    statements: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id) or not self.id.startswith(self.paper):
            raise ArgumentError(f"id must be {self.paper}-..., got {self.id!r}.")
        if self.evidence is None and self.verdict != "not reproducible":
            raise ArgumentError(f"{self.id} must have evidence for the verdict {self.verdict!r}.")

    def run(self, twist: float = 1.0) -> Evidence:
        """Return what the evidence comes to; a claim without any says why it has none."""
        if self.evidence is None:
            return Evidence("not reproducible", self.because, {})
        return self.evidence(twist)


def judged(claimed: float, true: float, *, loose_from: float = 1.5, slack: float = 1e-9) -> Verdict:
    """Return the verdict on an upper bound, beside the greatest value that was found.

    Args:
      claimed: the bound.
      true: the greatest value found; a bound below it is false.
      loose_from: a bound that is so many times greater is called loose.
      slack: relative, for what floats lose.

    >>> judged(1.0, 1.0), judged(1.0, 2.0), judged(3.0, 1.0)
    ('holds', 'false', 'loose')
    """
    if true > claimed * (1 + slack):
        return "false"
    return "loose" if claimed > loose_from * true else "holds"


def decided(right: bool) -> Verdict:
    """Return the verdict on what is either so or not."""
    return "holds" if right else "false"


def register_of(claims: Iterable[Claim]) -> dict[str, Claim]:
    """Return claims by their ids, of which no two may be equal."""
    found: dict[str, Claim] = {}
    for claim in claims:
        if claim.id in found:
            raise ArgumentError(f"Two claims must not have one id, got {claim.id!r} twice.")
        found[claim.id] = claim
    return found
